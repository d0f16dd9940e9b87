// The table of hosts: columns by place, sorting, filter, selection, one expanded row with an address.
import { memo } from "./memo";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Cluster, Host } from "../api/types";
import { t, plural } from "../messages";
import { activeNic, bytes, compare, failing, hostStatus, inventory, isEditable, isRemovable, name, role, SOFT, storage } from "../model/hosts";
import { isDay2, isDraft, isSno, runsWorkloads, shortTime } from "../model/clusters";
import { navigate, query, withQuery } from "../router";
import { roleRefusal } from "../session";
import { hosts as stored } from "../store";
import { HostDetails } from "./hostdetails";
import { HostDialogs, hostActions, patchHost, roleName, shownRole, type HostDialog } from "./hostactions";
import { Icon } from "./icons";
import { asError, Label, Menu, Problem, Progress, type Children } from "./parts";
import { Rows, WHOLE } from "./rows";

export type View = "hardware" | "storage" | "network" | "progress" | "pool";
interface Column { /** In the address. */ id: string; /** Left out on narrow screens: the expanded row has it. */ wide?: boolean; name: string; cell: (host: Host, cluster?: Cluster) => Children; key: (host: Host, cluster?: Cluster) => string | number }


const failed = (host: Host, id: string) => failing(host).find((one) => one.id === id);
const marked = (host: Host, id: string, text: string) => { const bad = failed(host, id); return bad ? <span><span class="label red"><Icon name="fail" />{text}</span><span class="vh">: {bad.message}</span></span> : text; };

/** Without the lengths of their prefixes, which the expanded row has. */
const addresses = (list: string[] | undefined): string => (list ?? []).map((one) => one.split("/")[0]).join(", ") || "—";

/** Control plane nodes hold no data of Data Foundation unless there are no other hosts. */
const servesOdf = (host: Host) => role(host) !== "master" || [...stored.value.values()].filter((one) => one.cluster_id === host.cluster_id && one.status !== "disabled").length <= 3;

function columns(view: View, odf: boolean): Column[] {
  const cpu: Column = { id: "cores", wide: true, name: t("CPU cores"), cell: (host) => marked(host, "has-cpu-cores-for-role", String(inventory(host).cpu?.count ?? "—")), key: (host) => inventory(host).cpu?.count ?? 0 };
  const memory: Column = { id: "memory", wide: true, name: t("Memory"), cell: (host) => marked(host, "has-memory-for-role", inventory(host).memory ? bytes(inventory(host).memory?.physical_bytes, 1024) : "—"), key: (host) => inventory(host).memory?.physical_bytes ?? 0 };
  const total: Column = { id: "storage", wide: true, name: t("Storage"), cell: (host) => marked(host, "has-min-valid-disks", storage(host) ? bytes(storage(host), 1000) : "—"), key: storage };
  const discovered: Column = { id: "discovered", wide: true, name: t("Discovered"), cell: (host) => <span class="nowrap">{shortTime(host.created_at)}</span>, key: (host) => host.created_at ?? "" };
  const nic = (host: Host, cluster?: Cluster) => activeNic(host, cluster?.machine_networks?.[0]?.cidr);
  switch (view) {
    case "storage": return [total, { id: "disks", name: t("Disks"), cell: (host) => inventory(host).disks?.length ?? 0, key: (host) => inventory(host).disks?.length ?? 0 }, { id: "target", name: t("Installation disk"), cell: (host) => host.installation_disk_path ?? "—", key: (host) => host.installation_disk_path ?? "" },
      ...(odf ? [{ id: "odf", name: t("Data Foundation"), cell: (host: Host) => (servesOdf(host) ? t("uses its disks") : t("not used")), key: (host: Host) => String(servesOdf(host)) }] : [])];
    case "network": return [
      { id: "nic", wide: true, name: t("Active NIC"), cell: (host, cluster) => { const found = nic(host, cluster); return found ? <>{found.name}<div class="small"><code>{found.mac}</code></div></> : "—"; }, key: (host, cluster) => nic(host, cluster)?.name ?? "" },
      { id: "ipv4", wide: true, name: t("IPv4"), cell: (host, cluster) => addresses(nic(host, cluster)?.v4), key: (host, cluster) => nic(host, cluster)?.v4[0] ?? "" },
      { id: "ipv6", wide: true, name: t("IPv6"), cell: (host, cluster) => addresses(nic(host, cluster)?.v6), key: (host, cluster) => nic(host, cluster)?.v6[0] ?? "" }];
    case "progress": return [cpu, memory, total];
    default: return [discovered, cpu, memory, total];
  }
}

