// Rules of form fields: a value in, the reason why it cannot be used out, or null. Pure.
import { t } from "../messages";
import { address, contains, isEdge, network, overlaps, type Network } from "./ip";

export type Rule = (value: string) => string | null;
type Problem = string | null;

export const all = (...rules: Rule[]): Rule => (value) => rules.map((rule) => rule(value)).find((problem) => problem) ?? null;
export const optional = (rule: Rule): Rule => (value) => (value.trim() === "" ? null : rule(value));
export const required: Rule = (value) => (value.trim() === "" ? t("This is required.") : null);

export const clusterName: Rule = (value) => {
  if (value === "") return t("This is required.");
  if (value.length > 54) return t("At most 54 characters; these are {n}.", { n: value.length });
  if (!/^[a-z0-9-]+$/.test(value)) return t("Only lower-case letters, digits and hyphens.");
  if (!/^[a-z0-9].*$/.test(value) || !/[a-z0-9]$/.test(value)) return t("The first and the last character must be a letter or digit.");
  return null;
};

export const baseDomain: Rule = (value) => {
  if (value === "") return t("This is required.");
  if (/\s/.test(value)) return t("No white space.");
  if (value.length > 181) return t("At most 181 characters; these are {n}.", { n: value.length });
  for (const label of value.split(".")) {
    if (label.length > 63) return t("Each part between dots has at most 63 characters.");
    if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label)) return t("Parts between dots consist of lower-case letters, digits and inner hyphens.");
  }
  return null;
};

export const pullSecret: Rule = (value) => {
  if (value.trim() === "") return t("This is required.");
  try {
    const parsed = JSON.parse(value) as { auths?: unknown };
    if (typeof parsed !== "object" || parsed === null || typeof parsed.auths !== "object" || parsed.auths === null) return t("The JSON has no object \"auths\" with credentials.");
    return null;
  } catch {
    return t("This is not JSON. Paste the whole content of the pull secret file.");
  }
};

const KEY_HEADS: Record<string, string> = {
  "ssh-rsa": "AAAAB3NzaC1yc2", "ssh-ed25519": "AAAAC3NzaC1lZDI1NTE5", "ssh-dss": "AAAAB3NzaC1kc3",
  "ecdsa-sha2-nistp256": "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY", "ecdsa-sha2-nistp384": "AAAAE2VjZHNhLXNoYTItbmlzdHAzODQ", "ecdsa-sha2-nistp521": "AAAAE2VjZHNhLXNoYTItbmlzdHA1MjE",
};

export const sshKey: Rule = (value) => {
  const lines = value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (lines.length === 0) return null;
  if (lines.length > 1) return t("One key only; there are {n} lines.", { n: lines.length });
  const [kind, body] = (lines[0] ?? "").split(/\s+/);
  const head = KEY_HEADS[kind ?? ""];
  if (!head) return t("A public key begins with ssh-rsa, ssh-ed25519 or ecdsa-sha2-…");
  if (!body || !/^[A-Za-z0-9+/]+={0,3}$/.test(body) || !body.startsWith(head)) return t("The part after {kind} is not a valid key; it may be truncated.", { kind });
  return null;
};

export const FORBIDDEN_HOSTNAMES = ["localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6"];

export const hostname = (others: string[]): Rule => (value) => {
  if (value === "") return t("This is required.");
  if (value.length > 63) return t("At most 63 characters; these are {n}.", { n: value.length });
  if (!/^[a-z0-9.-]+$/.test(value)) return t("Only lower-case letters, digits, hyphens and dots.");
  if (!/^[a-z0-9]/.test(value) || !/[a-z0-9]$/.test(value)) return t("The first and the last character must be a letter or digit.");
  if (FORBIDDEN_HOSTNAMES.includes(value)) return t("{name} is reserved for the local machine.", { name: value });
  if (others.includes(value)) return t("Another host of the cluster has this name.");
  return null;
};

export const mac: Rule = (value) => (/^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$/.test(value) ? null : t("Six pairs of hexadecimal digits with colons, such as 52:54:00:aa:bb:01."));

const items = (value: string) => value.split(",").map((item) => item.trim());
const duplicate = (list: string[]) => list.find((item, at) => list.indexOf(item) !== at);
const isName = (value: string) => value.length <= 253 && value.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label)) && !/^[\d.]+$/.test(value);

/** A list of time sources or DNS servers, by address or name. */
export const servers = (names: "names" | "addresses"): Rule => (value) => {
  if (value.trim() === "") return null;
  const list = items(value);
  for (const item of list) {
    if (item === "") return t("An entry between two commas is empty.");
    if (names === "addresses" && isReserved(item)) return t("{item} is reserved.", { item });
    if (!address(item) && !(names === "names" && isName(item))) return names === "names" ? t("{item} is neither an address nor a name.", { item }) : t("{item} is not an IP address.", { item });
  }
  const twice = duplicate(list);
  return twice ? t("{item} is in the list twice.", { item: twice }) : null;
};

export const proxyUrl = (schemes: string[]): Rule => (value) => {
  if (value === "") return null;
  if (!schemes.some((scheme) => value.startsWith(`${scheme}://`))) return t("Must begin with {schemes}.", { schemes: schemes.map((scheme) => `${scheme}://`).join(t(" or ")) });
  try {
    return new URL(value) && null;
  } catch {
    return t("This is not a URL.");
  }
};

