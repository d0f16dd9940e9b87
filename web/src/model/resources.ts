// The custom resources that a request stands for. Pure. Fields that a request sets and the resources do not
// have are named in a comment, so that nothing is lost without a word.
import type { Request } from "../api/client";
import { t } from "../messages";
import { masked, namesAt, type Names } from "./commands";

export type Tree = { [key: string]: unknown };
/** A resource, and fields of the request that no resource has. */
interface Made { resources: Tree[]; without: string[] }

const HIVE = "hive.openshift.io/v1";
const INSTALL = "extensions.hive.openshift.io/v1beta1";
const AGENT = "agent-install.openshift.io/v1beta1";
const PLATFORMS: Record<string, string> = { baremetal: "BareMetal", none: "None", vsphere: "VSphere", nutanix: "Nutanix", external: "External" };
/** Names of NMStateConfigs and of what selects them. */
const NETWORKS_OF = "muster/networks-of";

const scalar = (value: unknown): string => (typeof value === "string" && /^[A-Za-z][\w./-]*$/.test(value) && !/^(y|n|yes|no|on|off|true|false|null)$/i.test(value) ? value : JSON.stringify(value ?? null));
const isTree = (value: unknown): value is object => typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** Block style; text of several lines as it is. */
export function yaml(value: unknown, indent = ""): string {
  if (Array.isArray(value)) return value.map((one) => (isTree(one) ? `${indent}- ${yaml(one, `${indent}  `).trimStart()}` : `${indent}- ${scalar(one)}\n`)).join("");
  return Object.entries(value as Tree).filter(([, one]) => one !== undefined).map(([key, one]) => {
    const name = indent + scalar(key).replace(/^"([\w./-]+)"$/, "$1");
    if (typeof one === "string" && one.includes("\n") && !/^\s/.test(one)) return `${name}: |${one.endsWith("\n") ? "" : "-"}\n${one.replace(/\n$/, "").split("\n").map((line) => (line ? `${indent}  ${line}` : "")).join("\n")}\n`;
    if (!isTree(one)) return `${name}: ${Array.isArray(one) ? "[]" : typeof one === "object" && one !== null ? "{}" : scalar(one)}\n`;
    return `${name}:\n${yaml(one, Array.isArray(one) ? `${indent}` : `${indent}  `)}`;
  }).join("");
}

const some = (of: Tree): Tree | undefined => (Object.values(of).some((one) => one !== undefined) ? of : undefined);
const words = (text: unknown): string[] | undefined => (typeof text === "string" ? text.split(",").map((one) => one.trim()).filter(Boolean) : undefined);
const listOf = (list: unknown, pick: (one: Tree) => unknown): unknown[] | undefined => (Array.isArray(list) ? list.map((one) => pick(one as Tree)) : undefined);

/** Names in Kubernetes have no underscores and capitals. */
const named = (text: string): string => (/^[A-Z]+$/.test(text) ? text : text.toLowerCase().replace(/[^a-z0-9.-]/g, "-"));

function resource(apiVersion: string, kind: string, name: string, spec: Tree, space = name, labels?: Tree): Tree {
  return { apiVersion, kind, metadata: { name: named(name), namespace: named(space), ...(labels ? { labels } : {}) }, spec };
}

const proxyOf = (of: Tree): Tree | undefined => some({ httpProxy: of.http_proxy || undefined, httpsProxy: of.https_proxy || undefined, noProxy: of.no_proxy || undefined });

/** Fields of the contract that each resource has. */
const CLUSTER = ["name", "base_dns_domain", "pull_secret", "openshift_version", "cpu_architecture", "control_plane_count", "api_vips", "ingress_vips", "ssh_public_key", "network_type", "machine_networks", "cluster_networks", "service_networks", "user_managed_networking", "schedulable_masters", "http_proxy", "https_proxy", "no_proxy", "ntp_sources", "disk_encryption", "platform"];
const INFRA_ENV = ["name", "cluster_id", "pull_secret", "openshift_version", "cpu_architecture", "ssh_authorized_key", "proxy", "additional_ntp_sources", "ntp_sources", "additional_trust_bundle", "image_type", "kernel_arguments", "static_network_config"];
const HOST = ["host_name", "host_role", "disks_selected_config"];
const without = (body: Tree, known: string[]): string[] => Object.keys(body).filter((key) => !known.includes(key) && body[key] !== undefined);

function install(of: Tree): Tree {
  const [encryption, platform] = [of.disk_encryption as Tree | null | undefined, of.platform as Tree | null | undefined];
  const external = platform?.external as Tree | null | undefined;
  return {
    apiVIPs: listOf(of.api_vips, (one) => one.ip), ingressVIPs: listOf(of.ingress_vips, (one) => one.ip),
    networking: some({ networkType: of.network_type, userManagedNetworking: of.user_managed_networking, machineNetwork: listOf(of.machine_networks, ({ cidr }) => ({ cidr })), clusterNetwork: listOf(of.cluster_networks, (one) => ({ cidr: one.cidr, hostPrefix: one.host_prefix })), serviceNetwork: listOf(of.service_networks, (one) => one.cidr) }),
    platformType: platform ? PLATFORMS[String(platform.type)] : undefined, external: external ? { platformName: external.platform_name, cloudControllerManager: external.cloud_controller_manager } : undefined,
    diskEncryption: encryption ? { enableOn: encryption.enable_on, mode: encryption.mode, tangServers: encryption.tang_servers || undefined } : undefined,
    mastersSchedulable: of.schedulable_masters, proxy: proxyOf(of), ntpSources: of.ntp_sources ? words(of.ntp_sources) : undefined, sshPublicKey: of.ssh_public_key || undefined,
  };
}

