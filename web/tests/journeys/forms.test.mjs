// Wrong input: each rule of each form shows its reason, and nothing is sent.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service, api, assertClean, closeBrowser, createCluster, open, waitFor } from "../harness.mjs";

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
  // Required fields have a star behind their label.
  const field = typeof label === "string" ? page.getByLabel(new RegExp(`^${label.replace(/[()]/g, "\\$&")}( \\*)?$`)).first() : page.getByLabel(label).first();
  for (const [value, reason] of cases) {
    await field.fill(value);
    await page.getByText(reason, { exact: false }).first().waitFor();
  }
}

test("the form of a new cluster", async () => {
  await page.goto("/clusters/new");
  await page.getByRole("button", { name: "Create and continue" }).click();
  await page.getByText("These fields need another value").waitFor();
  await refuses("Cluster name", [["Cluster", "Only lower-case letters, digits and hyphens."], ["-a", "The first and the last character"], ["a-", "The first and the last character"], ["a_b", "Only lower-case letters, digits and hyphens."], ["", "This is required."], ["a".repeat(55), "At most 54 characters; these are 55."], ["forms", ""]]);
  await refuses("Base domain", [["", "This is required."], ["a b", "No white space"], ["Example.com", "lower-case"], [`${"a".repeat(64)}.com`, "at most 63 characters"], [Array(4).fill("a".repeat(45)).join("."), "At most 181 characters; these are 183."], ["example.com", "There is a cluster with this name and domain."]]);
  await refuses("Pull secret", [["", "This is required."], ["{", "This is not JSON"], ["{}", "no object \"auths\""], ['{"auths": 1}', "no object \"auths\""]]);
  await page.getByLabel("Control plane", { exact: true }).check();
  await page.getByRole("radio", { name: "Tang servers" }).check();
  await refuses("Tang server 1: URL", [["", "This is required."], ["tang.example.com", "Must begin with http://"], ["http://", "This is not a URL."]]);
  await page.getByLabel("Tang server 1: URL").fill("http://tang.example.com:7500");
  await page.getByRole("button", { name: "Create and continue" }).click();
  await page.getByRole("alert").getByText("Tang server 1: thumbprint").waitFor();
  await page.getByRole("button", { name: "Add a Tang server" }).click();
  await page.getByRole("alert").getByText("Tang server 2: URL").waitFor();
  await page.getByText("Show as API call, aicli line or custom resources").click();
  await page.getByText(/aicli -U .* create cluster forms/).waitFor();
  // A choice that the architecture does not have falls back.
  await page.getByLabel("Platform").selectOption("vsphere");
  await page.getByLabel("Control plane nodes").selectOption("1");
  await waitFor("another platform", async () => (await page.getByLabel("Platform").inputValue()) === "none");
  assert.equal((await api(page, "GET", "/clusters")).length, 1, "nothing was sent");

  // What was typed outlives the page; secrets do not.
  await page.reload();
  assert.equal(await page.getByLabel("Cluster name").inputValue(), "forms");
  assert.equal(await page.getByLabel("Tang server 1: URL").inputValue(), "http://tang.example.com:7500");
  assert.equal(await page.getByLabel(/^Pull secret( \*)?$/).first().inputValue(), "");
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify(sessionStorage)), /auths/);
});