/** Everything of a host that can be searched. */
const searched = (host: Host) => [name(host), role(host), host.status, host.id, inventory(host).system_vendor?.serial_number, inventory(host).bmc_address, ...(inventory(host).interfaces ?? []).flatMap((one) => [one.mac_address, ...(one.ipv4_addresses ?? []), ...(one.ipv6_addresses ?? [])])].join(" ").toLowerCase();

function Status({ host, open }: { host: Host; open: () => void }) {
  const shown = hostStatus(host);
  const percent = host.progress?.installation_percentage ?? 0;
  const running = ["installing", "installing-in-progress", "installing-pending-user-action"].includes(host.status ?? "");
  const bad = failing(host).filter((one) => !SOFT.includes(one.id)).length;
  const soft = failing(host).length - bad;
  return (
    <div>
      <button type="button" class={`label ${shown.tone}`} onClick={open}><Icon name={shown.icon} />{shown.text}{bad > 0 && isEditable(host) && <> · {plural(bad, "{n} problem", "{n} problems")}</>}</button>
      {bad === 0 && soft > 0 && isEditable(host) && <div class="small muted">{plural(soft, "{n} warning", "{n} warnings")}</div>}
      {running && <><div class="small muted">{host.progress?.current_stage}{host.progress?.progress_info ? ` (${host.progress.progress_info})` : ""}{host.progress?.stage_timed_out ? <> · <Icon name="clock" /> {t("takes longer than usual")}</> : null}</div><Progress thin value={percent} label={t("Installation of {name}", { name: name(host) })} /></>}
    </div>
  );
}

interface RowProps { index: number; host: Host; cluster: Cluster | undefined; view: View; list: Column[]; expanded: boolean; selected: boolean; selectable: boolean; toggle: (id: string) => void; select: (id: string, on: boolean) => void; open: (dialog: HostDialog) => void; report: (problem: Error) => void }

const Row = memo(function Row({ index, host, cluster, view, list, expanded, selected, selectable, toggle, select, open, report }: RowProps) {
  const before = useRef(host.status);
  const changed = before.current !== host.status;
  before.current = host.status;
  const editable = isEditable(host) && (!cluster || isDraft(cluster) || isDay2(cluster)) && !roleRefusal("user");
  const roles = ["auto-assign", "master", "worker", ...(cluster?.control_plane_count === 2 ? ["arbiter"] : [])];
  return (
    <>
      <tr class={`click${changed ? " changed" : ""}`} data-host={name(host)} aria-rowindex={index + 2}>
        {selectable && <td class="tight"><input type="checkbox" aria-label={t("Select {name}", { name: name(host) })} checked={selected} onChange={(event) => select(host.id, event.currentTarget.checked)} /></td>}
        <td class="tight"><button type="button" class="plain" aria-expanded={expanded} aria-label={t("Details of {name}", { name: name(host) })} onClick={() => toggle(host.id)}><Icon name={expanded ? "down" : "right"} /></button></td>
        <td>{editable ? <button type="button" class="link" aria-label={t("Change hostname {name}", { name: name(host) })} onClick={() => open({ kind: "rename", hosts: [host] })}>{name(host)}</button> : name(host)}{host.bootstrap && <span class="small muted"> {t("(bootstrap)")}</span>}</td>
        <td class="wide-only">{editable && view !== "storage" && cluster && !isSno(cluster) && !isDay2(cluster)
          ? <select aria-label={t("Role of {name}", { name: name(host) })} value={host.role} onChange={(event) => void patchHost(host, { host_role: event.currentTarget.value }).catch((bad: unknown) => report(asError(bad)))}>{roles.map((one) => <option key={one} value={one} selected={one === host.role}>{one === "auto-assign" && host.suggested_role && host.suggested_role !== "auto-assign" ? t("Auto: {role}", { role: roleName(host.suggested_role) }) : roleName(one)}</option>)}</select>
          : shownRole(host, cluster)}</td>
        <td><Status host={host} open={() => toggle(host.id)} /></td>
        {list.map((column) => <td key={column.name} class={column.wide ? "wide-only" : undefined}>{column.cell(host, cluster)}</td>)}
        <td class="tight right stick"><Menu kebab label={t("Actions of {name}", { name: name(host) })} actions={() => hostActions(host, cluster, open, report)} /></td>
      </tr>
      {expanded && <tr class="more"><td colSpan={list.length + 5 + (selectable ? 1 : 0)}><HostDetails host={host} cluster={cluster} only={view === "storage" ? "disks" : view === "network" ? "network" : undefined} /></td></tr>}
    </>
  );
});

