// Hosts by network, and the links between them as the hosts themselves measured them. The table below
// says the same in words.
import type { Host } from "../api/types";
import { t } from "../messages";
import { activeNic, compare, connectivity, failing, name, nics } from "../model/hosts";
import { address, cidr, contains, network } from "../model/ip";
import { links, type HostLink } from "../model/links";
import { Alert, Empty, Label, Link } from "../ui/parts";
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
      {hosts.length <= DRAWN && <div class="card mapwrap"><Drawing hosts={hosts} all={all} machine={nets} clusterId={cluster.id} vips={[[t("API"), cluster.api_vips?.[0]?.ip], [t("Ingress"), cluster.ingress_vips?.[0]?.ip]]} names={names} /></div>}
      <section class="card"><h2>{t("Links")}</h2>
        <div class="tablewrap"><table class="nowrap"><caption class="vh">{t("Links")}</caption><thead><tr><th>{t("From")}</th><th>{t("To")}</th><th>{t("State")}</th><th>{t("Time")}</th><th>{t("Loss")}</th><th>{t("Failing addresses")}</th></tr></thead>
          <tbody>{[...bad, ...all.filter((one) => one.state === "good")].slice(0, 400).map((one) => <tr key={`${one.from}${one.to}`}><td>{names.get(one.from)}</td><td>{names.get(one.to)}</td><td><Label tone={one.state === "good" ? "green" : one.state === "slow" ? "orange" : "red"}>{one.state === "good" ? t("works") : one.state === "slow" ? t("slow or lossy") : t("no connection")}</Label></td><td>{one.rtt === null ? "—" : t("{n} ms", { n: Number(one.rtt.toFixed(2)) })}</td><td>{one.loss === null ? "—" : `${one.loss} %`}</td><td>{one.failed.join(", ") || "—"}</td></tr>)}</tbody></table></div>
      </section>
    </div>
  );
}

/** The network that a host is drawn in: the machine network if it has an address there, else its first one. */
function networkOf(host: Host, machine: string[]): string {
  const own = nics(host).flatMap((nic) => [...nic.v4, ...nic.v6]);
  const inside = machine.find((one) => { const net = network(one); return net && own.some((text) => { const ip = address(text.split("/")[0] ?? ""); return ip && contains(net, ip); }); });
  const [first] = own.map(network).filter((one) => one !== null);
  return inside ?? (first ? cidr(first) : "");
}

const WIDTH = 900;
const BOX = { width: 160, height: 44 };

interface Group { net: string; hosts: Host[]; x: number; width: number }

/** Networks side by side, each as wide as its share of the hosts. */
function groups(hosts: Host[], machine: string[]): Group[] {
  const byNet = new Map<string, Host[]>();
  for (const host of hosts) { const net = networkOf(host, machine); byNet.set(net, [...(byNet.get(net) ?? []), host]); }
  const gap = 8;
  const least = BOX.width + 40;
  const free = WIDTH - gap - byNet.size * (least + gap);
  let x = gap;
  return [...byNet].map(([net, list]) => { const width = least + Math.max(0, free) * (list.length / hosts.length); const at = x; x += width + gap; return { net, hosts: list, x: at, width }; });
}

/** In a circle where there is room, else in a column. */
function places({ hosts, x, width }: Group, height: number): Array<[string, { x: number; y: number }]> {
  const [cx, cy] = [x + width / 2, height / 2 + 14];
  const [rx, ry] = [width / 2 - BOX.width / 2 - 40, height / 2 - 70];
  const round = rx >= BOX.width && hosts.length > 2;
  return hosts.map((host, index) => {
    const angle = (2 * Math.PI * index) / hosts.length - Math.PI / 2;
    return [host.id, round ? { x: cx + rx * Math.cos(angle), y: cy + ry * Math.sin(angle) } : { x: cx, y: cy + (index - (hosts.length - 1) / 2) * (BOX.height + 22) }];
  });
}

const NETWORK_CHECKS = /majority|latency|packet-loss|belongs-to-machine|default-route|collisions/;

function Drawing({ hosts, all, machine, vips, names, clusterId }: { hosts: Host[]; all: HostLink[]; machine: string[]; vips: Array<[string, string | undefined]>; names: Map<string, string>; clusterId: string }) {
  const boxes = groups(hosts, machine);
  const tallest = Math.max(...boxes.map((one) => (one.width / 2 - BOX.width / 2 - 40 >= BOX.width ? 0 : one.hosts.length)));
  const height = Math.max(380, Math.min(640, 200 + hosts.length * 22), 100 + tallest * (BOX.height + 22));
  const at = new Map(boxes.flatMap((one) => places(one, height)));
  // Bad links last, so that they are on top.
  const drawn = [...all].sort((a, b) => (a.state === "good" ? 0 : 1) - (b.state === "good" ? 0 : 1));
  const summary = t("Map of {n} hosts; {bad} of {all} links have problems.", { n: hosts.length, bad: all.filter((one) => one.state !== "good").length, all: all.length });
  return (
    <svg class="map" viewBox={`0 0 ${WIDTH} ${height}`} role="group" aria-label={summary}>
      {boxes.map((one) => <g key={one.net}><rect class="net" x={one.x} y="4" width={one.width} height={height - 8} rx="14" /><text x={one.x + 14} y="28">{one.net || t("no network")}</text><text class="sub" x={one.x + 14} y="45">{machine.includes(one.net) ? t("machine network") : machine.length ? t("not in the machine network") : t("no machine network is chosen yet")}</text></g>)}
      {vips.map(([title, ip], index) => ip && <g key={title}><rect class="vip" x={WIDTH - 200} y={16 + index * 34} width="178" height="28" rx="14" /><text x={WIDTH - 188} y={35 + index * 34}>{`${title} ${ip}`}</text></g>)}
      {drawn.map((one) => { const [a, b] = [at.get(one.from), at.get(one.to)]; return a && b && <line key={`${one.from}${one.to}`} class={`link ${one.state === "good" ? "" : one.state}`} x1={a.x} y1={a.y} x2={b.x} y2={b.y}><title>{`${names.get(one.from)} → ${names.get(one.to)}: ${one.failed.join(", ") || (one.rtt === null ? "" : `${one.rtt} ms`)}`}</title></line>; })}
      {hosts.map((host) => { const p = at.get(host.id) ?? { x: 0, y: 0 }; const nic = activeNic(host, machine[0]); return (
        <Link key={host.id} to={`/clusters/${clusterId}/hosts?host=${host.id}`}><rect class={`host ${failing(host).some((one) => one.status === "failure" && NETWORK_CHECKS.test(one.id)) ? "bad" : ""}`} x={p.x - BOX.width / 2} y={p.y - BOX.height / 2} width={BOX.width} height={BOX.height} rx="8" /><text x={p.x} y={p.y - 3} text-anchor="middle">{name(host).slice(0, 22)}</text><text class="sub" x={p.x} y={p.y + 13} text-anchor="middle">{nic?.v4[0] ?? nic?.v6[0] ?? t("no address")}</text></Link>
      ); })}
    </svg>
  );
}
