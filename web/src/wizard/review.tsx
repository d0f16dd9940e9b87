// Review: everything that fails with a way to it, a summary, and the button.
import { call, request } from "../api/client";
import { t, plural } from "../messages";
import { compare, failing, name } from "../model/hosts";
import { needsManifests } from "../model/clusters";
import { wholeCluster } from "../model/resources";
import { navigate } from "../router";
import { changeCluster } from "../store";
import { Icon } from "../ui/icons";
import { Alert, Button, Link, Problem, useAct } from "../ui/parts";
import { ValidationList, summary } from "../ui/validations";
import { AsCall } from "../ui/ascall";
import { Frame, type StepProps } from "./frame";
import { SummaryFacts, useAround } from "./summary";

export default function ReviewStep({ cluster, list }: StepProps) {
  const { busy, problem, act } = useAct();
  const around = useAround(cluster);
  const at = { path: { cluster_id: cluster.id } };
  const ready = cluster.status === "ready";
  const preparation = cluster["last-installation-preparation"];
  const checks = summary(cluster);
  const troubled = list.filter((host) => failing(host).length > 0).sort((a, b) => compare(name(a), name(b)));
  const lacksManifests = needsManifests(cluster) && around.manifests?.length === 0;
  const install = <Button class="primary" disabled={!ready || busy || lacksManifests} onClick={() => void act(async () => { await changeCluster(() => call("v2InstallCluster", at)); navigate(`/clusters/${cluster.id}/progress`); })}>{busy && <Icon name="spin" />}{t("Install cluster")}</Button>;
  return (
    <Frame step="review" cluster={cluster} list={list} last={install}>
      <Problem of={problem} />
      {preparation?.status === "failed" && <Alert tone="red" title={t("The last preparation failed")}>{preparation.reason}</Alert>}
      {lacksManifests ? <Alert tone="orange" title={t("Manifests are required")}>{t("This platform or network type does not work without manifests of your own.")} <Link to={`/clusters/${cluster.id}/setup/manifests`}>{t("Add them")}</Link></Alert> : ready ? <Alert tone="green" title={t("Ready to install")}>{t("All checks that are required for the installation have passed.")}</Alert> : <Alert tone="orange" title={t("Not ready yet")}>{checks.failed + checks.pending > 0 ? plural(checks.failed + checks.pending, "{n} cluster check has not passed. It is listed below, with a link to the step that fixes it.", "{n} cluster checks have not passed. They are listed below, with links to the steps that fix them.") : cluster.status_info}</Alert>}
      <section aria-label={t("Cluster checks")}><h3>{t("Cluster checks")}</h3><ValidationList of={cluster} subject="cluster" clusterId={cluster.id} /></section>
      {troubled.length > 0 && <section aria-label={t("Host checks")}><h3>{t("Host checks")}</h3><ul>{troubled.map((host) => <li key={host.id}><Link to={`/clusters/${cluster.id}/hosts?host=${host.id}`}>{name(host)}</Link>: {failing(host).map((one) => one.message).join("; ")}</li>)}</ul></section>}
      <SummaryFacts cluster={cluster} list={list} around={around} />
      <AsCall requests={[request("v2InstallCluster", at)]} names={{ cluster: cluster.name }} whole={() => wholeCluster({ ...cluster }, around.infraEnv ? { ...around.infraEnv } : null)} />
    </Frame>
  );
}