/** Says what has become of hosts to those who do not see the rows change. */
function Announced({ hosts }: { hosts: Host[] }) {
  const before = useRef<Map<string, string> | null>(null);
  const [text, setText] = useState("");
  useEffect(() => {
    const known = before.current;
    before.current = new Map(hosts.map((host) => [host.id, host.status ?? ""]));
    const changed = known ? hosts.filter((host) => known.get(host.id) !== host.status) : [];
    if (changed.length) setText(changed.length > 3 ? t("{n} hosts have changed.", { n: changed.length }) : changed.map((host) => t("{name}: {status}.", { name: name(host), status: hostStatus(host).text })).join(" "));
  }, [hosts]);
  return <div class="vh" role="status">{text}</div>;
}

/** The cluster as rows need it: the same object until something that they show has changed. */
function useSettled(cluster: Cluster | undefined): Cluster | undefined {
  return useMemo(() => cluster, [cluster?.id, cluster?.status, cluster?.kind, cluster?.control_plane_count, runsWorkloads(cluster), JSON.stringify(cluster?.machine_networks)]);
}

export function HostTable({ hosts, cluster: of, view, clusters = [], empty }: { hosts: Host[]; cluster?: Cluster | undefined; view: View; clusters?: Cluster[]; empty: Children }) {
  const cluster = useSettled(of);
  // Filter and order are in the address, as everything that is shown.
  const order = query.value.get("sort") ?? "hostname";
  const sort = useMemo(() => ({ by: order.replace(/^-/, ""), down: order.startsWith("-") }), [order]);
  const filter = query.value.get("q") ?? "";
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const [dialog, setDialog] = useState<HostDialog | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const odf = (of?.monitored_operators ?? []).some((one) => one.name === "odf");
  const list = useMemo(() => columns(view, odf), [view, odf]);
  const expanded = query.value.get("host");
  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = hosts.filter((host) => words.every((word) => searched(host).includes(word)));
    const key = (host: Host): string | number => sort.by === "hostname" ? name(host) : sort.by === "role" ? role(host) : sort.by === "status" ? hostStatus(host).text : list.find((one) => one.id === sort.by)?.key(host, cluster) ?? "";
    const byKey = (a: Host, b: Host) => { const [x, y] = [key(a), key(b)]; return typeof x === "number" && typeof y === "number" ? x - y : compare(String(x), String(y)); };
    return kept.sort((a, b) => (sort.down ? byKey(b, a) : byKey(a, b)) || compare(name(a), name(b)));
  }, [hosts, filter, sort, list, cluster]);
  const stable = useRef({
    toggle: (id: string) => navigate(withQuery({ host: new URLSearchParams(location.search).get("host") === id ? null : id }), "replace"),
    select: (id: string, on: boolean) => setSelected((old) => { const next = new Set(old); if (on) next.add(id); else next.delete(id); return next; }),
    open: setDialog, report: setProblem,
  }).current;
  if (hosts.length === 0) return <>{empty}</>;
  const at = expanded ? shown.findIndex((host) => host.id === expanded) : -1;
  const selectable = view !== "storage" && view !== "progress";
  const chosen = hosts.filter((host) => selected.has(host.id));
  const open = (kind: HostDialog["kind"]) => () => setDialog({ kind, hosts: chosen });
  const each = (work: (host: Host) => Promise<unknown>) => () => void (async () => { for (const host of chosen) await work(host); })().catch((bad: unknown) => setProblem(asError(bad)));
  const editable = chosen.length > 0 && chosen.every(isEditable) ? null : chosen.length ? t("not in this state") : t("select hosts first");
  const header = (by: string, text: string, wide = false) => (
    <th key={by} class={wide ? "wide-only" : undefined} aria-sort={sort.by === by ? (sort.down ? "descending" : "ascending") : undefined}><button type="button" class="sort" onClick={() => navigate(withQuery({ sort: sort.by === by && !sort.down ? `-${by}` : by === "hostname" ? null : by }), "replace")}>{text}{sort.by === by && <Icon name={sort.down ? "down" : "up"} />}</button></th>
  );
  return (
    <div class="stack">
      <Problem of={problem} close={() => setProblem(null)} />
      <div class="row">
        <div class="field"><input type="search" aria-label={t("Filter hosts")} placeholder={t("Name, address, serial, status …")} value={filter} onInput={(event) => navigate(withQuery({ q: event.currentTarget.value }), "replace")} /></div>
        {selectable && <Menu label={chosen.length ? plural(chosen.length, "{n} selected", "{n} selected") : t("Bulk actions")} actions={[
          { name: t("Rename by pattern"), needs: "user" as const, why: editable, run: open("rename") },
          ...(cluster && !isSno(cluster) ? (["master", "worker", "auto-assign"] as const).map((to) => ({ name: t("Role: {role}", { role: roleName(to) }), needs: "user" as const, why: editable, run: each((host) => patchHost(host, { host_role: to })) })) : []),
          ...(view === "pool" ? [{ name: t("Bind to a cluster"), needs: "user" as const, why: editable, run: open("bind") }] : []),
          { name: t("Remove"), needs: "user" as const, why: chosen.length > 0 && chosen.every(isRemovable) ? null : editable, run: open("remove") },
        ]} />}
        <span class="grow" />
        <Label>{shown.length === hosts.length ? plural(hosts.length, "{n} host", "{n} hosts") : t("{shown} of {n} hosts", { shown: shown.length, n: hosts.length })}</Label>
      </div>
      <div class="tablewrap">
        <table class="middle" aria-rowcount={shown.length > WHOLE ? shown.length + 1 : undefined}>
          <caption class="vh">{t("Hosts")}</caption>
          <thead><tr>
            {selectable && <th class="tight"><input type="checkbox" aria-label={t("Select all")} checked={chosen.length > 0 && chosen.length === shown.length} onChange={(event) => setSelected(event.currentTarget.checked ? new Set(shown.map((host) => host.id)) : new Set())} /></th>}
            <th class="tight"><span class="vh">{t("Details")}</span></th>{header("hostname", t("Hostname"))}{header("role", t("Role"), true)}{header("status", t("Status"))}{list.map((column) => header(column.id, column.name, column.wide))}<th class="tight stick"><span class="vh">{t("Actions")}</span></th>
          </tr></thead>
          <Rows count={shown.length} columns={list.length + 5 + (selectable ? 1 : 0)} keep={at < 0 ? undefined : at} row={(index) => { const host = shown[index]; return host && <Row key={host.id} index={index} host={host} cluster={cluster} view={view} list={list} expanded={expanded === host.id} selected={selected.has(host.id)} selectable={selectable} {...stable} />; }} />
        </table>
      </div>
      <Announced hosts={hosts} />
      <HostDialogs dialog={dialog} all={hosts} clusters={clusters} close={() => setDialog(null)} />
    </div>
  );
}
