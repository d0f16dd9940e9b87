// Hosts by network, and the links between them as the hosts themselves measured them. The table below
// says the same in words.
import type { Host } from "../api/types";
import { t } from "../messages";
import { activeNic, compare, connectivity, failing, name } from "../model/hosts";
import { links, type HostLink } from "../model/links";
import { Alert, Empty, Label } from "../ui/parts";
import type { TabProps } from "./cluster";

const DRAWN = 40;

export default function NetworkMap({ cluster, list }: TabProps) {
  if (list.length === 0) return <div class="card"><Empty title={t("No hosts yet")} /></div>;
  const hosts = [...list].sort((a, b) => compare(name(a), name(b)));
  const all = links(hosts.map((host) => ({ id: host.id, remotes: connectivity(host) })));
  const bad = all.filter((one) => one.state !== "good");
  const names = new Map(hosts.map((host) => [host.id, name(host)]));
  const nets = cluster.machine_networks?.map((one) => one.cidr ?? "") ?? [];
  return (
    <div class="stack">
      {bad.length > 0 ? <Alert tone={bad.some((one) => one.state === "bad") ? "red" : "orange"} title={t("{n} of {all} links have problems", { n: bad.length, all: all.length })}>{t("Red: no connection. Orange: slow or losing packets. The table names addresses and figures.")}</Alert>
        : all.length > 0 ? <Alert tone="green">{t("All {n} measured links between hosts work.", { n: all.length })}</Alert> : <Alert>{t("The hosts have not measured their links yet.")}</Alert>}
      {hosts.length <= DRAWN && <div class="card"><Drawing hosts={hosts} all={all} net={nets[0]} vips={[[t("API"), cluster.api_vips?.[0]?.ip], [t("Ingress"), cluster.ingress_vips?.[0]?.ip]]} names={names} /></div>}
      <section class="card"><h2>{t("Links")}</h2>
        <div class="tablewrap"><table><caption class="vh">{t("Links")}</caption><thead><tr><th>{t("From")}</th><th>{t("To")}</th><th>{t("State")}</th><th>{t("Time")}</th><th>{t("Loss")}</th><th>{t("Failing addresses")}</th></tr></thead>
          <tbody>{[...bad, ...all.filter((one) => one.state === "good")].slice(0, 400).map((one) => <tr key={`${one.from}${one.to}`}><td>{names.get(one.from)}</td><td>{names.get(one.to)}</td><td><Label tone={one.state === "good" ? "green" : one.state === "slow" ? "orange" : "red"}>{one.state === "good" ? t("works") : one.state === "slow" ? t("slow or lossy") : t("no connection")}</Label></td><td>{one.rtt === null ? "—" : t("{n} ms", { n: Number(one.rtt.toFixed(2)) })}</td><td>{one.loss === null ? "—" : `${one.loss} %`}</td><td>{one.failed.join(", ") || "—"}</td></tr>)}</tbody></table></div>
      </section>
    </div>
  );
}

function Drawing({ hosts, all, net, vips, names }: { hosts: Host[]; all: HostLink[]; net: string | undefined; vips: Array<[string, string | undefined]>; names: Map<string, string> }) {
  const width = 900;
  const height = Math.max(380, Math.min(640, 200 + hosts.length * 22));
  const [cx, cy, rx, ry] = [width / 2, height / 2 + 8, width / 2 - 130, height / 2 - 62];
  const place = (index: number) => { const angle = (2 * Math.PI * index) / hosts.length - Math.PI / 2; return { x: cx + rx * Math.cos(angle), y: cy + ry * Math.sin(angle) }; };
  const at = new Map(hosts.map((host, index) => [host.id, place(index)]));
  // Bad links last, so that they are on top.
  const drawn = [...all].sort((a, b) => (a.state === "good" ? 0 : 1) - (b.state === "good" ? 0 : 1));
  const summary = t("Map of {n} hosts; {bad} of {all} links have problems.", { n: hosts.length, bad: all.filter((one) => one.state !== "good").length, all: all.length });
  return (
    <svg class="map" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={summary}>
      <rect class="net" x="4" y="4" width={width - 8} height={height - 8} rx="14" />
      <text x="20" y="28">{net ?? t("no machine network yet")}</text>
      {vips.map(([title, ip], index) => ip && <g key={title}><rect class="vip" x={width - 190} y={16 + index * 34} width="172" height="28" rx="14" /><text x={width - 178} y={35 + index * 34}>{`${title} ${ip}`}</text></g>)}
      {drawn.map((one) => { const [a, b] = [at.get(one.from), at.get(one.to)]; return a && b && <line key={`${one.from}${one.to}`} class={`link ${one.state === "good" ? "" : one.state}`} x1={a.x} y1={a.y} x2={b.x} y2={b.y}><title>{`${names.get(one.from)} → ${names.get(one.to)}: ${one.failed.join(", ") || (one.rtt === null ? "" : `${one.rtt} ms`)}`}</title></line>; })}
      {hosts.map((host) => { const p = at.get(host.id) ?? { x: 0, y: 0 }; const nic = activeNic(host, net); return (
        <g key={host.id}><rect class={`host ${failing(host).some((one) => one.status === "failure" && /majority|latency|packet-loss|belongs-to-machine|default-route|collisions/.test(one.id)) ? "bad" : ""}`} x={p.x - 80} y={p.y - 22} width="160" height="44" rx="8" /><text x={p.x} y={p.y - 3} text-anchor="middle">{name(host).slice(0, 22)}</text><text class="sub" x={p.x} y={p.y + 13} text-anchor="middle">{nic?.v4[0] ?? nic?.v6[0] ?? t("no address")}</text></g>
      ); })}
    </svg>
  );
}