export const noProxy: Rule = (value) => {
  if (value === "" || value === "*") return null;
  for (const item of items(value)) {
    if (item === "*") return t("* must be the only entry: it means everything.");
    if (!address(item) && !network(item) && !/^\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(item)) return t("{item} is neither an address, a network nor a name.", { item });
  }
  return null;
};

/** A network of the cluster itself: pods or services. */
export const clusterCidr: Rule = (value) => {
  const net = network(value);
  if (!net) return t("A network such as 10.128.0.0/14 or fd01::/48.");
  if (net.hostBits) return t("Host bits are set: this is not the first address of the network.");
  if (net.family === 4 && (net.prefix < 1 || net.prefix > 25)) return t("The prefix of an IPv4 network is between 1 and 25.");
  if (net.family === 6 && (net.prefix < 8 || net.prefix > 128)) return t("The prefix of an IPv6 network is between 8 and 128.");
  if (net.first === 0n) return t("The unspecified network cannot be used.");
  return null;
};

export const hostPrefix = (of: string): Rule => (value) => {
  if (!/^\d+$/.test(value)) return t("A number.");
  const net = network(of);
  const prefix = Number(value);
  const [low, high] = net?.family === 6 ? [Math.max(8, net.prefix), 128] : [net?.prefix ?? 1, 25];
  return prefix < low || prefix > high ? t("Between {low} and {high}.", { low, high }) : null;
};

/** No two ranges of a cluster may share addresses. */
export function overlap(ranges: Array<[string, string]>): Problem {
  const known: Array<[string, Network]> = ranges.flatMap(([name, text]) => { const net = network(text); return net ? [[name, net] as [string, Network]] : []; });
  for (const [at, [name, net]] of known.entries()) {
    for (const [other, against] of known.slice(at + 1)) {
      if (overlaps(net, against)) return t("{a} and {b} overlap.", { a: name, b: other });
    }
  }
  return null;
}

export const vip = (machineNetworks: string[], other: string): Rule => (value) => {
  if (value === "") return t("This is required.");
  const ip = address(value);
  if (!ip) return value.includes("/") ? t("An address without a prefix.") : t("This is not an IP address.");
  if (other !== "" && value === other) return t("API and ingress need different addresses.");
  const nets = machineNetworks.map(network).filter((net): net is Network => net !== null && net.family === ip.family);
  if (machineNetworks.length === 0) return null;
  const inside = nets.find((net) => contains(net, ip));
  if (!inside) return t("Not in a network of the hosts: {list}.", { list: machineNetworks.join(", ") });
  if (isEdge(inside, ip)) return t("This is the network's own or its broadcast address.");
  return null;
};

export const tangUrl: Rule = all(required, proxyUrl(["http", "https"]));

export const manifestName = (others: string[]): Rule => (value) => {
  if (value === "") return t("This is required.");
  if (value.length > 255) return t("At most 255 characters; these are {n}.", { n: value.length });
  if (/[/\s]/.test(value)) return t("No slash and no white space.");
  if (!/\.(json|ya?ml)$/.test(value) && !/\.ya?ml\.patch/.test(value)) return t("Must end in .yaml, .yml, .json or .yaml.patch.");
  if (others.includes(value)) return t("There is another manifest of this name.");
  return null;
};

/** The largest manifest that the service takes. */
export const MANIFEST_BYTES = 1 << 20;
export const manifestContent: Rule = (value) => {
  if (value.trim() === "") return t("This is required.");
  const size = new TextEncoder().encode(value).length;
  return size > MANIFEST_BYTES ? t("At most 1 MiB; these are {n} bytes.", { n: size }) : null;
};

export const vlan: Rule = (value) => (/^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= 4094 ? null : t("A number between 1 and 4094."));

const isReserved = (text: string) => RESERVED.includes(text) || /^ff[0-9a-f]{2}:/i.test(text);
const RESERVED = ["127.0.0.0", "127.0.0.1", "0.0.0.0", "255.255.255.255", "::", "::1"];

/** The subnet of static addresses, as address and prefix. */
export const subnet = (family: 4 | 6): Rule => (value) => {
  const net = network(value);
  if (!net || net.family !== family) return family === 4 ? t("An IPv4 network such as 192.0.2.0/24.") : t("An IPv6 network such as 2001:db8::/64.");
  if (net.prefix < 1) return t("The prefix must be at least 1.");
  if (RESERVED.includes(value.split("/")[0] ?? "")) return t("This address is reserved.");
  return null;
};

/** An address of a host or gateway inside a subnet. */
export const inSubnet = (of: string, others: string[]): Rule => (value) => {
  if (value === "") return t("This is required.");
  const ip = address(value);
  if (!ip) return t("This is not an IP address.");
  if (isReserved(value)) return t("This address is reserved.");
  const net = network(of);
  if (net && !contains(net, ip)) return t("Not in {network}.", { network: of });
  if (net && isEdge(net, ip)) return t("This is the network's own or its broadcast address.");
  if (others.includes(value)) return t("Another host has this address.");
  return null;
};

export const apiName: Rule = (value) => (address(value) || isName(value) ? null : t("An IP address or a name such as api.cluster.example.com."));

/** A hostname pattern for several hosts: {{n}} is the number, {{nn}} with two digits and so on. */
export function numbered(pattern: string, n: number): string {
  return pattern.replace(/\{\{(n+)\}\}/g, (_, width: string) => String(n).padStart(width.length, "0"));
}
