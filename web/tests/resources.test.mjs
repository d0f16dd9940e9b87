// The custom resources that forms show, against the published schemas of their kinds (tests/setup-crds).
import assert from "node:assert/strict";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { loadAll } from "js-yaml";

const here = path.dirname(fileURLToPath(import.meta.url));
const CRDS = path.join(here, "../../target/test-tools/crds");
/** What the kinds got after the schemas that can be fetched, which are of 2023: fields, and values of fields. */
const LATER = new Set([
  "AgentClusterInstall.spec.external", "AgentClusterInstall.spec.ntpSources", "AgentClusterInstall.spec.platformType=External", "InfraEnv.spec.imageType", "InfraEnv.spec.ntpSources",
  ...["CiscoACI", "Cilium", "Calico", "None"].map((name) => `AgentClusterInstall.spec.networking.networkType=${name}`),
  ...["arbiters", "masters,arbiters", "masters,workers", "arbiters,workers", "masters,arbiters,workers"].map((hosts) => `AgentClusterInstall.spec.diskEncryption.enableOn=${hosts}`),
]);
const used = new Set();
const isLater = (what) => LATER.has(what) && Boolean(used.add(what));
const V2 = "/api/assisted-install/v2";
const ID = "11111111-1111-4111-8111-111111111111";
const HOST = "33333333-3333-4333-8333-333333333333";
let folder, resources, wholeCluster;
const kinds = new Map();
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "muster-web-resources-"));
  await build({ entryPoints: [path.join(here, "../src/model/resources.ts")], bundle: true, format: "esm", outdir: folder, outExtension: { ".js": ".mjs" }, logLevel: "error" });
  ({ resources, wholeCluster } = await import(path.join(folder, "resources.mjs")));
  for (const file of await readdir(CRDS)) {
    if (!/^(agent-install|extensions\.hive|hive)\..*\.yaml$/.test(file)) continue;
    for (const { spec } of loadAll(await readFile(path.join(CRDS, file), "utf8"))) for (const version of spec.versions) kinds.set(`${spec.group}/${version.name} ${spec.names.kind}`, version.schema.openAPIV3Schema);
  }
});
after(() => rm(folder, { recursive: true }));

const TYPES = { object: (value) => typeof value === "object" && value !== null && !Array.isArray(value), array: Array.isArray, string: (value) => typeof value === "string", boolean: (value) => typeof value === "boolean", integer: Number.isInteger, number: (value) => typeof value === "number" };

/** What a schema has against a value. A change need not have the fields that a whole resource must have. */
function faults(schema, value, at, isWhole) {
  if (schema["x-kubernetes-preserve-unknown-fields"] || (value === null && !isWhole)) return [];
  if (schema["x-kubernetes-int-or-string"]) return [];
  if (schema.type && !TYPES[schema.type](value)) return [`${at} is no ${schema.type}: ${JSON.stringify(value)}`];
  const own = [
    ...(schema.enum && !schema.enum.includes(value) && !isLater(`${at}=${value}`) ? [`${at} is none of ${schema.enum.join(", ")}: ${value}`] : []),
    ...(schema.pattern && !new RegExp(schema.pattern).test(value) ? [`${at} does not match ${schema.pattern}: ${value}`] : []),
    ...(isWhole ? (schema.required ?? []).filter((name) => value[name] === undefined).map((name) => `${at}.${name} is missing`) : []),
  ];
  if (schema.type === "array") return [...own, ...value.flatMap((one, index) => faults(schema.items, one, `${at}[${index}]`, true))];
  if (schema.type !== "object") return own;
  return [...own, ...Object.entries(value).flatMap(([name, one]) => {
    const inner = schema.properties?.[name] ?? (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined);
    if (inner) return faults(inner, one, `${at}.${name}`, isWhole);
    return isLater(`${at}.${name}`) || (!schema.properties && !schema.additionalProperties) ? [] : [`${at}.${name} is no field`];
  })];
}

function check(text, isWhole) {
  const [seen, found] = [[], []];
  for (const { apiVersion, kind, metadata, ...rest } of loadAll(text)) {
    assert.match(metadata.name, /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, kind);
    assert.match(metadata.namespace, /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, kind);
    seen.push(kind);
    if (apiVersion === "v1") continue;
    const schema = kinds.get(`${apiVersion} ${kind}`);
    assert.ok(schema, `${apiVersion} ${kind} is a published kind; tests/setup-crds fetches the schemas`);
    found.push(...faults({ ...schema, required: undefined }, rest, kind, isWhole));
  }
  assert.deepEqual(found, []);
  return seen;
}

