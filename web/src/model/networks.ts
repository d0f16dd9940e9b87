// The networking form: from a cluster to fields and from fields to what is sent. Pure.
import type { Cluster, V2ClusterUpdateParams } from "../api/types";
import { t } from "../messages";
import { clusterCidr, hostPrefix, overlap, sshKey, vip } from "./rules";
import { address, cidr, network, type Network } from "./ip";

export interface Pair { cidr: string; prefix: string }
export interface NetworkFields {
  managed: "cluster" | "user"; dual: boolean; type: string; machine: string[]; api: string[]; ingress: string[]; dhcp: boolean; advanced: boolean; pods: Pair[]; services: string[]; key: string;
}
export interface Defaults { pods4: Pair[]; podsDual: Pair[]; services4: string[]; servicesDual: string[] }

const family = (text: string | undefined) => network(text ?? "")?.family;
const isDual = (list: Array<string | undefined>) => list.length === 2 && family(list[0]) !== family(list[1]);

export interface Candidate { cidr: string; hosts: number }

/** Networks that hosts have, with the number of hosts in each: most hosts first. */
export function candidates(addresses: string[][]): Candidate[] {
  const counts = new Map<string, number>();
  for (const host of addresses) {
    const nets = host.map(network).filter((net) => net !== null).filter((net) => !isLinkLocal(net));
    for (const net of new Set(nets.map(cidr))) counts.set(net, (counts.get(net) ?? 0) + 1);
  }
  return [...counts].map(([net, hosts]) => ({ cidr: net, hosts })).sort((a, b) => b.hosts - a.hosts || (family(a.cidr) ?? 0) - (family(b.cidr) ?? 0) || a.cidr.localeCompare(b.cidr, undefined, { numeric: true }));
}

const isLinkLocal = (net: Network) => (net.family === 6 ? net.first >> 118n === 0x3fan : net.first >> 16n === 0xa9fen);

export function fields(cluster: Cluster, nets: Candidate[], defaults: Defaults): NetworkFields {
  const machine = (cluster.machine_networks ?? []).map((one) => one.cidr ?? "");
  const pods = (cluster.cluster_networks ?? []).map((one) => ({ cidr: one.cidr ?? "", prefix: String(one.host_prefix ?? "") }));
  const services = (cluster.service_networks ?? []).map((one) => one.cidr ?? "");
  const dual = isDual(machine) || (isDual(pods.map((one) => one.cidr)) && isDual(services));
  const sno = cluster.control_plane_count === 1;
  const first = (nets.find((one) => family(one.cidr) === 4) ?? nets[0])?.cidr;
  const own = defaultsOf(family(machine[0] ?? first), defaults);
  const standard = JSON.stringify([pods, services]) === JSON.stringify([defaults.pods4, defaults.services4]);
  return {
    managed: cluster.user_managed_networking || sno || cluster.platform?.type === "external" || cluster.platform?.type === "none" ? "user" : "cluster", dual, type: cluster.network_type ?? "OVNKubernetes", machine: machine.length ? machine : first ? [first] : [],
    api: (cluster.api_vips ?? []).map((one) => one.ip ?? ""), ingress: (cluster.ingress_vips ?? []).map((one) => one.ip ?? ""), dhcp: cluster.vip_dhcp_allocation === true, advanced: dual || (pods.length > 0 && !standard),
    pods: dual || (pods.length && !standard) ? pods : own.pods, services: dual || (services.length && !standard) ? services : own.services, key: cluster.ssh_public_key ?? "",
  };
}

/** Networks of pods and services for a cluster of one family. */
export function defaultsOf(of: 4 | 6 | undefined, defaults: Defaults): { pods: Pair[]; services: string[] } {
  if (of !== 6) return { pods: defaults.pods4, services: defaults.services4 };
  return { pods: defaults.podsDual.filter((one) => family(one.cidr) === 6), services: defaults.servicesDual.filter((one) => family(one) === 6) };
}

/** Another machine network: those of pods and services follow its family unless they were changed by hand. */
export function withMachine(of: NetworkFields, net: string, nets: Candidate[], defaults: Defaults): NetworkFields {
  if (of.dual) return { ...of, machine: withStack({ ...of, machine: [net] }, true, nets, defaults).machine };
  const followed = JSON.stringify([of.pods, of.services]) === JSON.stringify(Object.values(defaultsOf(family(of.machine[0]), defaults)));
  return { ...of, machine: [net], ...(followed ? defaultsOf(family(net), defaults) : {}) };
}

/** Another stack: networks of the other family come or go. */
export function withStack(of: NetworkFields, dual: boolean, nets: Candidate[], defaults: Defaults): NetworkFields {
  const list = nets.map((one) => one.cidr);
  const [v4, v6] = [list.find((one) => family(one) === 4), list.find((one) => family(one) === 6)];
  if (!dual) {
    const [machine] = [...of.machine.filter((one) => family(one) === 4), ...of.machine];
    const own = (list: string[]) => list.filter((one) => !address(one) || !machine || address(one)?.family === family(machine)).slice(0, 1);
    return { ...of, dual, machine: machine ? [machine] : [], api: own(of.api), ingress: own(of.ingress), ...defaultsOf(family(machine), defaults), advanced: false };
  }
  const first = of.machine[0] ?? v4 ?? "";
  const second = family(first) === 6 ? v4 : v6;
  return { ...of, dual, machine: [first, second ?? ""], pods: defaults.podsDual, services: defaults.servicesDual, advanced: true };
}

