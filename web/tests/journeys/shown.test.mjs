// What simulated machines do not bring: objects made by hand, shown by the page from a server without a service.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { event, served } from "../../bench.mjs";
import { PULL_SECRET, assertClean, closeBrowser, hostRow, open } from "../harness.mjs";

const ID = "11111111-1111-4111-8111-111111111111";
const ENV = "22222222-2222-4222-8222-222222222222";
const API = "**/api/assisted-install/v2";
const cluster = { id: ID, name: "shown", base_dns_domain: "example.com", status: "insufficient", kind: "Cluster", control_plane_count: 3, openshift_version: "4.20.1", cpu_architecture: "x86_64", network_type: "OVNKubernetes", validations_info: "{}", hosts: [], platform: { type: "baremetal" } };
const disk = (name, more = {}) => ({ id: `/dev/${name}`, name, path: `/dev/${name}`, drive_type: "SSD", size_bytes: 500e9, installation_eligibility: { eligible: true, not_eligible_reasons: [] }, ...more });
const host = (n, role, more = {}, inventory = {}) => ({
  id: `33333333-3333-4333-8333-33333333333${n}`, infra_env_id: ENV, cluster_id: ID, requested_hostname: `${role}-${n}`, role, suggested_role: role, status: "known", validations_info: "{}", progress: {}, progress_stages: [],
  installation_disk_id: "/dev/sda", inventory: JSON.stringify({ disks: [disk("sda")], interfaces: [{ name: "eno1", mac_address: `52:54:00:00:00:0${n}`, ipv4_addresses: [], ipv6_addresses: [`fd00::2${n}/64`] }], ...inventory }), ...more,
});

let server;
let page;
before(async () => {
  server = await served({ cluster, hosts: [] });
  page = await open({ url: server.url, front: server.url });
});
after(async () => { await closeBrowser(); server?.close(); });

/** The page at a tab, with these objects. */
async function shows(tab, changes, hosts) {
  await page.goto(`/clusters/${ID}/${tab}`);
  await page.getByRole("heading", { name: "shown", level: 1 }).waitFor();
  server.send(event("cluster", { ...cluster, ...changes }) + hosts.map((one) => event("host", one)).join(""));
}
/** An answer of the service, and what was sent for it. */
async function answers(url, body) {
  const sent = [];
  await page.route(API + url, (route) => { sent.push([route.request().method(), route.request().postDataJSON()]); return Buffer.isBuffer(body) ? route.fulfill({ body, contentType: "application/octet-stream" }) : route.fulfill({ json: typeof body === "function" ? body() : body }); });
  return sent;
}

test("an installed cluster with failed operators and workers says so", async () => {
  await shows("progress", { status: "installed", platform: { type: "vsphere" }, monitored_operators: [{ name: "lvm", operator_type: "olm", status: "failed", status_info: "no disks" }, { name: "console", operator_type: "builtin", status: "available" }] }, [host(0, "master", { status: "installed" }), host(1, "worker", { status: "error", status_info: "disk broken" })]);
  await page.getByText("The cluster is degraded").waitFor();
  await page.getByText("Operators that failed: lvm.").waitFor();
  await page.getByText("1 host failed").waitFor();
  await page.getByText("worker-1. The cluster is installed without them").waitFor();
  await page.getByText("The cluster runs on platform vsphere.").waitFor();
  assert.equal(await page.getByText("The installation failed").count(), 0);
});