const request = (method, url, body) => ({ method, url: V2 + url, body });
const CLUSTER = {
  name: "a", base_dns_domain: "example.com", openshift_version: "4.20.1", cpu_architecture: "x86_64", pull_secret: '{"auths":{}}', control_plane_count: 3,
  disk_encryption: { enable_on: "masters,workers", mode: "tang", tang_servers: '[{"url":"http://t","thumbprint":"x"}]' }, user_managed_networking: true,
  platform: { type: "external", external: { platform_name: "oci", cloud_controller_manager: "External" } },
};
const NETWORKING = {
  api_vips: [{ ip: "192.0.2.5" }, { ip: "fd00::5" }], ingress_vips: [{ ip: "192.0.2.6" }, { ip: "fd00::6" }], network_type: "OVNKubernetes", user_managed_networking: false, schedulable_masters: true,
  machine_networks: [{ cidr: "192.0.2.0/24" }, { cidr: "fd00::/64" }], cluster_networks: [{ cidr: "10.128.0.0/14", host_prefix: 23 }, { cidr: "fd01::/48", host_prefix: 64 }], service_networks: [{ cidr: "172.30.0.0/16" }, { cidr: "fd02::/112" }],
  ssh_public_key: "ssh-ed25519 AAAA me", http_proxy: "http://p", https_proxy: "http://p", no_proxy: ".example.com", ntp_sources: "a,b",
};
const STATIC = [{ network_yaml: "interfaces:\n  - name: eth0\n", mac_interface_map: [{ mac_address: "52:54:00:00:00:01", logical_nic_name: "eth0" }] }];
const INFRA_ENV = {
  ssh_authorized_key: "ssh-ed25519 AAAA me", proxy: { http_proxy: "http://p", https_proxy: "http://p", no_proxy: "a" }, additional_ntp_sources: "a", ntp_sources: "a,b", additional_trust_bundle: "-----BEGIN\nx\n", image_type: "minimal-iso",
  kernel_arguments: [{ operation: "append", value: "a=b" }, { operation: "delete", value: "c" }, { operation: "replace", value: "d" }], static_network_config: STATIC,
};

test("whole resources have the fields of their kinds, and all that must be there", () => {
  const names = { cluster: "a", infraEnv: "a_infra-env" };
  const made = [
    [request("POST", "/clusters", CLUSTER)],
    ...["baremetal", "none", "vsphere", "nutanix"].map((type) => [request("POST", "/clusters", { ...CLUSTER, disk_encryption: { enable_on: "all", mode: "tpmv2" }, platform: { type } })]),
    ...["none", "all", "masters", "arbiters", "workers", "masters,arbiters", "masters,workers", "arbiters,workers", "masters,arbiters,workers"].map((enable_on) => [request("POST", "/clusters", { ...CLUSTER, disk_encryption: { enable_on, mode: "tpmv2" } })]),
    ...["CiscoACI", "Cilium", "Calico", "None", "OVNKubernetes"].map((network_type) => [request("POST", "/clusters", { ...CLUSTER, ...NETWORKING, network_type })]),
    ...["x86_64", "arm64", "ppc64le", "s390x"].map((cpu_architecture) => [request("POST", "/infra-envs", { ...INFRA_ENV, name: "a_infra-env", cluster_id: ID, cpu_architecture, openshift_version: "4.20.1", pull_secret: "x", image_type: "full-iso" })]),
    [request("POST", "/infra-envs", { name: "pool", cpu_architecture: "x86_64", openshift_version: "4.20.1", pull_secret: "x" })],
    [request("POST", "/clusters/import", { name: "old", openshift_cluster_id: ID, api_vip_dnsname: "api.old" })],
  ];
  const seen = new Set(made.flatMap((requests) => check(resources(requests, names), true)));
  check(wholeCluster({ ...CLUSTER, ...NETWORKING, id: ID }, { ...INFRA_ENV, name: "a_infra-env", type: "full-iso", kernel_arguments: JSON.stringify(INFRA_ENV.kernel_arguments), static_network_config: JSON.stringify(STATIC) }), true);
  assert.deepEqual([...seen].sort(), ["AgentClusterInstall", "ClusterDeployment", "InfraEnv", "NMStateConfig"]);
  assert.deepEqual([...LATER].filter((what) => !used.has(what)), [], "the schemas know these by now");
});

test("changes are fields of their kinds", () => {
  const names = { cluster: "a", infraEnv: "a_infra-env", host: "n1" };
  const host = `/infra-envs/${ID}/hosts/${HOST}`;
  const made = [
    request("PATCH", `/clusters/${ID}`, { ...NETWORKING, name: "b", base_dns_domain: "b.com", pull_secret: "x", platform: { type: "none" } }), request("PATCH", `/infra-envs/${ID}`, INFRA_ENV),
    ...["master", "worker", "arbiter", "auto-assign"].map((host_role) => request("PATCH", host, { host_name: "n2", host_role, disks_selected_config: [{ id: "/dev/sda", role: "install" }] })),
    request("POST", `${host}/actions/bind`, { cluster_id: ID }), request("POST", `${host}/actions/unbind`), request("POST", `${host}/actions/install`),
    request("POST", `/clusters/${ID}/actions/install`), request("POST", `/clusters/${ID}/manifests`, { folder: "manifests", file_name: "a.yaml", content: "YTogMQo=" }),
  ];
  const seen = new Set(made.flatMap((one) => check(resources([one], names), false)));
  assert.deepEqual([...seen].sort(), ["Agent", "AgentClusterInstall", "ClusterDeployment", "ConfigMap", "InfraEnv", "NMStateConfig"]);
});