/** A new cluster as the operator of the reference makes it. */
function newCluster(of: Tree): Tree[] {
  const name = String(of.name || "CLUSTER");
  const { networking, ...rest } = install(of);
  return [
    resource(HIVE, "ClusterDeployment", name, { baseDomain: of.base_dns_domain, clusterName: name, clusterInstallRef: { group: "extensions.hive.openshift.io", version: "v1beta1", kind: "AgentClusterInstall", name }, platform: { agentBareMetal: { agentSelector: {} } }, pullSecretRef: { name: "pull-secret" } }),
    resource(INSTALL, "AgentClusterInstall", name, { clusterDeploymentRef: { name }, imageSetRef: { name: `openshift-${String(of.openshift_version)}` }, provisionRequirements: { controlPlaneAgents: of.control_plane_count ?? 3 }, networking: networking ?? {}, ...rest }),
  ];
}

/** Where the names of a cluster end, by the name of its API: `api.<cluster>.<domain>`. */
function domainOf(api: string, cluster: string): string {
  const domain = api.startsWith(`api.${cluster}.`) ? api.slice(cluster.length + 5) : "";
  return domain || "DOMAIN";
}

function changedCluster(of: Tree, name: string): Tree[] {
  const deployment = some({ clusterName: of.name, baseDomain: of.base_dns_domain, pullSecretRef: of.pull_secret ? { name: "pull-secret" } : undefined });
  const spec = some(install(of));
  return [...(deployment ? [resource(HIVE, "ClusterDeployment", name, deployment)] : []), ...(spec ? [resource(INSTALL, "AgentClusterInstall", name, spec)] : [])];
}

function infraEnv(of: Tree, name: string, cluster: string | undefined, isNew: boolean): Tree[] {
  const space = cluster ?? name;
  const fixed = (of.static_network_config ?? []) as Array<{ network_yaml: string; mac_interface_map: Array<{ mac_address: string; logical_nic_name: string }> }>;
  return [
    resource(AGENT, "InfraEnv", name, {
      ...(isNew ? { clusterRef: of.cluster_id && cluster ? { name: cluster, namespace: cluster } : undefined, cpuArchitecture: of.cpu_architecture, pullSecretRef: { name: "pull-secret" }, osImageVersion: of.cluster_id ? undefined : of.openshift_version } : {}),
      sshAuthorizedKey: of.ssh_authorized_key || undefined, proxy: of.proxy ? proxyOf(of.proxy as Tree) : undefined, additionalNTPSources: of.additional_ntp_sources ? words(of.additional_ntp_sources) : undefined, ntpSources: of.ntp_sources ? words(of.ntp_sources) : undefined,
      additionalTrustBundle: of.additional_trust_bundle || undefined, imageType: of.image_type, kernelArguments: of.kernel_arguments, nmStateConfigLabelSelector: fixed.length ? { matchLabels: { [NETWORKS_OF]: named(name) } } : undefined,
    }, space),
    ...fixed.map((one, at) => resource(AGENT, "NMStateConfig", `${name}-${at + 1}`, { interfaces: one.mac_interface_map.map((pair) => ({ name: pair.logical_nic_name, macAddress: pair.mac_address })), config: new Raw(one.network_yaml) }, space, { [NETWORKS_OF]: named(name) })),
  ];
}

/** YAML that is part of a resource as it is. */
class Raw { constructor(readonly text: string) {} }

function agent(names: Names, id: string, spec: Tree): Tree {
  return resource(AGENT, "Agent", id, spec, names.cluster ?? names.infraEnv ?? "NAMESPACE");
}

const decoded = (content: unknown): string => { try { return new TextDecoder().decode(Uint8Array.from(atob(String(content)), (one) => one.charCodeAt(0))); } catch { return ""; } };