test("what a cluster consists of is shown beside its progress", async () => {
  await answers(`/clusters/${ID}/manifests`, [{ folder: "manifests", file_name: "mine.yaml", manifest_source: "user" }, { folder: "manifests", file_name: "ours.yaml", manifest_source: "system" }]);
  await shows("progress", { status: "installed", network_type: "OVNKubernetes", machine_networks: [{ cidr: "192.0.2.0/24" }], api_vips: [{ ip: "192.0.2.5" }], monitored_operators: [{ name: "lvm", operator_type: "olm", status: "available" }] }, [host(0, "master", { status: "installed" }), host(1, "worker", { status: "installed" })]);
  await page.getByText("Versions, hosts and networks that it is made of").click();
  const fact = (name, value) => page.locator("dl.facts > div").filter({ has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).getByText(value, { exact: true }).first().waitFor();
  for (const [name, value] of [["Custom manifests", "mine.yaml"], ["Machine networks", "192.0.2.0/24"], ["API address", "192.0.2.5"], ["Operators", "Logical Volume Manager Storage"], ["Hosts", "2: 1 control plane, 1 workers"], ["IP stack", "IPv4"]]) await fact(name, value);
  await page.unroute(`${API}/clusters/${ID}/manifests`);
});

test("installation disks in use are named, and which hosts hold data", async () => {
  const parts = [["LVM", "The installation disk holds LVM volumes"], ["RAID", "part of a software RAID"], ["Multipath", "a path of a multipath device"]];
  const hosts = parts.map(([kind], n) => host(n, n ? "worker" : "master", {}, { disks: [disk("sda", { holders: "dm-0" }), disk("dm-0", { drive_type: kind })] }));
  await shows("setup/storage", { monitored_operators: [{ name: "odf", operator_type: "olm" }] }, [...hosts, host(3, "worker")]);
  await hostRow(page, "master-0").getByText("not used").waitFor();
  await hostRow(page, "worker-1").getByText("uses its disks").waitFor();
  for (const [n, [, text]] of parts.entries()) {
    await page.getByRole("button", { name: `Details of ${n ? "worker" : "master"}-${n}` }).click();
    await page.getByText(text).waitFor();
  }
  await page.getByRole("button", { name: "Details of worker-3" }).click();
  for (const [, text] of parts) await page.getByText(text).waitFor({ state: "hidden" });
});

test("two control plane nodes have an arbiter", async () => {
  const sent = await answers(`/infra-envs/${ENV}/hosts/*`, host(2, "arbiter"));
  await shows("hosts", { control_plane_count: 2 }, [host(0, "master"), host(2, "worker")]);
  await page.getByRole("button", { name: "Actions of worker-2" }).click();
  await page.getByRole("menuitem", { name: "Role: Arbiter" }).click();
  await hostRow(page, "arbiter-2").waitFor();
  assert.deepEqual(sent, [["PATCH", { host_role: "arbiter" }]]);
});

test("a cluster whose hosts have IPv6 only gets networks of that family", async () => {
  await answers("/clusters/default-config", { cluster_networks_ipv4: [{ cidr: "10.128.0.0/14", host_prefix: 23 }], cluster_networks_dualstack: [{ cidr: "10.128.0.0/14", host_prefix: 23 }, { cidr: "fd01::/48", host_prefix: 64 }], service_networks_ipv4: [{ cidr: "172.30.0.0/16" }], service_networks_dualstack: [{ cidr: "172.30.0.0/16" }, { cidr: "fd02::/112" }] });
  const sent = await answers(`/clusters/${ID}`, () => cluster);
  await shows("setup/networking", { cluster_networks: [{ cidr: "10.128.0.0/14", host_prefix: 23 }], service_networks: [{ cidr: "172.30.0.0/16" }] }, [0, 1, 2].map((n) => host(n, "master")));
  await page.getByText("3 of 3 hosts").waitFor({ state: "attached" });
  assert.equal(await page.getByLabel("Machine network").inputValue(), "fd00::/64");
  await page.getByLabel(/^API address/).fill("192.168.126.5");
  await page.getByText("Not in a network of the hosts: fd00::/64.").waitFor();
  await page.getByLabel(/^API address/).fill("fd00::5");
  await page.getByLabel(/^Ingress address/).fill("fd00::6");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Not saved yet").waitFor({ state: "hidden" });
  const [[method, body]] = sent;
  assert.deepEqual([method, body.api_vips.map((one) => one.ip), body.cluster_networks.map((one) => one.cidr), body.service_networks.map((one) => one.cidr)], ["PATCH", ["fd00::5"], ["fd01::/48"], ["fd02::/112"]]);
});

test("each rule of a network type and of two families shows its reason", async () => {
  await answers("/support-levels/features?*", { features: { SDN_NETWORK_TYPE: "supported" } });
  const both = (n) => host(n, "master", {}, { interfaces: [{ name: "eno1", mac_address: `52:54:00:00:00:0${n}`, ipv4_addresses: [`192.0.2.2${n}/24`], ipv6_addresses: [`fd00::2${n}/64`] }] });
  await shows("setup/networking", { network_type: "OpenShiftSDN" }, [0, 1, 2].map(both));
  await page.getByText("3 of 3 hosts").first().waitFor({ state: "attached" });
  await page.getByLabel("Allocate the virtual addresses by DHCP").check();
  await page.getByText("The addresses will be allocated by the DHCP server.").waitFor();
  assert.equal(await page.getByLabel(/^API address/).count(), 0);
  await page.getByLabel("Allocate the virtual addresses by DHCP").uncheck();
  await page.getByRole("radio", { name: "Dual stack" }).check();
  await page.getByText("OpenShiftSDN supports neither dual stack nor a single node.").waitFor();
  await page.getByLabel("Network type").selectOption("OVNKubernetes");
  await page.getByText("OpenShiftSDN supports neither").waitFor({ state: "hidden" });
  // Of each pair the family is that of the network at its place.
  await page.getByLabel("API address (second)").fill("192.0.2.5");
  await page.getByText("Not in a network of the hosts: fd00::/64.").waitFor();
  await page.getByLabel("API address (second)").fill("fd00::");
  await page.getByText("network's own or its broadcast address").waitFor();
  // Which family comes first is free since 4.12 only.
  server.send(event("cluster", { ...cluster, openshift_version: "4.11.59", network_type: "OVNKubernetes" }));
  await page.getByLabel("Machine network", { exact: true }).selectOption("fd00::/64");
  await page.getByText("Before version 4.12 the first network is IPv4.").waitFor();
  await page.getByLabel("Machine network", { exact: true }).selectOption("192.0.2.0/24");
  await page.getByText("Before version 4.12 the first network is IPv4.").waitFor({ state: "hidden" });
  // The second network is not there (any more).
  server.send(event("cluster", { ...cluster, network_type: "OVNKubernetes" }) + [0, 1, 2].map((n) => event("host", host(n, "master", {}, { interfaces: [{ name: "eno1", mac_address: `52:54:00:00:00:0${n}`, ipv4_addresses: [`192.0.2.2${n}/24`], ipv6_addresses: [] }] }))).join(""));
  await page.getByText("fd00::/64 (no host is in it)").waitFor({ state: "attached" });
  await page.evaluate(() => sessionStorage.clear());
  await page.unroute(`${API}/support-levels/features?*`);
});

test("what becomes of hosts is announced, and control plane nodes that run workloads are named so", async () => {
  await shows("progress", { status: "installing", schedulable_masters_forced_true: true }, [host(0, "master", { status: "installed" }), host(1, "worker", { status: "installing-in-progress" })]);
  await page.getByRole("cell", { name: "Control plane, worker" }).waitFor();
  await page.getByText("1 of 1 installed").waitFor();
  await page.getByText("0 of 1 installed").waitFor();
  await page.getByRole("link", { name: "Hosts", exact: true }).click();
  await hostRow(page, "worker-1").getByText("Installing").waitFor();
  server.send(event("host", host(1, "worker", { status: "error" })));
  await page.getByRole("status").getByText("worker-1: Failed.").waitFor({ state: "attached" });
});

test("the map draws each network with its hosts, and links that fail", async () => {
  const inNet = (n, ip, remotes) => host(n, "worker", { connectivity: JSON.stringify({ remote_hosts: remotes }) }, { interfaces: [{ name: "eno1", mac_address: `52:54:00:00:00:0${n}`, ipv4_addresses: [ip], ipv6_addresses: [] }] });
  const to = (n, successful) => ({ host_id: host(n, "worker").id, l3_connectivity: [{ successful, remote_ip_address: `192.0.2.2${n}`, average_rtt_ms: 1 }] });
  await shows("network", { machine_networks: [{ cidr: "192.0.2.0/24" }], api_vips: [{ ip: "192.0.2.5" }] }, [inNet(0, "192.0.2.20/24", [to(1, true), to(2, false)]), inNet(1, "192.0.2.21/24", []), inNet(2, "198.51.100.22/24", [])]);
  await page.getByText("1 of 2 links have problems").waitFor();
  assert.equal(await page.locator("svg.map rect.net").count(), 2);
  await page.locator("svg.map").getByText("198.51.100.0/24").waitFor();
  await page.locator("svg.map").getByText("not in the machine network").waitFor();
  assert.equal(await page.locator("svg.map line.bad").count(), 1);
  await page.locator("svg.map").getByRole("link", { name: "worker-2" }).click();
  await page.waitForURL(/\/hosts\?host=/);
  await page.getByText("Inventory as JSON").waitFor();
});

test("a part that cannot be drawn leaves the rest of the page usable", async () => {
  await shows("hosts", {}, [host(0, "master", {}, { disks: 5 })]);
  await page.getByText("This part of the page cannot be shown").waitFor();
  assert.ok(page.problems.length > 0, "it is in the console");
  page.problems.length = 0;
  server.send(event("host", host(0, "master")));
  await page.getByRole("button", { name: "Try again" }).click();
  await hostRow(page, "master-0").waitFor();
  await page.getByRole("link", { name: "Validations" }).click();
  await page.getByRole("heading", { name: "Cluster", exact: true }).waitFor();
  page.problems.length = 0;
});

test("the review names what limits support", async () => {
  await answers("/support-levels/features?*", { features: { SNO: "supported", LVM: "tech-preview" } });
  await answers("/openshift-versions", { "4.20.1": { display_name: "4.20.1", support_level: "beta", cpu_architectures: ["x86_64"] } });
  const use = (ids) => JSON.stringify(Object.fromEntries(ids.map((id) => [`Feature ${id}`, { id }])));
  await shows("setup/review", { feature_usage: use(["SNO", "LVM"]) }, []);
  await page.getByText("limited: version 4.20.1: beta; Feature LVM: tech-preview").waitFor();
  await page.unroute(`${API}/openshift-versions`);
  await answers("/openshift-versions", { "4.20.1": { display_name: "4.20.1", support_level: "production", cpu_architectures: ["x86_64"] } });
  await shows("setup/review", { feature_usage: use(["SNO"]) }, []);
  await page.getByText("full", { exact: true }).waitFor();
});

test("a release for several architectures has images for hosts of another one", async () => {
  const made = await answers("/infra-envs", { id: ENV, name: "more", cpu_architecture: "arm64", type: "full-iso" });
  await shows("hosts", { status: "adding-hosts", cpu_architecture: "multi" }, [host(0, "master", { status: "installed" })]);
  await page.getByRole("button", { name: "Image for another architecture" }).click();
  await page.getByRole("dialog").getByLabel("CPU architecture").selectOption("arm64");
  await page.getByRole("dialog").getByLabel(/^Pull secret( \*)?$/).first().fill(PULL_SECRET);
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  await page.getByRole("dialog").getByText("How machines boot").waitFor();
  assert.equal(made[0][1].cpu_architecture, "arm64");
});

test("the log archive is searched in the page", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "muster-web-logs-"));
  writeFileSync(path.join(folder, "agent.logs"), "first line\nERROR a needle here\n");
  writeFileSync(path.join(folder, "installer.logs"), "nothing\n");
  execFileSync("tar", ["czf", "host.tar.gz", "agent.logs", "installer.logs"], { cwd: folder });
  execFileSync("tar", ["cf", "all.tar", "host.tar.gz"], { cwd: folder });
  await answers(`/clusters/${ID}/logs?*`, readFileSync(path.join(folder, "all.tar")));
  rmSync(folder, { recursive: true });
  await shows("logs", { status: "error", controller_logs_collected_at: "2026-01-01T00:00:00Z" }, []);
  await page.getByRole("button", { name: "Open in the page" }).click();
  await page.getByText("2 files").waitFor();
  await page.getByLabel("Search in all files").fill("needle");
  const found = page.locator(".logs > div");
  await page.locator(".logs mark").waitFor();
  assert.deepEqual(await found.allInnerTexts(), ["host.tar.gz/agent.logs: ERROR a needle here"]);
  assert.equal(await found.first().getAttribute("class"), "bad");
  // The address shows the same to another user.
  await page.reload();
  // What is sent before the page follows is lost.
  await page.getByRole("heading", { name: "shown", level: 1 }).waitFor();
  server.send(event("cluster", { ...cluster, status: "error", controller_logs_collected_at: "2026-01-01T00:00:00Z" }));
  await page.locator(".logs mark").waitFor();
  assertClean(page);
});
