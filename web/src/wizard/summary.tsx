// What a cluster consists of: in the review before it is installed, and beside the progress afterwards.
import type { Cluster, Host, InfraEnv, Manifest } from "../api/types";
import { call } from "../api/client";
import { t } from "../messages";
import { bytes, inventory, role, storage } from "../model/hosts";
import { network } from "../model/ip";
import { operator } from "../model/operators";
import { Facts, useLoad } from "../ui/parts";
import { infraEnvOf } from "./addhosts";
import { useFeatures } from "./detailsform";

/** What the summary asks for beside the cluster itself. Undefined until it has been answered. */
export interface Around { manifests: Manifest[] | undefined; infraEnv: InfraEnv | null | undefined; limits: string[] | undefined }

/** Features that the cluster uses, as the service has noted them. */
function used(cluster: Cluster): Array<{ id: string; name: string }> {
  try {
    return Object.entries(JSON.parse(cluster.feature_usage || "{}") as Record<string, { id?: string }>).map(([name, one]) => ({ id: one.id ?? name, name }));
  } catch {
    return [];
  }
}

/** Why the support level of a cluster is limited. */
function limitsOf(cluster: Cluster, levels: Record<string, string>, support: string | undefined): string[] {
  const version = support && support !== "production" && support !== "maintenance" ? [t("version {version}: {level}", { version: cluster.openshift_version, level: support })] : [];
  return [...version, ...used(cluster).filter((one) => levels[one.id] && levels[one.id] !== "supported").map((one) => `${one.name}: ${levels[one.id]}`)];
}

export function useAround(cluster: Cluster): Around {
  const manifests = useLoad(() => call("V2ListClusterManifests", { path: { cluster_id: cluster.id } }), [cluster.id]);
  const levels = useFeatures(cluster.openshift_version ?? "", cluster.cpu_architecture ?? "x86_64");
  const versions = useLoad(() => call("v2ListSupportedOpenshiftVersions"), []);
  const infraEnv = useLoad(() => infraEnvOf(cluster), [cluster.id]);
  return {
    manifests: manifests.value === undefined ? undefined : (manifests.value ?? []).filter((one) => one.manifest_source !== "system"),
    infraEnv: infraEnv.value,
    limits: levels && versions.value ? limitsOf(cluster, levels, versions.value[cluster.openshift_version ?? ""]?.support_level) : undefined,
  };
}

const stack = (nets: string[]): string => [...new Set(nets.map((one) => network(one)?.family).filter(Boolean))].map((one) => (one === 6 ? t("IPv6") : t("IPv4"))).join(t(" and ")) || "—";

export function SummaryFacts({ cluster, list, around }: { cluster: Cluster; list: Host[]; around: Around }) {
  const cidrs = (items: Array<{ cidr?: string }> | null | undefined) => (items ?? []).map((one) => one.cidr).join(", ");
  const ips = (items: Array<{ ip?: string }> | null | undefined) => (items ?? []).map((one) => one.ip).join(", ");
  const added = (cluster.monitored_operators ?? []).filter((one) => one.operator_type === "olm");
  const total = (pick: (host: Host) => number) => list.reduce((sum, host) => sum + pick(host), 0);
  const { manifests, infraEnv, limits } = around;
  return (
    <>
      <h3>{t("Cluster")}</h3>
      <Facts of={[[t("Address"), `${cluster.name}.${cluster.base_dns_domain}`], [t("Version"), cluster.openshift_version], [t("Architecture"), cluster.cpu_architecture], [t("Platform"), cluster.platform?.type], [t("Disk encryption"), cluster.disk_encryption?.enable_on], [t("Host addresses"), infraEnv?.static_network_config ? t("static") : t("DHCP")], [t("Support level"), !limits ? "…" : limits.length ? t("limited: {what}", { what: limits.join("; ") }) : t("full")], [t("Bundles"), (cluster.operator_bundles ?? []).map((one) => one.id).join(", ") || t("none")], [t("Operators"), added.map((one) => operator(one.name ?? "").title).join(", ") || t("none")], [t("Custom manifests"), (manifests ?? []).map((one) => one.file_name).join(", ") || t("none")]]} />
      <h3>{t("Hosts")}</h3>
      <Facts of={[[t("Hosts"), t("{n}: {masters} control plane, {workers} workers", { n: list.length, masters: list.filter((host) => role(host) === "master").length, workers: list.filter((host) => role(host) === "worker").length })], [t("CPU cores"), String(total((host) => inventory(host).cpu?.count ?? 0))], [t("Memory"), bytes(total((host) => inventory(host).memory?.physical_bytes ?? 0), 1024)], [t("Storage"), bytes(total(storage), 1000)]]} />
      <h3>{t("Networking")}</h3>
      <Facts of={[[t("Management"), cluster.user_managed_networking ? t("by you") : t("by the cluster")], [t("Machine networks"), cidrs(cluster.machine_networks)], [t("API address"), ips(cluster.api_vips)], [t("Ingress address"), ips(cluster.ingress_vips)], [t("Cluster networks"), cidrs(cluster.cluster_networks)], [t("Service networks"), cidrs(cluster.service_networks)], [t("Prefix per host"), (cluster.cluster_networks ?? []).map((one) => `/${one.host_prefix}`).join(", ")], [t("IP stack"), stack((cluster.machine_networks ?? []).map((one) => one.cidr ?? ""))], [t("Network type"), cluster.network_type]]} />
    </>
  );
}

/** On a page that asks for nothing else of it. */
export default function Summary({ cluster, list }: { cluster: Cluster; list: Host[] }) {
  return <SummaryFacts cluster={cluster} list={list} around={useAround(cluster)} />;
}
