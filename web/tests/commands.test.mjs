// Forms as commands and as custom resources: what is printed can be read back, and holds no secret.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { loadAll } from "js-yaml";

const V2 = "/api/assisted-install/v2";
const ID = "11111111-1111-4111-8111-111111111111";
const HOST = "33333333-3333-4333-8333-333333333333";
let folder;
let curl, aicli, aicliLines, resources, wholeCluster;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "muster-web-commands-"));
  const entry = (name) => new URL(`../src/model/${name}.ts`, import.meta.url).pathname;
  await build({ entryPoints: [entry("commands"), entry("resources")], bundle: true, format: "esm", outdir: folder, outExtension: { ".js": ".mjs" }, logLevel: "error" });
  ({ curl, aicli, aicliLines } = await import(path.join(folder, "commands.mjs")));
  ({ resources, wholeCluster } = await import(path.join(folder, "resources.mjs")));
});
after(() => rm(folder, { recursive: true }));

const request = (method, url, body) => ({ method, url: V2 + url, body });
const line = (method, url, body, names = {}) => aicli(request(method, url, body), "https://m", names);
const NEW = { name: "a", base_dns_domain: "example.com", openshift_version: "4.20.1", cpu_architecture: "x86_64", pull_secret: '{"auths":{}}', control_plane_count: 1 };

test("calls are shown without their secrets", () => {
  const shown = curl(request("POST", "/clusters", NEW), "https://m", true);
  assert.match(shown, /^curl -X POST https:\/\/m\/api\/assisted-install\/v2\/clusters /);
  assert.match(shown, /Bearer \$TOKEN/);
  for (const text of [shown, aicli(request("POST", "/clusters", NEW), "https://m", {}), resources([request("POST", "/clusters", NEW)], {})]) assert.doesNotMatch(text, /auths/);
});

test("calls beside the API have neither its token nor their passwords, and name the file that they send", () => {
  const login = curl({ method: "POST", url: "/auth/token", body: { username: "a", password: "hidden" } }, "https://m", true);
  assert.match(login, /"username":"a","password":"<password>"/);
  assert.doesNotMatch(login, /Bearer|hidden/);
  assert.equal(curl({ method: "PUT", url: "/boot-artifacts/os-image?version=4.20", file: "live image.iso" }, "https://m", true), `curl -X PUT 'https://m/boot-artifacts/os-image?version=4.20' \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -T 'live image.iso'`);
});

test("lines of aicli are in its own words", () => {
  assert.equal(line("POST", "/clusters", { name: "a", pull_secret: "x", control_plane_count: 1 }), "aicli -U https://m create cluster a -P pull_secret=openshift_pull.json -P control_plane_count=1");
  assert.equal(line("PATCH", `/infra-envs/${ID}/hosts/${HOST}`, { host_name: "n1", host_role: "master" }, { host: "old" }), "aicli -U https://m update host old -P name=n1 -P role=master");
  assert.equal(line("PATCH", `/infra-envs/${ID}/hosts/${HOST}`, { disks_selected_config: [{ id: "/dev/sda", role: "install" }] }, { host: "n" }), "aicli -U https://m update host n -P disk=sda");
  assert.equal(line("PATCH", `/infra-envs/${ID}/hosts/${HOST}`, { disks_selected_config: [{ id: "/dev/disk/by-id/wwn-1" }] }), null, "it takes names in /dev only");
  assert.equal(line("PATCH", `/clusters/${ID}`, { api_vips: [{ ip: "192.0.2.5", on: true }], user_managed_networking: false }, { cluster: "a" }), `aicli -U https://m update cluster a -P 'api_vips=[{"ip": "192.0.2.5", "on": True}]' -P user_managed_networking=false`);
  assert.equal(line("POST", `/clusters/${ID}/actions/cancel`), null, "stop cluster resets it");
  assert.equal(line("POST", `/clusters/${ID}/actions/reset`, undefined, { cluster: "a" }), "aicli -U https://m stop cluster a");
  assert.equal(line("GET", "/x"), null);
  assert.equal(line("DELETE", `/clusters/${ID}/manifests?folder=manifests&file_name=a.yaml`, undefined, { cluster: "a" }), "aicli -U https://m delete -y manifest a a.yaml");
  assert.equal(line("DELETE", `/clusters/${ID}/manifests?folder=openshift&file_name=a.yaml`), null, "it deletes from one folder only");
  // The command for a cluster makes its infra-env as well.
  assert.equal(aicliLines([request("POST", "/clusters", NEW), request("POST", "/infra-envs", { name: "a_infra-env" })], "https://m", {}).length, 1);
  assert.deepEqual(aicliLines(["x", "y"].map((host_name) => request("PATCH", `/infra-envs/${ID}/hosts/${HOST}`, { host_name })), "https://m", [{ host: "a" }, { host: "b" }]).map((one) => one.split(" host ")[1]), ["a -P name=x", "b -P name=y"]);
});

