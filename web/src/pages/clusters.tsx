// All clusters, live, with filters that are in the address.
import { useEffect, useState } from "preact/hooks";
import type { Cluster } from "../api/types";
import { call, request } from "../api/client";
import { t } from "../messages";
import { clusterStatus, DRAFT, isDraft, isRunning, RUNNING, when } from "../model/clusters";
import { compare } from "../model/hosts";
import { navigate, query, withQuery } from "../router";
import { clusters, follow, synced } from "../store";
import { AsCall } from "../ui/ascall";
import { Icon } from "../ui/icons";
import { Button, Confirm, Empty, Label, Link, Menu, Progress, Spinner } from "../ui/parts";

/** Numbers of hosts, which messages about clusters leave out: asked for again when clusters changed. */
interface Counts { enabled: number; ready: number; all: number }
function useCounts(): Map<string, Counts> {
  const [counts, set] = useState<Map<string, Counts>>(new Map());
  useEffect(() => {
    const timer = setTimeout(() => void call("v2ListClusters").then((list) => set(new Map((list ?? []).map((one) => [one.id, { enabled: one.enabled_host_count ?? 0, ready: one.ready_host_count ?? 0, all: one.total_host_count ?? 0 }]))), () => undefined), 300);
    return () => clearTimeout(timer);
  }, [clusters.value]);
  return counts;
}

export async function deleteCluster(cluster: Cluster): Promise<void> {
  const infraEnvs = await call("ListInfraEnvs", { query: { cluster_id: cluster.id } });
  await call("v2DeregisterCluster", { path: { cluster_id: cluster.id } });
  for (const one of infraEnvs ?? []) await call("DeregisterInfraEnv", { path: { infra_env_id: one.id } }).catch(() => undefined);
}

export function DeleteDialog({ cluster, close }: { cluster: Cluster; close: (deleted: boolean) => void }) {
  return (
    <Confirm title={t("Delete cluster {name}?", { name: cluster.name })} action={t("Delete")} danger close={() => close(false)} run={async () => { await deleteCluster(cluster); close(true); }}>
      <p>{t("Its hosts, infra-envs, events and files are removed from this service. Machines that were installed keep running.")}</p>
      <AsCall requests={[request("v2DeregisterCluster", { path: { cluster_id: cluster.id } })]} names={{ cluster: cluster.name }} />
    </Confirm>
  );
}

/** What the list is filtered by, as it is in the address. */
const GROUPS: Record<string, string[]> = { draft: DRAFT, running: RUNNING, installed: ["installed", "adding-hosts"], failed: ["error", "cancelled"] };

const text = (cluster: Cluster) => `${cluster.name} ${cluster.id} ${cluster.base_dns_domain ?? ""}`.toLowerCase();

