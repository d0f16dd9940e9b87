// What can be done with hosts, one or many, each with the reason why not.
import { useState } from "preact/hooks";
import type { Cluster, Host } from "../api/types";
import { call, download, request } from "../api/client";
import { t, plural } from "../messages";
import { isDay2, isDraft, isTime, runsWorkloads } from "../model/clusters";
import type { Names } from "../model/commands";
import { isEditable, isRemovable, isUnbound, name, role } from "../model/hosts";
import { hostname as hostnameRule, numbered } from "../model/rules";
import { navigate } from "../router";
import { changeHost } from "../store";
import { AsCall } from "./ascall";
import { Text } from "./form";
import { Icon } from "./icons";
import { Alert, asError, Confirm, Modal, Problem, useAct, type Action } from "./parts";

const at = (host: Host) => ({ infra_env_id: host.infra_env_id ?? "", host_id: host.id });
const namesOf = (host: Host): Names => ({ host: name(host) });
export const patchHost = (host: Host, body: object): Promise<Host> => changeHost(() => call("v2UpdateHost", { path: at(host), body }));

export const roleName = (value: string | undefined): string =>
  ({ master: t("Control plane"), worker: t("Worker"), arbiter: t("Arbiter"), bootstrap: t("Bootstrap"), "auto-assign": t("Automatic") })[value ?? ""] ?? value ?? "";

/** The role in words; control plane nodes that run workloads are workers too. */
export const shownRole = (host: Host, cluster: Cluster | undefined): string => (role(host) === "master" && cluster && runsWorkloads(cluster) ? t("Control plane, worker") : roleName(role(host)));

/** New names for one host or, by a pattern with numbers, for many. */
export function Rename({ hosts, all, close }: { hosts: Host[]; all: Host[]; close: () => void }) {
  const single = hosts.length === 1 ? hosts[0] : undefined;
  const [pattern, setPattern] = useState(single ? name(single) : "host-{{nn}}");
  const [attempted, setAttempted] = useState(false);
  const [done, setDone] = useState(0);
  const { busy, problem, act } = useAct();
  const others = all.filter((one) => !hosts.includes(one)).map(name);
  const names = hosts.map((_, index) => numbered(pattern, index + 1));
  const error = names.map((one, index) => hostnameRule([...others, ...names.slice(0, index)])(one)).find(Boolean) ?? null;
  const submit = () => {
    setAttempted(true);
    if (error) return;
    void act(async () => {
      // Hosts that have their name already are left out, so a second attempt goes on where the first stopped.
      for (const [index, host] of hosts.entries()) {
        if (name(host) !== names[index]) await patchHost(host, { host_name: names[index] });
        setDone(index + 1);
      }
    }).then((ok) => ok && close());
  };
  return (
    <Modal title={single ? t("Change hostname") : t("Rename {n} hosts", { n: hosts.length })} close={close} submit={submit}
      footer={<><button class="primary" disabled={busy}>{busy && <Icon name="spin" />}{busy && !single ? t("{done} of {n}", { done, n: hosts.length }) : t("Change")}</button><button type="button" onClick={close}>{t("Cancel")}</button></>}>
      <Text label={t("Hostname")} required value={pattern} set={setPattern} error={error} attempted={attempted} autoFocus help={single ? t("Up to 63 lower-case letters, digits, hyphens and dots.") : t("{{n}} is replaced by 1, 2, 3 …; {{nn}} by 01, 02, 03 …")} />
      {!single && <ul>{hosts.slice(0, 8).map((host, index) => <li key={host.id}>{name(host)} → <strong>{names[index]}</strong></li>)}{hosts.length > 8 && <li>…</li>}</ul>}
      <Problem of={problem} />
      <AsCall requests={hosts.map((host, index) => request("v2UpdateHost", { path: at(host), body: { host_name: names[index] ?? "" } }))} names={hosts.map(namesOf)} />
    </Modal>
  );
}

export function Remove({ hosts, close }: { hosts: Host[]; close: () => void }) {
  return (
    <Confirm title={plural(hosts.length, "Remove {n} host?", "Remove {n} hosts?")} action={t("Remove")} danger close={close}
      run={async () => { for (const host of hosts) await call("v2DeregisterHost", { path: at(host) }); }}>
      <p>{t("A machine that still runs the discovery image registers again when its agent restarts.")}</p>
      <ul>{hosts.map((host) => <li key={host.id}>{name(host)}</li>)}</ul>
      <AsCall requests={hosts.map((host) => request("v2DeregisterHost", { path: at(host) }))} names={hosts.map(namesOf)} />
    </Confirm>
  );
}

/** Binds hosts of a pool to a cluster. */
export function Bind({ hosts, clusters, close }: { hosts: Host[]; clusters: Cluster[]; close: () => void }) {
  const [to, setTo] = useState(clusters[0]?.id ?? "");
  return (
    <Confirm title={plural(hosts.length, "Bind {n} host to a cluster", "Bind {n} hosts to a cluster")} action={t("Bind")} close={close}
      run={async () => { for (const host of hosts) await changeHost(() => call("BindHost", { path: at(host), body: { cluster_id: to } })); }}>
      {clusters.length ? <div class="field"><label for="bind-to">{t("Cluster")}</label><select id="bind-to" value={to} onChange={(event) => setTo(event.currentTarget.value)}>{clusters.map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}</select></div>
        : <Alert tone="orange">{t("No cluster can accept hosts now.")}</Alert>}
      <AsCall requests={hosts.map((host) => request("BindHost", { path: at(host), body: { cluster_id: to } }))} names={hosts.map((host) => ({ ...namesOf(host), cluster: clusters.find((one) => one.id === to)?.name }))} />
    </Confirm>
  );
}