/** The resources of a request, parsed: kind to the rest. */
const parsed = (text) => Object.fromEntries(loadAll(text).map(({ kind, apiVersion, ...rest }) => [kind, { apiVersion, ...rest }]));
const of = (method, url, body, names = {}) => parsed(resources([request(method, url, body)], names));

test("a new cluster is three resources", () => {
  const text = resources([request("POST", "/clusters", { ...NEW, disk_encryption: { enable_on: "masters", mode: "tang", tang_servers: '[{"url":"http://t"}]' }, platform: { type: "external", external: { platform_name: "oci", cloud_controller_manager: "External" } } }), request("POST", "/infra-envs", { name: "a_infra-env", cluster_id: "<id of the cluster>", cpu_architecture: "x86_64", openshift_version: "4.20.1", image_type: "minimal-iso" })], { cluster: "a" });
  const { ClusterDeployment, AgentClusterInstall, InfraEnv } = parsed(text);
  assert.equal(ClusterDeployment.apiVersion, "hive.openshift.io/v1");
  assert.deepEqual([ClusterDeployment.spec.baseDomain, ClusterDeployment.spec.clusterInstallRef.kind], ["example.com", "AgentClusterInstall"]);
  const { spec } = AgentClusterInstall;
  assert.deepEqual([spec.imageSetRef.name, spec.provisionRequirements.controlPlaneAgents, spec.platformType, spec.external.platformName], ["openshift-4.20.1", 1, "External", "oci"]);
  assert.deepEqual(spec.diskEncryption, { enableOn: "masters", mode: "tang", tangServers: '[{"url":"http://t"}]' });
  assert.deepEqual(spec.networking, {}, "required, if empty");
  assert.deepEqual(InfraEnv.metadata, { name: "a-infra-env", namespace: "a" }, "a name that Kubernetes accepts");
  assert.deepEqual([InfraEnv.spec.clusterRef.name, InfraEnv.spec.imageType, InfraEnv.spec.osImageVersion], ["a", "minimal-iso", undefined]);
});

