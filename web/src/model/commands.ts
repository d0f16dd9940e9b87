// The same thing on a command line: a request as curl, as aicli and as custom resources. Pure.
import type { Request } from "../api/client";

const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const SECRET = /pull_secret|password|token/;

/** Secrets are named, not shown. */
export function masked(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(masked);
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, SECRET.test(key) && typeof value === "string" && value !== "" ? `<${key}>` : masked(value)]));
}

export function curl(request: Request, origin: string, withToken: boolean): string {
  const lines = [`curl -X ${request.method} ${quote(origin + request.url)}`];
  if (withToken) lines.push(`-H "Authorization: Bearer $TOKEN"`);
  if (request.body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(masked(request.body)))}`);
  return lines.join(" \\\n  ");
}

function parameters(body: unknown, leaveOut: string[]): string {
  const members = Object.entries((masked(body) ?? {}) as Record<string, unknown>).filter(([key, value]) => !leaveOut.includes(key) && value !== undefined && value !== null);
  return members.map(([key, value]) => ` -P ${quote(`${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)}`).join("");
}

/** The aicli line of a request, if aicli has one. */
export function aicli(request: Request, origin: string, names: { cluster?: string | undefined; host?: string | undefined; infraEnv?: string | undefined }): string | null {
  const path = request.url.replace(/^\/api\/assisted-install\/v2\//, "").split("?")[0] ?? "";
  const key = `${request.method} ${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID")}`;
  const body = (request.body ?? {}) as Record<string, unknown>;
  const head = `aicli -U ${quote(origin)}`;
  const cluster = quote(names.cluster ?? "CLUSTER");
  const host = quote(names.host ?? "HOST");
  const infraEnv = quote(names.infraEnv ?? "INFRAENV");
  switch (key) {
    case "POST clusters": return `${head} create cluster ${quote(String(body.name))}${parameters(body, ["name"])}`;
    case "PATCH clusters/ID": return `${head} update cluster ${cluster}${parameters(body, [])}`;
    case "DELETE clusters/ID": return `${head} delete cluster ${cluster}`;
    case "POST clusters/ID/actions/install": return `${head} start cluster ${cluster}`;
    case "POST clusters/ID/actions/cancel": return `${head} stop cluster ${cluster}`;
    case "POST clusters/ID/manifests": return `${head} create manifests --dir FOLDER ${cluster}`;
    case "POST infra-envs": return `${head} create infraenv ${quote(String(body.name))}${parameters(body, ["name"])}`;
    case "PATCH infra-envs/ID": return `${head} update infraenv ${infraEnv}${parameters(body, [])}`;
    case "GET infra-envs/ID/downloads/image-url": return `${head} info iso ${infraEnv}`;
    case "PATCH infra-envs/ID/hosts/ID": return `${head} update host ${host}${parameters(body, [])}`;
    case "DELETE infra-envs/ID/hosts/ID": return `${head} delete host ${host}`;
    case "POST infra-envs/ID/hosts/ID/actions/bind": return `${head} bind host ${host} ${cluster}`;
    case "POST infra-envs/ID/hosts/ID/actions/unbind": return `${head} unbind host ${host}`;
    default: return null;
  }
}

const yaml = (text: string): string => (/^[A-Za-z][\w.-]*$/.test(text) ? text : JSON.stringify(text));

/** The custom resources that stand for a cluster and its infra-env. */
export function resources(of: { name: string; domain: string; version: string; masters: number; apiVips: string[]; ingressVips: string[]; machineNetworks: string[]; clusterNetworks: Array<{ cidr: string; host_prefix: number }>; serviceNetworks: string[]; userManaged: boolean; sshKey: string; architecture: string }): string {
  const list = (name: string, items: string[]) => (items.length ? [`    ${name}:`, ...items] : []);
  return [
    "apiVersion: hive.openshift.io/v1", "kind: ClusterDeployment", `metadata: {name: ${yaml(of.name)}, namespace: ${yaml(of.name)}}`, "spec:",
    `  baseDomain: ${yaml(of.domain)}`, `  clusterName: ${yaml(of.name)}`,
    `  clusterInstallRef: {group: extensions.hive.openshift.io, version: v1beta1, kind: AgentClusterInstall, name: ${yaml(of.name)}}`,
    "  platform: {agentBareMetal: {agentSelector: {}}}", "  pullSecretRef: {name: pull-secret}", "---",
    "apiVersion: extensions.hive.openshift.io/v1beta1", "kind: AgentClusterInstall", `metadata: {name: ${yaml(of.name)}, namespace: ${yaml(of.name)}}`, "spec:",
    `  clusterDeploymentRef: {name: ${yaml(of.name)}}`, `  imageSetRef: {name: ${yaml(`openshift-${of.version}`)}}`,
    ...(of.apiVips.length ? [`  apiVIPs: [${of.apiVips.map(yaml).join(", ")}]`, `  ingressVIPs: [${of.ingressVips.map(yaml).join(", ")}]`] : []),
    "  networking:", `    userManagedNetworking: ${of.userManaged}`,
    ...list("machineNetwork", of.machineNetworks.map((one) => `    - cidr: ${yaml(one)}`)),
    ...list("clusterNetwork", of.clusterNetworks.map((one) => `    - {cidr: ${yaml(one.cidr)}, hostPrefix: ${one.host_prefix}}`)),
    ...list("serviceNetwork", of.serviceNetworks.map((one) => `    - ${yaml(one)}`)),
    `  provisionRequirements: {controlPlaneAgents: ${of.masters}}`,
    ...(of.sshKey ? [`  sshPublicKey: ${yaml(of.sshKey)}`] : []), "---",
    "apiVersion: agent-install.openshift.io/v1beta1", "kind: InfraEnv", `metadata: {name: ${yaml(of.name)}, namespace: ${yaml(of.name)}}`, "spec:",
    `  clusterRef: {name: ${yaml(of.name)}, namespace: ${yaml(of.name)}}`, `  cpuArchitecture: ${yaml(of.architecture)}`, "  pullSecretRef: {name: pull-secret}",
    ...(of.sshKey ? [`  sshAuthorizedKey: ${yaml(of.sshKey)}`] : []), "",
  ].join("\n");
}