export type HostDialog = { kind: "rename" | "remove" | "bind" | "reset" | "unbind"; hosts: Host[] };

/** Everything that can be done with one host. */
export function hostActions(host: Host, cluster: Cluster | undefined, open: (dialog: HostDialog) => void, report: (problem: Error) => void): Action[] {
  const draft = !cluster || isDraft(cluster) || isDay2(cluster);
  const run = (work: () => Promise<unknown>) => () => void work().catch((failed: unknown) => report(asError(failed)));
  const status = host.status ?? "";
  const locked = draft && isEditable(host) ? null : t("not in this state");
  const actions: Action[] = [];
  if (cluster && isDay2(cluster)) actions.push({ name: t("Install"), needs: "user", why: status === "known" ? null : t("not ready"), run: run(() => call("v2InstallHost", { path: at(host) })) });
  actions.push({ name: t("Change hostname"), needs: "user", why: locked, run: () => open({ kind: "rename", hosts: [host] }) });
  for (const to of ["master", "worker", "auto-assign"] as const) {
    if (cluster && (cluster.control_plane_count === 1)) break;
    if (cluster && isDay2(cluster) && to !== "worker" && to !== "auto-assign") continue;
    actions.push({ name: t("Role: {role}", { role: roleName(to) }), needs: "user", why: locked ?? (host.role === to ? t("already set") : null), run: run(() => patchHost(host, { host_role: to })) });
  }
  if (cluster?.control_plane_count === 2) actions.push({ name: t("Role: {role}", { role: roleName("arbiter") }), needs: "user", why: locked ?? (host.role === "arbiter" ? t("already set") : null), run: run(() => patchHost(host, { host_role: "arbiter" })) });
  if (isUnbound(host)) actions.push({ name: t("Bind to a cluster"), needs: "user", why: status === "known-unbound" || status === "insufficient-unbound" || status === "discovering-unbound" || status === "disconnected-unbound" ? null : t("not in this state"), run: () => open({ kind: "bind", hosts: [host] }) });
  else if (cluster) actions.push({ name: t("Unbind from the cluster"), needs: "user", why: draft || cluster.status === "installed" || cluster.status === "cancelled" || cluster.status === "error" ? null : t("not in this state"), run: () => open({ kind: "unbind", hosts: [host] }) });
  if (cluster && isDay2(cluster)) actions.push({ name: t("Reset"), needs: "user", why: ["error", "installing-pending-user-action"].includes(status) ? null : t("nothing to reset"), run: () => open({ kind: "reset", hosts: [host] }) });
  actions.push({ name: t("View events"), run: () => navigate(cluster ? `/clusters/${cluster.id}/events?host=${host.id}` : `/infra-envs/${host.infra_env_id}?events=${host.id}`) });
  actions.push({ name: t("Download logs"), why: isTime(host.logs_collected_at) && cluster ? null : t("none yet"), run: run(() => download(request("V2DownloadClusterLogs", { path: { cluster_id: cluster?.id ?? "" }, query: { logs_type: "host", host_id: host.id } }), `${name(host)}-logs.tar.gz`)) });
  actions.push({ name: t("Remove"), needs: "user", why: draft && isRemovable(host) ? null : t("not in this state"), run: () => open({ kind: "remove", hosts: [host] }) });
  return actions;
}

export function HostDialogs({ dialog, all, clusters, close }: { dialog: HostDialog | null; all: Host[]; clusters: Cluster[]; close: () => void }) {
  if (!dialog) return null;
  const each = (id: "v2ResetHost" | "UnbindHost") => async () => { for (const host of dialog.hosts) await changeHost(() => call(id, { path: at(host) })); };
  const shown = (id: "v2ResetHost" | "UnbindHost") => <AsCall requests={dialog.hosts.map((host) => request(id, { path: at(host) }))} names={dialog.hosts.map(namesOf)} />;
  switch (dialog.kind) {
    case "rename": return <Rename hosts={dialog.hosts} all={all} close={close} />;
    case "remove": return <Remove hosts={dialog.hosts} close={close} />;
    case "bind": return <Bind hosts={dialog.hosts} clusters={clusters} close={close} />;
    case "reset": return <Confirm title={t("Reset the host?")} action={t("Reset")} danger close={close} run={each("v2ResetHost")}><p>{t("Its installation is restarted. The machine may have to boot the discovery image again.")}</p>{shown("v2ResetHost")}</Confirm>;
    case "unbind": return <Confirm title={t("Unbind the host?")} action={t("Unbind")} danger close={close} run={each("UnbindHost")}><p>{t("The host leaves the cluster and goes back to its pool. A machine that was installed has to boot the discovery image again.")}</p>{shown("UnbindHost")}</Confirm>;
  }
}

export { role };
