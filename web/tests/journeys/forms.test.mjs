// Wrong input: each rule of each form shows its reason, and nothing is sent.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service, api, assertClean, closeBrowser, createCluster, open } from "../harness.mjs";

let service;
let page;
let cluster;
before(async () => {
  service = await Service.start();
  page = await open(service);
  cluster = await createCluster(page, { name: "forms" });
});
after(async () => { await closeBrowser(); await service?.stop(); });

/** Each value, and a part of the reason that must show. */
async function refuses(label, cases) {
  const field = page.getByLabel(label, { exact: false }).first();
  for (const [value, reason] of cases) {
    await field.fill(value);
    await page.getByText(reason, { exact: false }).first().waitFor();
  }
}

test("the form of a new cluster", async () => {
  await page.goto("/clusters/new");
  await page.getByRole("button", { name: "Create and continue" }).click();
  await page.getByText("These fields need another value").waitFor();
  await refuses("Cluster name", [["Cluster", "Only lower-case letters, digits and hyphens."], ["-a", "The first and the last character"], ["a".repeat(55), "At most 54 characters; these are 55."], ["forms", ""]]);
  await refuses("Base domain", [["a b", "No white space"], ["Example.com", "lower-case"], [`${"a".repeat(64)}.com`, "at most 63 characters"], ["example.com", "There is a cluster with this name and domain."]]);
  await refuses("Pull secret", [["{", "This is not JSON"], ["{}", "no object \"auths\""]]);
  await page.getByLabel("Control plane", { exact: true }).check();
  await page.getByRole("radio", { name: "Tang servers" }).check();
  await refuses("Tang server 1: URL", [["tang.example.com", "Must begin with http://"]]);
  await page.getByText("Show as API call, aicli line or custom resources").click();
  await page.getByText(/aicli -U .* create cluster forms/).waitFor();
  assert.equal((await api(page, "GET", "/clusters")).length, 1, "nothing was sent");
});

test("the dialog that makes images", async () => {
  await page.goto(`/clusters/${cluster.id}/setup/hosts`);
  await page.getByRole("button", { name: "Add hosts" }).click();
  await refuses("SSH public key", [["key", "A public key begins with"], ["ssh-ed25519 AAAA", "is not such a key"], ["ssh-rsa A\nssh-rsa B", "One key only"]]);
  await page.getByLabel("Hosts use a proxy").check();
  await refuses("HTTP proxy", [["https://p:1", "Must begin with http://"], ["proxy", "Must begin with http://"]]);
  await refuses("No proxy", [["a,*", "* stands alone"], ["a b", "is neither an address"]]);
  await page.getByLabel("Additional NTP sources").check();
  await refuses(/^NTP sources/, [["a,,b", "nothing between two commas"], ["ntp.example.com,ntp.example.com", "in the list twice"], ["NTP_1", "is neither an address nor a name"]]);
  await page.getByLabel("Trust additional certificates").check();
  await refuses("Trusted certificates", [["text", "PEM text"]]);
  await page.getByRole("button", { name: "Generate image" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
});

test("static networks", async () => {
  await page.goto(`/clusters/${cluster.id}/setup/static`);
  await page.getByRole("radio", { name: "Static, by a form" }).check();
  await page.getByLabel("Use a VLAN").check();
  await refuses("VLAN id", [["0", "between 1 and 4094"], ["5000", "between 1 and 4094"]]);
  await refuses("DNS servers", [["dns.example.com", "is not an IP address"], ["1.1.1.1,1.1.1.1", "in the list twice"]]);
  await refuses("IPv4 subnet", [["192.0.2.0", "An IPv4 network such as"], ["2001:db8::/64", "An IPv4 network such as"]]);
  await page.getByLabel("IPv4 subnet").fill("192.0.2.0/24");
  await refuses("IPv4 gateway", [["192.0.3.1", "Not in 192.0.2.0/24."], ["192.0.2.255", "broadcast address"]]);
  await refuses("Host 1: MAC address", [["52:54", "Six pairs"]]);
  await refuses("Host 1: IPv4 address", [["10.0.0.1", "Not in 192.0.2.0/24."]]);
  await page.getByLabel("Dual stack").check();
  await refuses("IPv6 subnet", [["10.0.0.0/8", "An IPv6 network such as"]]);
  await page.getByLabel("Bond of two ports").check();
  await page.getByLabel("Host 1: MAC address", { exact: false }).first().fill("52:54:00:00:00:01");
  await page.getByLabel("Host 1: MAC address of the second port").fill("52:54:00:00:00:01");
  await page.getByText("This MAC address is used twice.").first().waitFor();
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByText("These fields need another value").waitFor();
  await page.getByRole("radio", { name: "Static, as nmstate YAML" }).check();
  await page.getByRole("button", { name: "Add a host", exact: true }).click();
  await page.getByLabel("nmstate YAML of host 1").first().fill("interfaces: [");
  await page.getByLabel("MAC address 1 of host 1").fill("52:54:00:00:00:01");
  await page.getByLabel("Interface 1 of host 1").fill("a-name-that-is-too-long");
  await page.getByText("1 to 15 characters").first().waitFor();
});

test("networks of the cluster, manifests and import", async () => {
  await page.goto(`/clusters/${cluster.id}/setup/networking`);
  await page.getByLabel("Advanced: networks of pods and services").check();
  await refuses("Cluster network", [["10.128.0.0", "A network such as"], ["10.128.0.1/14", "bits set behind the prefix"], ["10.0.0.0/30", "between 1 and 25"], ["172.30.0.0/15", "overlap"]]);
  await refuses("Prefix per host", [["x", "A number."], ["40", "Between"]]);
  await refuses("Service network", [["f000::/4", "between 8 and 128"]]);
  await page.goto(`/clusters/${cluster.id}/setup/manifests`);
  await page.getByRole("button", { name: "Add a manifest" }).click();
  await refuses("File name", [["a.txt", "Must end in"], ["a/b.yaml", "No slash"]]);
  await page.getByLabel("File name").fill("a.yaml");
  await page.getByLabel("Content", { exact: false }).first().fill("a: [");
  await page.getByRole("button", { name: "Save manifest" }).click();
  await page.getByText("a.yaml cannot be read").waitFor();
  assert.deepEqual(await api(page, "GET", `/clusters/${cluster.id}/manifests`), []);
  await page.goto("/import");
  await page.getByRole("button", { name: "Import" }).click();
  await refuses("Cluster id", [["1", "A UUID"]]);
  await page.getByLabel("Cluster name").fill("elsewhere");
  await page.getByLabel("Cluster id").fill("6b0d1e0a-4c0e-4c58-9d5c-0a4a5d9b1c11");
  await page.getByLabel("Name or address of its API").fill("api.elsewhere.example.com");
  await page.getByRole("button", { name: "Import" }).click();
  await page.waitForURL(/\/clusters\/[0-9a-f-]{36}\/hosts/);
  await page.getByText("Adding hosts").first().waitFor();
  assertClean(page);
});
