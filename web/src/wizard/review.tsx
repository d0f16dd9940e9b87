// Review: everything that fails with a way to it, a summary, and the button.
import { call, request } from "../api/client";
import { t, plural } from "../messages";
import { bytes, compare, failing, inventory, name, role, storage } from "../model/hosts";
import { needsManifests } from "../model/clusters";
import { network } from "../model/ip";
import { wholeCluster } from "../model/resources";
import { operator } from "../model/operators";
import { navigate } from "../router";
import { changeCluster } from "../store";
import { Icon } from "../ui/icons";
import { Alert, Button, Facts, Link, Problem, useAct, useLoad } from "../ui/parts";
import { ValidationList, summary } from "../ui/validations";
import { AsCall } from "../ui/ascall";
import { infraEnvOf } from "./addhosts";
import { useFeatures } from "./detailsform";
import { Frame, type StepProps } from "./frame";

/** Features that the cluster uses, as the service has noted them. */
function used(cluster: StepProps["cluster"]): Array<{ id: string; name: string }> {
  try {
    return Object.entries(JSON.parse(cluster.feature_usage || "{}") as Record<string, { id?: string }>).map(([name, one]) => ({ id: one.id ?? name, name }));
  } catch {
    return [];
  }
}

const stack = (nets: string[]): string => [...new Set(nets.map((one) => network(one)?.family).filter(Boolean))].map((one) => (one === 6 ? t("IPv6") : t("IPv4"))).join(t(" and ")) || "—";

export default function ReviewStep({ cluster, list }: StepProps) {
  const { busy, problem, act } = useAct();
  const manifests = useLoad(() => call("V2ListClusterManifests", { path: { cluster_id: cluster.id } }), [cluster.id]);
  const at = { path: { cluster_id: cluster.id } };
  const ready = cluster.status === "ready";
  const preparation = cluster["last-installation-preparation"];
  const checks = summary(cluster);
  const troubled = list.filter((host) => failing(host).length > 0).sort((a, b) => compare(name(a), name(b)));
  const cidrs = (items: Array<{ cidr?: string }> | null | undefined) => (items ?? []).map((one) => one.cidr).join(", ");
  const ips = (items: Array<{ ip?: string }> | null | undefined) => (items ?? []).map((one) => one.ip).join(", ");
  const added = (cluster.monitored_operators ?? []).filter((one) => one.operator_type === "olm");
  const total = (pick: (host: (typeof list)[number]) => number) => list.reduce((sum, host) => sum + pick(host), 0);
  const mine = (manifests.value ?? []).filter((one) => one.manifest_source !== "system");
  const lacksManifests = needsManifests(cluster) && manifests.value !== undefined && mine.length === 0;
  const levels = useFeatures(cluster.openshift_version ?? "", cluster.cpu_architecture ?? "x86_64");
  const versions = useLoad(() => call("v2ListSupportedOpenshiftVersions"), []);
  const infraEnv = useLoad(() => infraEnvOf(cluster), [cluster.id]);
  const level = versions.value?.[cluster.openshift_version ?? ""]?.support_level;
  const limited = [...(level && level !== "production" && level !== "maintenance" ? [t("version {version}: {level}", { version: cluster.openshift_version, level })] : []), ...used(cluster).filter((one) => levels && levels[one.id] && levels[one.id] !== "supported").map((one) => `${one.name}: ${levels?.[one.id]}`)];
  const install = <Button class="primary" disabled={!ready || busy || lacksManifests} onClick={() => void act(async () => { await changeCluster(() => call("v2InstallCluster", at)); navigate(`/clusters/${cluster.id}/progress`); })}>{busy && <Icon name="spin" />}{t("Install cluster")}</Button>;
  return (
    <Frame step="review" cluster={cluster} list={list} last={install}>
      <Problem of={problem} />
      {preparation?.status === "failed" && <Alert tone="red" title={t("The last preparation failed")}>{preparation.reason}</Alert>}
      {lacksManifests ? <Alert tone="orange" title={t("Manifests are required")}>{t("This platform or network type does not work without manifests of your own.")} <Link to={`/clusters/${cluster.id}/setup/manifests`}>{t("Add them")}</Link></Alert> : ready ? <Alert tone="green" title={t("Ready to install")}>{t("All checks that are required for the installation have passed.")}</Alert> : <Alert tone="orange" title={t("Not ready yet")}>{checks.failed + checks.pending > 0 ? plural(checks.failed + checks.pending, "{n} cluster check has not passed. It is listed below, with a link to the step that fixes it.", "{n} cluster checks have not passed. They are listed below, with links to the steps that fix them.") : cluster.status_info}</Alert>}
      <section aria-label={t("Cluster checks")}><h3>{t("Cluster checks")}</h3><ValidationList of={cluster} subject="cluster" clusterId={cluster.id} /></section>
      {troubled.length > 0 && <section aria-label={t("Host checks")}><h3>{t("Host checks")}</h3><ul>{troubled.map((host) => <li key={host.id}><Link to={`/clusters/${cluster.id}/hosts?host=${host.id}`}>{name(host)}</Link>: {failing(host).map((one) => one.message).join("; ")}</li>)}</ul></section>}
      <h3>{t("Cluster")}</h3>
      <Facts of={[[t("Address"), `${cluster.name}.${cluster.base_dns_domain}`], [t("Version"), cluster.openshift_version], [t("Architecture"), cluster.cpu_architecture], [t("Platform"), cluster.platform?.type], [t("Disk encryption"), cluster.disk_encryption?.enable_on], [t("Host addresses"), infraEnv.value?.static_network_config ? t("static") : t("DHCP")], [t("Support level"), !levels || !versions.value ? "…" : limited.length ? t("limited: {what}", { what: limited.join("; ") }) : t("full")], [t("Bundles"), (cluster.operator_bundles ?? []).map((one) => one.id).join(", ") || t("none")], [t("Operators"), added.map((one) => operator(one.name ?? "").title).join(", ") || t("none")], [t("Custom manifests"), mine.map((one) => one.file_name).join(", ") || t("none")]]} />
      <h3>{t("Hosts")}</h3>
      <Facts of={[[t("Hosts"), t("{n}: {masters} control plane, {workers} workers", { n: list.length, masters: list.filter((host) => role(host) === "master").length, workers: list.filter((host) => role(host) === "worker").length })], [t("CPU cores"), String(total((host) => inventory(host).cpu?.count ?? 0))], [t("Memory"), bytes(total((host) => inventory(host).memory?.physical_bytes ?? 0), 1024)], [t("Storage"), bytes(total(storage), 1000)]]} />
      <h3>{t("Networking")}</h3>
      <Facts of={[[t("Management"), cluster.user_managed_networking ? t("by you") : t("by the cluster")], [t("Machine networks"), cidrs(cluster.machine_networks)], [t("API address"), ips(cluster.api_vips)], [t("Ingress address"), ips(cluster.ingress_vips)], [t("Cluster networks"), cidrs(cluster.cluster_networks)], [t("Service networks"), cidrs(cluster.service_networks)], [t("Prefix per host"), (cluster.cluster_networks ?? []).map((one) => `/${one.host_prefix}`).join(", ")], [t("IP stack"), stack((cluster.machine_networks ?? []).map((one) => one.cidr ?? ""))], [t("Network type"), cluster.network_type]]} />
      <AsCall requests={[request("v2InstallCluster", at)]} names={{ cluster: cluster.name }} whole={() => wholeCluster({ ...cluster }, infraEnv.value ? { ...infraEnv.value } : null)} />
    </Frame>
  );
}
