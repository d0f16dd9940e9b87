// The same thing on a command line: a request as curl and as aicli. Pure.
import type { Request } from "../api/client";

export interface Names { cluster?: string | undefined; host?: string | undefined; infraEnv?: string | undefined }

export const namesAt = (names: Names | Names[], at: number): Names => (Array.isArray(names) ? names[at] ?? {} : names);

const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const SECRET = /pull_secret|password|token/;

/** Secrets are named, not shown. */
export function masked(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(masked);
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, SECRET.test(key) && typeof value === "string" && value !== "" ? `<${key}>` : masked(value)]));
}

/** A member a line if it is long. */
function body(of: unknown): string {
  const text = JSON.stringify(of);
  const members = Object.entries(of as object).filter(([, value]) => value !== undefined).map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return text.length > 100 && !Array.isArray(of) ? `{\n${members.join(",\n")}}` : text;
}

export function curl(request: Request, origin: string, withToken: boolean): string {
  const lines = [`curl -X ${request.method} ${quote(origin + request.url)}`];
  if (withToken && !request.url.startsWith("/auth/")) lines.push(`-H "Authorization: Bearer $TOKEN"`);
  if (request.file !== undefined) lines.push(`-T ${quote(request.file)}`);
  if (request.body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(body(masked(request.body)))}`);
  return lines.join(" \\\n  ");
}

/** aicli reads lists and objects as Python does. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object" && value !== null) return `{${Object.entries(value).filter(([, one]) => one !== undefined).map(([key, one]) => `${JSON.stringify(key)}: ${literal(one)}`).join(", ")}}`;
  return value === null ? "None" : value === true ? "True" : value === false ? "False" : JSON.stringify(value);
}

/** aicli's own names of parameters; it reads the pull secret from a file. */
const RENAMED: Record<string, string> = { host_name: "name", host_role: "role" };

function parameters(body: Record<string, unknown>, leaveOut: string[]): string {
  const members = Object.entries(body).filter(([key, value]) => !leaveOut.includes(key) && value !== undefined && value !== null);
  const text = (key: string, value: unknown) => (key === "pull_secret" ? "openshift_pull.json" : typeof value === "object" ? literal(value) : String(value));
  return members.map(([key, value]) => ` -P ${quote(`${RENAMED[key] ?? key}=${text(key, value)}`)}`).join("");
}

/** aicli takes the name of a device in /dev for the disk. */
function hostParameters(body: Record<string, unknown>): string | null {
  const { disks_selected_config: chosen, ...rest } = body;
  if (chosen === undefined) return parameters(rest, []);
  const disk = /^\/dev\/(\w+)$/.exec((chosen as Array<{ id?: string }>)[0]?.id ?? "")?.[1];
  return disk ? ` -P disk=${disk}${parameters(rest, [])}` : null;
}

/** aicli deletes from the folder `manifests` only. */
function manifestLine(url: string, head: string, cluster: string): string | null {
  const query = new URLSearchParams(url.split("?")[1]);
  return query.get("folder") === "manifests" ? `${head} delete -y manifest ${cluster} ${quote(query.get("file_name") ?? "")}` : null;
}

/** The aicli line of a request, if aicli has one. */
export function aicli(request: Request, origin: string, names: Names): string | null {
  const path = request.url.replace(/^\/api\/assisted-install\/v2\//, "").split("?")[0] ?? "";
  const key = `${request.method} ${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID")}`;
  const body = (request.body ?? {}) as Record<string, unknown>;
  const head = `aicli -U ${quote(origin)}`;
  const cluster = quote(names.cluster || "CLUSTER");
  const host = quote(names.host || "HOST");
  const infraEnv = quote(names.infraEnv || (names.cluster ? `${names.cluster}_infra-env` : "INFRAENV"));
  switch (key) {
    case "POST clusters": return `${head} create cluster ${quote(String(body.name || "CLUSTER"))}${parameters(body, ["name"])}`;
    case "PATCH clusters/ID": return `${head} update cluster ${cluster}${parameters(body, [])}`;
    case "DELETE clusters/ID": return `${head} delete -y cluster ${cluster}`;
    case "POST clusters/ID/actions/install": return `${head} start cluster ${cluster}`;
    case "POST clusters/ID/actions/reset": return `${head} stop cluster ${cluster}`;
    case "POST clusters/ID/actions/allow-add-workers": return `${head} update cluster ${cluster} -P day2=true`;
    case "POST clusters/ID/manifests": return `${head} create manifests --dir FOLDER${body.folder === "openshift" ? " --openshift" : ""} ${cluster}`;
    case "DELETE clusters/ID/manifests": return manifestLine(request.url, head, cluster);
    case "POST infra-envs": return `${head} create infraenv ${quote(String(body.name || "INFRAENV"))}${parameters(body, ["name"])}`;
    case "PATCH infra-envs/ID": return `${head} update infraenv ${infraEnv}${parameters(body, [])}`;
    case "DELETE infra-envs/ID": return `${head} delete -y infraenv ${infraEnv}`;
    case "GET infra-envs/ID/downloads/image-url": return `${head} info iso ${infraEnv}`;
    case "PATCH infra-envs/ID/hosts/ID": { const given = hostParameters(body); return given === null ? null : `${head} update host ${host}${given}`; }
    case "DELETE infra-envs/ID/hosts/ID": return `${head} delete -y host ${host}`;
    case "POST infra-envs/ID/hosts/ID/actions/bind": return `${head} bind host ${host} ${cluster}`;
    case "POST infra-envs/ID/hosts/ID/actions/unbind": return `${head} unbind host ${host}`;
    case "POST infra-envs/ID/hosts/ID/actions/install": return `${head} start host ${host}`;
    default: return null;
  }
}

/** The lines of several requests. `create cluster` of aicli makes the infra-env as well. */
export function aicliLines(requests: Request[], origin: string, names: Names | Names[]): string[] {
  const made = requests.some((one) => one.method === "POST" && one.url.endsWith("/v2/clusters"));
  return requests.filter((one) => !(made && one.url.endsWith("/v2/infra-envs"))).map((one) => aicli(one, origin, namesAt(names, requests.indexOf(one)))).filter((line): line is string => line !== null);
}
