// A new cluster: the first step alone, then the wizard of the cluster that was made.
import { useEffect, useState } from "preact/hooks";
import { call, request } from "../api/client";
import { t } from "../messages";
import { navigate, query } from "../router";
import { clusters, follow } from "../store";
import { AsCall } from "../ui/ascall";
import { Icon } from "../ui/icons";
import { Alert, Button, Link, Problem, useAct } from "../ui/parts";
import { DetailsForm, EMPTY, enableOn, problems, useFeatures, type Details } from "./detailsform";
import { useDraft } from "./draft";

function clusterBody(of: Details, userManaged: boolean) {
  const on = enableOn(of);
  return {
    name: of.name, base_dns_domain: of.domain, openshift_version: of.version, cpu_architecture: of.architecture as "x86_64", pull_secret: of.pullSecret, control_plane_count: Number(of.masters),
    ...(on === "none" ? {} : { disk_encryption: { enable_on: on, mode: of.encryption as "tpmv2", ...(of.encryption === "tang" ? { tang_servers: JSON.stringify(of.tang.map(({ url, thumbprint }) => ({ url, thumbprint }))) } : {}) } }),
    ...(of.oci ? { platform: { type: "external" as const, external: { platform_name: "oci", cloud_controller_manager: "External" as const } } } : of.platform === "baremetal" ? {} : { platform: { type: of.platform as "none" } }),
    ...(userManaged || of.platform === "none" ? { user_managed_networking: true } : {}),
  };
}

export default function Create() {
  useEffect(() => follow({ kinds: "cluster" }), []);
  const draft = useDraft<Details>("new", query.value.get("useArm") === "true" ? { ...EMPTY, architecture: "arm64" } : EMPTY);
  const [attempted, setAttempted] = useState(false);
  const { busy, problem, setProblem, act } = useAct();
  const of = draft.value;
  const features = useFeatures(of.version, of.architecture);
  const taken = [...clusters.value.values()].map((one) => `${one.name}.${one.base_dns_domain}`);
  const wrong = problems(of, "create", taken).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const body = clusterBody(of, features?.["CLUSTER_MANAGED_NETWORKING"] === "unsupported");
  const infraEnv = (clusterId: string) => ({ name: `${of.name}_infra-env`, pull_secret: of.pullSecret, cluster_id: clusterId, openshift_version: of.version, cpu_architecture: of.architecture as "x86_64", ...(of.oci ? { image_type: "minimal-iso" as const } : {}) });
  const submit = () => {
    setAttempted(true);
    if (wrong.length) return;
    void act(async () => {
      const cluster = await call("v2RegisterCluster", { body });
      try {
        await call("RegisterInfraEnv", { body: infraEnv(cluster.id) });
      } catch (failed) {
        // Half a cluster is of no use: the next attempt would find its name taken.
        await call("v2DeregisterCluster", { path: { cluster_id: cluster.id } }).catch(() => undefined);
        throw failed;
      }
      draft.drop();
      navigate(`/clusters/${cluster.id}/setup/operators`);
    });
  };
  return (
    <div class="page">
      <nav class="crumbs" aria-label={t("Breadcrumb")}><Link to="/clusters">{t("Clusters")}</Link><span aria-hidden="true">›</span><span>{t("New cluster")}</span></nav>
      <h1>{t("Create cluster")}</h1>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); submit(); }}>
        <div class="card stack"><h2>{t("Cluster details")}</h2><DetailsForm value={of} set={draft.set} mode="create" taken={taken} attempted={attempted} />
          <AsCall requests={[request("v2RegisterCluster", { body }), request("RegisterInfraEnv", { body: infraEnv("<id of the cluster>") })]} names={{ cluster: of.name }} /></div>
        <div class="footer">
          <Problem of={problem} close={() => setProblem(null)} />
          {attempted && wrong.length > 0 && <Alert tone="red" title={t("These fields need another value")} live><ul>{wrong.map(([field, reason]) => <li key={field}><strong>{field}</strong>: {reason}</li>)}</ul></Alert>}
          <div class="row"><Button submit class="primary" disabled={busy}>{busy && <Icon name="spin" />}{t("Create and continue")}</Button><Link to="/clusters" class="button">{t("Cancel")}</Link></div>
        </div>
      </form>
    </div>
  );
}
