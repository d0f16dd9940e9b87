import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service, api, assertClean, closeBrowser, createCluster, hostRow, installed, open, readyToInstall, shot } from "../harness.mjs";

let service;
before(async () => { service = await Service.start(); });
after(async () => { await closeBrowser(); await service?.stop(); });

test("a single node goes from the first click to installed", async () => {
  const page = await open(service);
  const { id, infraEnv } = await createCluster(page, { name: "edge", masters: "1" });
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("Waiting for hosts…").waitFor();
  await page.getByRole("button", { name: "Add host" }).click();
  // The dialog has an address.
  await page.getByRole("dialog").waitFor();
  await page.reload();
  await page.getByRole("dialog").getByText("How machines boot").waitFor();
  await page.getByRole("radio", { name: "Network boot (iPXE)" }).check();
  await page.getByRole("button", { name: "Generate image" }).click();
  await page.getByText("Address of the script").waitFor();
  assert.match(await page.getByLabel("Address of the image").innerText(), /ipxe-script/);
  await page.getByRole("button", { name: "Change the image" }).click();
  await page.getByRole("radio", { name: "Minimal image" }).check();
  await page.getByRole("button", { name: "Generate image" }).click();
  // The image would carry an address that only this machine reaches.
  await page.getByRole("dialog").getByText("The service listens on this machine only. Real hosts cannot reach it").waitFor();
  await page.getByText("Address of the image").first().waitFor();
  assert.match(await page.getByLabel("Address of the image").innerText(), /\/byid\/.*minimal\.iso/);
  await shot(page, "add-hosts-result");
  await page.getByRole("button", { name: "Close" }).last().click();
  assert.doesNotMatch(page.url(), /dialog/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the dialog was there first, so the content has the focus");

  const machines = service.simulate(infraEnv, ["--topology", "sno"]);
  await hostRow(page, "node-0").waitFor();
  await page.getByRole("link", { name: /Networking/ }).click();
  await page.getByRole("button", { name: /^(Save and continue|Next)$/ }).click();
  await page.getByRole("link", { name: /Review and install/ }).click();
  await readyToInstall(page, id);
  await page.getByRole("button", { name: "Install cluster" }).click();
  await page.waitForURL(`**/clusters/${id}/progress`);
  await page.getByRole("progressbar", { name: "Installation of edge" }).first().waitFor();
  await installed(page);
  await page.getByText("kubeadmin").waitFor();
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByRole("button", { name: "Actions" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Download kubeconfig" }).click()]);
  assert.match(download.suggestedFilename(), /kubeconfig/);
  assert.equal((await api(page, "GET", `/clusters/${id}`)).status, "installed");
  assert.equal(await machines.ended, 0, machines.text);
  assertClean(page);
});
