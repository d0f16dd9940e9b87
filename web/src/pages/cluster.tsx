// One cluster: title, what can be done now, and its parts as tabs with addresses.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Cluster, Host } from "../api/types";
import { call, download, request } from "../api/client";
import { t } from "../messages";
import { clusterStatus, hasEnded, isDay2, isDraft, isRunning, isTime } from "../model/clusters";
import { navigate, segments } from "../router";
import { clusters, follow, gone, hosts, changeCluster, synced } from "../store";
import { AsCall } from "../ui/ascall";
import { Alert, asError, Button, Confirm, Guard, Label, Later, Link, Menu, Problem, Spinner } from "../ui/parts";
import { DeleteDialog } from "./clusters";
import { Setup } from "../wizard/setup";
import { ProgressTab } from "./progress";
import { HostsTab } from "./hosts";
import { EventsTab } from "./events";

export interface TabProps { cluster: Cluster; list: Host[] }

const TABS = ["setup", "progress", "hosts", "network", "validations", "events", "logs"];

type Dialog = "delete" | "cancel" | "reset" | null;

export const clusterHosts = (id: string): Host[] => [...hosts.value.values()].filter((host) => host.cluster_id === id);

export function ClusterPage({ id }: { id: string }) {
  useEffect(() => follow({ cluster_id: id }), [id]);
  const [dialog, setDialog] = useState<Dialog>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const cluster = clusters.value.get(id);
  const list = useMemo(() => clusterHosts(id), [hosts.value, id]);
  if (gone.value) return <div class="page"><h1>{t("This cluster does not exist")}</h1><p>{t("It was deleted, or the address is wrong.")} <Link to="/clusters">{t("Go to clusters")}</Link></p></div>;
  if (!cluster || !synced.value) return <div class="page"><Spinner /></div>;
  const tab = segments.value[2] ?? (isDraft(cluster) ? "setup" : isDay2(cluster) ? "hosts" : "progress");
  const state = clusterStatus(cluster.status);
  const at = { path: { cluster_id: id } };
  const run = (work: () => Promise<unknown>) => () => void work().catch((failed: unknown) => setProblem(asError(failed)));
  const link = (to: string, text: string) => <Link to={`/clusters/${id}/${to}`} aria-current={tab === to ? "page" : undefined}>{text}</Link>;
  const hasFiles = ["installing", "installing-pending-user-action", "finalizing", "error", "cancelled", "installed", "adding-hosts"].includes(cluster.status ?? "") && cluster.kind !== "AddHostsCluster";
  const hasLogs = isTime(cluster.controller_logs_collected_at) || list.some((host) => isTime(host.logs_collected_at));
  const names = { cluster: cluster.name };
  const props: TabProps = { cluster, list };
  return (
    <div class="page">
      <nav class="crumbs" aria-label={t("Breadcrumb")}><Link to="/clusters">{t("Clusters")}</Link><span aria-hidden="true">›</span><span>{cluster.name}</span></nav>
      <div class="row between">
        <div><h1>{cluster.name}</h1><div class="row"><span role="status"><Label tone={state.tone} icon={state.icon}>{state.text}</Label></span><span class="muted small">{cluster.status_info}</span></div></div>
        <div class="row">
          {cluster.status === "installed" && <Button class="primary" onClick={run(async () => { await changeCluster(() => call("TransformClusterToDay2", at)); navigate(`/clusters/${id}/hosts`); })}>{t("Add hosts")}</Button>}
          {isRunning(cluster) && <Button onClick={() => setDialog("cancel")}>{t("Cancel installation")}</Button>}
          {["error", "cancelled"].includes(cluster.status ?? "") && <Button class="primary" onClick={() => setDialog("reset")}>{t("Reset cluster")}</Button>}
          <Menu label={t("Actions")} actions={[
            { name: t("Download kubeconfig"), needs: "user", why: hasFiles ? null : t("not yet"), run: run(() => download(request("V2DownloadClusterCredentials", { ...at, query: { file_name: "kubeconfig" } }), "kubeconfig")) },
            { name: t("Download logs"), why: hasLogs ? null : t("none yet"), run: run(() => download(request("V2DownloadClusterLogs", { ...at, query: { logs_type: "all" } }), `${cluster.name}-logs.tar`)) },
            { name: t("Download install-config"), needs: "user", run: run(() => download(request("v2GetClusterInstallConfig", at), "install-config.yaml")) },
            { name: t("Cancel installation"), needs: "user", why: isRunning(cluster) ? null : t("not being installed"), run: () => setDialog("cancel") },
            { name: t("Reset cluster"), needs: "user", why: ["error", "cancelled", "installing", "installing-pending-user-action", "finalizing"].includes(cluster.status ?? "") ? null : t("nothing to reset"), run: () => setDialog("reset") },
            { name: t("Delete cluster"), needs: "user", why: isRunning(cluster) ? t("being installed") : null, run: () => setDialog("delete") },
          ]} />
        </div>
      </div>
      <Problem of={problem} close={() => setProblem(null)} />
      <nav class="tabs" aria-label={t("Parts of the cluster")}>
        {isDraft(cluster) && link("setup", t("Setup"))}{!isDraft(cluster) && !isDay2(cluster) && link("progress", t("Progress"))}{link("hosts", t("Hosts"))}{link("network", t("Network map"))}{link("validations", t("Validations"))}{link("events", t("Events"))}{link("logs", t("Logs"))}
      </nav>
      <Guard key={tab}>
        {tab === "setup" && (isDraft(cluster) ? <Setup cluster={cluster} list={list} /> : <Alert title={t("The setup is closed")}>{t("The installation has started.")} <Link to={`/clusters/${id}/progress`}>{t("Go to progress")}</Link></Alert>)}
        {tab === "progress" && (isDraft(cluster) ? <Alert title={t("No installation is under way")}>{t("It has not started, or was cancelled during preparation.")} <Link to={`/clusters/${id}/setup/review`}>{t("Review and install")}</Link></Alert> : <ProgressTab {...props} />)}
        {tab === "hosts" && <HostsTab {...props} />}
        {tab === "network" && <Later key="network" load={() => import("./networkmap")} of={props} />}
        {tab === "validations" && <Later key="validations" load={() => import("./validationstab")} of={props} />}
        {tab === "events" && <EventsTab clusterId={id} list={list} />}
        {!TABS.includes(tab) && <Alert title={t("There is no such page")}><Link to={`/clusters/${id}`}>{t("Go to the cluster")}</Link></Alert>}
        {tab === "logs" && <Later key="logs" load={() => import("./logs")} of={props} />}
      </Guard>
      {dialog === "delete" && <DeleteDialog cluster={cluster} close={(deleted) => { setDialog(null); if (deleted) navigate("/clusters"); }} />}
      {dialog === "cancel" && <Confirm title={t("Cancel the installation?")} action={t("Cancel installation")} danger close={() => setDialog(null)} run={() => changeCluster(() => call("V2CancelInstallation", at))}><p>{t("Hosts stop at their current stage. Afterwards the cluster can be reset and installed again.")}</p><AsCall requests={[request("V2CancelInstallation", at)]} names={names} /></Confirm>}
      {dialog === "reset" && <Confirm title={t("Reset the cluster?")} action={t("Reset cluster")} danger close={() => setDialog(null)} run={async () => { await changeCluster(() => call("v2ResetCluster", at)); navigate(`/clusters/${id}`); }}>
        <p>{t("The cluster goes back to its setup. Hosts boot the discovery image again; some may need a restart by hand.")}</p>
        {hasEnded(cluster) && <Alert tone="orange">{t("Logs of {n} of {all} hosts were collected; download them first if you need them.", { n: list.filter((host) => isTime(host.logs_collected_at)).length, all: list.length })}</Alert>}
        <AsCall requests={[request("v2ResetCluster", at)]} names={names} />
      </Confirm>}
    </div>
  );
}
