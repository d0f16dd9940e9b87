import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service, api, assertClean, closeBrowser, createCluster, hostRow, installed, open, readyToInstall } from "../harness.mjs";

let service;
before(async () => { service = await Service.start(); });
after(async () => { await closeBrowser(); await service?.stop(); });

test("a compact cluster with IPv4 and IPv6 is set up and installed", async () => {
  const page = await open(service);
  const { id, infraEnv } = await createCluster(page, { name: "dual" });
  const machines = service.simulate(infraEnv, ["--topology", "compact", "--with", "dual-stack"]);
  await page.goto(`/clusters/${id}/setup/hosts`);
  for (const name of ["control-0", "control-1", "control-2"]) await hostRow(page, name).waitFor();
  await page.getByRole("link", { name: /Networking/ }).click();
  await page.getByRole("radio", { name: "Dual stack" }).check();
  const second = await page.getByLabel("Machine network (second)").inputValue();
  assert.match(second, /:.*\/64$/);
  const prefix = second.replace(/::\/64$/, "::");
  await page.getByLabel(/^API address( \*)?$/).fill("192.168.126.5");
  await page.getByLabel(/^Ingress address( \*)?$/).fill("192.168.126.6");
  await page.getByLabel("API address (second)").fill(`${prefix}5`);
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByText("These fields need another value").waitFor();
  await page.getByLabel("Ingress address (second)").fill(`${prefix}6`);
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.waitForURL("**/setup/manifests");
  const cluster = await api(page, "GET", `/clusters/${id}`);
  assert.equal(cluster.machine_networks.length, 2);
  assert.equal(cluster.api_vips.length, 2);
  await page.getByRole("link", { name: /Review and install/ }).click();
  await readyToInstall(page, id);
  await page.getByRole("button", { name: "Install cluster" }).click();
  await installed(page);
  assert.equal(await machines.ended, 0, machines.text);
  assertClean(page);
});