function made(request: Request, names: Names): Made | null {
  const path = request.url.replace(/^\/api\/assisted-install\/v2\//, "").split("?")[0] ?? "";
  const key = `${request.method} ${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID")}`;
  const body = (masked(request.body) ?? {}) as Tree;
  const cluster = names.cluster || undefined;
  const host = /hosts\/([0-9a-f-]{36})/.exec(path)?.[1] ?? "";
  switch (key) {
    case "POST clusters": return { resources: newCluster(body), without: without(body, CLUSTER) };
    case "PATCH clusters/ID": return { resources: changedCluster(body, cluster ?? "CLUSTER"), without: without(body, CLUSTER) };
    case "POST clusters/import": {
      const name = String(body.name || "CLUSTER");
      const [deployment, more] = newCluster(body) as [Tree, Tree];
      const spec = { ...(deployment.spec as Tree), baseDomain: domainOf(String(body.api_vip_dnsname ?? ""), name), installed: true, clusterMetadata: { clusterID: body.openshift_cluster_id, infraID: name, adminKubeconfigSecretRef: { name: "admin-kubeconfig" } } };
      return { resources: [{ ...deployment, spec }, { ...more, spec: { clusterDeploymentRef: { name }, networking: {}, provisionRequirements: { controlPlaneAgents: 3 } } }], without: without(body, ["name", "openshift_cluster_id", "openshift_version", "api_vip_dnsname"]) };
    }
    case "POST clusters/ID/manifests": case "PATCH clusters/ID/manifests": {
      const [file, content] = [String(body.updated_file_name ?? body.file_name ?? ""), decoded(body.updated_content ?? body.content)];
      const name = `${cluster ?? "CLUSTER"}-manifests`;
      const { spec: _, ...map } = resource("v1", "ConfigMap", name, {}, cluster);
      return { resources: [{ ...map, data: { [file || "FILE"]: content } }, resource(INSTALL, "AgentClusterInstall", cluster ?? "CLUSTER", { manifestsConfigMapRefs: [{ name }] })], without: [] };
    }
    case "POST infra-envs": return { resources: infraEnv(body, String(body.name || "INFRAENV"), cluster, true), without: without(body, INFRA_ENV) };
    case "PATCH infra-envs/ID": return { resources: infraEnv(body, names.infraEnv || (cluster ? `${cluster}_infra-env` : "INFRAENV"), cluster, false), without: without(body, INFRA_ENV) };
    case "PATCH infra-envs/ID/hosts/ID": return { resources: [agent(names, host, { hostname: body.host_name, role: body.host_role, installation_disk_id: (body.disks_selected_config as Tree[] | undefined)?.[0]?.id })], without: without(body, HOST) };
    case "POST infra-envs/ID/hosts/ID/actions/bind": return { resources: [agent({ ...names, cluster: names.infraEnv }, host, { clusterDeploymentName: { name: cluster, namespace: cluster }, approved: true })], without: [] };
    case "POST infra-envs/ID/hosts/ID/actions/unbind": return { resources: [agent(names, host, { clusterDeploymentName: null })], without: [] };
    case "POST infra-envs/ID/hosts/ID/actions/install": return { resources: [agent(names, host, { approved: true })], without: [] };
    case "POST clusters/ID/actions/install": return { resources: [resource(INSTALL, "AgentClusterInstall", cluster ?? "CLUSTER", { holdInstallation: false })], without: [] };
    default: return null;
  }
}

function printed(tree: Tree): string {
  const config = (tree.spec as Tree | undefined)?.config;
  if (!(config instanceof Raw)) return yaml(tree);
  const { config: _, ...spec } = tree.spec as Tree;
  return `${yaml({ ...tree, spec })}  config:\n${config.text.trimEnd().split("\n").map((line) => (line ? `    ${line}` : "")).join("\n")}\n`;
}

/** The resources of requests as one YAML text, or nothing if there is none for them. */
export function resources(requests: Request[], names: Names | Names[]): string | null {
  const all = requests.map((one, at) => made(one, namesAt(names, at))).filter((one): one is Made => one !== null);
  if (all.length === 0) return null;
  const lost = [...new Set(all.flatMap((one) => one.without))];
  const trees = all.flatMap((one) => one.resources);
  return `${lost.length ? `# ${t("Custom resources have no field for: {fields}", { fields: lost.join(", ") })}\n` : ""}${trees.map(printed).join("---\n")}`;
}

const list = (value: unknown): unknown[] | undefined => (Array.isArray(value) && value.length ? value : undefined);

/** The resources of a cluster as it is, with its infra-env. */
export function wholeCluster(cluster: Tree, environment: Tree | null | undefined): string {
  const names = { cluster: String(cluster.name) };
  // Some members are JSON texts.
  const read = (text: unknown): unknown => { try { return JSON.parse(String(text || "[]")); } catch { return []; } };
  const [fixed, words] = [read(environment?.static_network_config), list(read(environment?.kernel_arguments))];
  const of = { ...cluster, api_vips: list(cluster.api_vips), ingress_vips: list(cluster.ingress_vips), machine_networks: list(cluster.machine_networks) };
  const encrypted = (cluster.disk_encryption as Tree | undefined)?.enable_on;
  const trees = [...newCluster({ ...of, disk_encryption: encrypted && encrypted !== "none" ? cluster.disk_encryption : undefined }), ...infraEnv({ ...environment, kernel_arguments: words, image_type: environment?.type, cluster_id: cluster.id, cpu_architecture: cluster.cpu_architecture, static_network_config: fixed ?? [] }, String(environment?.name ?? `${names.cluster}_infra-env`), names.cluster, true)];
  return trees.map(printed).join("---\n");
}