export function ClusterList() {
  useEffect(() => follow({ kinds: "cluster" }), []);
  const counts = useCounts();
  const [deleting, setDeleting] = useState<Cluster | null>(null);
  const order = query.value.get("sort") ?? "name";
  const sort = { by: order.replace(/^-/, ""), down: order.startsWith("-") };
  const search = query.value.get("q") ?? "";
  const status = query.value.get("status") ?? "";
  const all = [...clusters.value.values()];
  const key = (one: Cluster): string | number => ({ name: one.name ?? "", domain: one.base_dns_domain ?? "", version: one.openshift_version ?? "", status: clusterStatus(one.status).text, hosts: counts.get(one.id)?.enabled ?? 0, created: one.created_at ?? "" })[sort.by] ?? "";
  const shown = all
    .filter((one) => text(one).includes(search.toLowerCase()) && (!status || (GROUPS[status] ?? []).includes(one.status ?? "")))
    .sort((a, b) => { const [x, y] = [key(a), key(b)]; const way = typeof x === "number" && typeof y === "number" ? x - y : compare(String(x), String(y)); return sort.down ? -way : way; });
  const statuses = Object.entries({ draft: t("Being set up"), running: t("Being installed"), installed: t("Installed"), failed: t("Failed or cancelled") });
  const header = (by: string, name: string, wide = false) => <th class={wide ? "wide-only" : undefined} aria-sort={sort.by === by ? (sort.down ? "descending" : "ascending") : undefined}><button type="button" class="sort" onClick={() => navigate(withQuery({ sort: sort.by === by && !sort.down ? `-${by}` : by === "name" ? null : by }), "replace")}>{name}{sort.by === by && <Icon name={sort.down ? "down" : "up"} />}</button></th>;
  return (
    <div class="page">
      <div class="row between"><h1>{t("Clusters")}</h1><div class="row"><Button onClick={() => navigate("/import")}>{t("Import a cluster")}</Button><Button class="primary" onClick={() => navigate("/clusters/new")}>{t("Create cluster")}</Button></div></div>
      {!synced.value && all.length === 0 ? <Spinner /> : all.length === 0 ? (
        <div class="card"><Empty title={t("No clusters yet")}><p>{t("Create one, boot machines from its discovery image, and they appear here as they are found.")}</p><Button class="primary" onClick={() => navigate("/clusters/new")}>{t("Create cluster")}</Button></Empty></div>
      ) : (
        <div class="card flush">
          <div class="toolbar row">
            <div class="field"><input type="search" aria-label={t("Filter clusters")} placeholder={t("Name, id or domain")} value={search} onInput={(event) => navigate(withQuery({ q: event.currentTarget.value }), "replace")} /></div>
            <div class="field"><select aria-label={t("Status")} value={status} onChange={(event) => navigate(withQuery({ status: event.currentTarget.value }), "replace")}><option value="">{t("Any status")}</option>{statuses.map(([one, name]) => <option key={one} value={one} selected={one === status}>{name}</option>)}</select></div>
          </div>
          <div class="tablewrap"><table class="middle">
            <caption class="vh">{t("Clusters")}</caption>
            <thead><tr>{header("name", t("Name"))}{header("domain", t("Base domain"), true)}{header("version", t("Version"), true)}{header("status", t("Status"))}{header("hosts", t("Hosts"))}{header("created", t("Created"), true)}<th class="tight"><span class="vh">{t("Actions")}</span></th></tr></thead>
            <tbody>{shown.map((one) => {
              const state = clusterStatus(one.status);
              return (
                <tr key={one.id} class="click">
                  <td><Link to={`/clusters/${one.id}`}>{one.name}</Link></td><td class="wide-only">{one.base_dns_domain || "—"}</td><td class="nowrap wide-only">{one.openshift_version}{one.cpu_architecture === "multi" ? " multi" : ""}</td>
                  <td><Label tone={state.tone} icon={state.icon}>{state.text}</Label>{isRunning(one) && <Progress thin value={one.progress?.total_percentage ?? 0} label={t("Installation of {name}", { name: one.name })} />}</td>
                  <td>{counts.get(one.id)?.enabled ?? "…"}{isDraft(one) && (counts.get(one.id)?.all ?? 0) > 0 && <div class="small muted">{t("{ready} ready of {all} discovered", { ...counts.get(one.id) })}</div>}</td><td class="nowrap wide-only">{when(one.created_at)}</td>
                  <td class="tight"><Menu kebab label={t("Actions of {name}", { name: one.name })} actions={[{ name: t("Open"), run: () => navigate(`/clusters/${one.id}`) }, { name: t("Events"), run: () => navigate(`/clusters/${one.id}/events`) }, { name: t("Delete"), needs: "user", why: isRunning(one) ? t("being installed") : null, run: () => setDeleting(one) }]} /></td>
                </tr>
              );
            })}{shown.length === 0 && <tr><td colSpan={7}><Empty title={t("No cluster matches the filter")} /></td></tr>}</tbody>
          </table></div>
        </div>
      )}
      {deleting && <DeleteDialog cluster={deleting} close={() => setDeleting(null)} />}
    </div>
  );
}