/** Since 4.12 either family may come first. */
function needsIpv4First(version: string): boolean {
  const [major, minor] = version.split(".").map(Number);
  return major === 4 && (minor ?? 0) < 12;
}

export function problems(of: NetworkFields, sno: boolean, version = ""): Array<[string, string | null]> {
  const managed = of.managed === "cluster" && !sno;
  const nets = of.machine.filter(Boolean);
  // Of dual stack each pair of addresses belongs to the network at its place.
  const own = (at: number) => (of.dual && nets[at] ? [nets[at]] : nets);
  const vips = managed && !of.dhcp ? of.api.length || of.ingress.length || nets.length ? [0, ...(of.dual && (of.api[1] || of.ingress[1]) ? [1] : [])] : [0] : [];
  return [
    ...vips.flatMap((at): Array<[string, string | null]> => [[apiLabel(at), vip(own(at), of.ingress[at] ?? "")(of.api[at] ?? "")], [ingressLabel(at), vip(own(at), of.api[at] ?? "")(of.ingress[at] ?? "")]]),
    [t("Machine network"), of.dual && managed && !isDual(of.machine) ? t("Dual stack needs one IPv4 and one IPv6 network.") : of.dual && needsIpv4First(version) && family(of.machine[0]) === 6 ? t("Before version 4.12 the first network is IPv4.") : null],
    ...(of.advanced ? of.pods.flatMap((one, at): Array<[string, string | null]> => [[podLabel(at), clusterCidr(one.cidr)], [prefixLabel(at), hostPrefix(one.cidr)(one.prefix)]]) : []),
    ...(of.advanced ? of.services.map((one, at): [string, string | null] => [serviceLabel(at), clusterCidr(one)]) : []),
    [t("Networks"), overlap([...nets.map((one): [string, string] => [t("machine network {net}", { net: one }), one]), ...of.pods.map((one): [string, string] => [t("cluster network {net}", { net: one.cidr }), one.cidr]), ...of.services.map((one): [string, string] => [t("service network {net}", { net: one }), one])])],
    [t("Cluster and service networks"), !of.dual && nets[0] && [...of.pods.map((one) => one.cidr), ...of.services].some((one) => network(one) && family(one) !== family(nets[0])) ? t("They must be of the same address family as the machine network.") : null],
    [t("Network type"), of.type === "OpenShiftSDN" && (of.dual || sno) ? t("OpenShiftSDN supports neither dual stack nor a single node.") : null],
    [t("SSH public key"), sshKey(of.key)],
  ];
}

export const apiLabel = (at: number): string => (at ? t("API address (second)") : t("API address"));
export const ingressLabel = (at: number): string => (at ? t("Ingress address (second)") : t("Ingress address"));
export const podLabel = (at: number): string => (at ? t("Cluster network (second)") : t("Cluster network"));
export const prefixLabel = (at: number): string => (at ? t("Prefix per host (second)") : t("Prefix per host"));
export const serviceLabel = (at: number): string => (at ? t("Service network (second)") : t("Service network"));

/** What is sent. Machine networks of single-stack clusters with addresses of their own follow from the addresses. */
export function body(of: NetworkFields, cluster: Cluster): V2ClusterUpdateParams {
  const sno = cluster.control_plane_count === 1;
  const id = cluster.id;
  const machine = of.machine.filter(Boolean).map((one) => ({ cidr: one, cluster_id: id }));
  const vips = (list: string[]) => list.filter(Boolean).map((ip) => ({ ip, cluster_id: id }));
  return {
    user_managed_networking: of.managed === "user" || sno, network_type: of.type as "OVNKubernetes", ssh_public_key: of.key.trim(),
    cluster_networks: of.pods.map((one) => ({ cidr: one.cidr, host_prefix: Number(one.prefix), cluster_id: id })), service_networks: of.services.map((one) => ({ cidr: one, cluster_id: id })),
    ...(sno ? { machine_networks: machine }
      : of.managed === "user" ? { api_vips: [], ingress_vips: [] }
        : of.dhcp ? { vip_dhcp_allocation: true, machine_networks: machine }
          : { vip_dhcp_allocation: false, api_vips: vips(of.api), ingress_vips: vips(of.ingress), ...(of.dual ? { machine_networks: machine } : {}) }),
  };
}

/** Names that DNS must know. */
export function records(cluster: Cluster, of: NetworkFields): string {
  const domain = `${cluster.name}.${cluster.base_dns_domain}`;
  const line = (name: string, ip: string) => `${name.padEnd(10)}.${domain}.  ${ip.includes(":") ? "AAAA" : "A   "}  ${ip || t("<address of your load balancer>")}`;
  const api = of.managed === "cluster" && of.api[0] ? of.api : [""];
  const ingress = of.managed === "cluster" && of.ingress[0] ? of.ingress : [""];
  return [...api.map((ip) => line("api", ip)), ...(of.managed === "user" ? api.map((ip) => line("api-int", ip)) : []), ...ingress.map((ip) => line("*.apps", ip))].join("\n");
}