test("changes are the fields that they set, and what has no field is named", () => {
  const body = { api_vips: [{ ip: "192.0.2.5", cluster_id: ID }], ingress_vips: [{ ip: "fd00::6" }], network_type: "OVNKubernetes", user_managed_networking: false, cluster_networks: [{ cidr: "10.128.0.0/14", host_prefix: 23 }], service_networks: [{ cidr: "172.30.0.0/16" }], machine_networks: [{ cidr: "192.0.2.0/24" }], ssh_public_key: "ssh-ed25519 AAAA me", vip_dhcp_allocation: false, olm_operators: [] };
  const text = resources([request("PATCH", `/clusters/${ID}`, body)], { cluster: "a" });
  assert.match(text, /^# .*: vip_dhcp_allocation, olm_operators\n/);
  const { AgentClusterInstall, ClusterDeployment } = parsed(text);
  assert.equal(ClusterDeployment, undefined);
  assert.deepEqual(AgentClusterInstall.spec, { apiVIPs: ["192.0.2.5"], ingressVIPs: ["fd00::6"], networking: { networkType: "OVNKubernetes", userManagedNetworking: false, machineNetwork: [{ cidr: "192.0.2.0/24" }], clusterNetwork: [{ cidr: "10.128.0.0/14", hostPrefix: 23 }], serviceNetwork: ["172.30.0.0/16"] }, sshPublicKey: "ssh-ed25519 AAAA me" });
  assert.deepEqual(of("PATCH", `/clusters/${ID}`, { base_dns_domain: "b.com", schedulable_masters: true, http_proxy: "http://p", ntp_sources: "a, b" }, { cluster: "a" }).AgentClusterInstall.spec, { mastersSchedulable: true, proxy: { httpProxy: "http://p" }, ntpSources: ["a", "b"] });
});

test("static networks are a resource for each host, with their YAML as it is", () => {
  const network_yaml = "# by hand\ninterfaces:\n  - name: eth0\n    ipv4: {enabled: true}\n\nroutes: {}\n";
  const text = resources([request("PATCH", `/infra-envs/${ID}`, { static_network_config: [{ network_yaml, mac_interface_map: [{ mac_address: "52:54:00:00:00:01", logical_nic_name: "eth0" }] }], kernel_arguments: [{ operation: "append", value: "a=b" }], additional_trust_bundle: "-----BEGIN\nx\n-----END\n" })], { cluster: "a", infraEnv: "env" });
  const { InfraEnv, NMStateConfig } = parsed(text);
  assert.deepEqual(NMStateConfig.spec.interfaces, [{ name: "eth0", macAddress: "52:54:00:00:00:01" }]);
  assert.deepEqual(NMStateConfig.spec.config, { interfaces: [{ name: "eth0", ipv4: { enabled: true } }], routes: {} });
  assert.deepEqual(InfraEnv.spec.nmStateConfigLabelSelector.matchLabels, NMStateConfig.metadata.labels);
  assert.deepEqual([InfraEnv.spec.kernelArguments, InfraEnv.spec.additionalTrustBundle], [[{ operation: "append", value: "a=b" }], "-----BEGIN\nx\n-----END\n"]);
});

test("hosts, manifests and imported clusters have theirs", () => {
  const host = `/infra-envs/${ID}/hosts/${HOST}`;
  const agent = of("PATCH", host, { host_name: "yes", host_role: "worker", disks_selected_config: [{ id: "/dev/sda", role: "install" }] }, { cluster: "a" }).Agent;
  assert.deepEqual([agent.metadata.name, agent.spec], [HOST, { hostname: "yes", role: "worker", installation_disk_id: "/dev/sda" }]);
  assert.equal(of("POST", `${host}/actions/bind`, { cluster_id: ID }, { cluster: "a" }).Agent.spec.clusterDeploymentName.name, "a");
  assert.equal(of("POST", `${host}/actions/unbind`).Agent.spec.clusterDeploymentName, null);
  const content = "a: ü\nb:\n  - 1\n";
  const made = of("POST", `/clusters/${ID}/manifests`, { folder: "manifests", file_name: "a.yaml", content: Buffer.from(content).toString("base64") }, { cluster: "a" });
  assert.deepEqual(made.ConfigMap.data, { "a.yaml": content });
  assert.deepEqual(made.AgentClusterInstall.spec.manifestsConfigMapRefs, [{ name: made.ConfigMap.metadata.name }]);
  assert.equal(of("POST", "/clusters/import", { name: "old", openshift_cluster_id: ID, api_vip_dnsname: "api.old" }).ClusterDeployment.spec.installed, true);
  assert.equal(resources([request("POST", `/clusters/${ID}/actions/cancel`)], {}), null);
});

test("a cluster as it is makes the resources that would make it again", () => {
  const cluster = { ...NEW, id: ID, control_plane_count: 3, api_vips: [{ ip: "192.0.2.5" }], ingress_vips: [{ ip: "192.0.2.6" }], machine_networks: [], cluster_networks: [{ cidr: "10.128.0.0/14", host_prefix: 23 }], service_networks: [{ cidr: "172.30.0.0/16" }], disk_encryption: { enable_on: "none", mode: "tpmv2" }, platform: { type: "baremetal", external: null } };
  const { AgentClusterInstall, InfraEnv } = parsed(wholeCluster(cluster, { name: "a_infra-env", type: "full-iso", kernel_arguments: '[{"operation":"append","value":"x"}]', static_network_config: null, proxy: {}, ssh_authorized_key: "" }));
  assert.deepEqual([AgentClusterInstall.spec.apiVIPs, AgentClusterInstall.spec.diskEncryption, AgentClusterInstall.spec.platformType, AgentClusterInstall.spec.networking.machineNetwork], [["192.0.2.5"], undefined, "BareMetal", undefined]);
  assert.deepEqual(InfraEnv.spec, { clusterRef: { name: "a", namespace: "a" }, cpuArchitecture: "x86_64", pullSecretRef: { name: "pull-secret" }, imageType: "full-iso", kernelArguments: [{ operation: "append", value: "x" }] });
});
