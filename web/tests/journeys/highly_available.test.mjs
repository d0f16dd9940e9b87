import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service, api, assertClean, closeBrowser, createCluster, hostRow, installed, open, readyToInstall, waitFor } from "../harness.mjs";

let service;
before(async () => { service = await Service.start(); });
after(async () => { await closeBrowser(); await service?.stop(); });

test("five hosts with static networks are installed while the service restarts and two people look, then get more hosts", async () => {
  const page = await open(service);
  const { id, infraEnv } = await createCluster(page, { name: "prod" });

  // Static networks by the form; the YAML view shows the same.
  await page.getByRole("link", { name: /Host networks/ }).click();
  await page.getByRole("radio", { name: "Static, by a form" }).check();
  await page.getByLabel("DNS servers").fill("192.168.126.1");
  await page.getByLabel("IPv4 subnet").fill("192.168.126.0/24");
  await page.getByLabel("IPv4 gateway").fill("192.168.126.1");
  await page.getByText("Paste rows of a spreadsheet").click();
  await page.getByLabel("Rows").fill([0, 1, 2, 3, 4].map((n) => `52:54:00:aa:bb:0${n}\t192.168.126.${20 + n}`).join("\n"));
  await page.getByRole("button", { name: "Use these rows" }).click();
  assert.equal(await page.getByLabel("Host 5: IPv4 address").inputValue(), "192.168.126.24");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Not saved yet").waitFor({ state: "hidden" });
  const stored = JSON.parse((await api(page, "GET", `/infra-envs/${infraEnv}`)).static_network_config);
  assert.equal(stored.length, 5);
  await page.reload();
  assert.equal(await page.getByLabel("Host 2: MAC address").inputValue(), "52:54:00:aa:bb:01", "the form is read back");

  // Operators.
  await page.getByRole("link", { name: /Operators/ }).click();
  await page.getByLabel("Logical Volume Manager Storage").check();
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.waitForURL("**/setup/hosts");

  const other = await open(service);
  await other.goto(`/clusters/${id}/hosts`);
  const machines = service.simulate(infraEnv, ["--topology", "ha", "--operators", "lvm"], 60);
  await hostRow(page, "worker-4").waitFor();
  await hostRow(other, "worker-4").waitFor();

  // Networking: wrong addresses are refused with the reason, then the right ones.
  await page.getByRole("link", { name: /Networking/ }).click();
  await page.getByLabel("API address", { exact: false }).first().fill("192.168.126.300");
  await page.getByText("This is not an IP address.").waitFor();
  await page.getByLabel("API address", { exact: false }).first().fill("192.168.126.5");
  await page.getByLabel("Ingress address").fill("192.168.126.5");
  await page.getByText("API and ingress need different addresses.").first().waitFor();
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByText("These fields need another value").waitFor();
  await page.getByLabel("Ingress address").fill("192.168.126.6");
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.waitForURL("**/setup/manifests");

  // A manifest, typed.
  await page.getByRole("button", { name: "Add a manifest" }).click();
  await page.getByLabel("File name").fill("50-note.yaml");
  await page.getByLabel("Content", { exact: false }).first().fill("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note, namespace: default}\ndata: {word: grüß}\n");
  await page.getByRole("button", { name: "Save manifest" }).click();
  await page.getByRole("cell", { name: "50-note.yaml", exact: true }).waitFor();

  await page.getByRole("link", { name: /Review and install/ }).click();
  await readyToInstall(page, id);
  await page.getByRole("button", { name: "Install cluster" }).click();
  await other.getByRole("link", { name: "Progress" }).click();
  await waitFor("the installation", async () => (await api(page, "GET", `/clusters/${id}`)).status === "installing");
  await other.getByRole("progressbar", { name: "Installation of worker-4" }).waitFor();

  // The service goes away and comes back: both pages say so, keep what they show, and go on by themselves.
  await service.down();
  await page.getByText("The service does not answer").waitFor();
  await page.getByRole("cell", { name: "worker-4" }).first().waitFor();
  await service.up();
  await page.getByText("The service does not answer").waitFor({ state: "hidden" });
  await installed(page);
  await installed(other);
  assert.equal(await machines.ended, 0, machines.text);

  // Day 2.
  await page.getByRole("button", { name: "Add hosts" }).click();
  await page.waitForURL(`**/clusters/${id}/hosts`);
  const more = service.simulate(infraEnv, ["--topology", "sno", "--seed", "9"]);
  const fresh = page.locator("tr[data-host]").filter({ hasText: "Ready" });
  await fresh.first().waitFor();
  await page.getByRole("button", { name: "Install 1 ready host" }).click();
  await page.getByText("Added to the cluster").first().waitFor();
  await page.getByText("Approve the certificates of the new nodes").waitFor();
  assert.equal(await more.ended, 0, more.text);
  assertClean(page);
  assertClean(other);
});