test("the dialog that makes images", async () => {
  await page.goto(`/clusters/${cluster.id}/setup/hosts`);
  await page.getByRole("button", { name: "Add hosts" }).click();
  await refuses("SSH public key", [["key", "A public key begins with"], ["ssh-ed25519 AAAA", "is not a valid key"], ["ssh-rsa A\nssh-rsa B", "One key only"]]);
  await page.getByLabel("Hosts use a proxy").check();
  await page.getByRole("button", { name: "Generate image" }).click();
  await page.getByRole("dialog").getByText("Set the HTTP or the HTTPS proxy.").waitFor();
  await refuses("HTTP proxy", [["https://p:1", "Must begin with http://"], ["proxy", "Must begin with http://"]]);
  await refuses("HTTPS proxy", [["ftp://p", "Must begin with http:// or https://."], ["https://", "This is not a URL."]]);
  await refuses("No proxy", [["a,*", "* must be the only entry"], ["a b", "is neither an address"]]);
  await page.getByLabel("Use your own NTP sources").check();
  await refuses(/^NTP sources/, [["", "This is required."], ["10.0.0.300", "is neither an address nor a name"], ["a,,b", "An entry between two commas is empty"], ["ntp.example.com,ntp.example.com", "in the list twice"], ["NTP_1", "is neither an address nor a name"]]);
  await page.getByLabel("Trust additional certificates").check();
  await refuses("Trusted certificates", [["text", "PEM text"], [`-----BEGIN CERTIFICATE-----${"a".repeat(65_536)}`, "At most 65535 bytes."]]);
  await page.getByRole("button", { name: "Generate image" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
});

test("static networks", async () => {
  await page.goto(`/clusters/${cluster.id}/setup/static`);
  await page.getByRole("radio", { name: "Static, by a form" }).check();
  await page.getByLabel("Use a VLAN").check();
  await page.getByRole("button", { name: "Save and continue" }).click();
  await refuses("VLAN id", [["", "between 1 and 4094"], ["x", "between 1 and 4094"], ["0", "between 1 and 4094"], ["5000", "between 1 and 4094"]]);
  await refuses("DNS servers", [["", "This is required."], ["2001:db8::53", "IPv6 addresses are for dual stack."], ["1.1.1.1,,2.2.2.2", "An entry between two commas is empty"], ["dns.example.com", "is not an IP address"], ["1.1.1.1,1.1.1.1", "in the list twice"], ["127.0.0.1", "127.0.0.1 is reserved."]]);
  await refuses("IPv4 subnet", [["192.0.2.0", "An IPv4 network such as"], ["2001:db8::/64", "An IPv4 network such as"], ["192.0.2.0/0", "must be at least 1"], ["192.0.2.0/33", "An IPv4 network such as"], ["127.0.0.0/8", "This address is reserved."]]);
  await page.getByLabel("IPv4 subnet").fill("192.0.2.0/24");
  await refuses("IPv4 gateway", [["192.0.3.1", "Not in 192.0.2.0/24."], ["192.0.2.255", "broadcast address"], ["192.0.2.0", "network's own"], ["x", "This is not an IP address."], ["", "This is required."]]);
  await page.getByLabel("IPv4 gateway").fill("192.0.2.1");
  await refuses("Host 1: MAC address", [["52:54", "Six pairs"], ["52-54-00-00-00-01", "Six pairs"]]);
  await refuses("Host 1: IPv4 address", [["10.0.0.1", "Not in 192.0.2.0/24."], ["192.0.2.255", "broadcast address"], ["192.0.2.1", "Another host has this address."], ["127.0.0.1", "This address is reserved."], ["", "This is required."]]);
  await page.getByLabel("Host 1: IPv4 address").fill("192.0.2.10");
  await page.getByRole("button", { name: "Add a host", exact: true }).click();
  await refuses("Host 2: IPv4 address", [["192.0.2.10", "Another host has this address."]]);
  await page.getByRole("button", { name: "Remove host 2" }).click();
  await page.getByLabel("Dual stack").check();
  await refuses("IPv6 subnet", [["10.0.0.0/8", "An IPv6 network such as"], ["2001:db8::/129", "An IPv6 network such as"], ["::1/128", "This address is reserved."]]);
  await page.getByLabel("IPv6 subnet").fill("2001:db8::/64");
  await refuses("IPv6 gateway", [["2001:db9::1", "Not in 2001:db8::/64."], ["ff02::1", "This address is reserved."]]);
  await refuses("Host 1: IPv6 address", [["10.0.0.1", "Not in 2001:db8::/64."]]);
  await page.getByLabel("Bond of two ports").check();
  await page.getByLabel("Host 1: MAC address", { exact: false }).first().fill("52:54:00:00:00:01");
  await page.getByLabel("Host 1: MAC address of the second port").fill("52:54:00:00:00:01");
  await page.getByText("This MAC address is used twice.").first().waitFor();
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByText("These fields need another value").waitFor();
  await page.getByRole("radio", { name: "Static, as nmstate YAML" }).check();
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByRole("alert").getByText("At least one host is needed.").waitFor();
  await page.getByRole("button", { name: "Add a host", exact: true }).click();
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByRole("alert").getByText("The YAML is required.").waitFor();
  await refuses("nmstate YAML of host 1", [["a".repeat((1 << 20) + 1), "At most 1 MiB."]]);
  await page.getByLabel("nmstate YAML of host 1").first().fill("interfaces: [");
  await page.getByLabel("MAC address 1 of host 1").fill("52:54:00:00:00:01");
  await refuses("Interface 1 of host 1", [["a-name-that-is-too-long", "1 to 15 characters"], ["", "1 to 15 characters"]]);
  await page.getByLabel("Interface 1 of host 1").fill("eth0");
  await page.locator(".error").filter({ hasText: /./ }).first().waitFor();
  await page.locator(".code .faulty").waitFor();
  await page.getByRole("button", { name: "Add an interface" }).click();
  await refuses("MAC address 2 of host 1", [["52:54", "Six pairs"], ["52:54:00:00:00:01", "52:54:00:00:00:01 is used twice."]]);
  await page.getByLabel("MAC address 2 of host 1").fill("52:54:00:00:00:02");
  await refuses("Interface 2 of host 1", [["eth0", "Interface eth0 is used twice."]]);
  await page.getByLabel("Interface 2 of host 1").fill("eth1");

  // The editor: new lines are indented, Tab moves lines, Esc lets Tab leave.
  const editor = page.getByLabel("nmstate YAML of host 1 *", { exact: true });
  await editor.fill("interfaces:");
  await editor.press("End");
  await editor.press("Enter");
  await editor.pressSequentially("- name: eth0");
  await editor.press("Enter");
  await editor.pressSequentially("mtu: 1500");
  assert.equal(await editor.inputValue(), "interfaces:\n  - name: eth0\n    mtu: 1500");
  await editor.press("Shift+Tab");
  assert.equal(await editor.inputValue(), "interfaces:\n  - name: eth0\n  mtu: 1500");
  await editor.press("Control+z");
  assert.equal(await editor.inputValue(), "interfaces:\n  - name: eth0\n    mtu: 1500", "undo knows it");
  await editor.press("Escape");
  await editor.press("Tab");
  assert.equal(await editor.evaluate((area) => area === document.activeElement), false, "the keyboard is not held");
});

test("bundles bring their operators, and each fixed choice names its reason", async () => {
  const bundle = (await api(page, "GET", "/operators/bundles")).find((one) => one.id === "virtualization");
  await page.goto(`/clusters/${cluster.id}/setup/operators`);
  const card = page.getByRole("checkbox", { name: bundle.title, exact: true });
  await card.check();
  const member = page.getByRole("checkbox", { name: "OpenShift Virtualization", exact: true });
  assert.equal(await member.isChecked() && await member.isDisabled(), true);
  await page.getByText(`part of ${bundle.title}`).first().waitFor();
  await page.getByLabel("Search operators").fill("no such operator");
  await member.waitFor({ state: "hidden" });
  await page.getByLabel("Search operators").fill("");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Not saved yet").waitFor({ state: "hidden" });
  assert.deepEqual((await api(page, "GET", `/clusters/${cluster.id}`)).operator_bundles.map((one) => one.id), ["virtualization"]);
  await page.getByRole("checkbox", { name: bundle.title, exact: true }).uncheck();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Not saved yet").waitFor({ state: "hidden" });
  assert.deepEqual((await api(page, "GET", `/clusters/${cluster.id}`)).operator_bundles ?? [], []);
});

test("networks of the cluster, manifests and import", async () => {
  const machines = service.simulate(cluster.infraEnv, ["--topology", "compact"]);
  await page.goto(`/clusters/${cluster.id}/setup/networking`);
  await page.getByRole("cell", { name: /^192.168.126/ }).first().waitFor();
  await page.getByLabel(/^Ingress address/).fill("192.168.126.6");
  await refuses("API address", [["192.168.126", "This is not an IP address."], ["192.168.126.5/24", "An address without a prefix."], ["192.168.127.5", "Not in a network of the hosts"], ["192.168.126.0", "network's own"], ["192.168.126.255", "broadcast address"], ["192.168.126.6", "API and ingress need different addresses."], ["", "This is required."]]);
  await refuses("Ingress address", [["fd00::1", "Not in a network of the hosts"], ["x", "This is not an IP address."]]);
  await refuses("SSH public key", [["ssh-dss", "is not a valid key"]]);
  await page.getByLabel("Advanced: networks of pods and services").check();
  await refuses("Cluster network", [["10.128.0.0", "A network such as"], ["10.128.0.1/14", "Host bits are set"], ["10.0.0.0/30", "between 1 and 25"], ["0.0.0.0/8", "unspecified network"], ["172.30.0.0/15", "overlap"]]);
  await refuses("Prefix per host", [["x", "A number."], ["40", "Between"]]);
  await refuses("Service network", [["f000::/4", "between 8 and 128"], ["fd02::/112", "of the same address family as the machine network"]]);
  machines.kill("SIGTERM");
  await page.goto(`/clusters/${cluster.id}/setup/manifests`);
  await page.getByRole("button", { name: "Add a manifest" }).click();
  await page.getByRole("button", { name: "Save manifest" }).click();
  await refuses("File name", [["", "This is required."], ["a.txt", "Must end in"], ["a/b.yaml", "No slash"], ["a b.yaml", "no white space"], [`${"a".repeat(252)}.yaml`, "At most 255 characters; these are 257."]]);
  await refuses("Content", [["", "This is required."], [" ", "This is required."], ["a".repeat((1 << 20) + 1), "At most 1 MiB; these are 1048577 bytes."]]);
  await page.getByLabel("File name").fill("a.yaml");
  await page.getByLabel("Content", { exact: false }).first().fill("a: [");
  await page.getByRole("button", { name: "Save manifest" }).click();
  await page.getByText("a.yaml cannot be parsed").waitFor();
  assert.equal(await page.getByText("The service refused").count(), 0, "it was not asked");
  await page.locator(".code .faulty").waitFor();
  assert.deepEqual(await api(page, "GET", `/clusters/${cluster.id}/manifests`), []);
  // Large ones are encoded whole, and a second one of the same name is refused.
  await page.getByRole("textbox", { name: "Content" }).fill(`text: ${"ü".repeat(200_000)}\n`);
  await page.getByRole("button", { name: "Save manifest" }).click();
  await page.getByRole("cell", { name: "a.yaml", exact: true }).waitFor();
  await page.getByRole("button", { name: "Add a manifest" }).click();
  await refuses("File name", [["a.yaml", "There is another manifest of this name."]]);
  await page.goto("/import");
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByText("This is required.").first().waitFor();
  await refuses("Cluster name", [["Elsewhere", "Only lower-case letters"]]);
  await refuses("Cluster id", [["1", "A UUID"]]);
  await refuses("Name or address of its API", [["a b", "An IP address or a name such as"], ["10.0.0.300", "An IP address or a name such as"]]);
  await page.getByLabel("Cluster name").fill("elsewhere");
  await page.getByLabel("Cluster id").fill("6b0d1e0a-4c0e-4c58-9d5c-0a4a5d9b1c11");
  await page.getByLabel("Name or address of its API").fill("api.elsewhere.example.com");
  await page.getByRole("button", { name: "Import" }).click();
  await page.waitForURL(/\/clusters\/[0-9a-f-]{36}\/hosts/);
  await page.getByText("Adding hosts").first().waitFor();
  await page.getByText("Address of the cluster's API for new hosts").click();
  await refuses("Name or address", [["a b", "An IP address or a name such as"]]);
  await page.getByLabel("Name or address", { exact: true }).fill("192.0.2.7");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const imported = page.url().split("/clusters/")[1].slice(0, 36);
  await waitFor("the address", async () => (await api(page, "GET", `/clusters/${imported}`)).api_vip_dns_name === "192.0.2.7");

  // An imported cluster has no image yet: a pull secret is asked for.
  await page.getByRole("button", { name: "Add hosts" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  await page.getByRole("dialog").getByText("This is required.").waitFor();
  await refuses("Pull secret", [["{}", "no object \"auths\""]]);
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();

  await page.goto("/infra-envs");
  await page.getByRole("button", { name: "New infra-env" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await page.getByRole("dialog").getByText("This is required.").first().waitFor();
  await refuses("Pull secret", [["{", "This is not JSON"]]);
  assertClean(page);
});
