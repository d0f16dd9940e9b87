// Hosts that are added to an installed cluster: static networks, installed one by one, failed, reset, logs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service, api, assertClean, closeBrowser, hostRow, open, waitFor } from "../harness.mjs";

let service;
before(async () => { service = await Service.start(); });
after(async () => { await closeBrowser(); await service?.stop(); });

const menu = async (page, host, item) => {
  await hostRow(page, host).getByRole("button", { name: `Actions of ${host}` }).click();
  await page.getByRole("menuitem", { name: item }).click();
};

test("a worker is installed by its own menu; one that fails is reset; logs are downloaded", async () => {
  const page = await open(service);
  const done = service.rehearse(["--topology", "compact", "--name", "base", "--speed", "600"]);
  assert.equal(await done.ended, 0, done.text);
  const [{ id }] = await api(page, "GET", "/clusters");
  const [env] = await api(page, "GET", `/infra-envs?cluster_id=${id}`);

  await page.goto(`/clusters/${id}/hosts`);
  const [archive] = await Promise.all([page.waitForEvent("download"), menu(page, "control-0", "Download logs")]);
  assert.match(archive.suggestedFilename(), /\.tar/);
  await page.getByRole("button", { name: "Add hosts" }).click();
  await page.getByText("Adding hosts").first().waitFor();

  // Static networks of the image for new hosts, from the dialog.
  await page.getByRole("button", { name: "Add hosts" }).click();
  await page.getByRole("dialog").getByRole("link", { name: "Change" }).click();
  await page.waitForURL(`**/infra-envs/${env.id}/networks`);
  await page.getByRole("radio", { name: "Static, by a form" }).check();
  await page.getByRole("button", { name: "Save networks" }).click();
  await page.getByText("This is required.").first().waitFor();
  await page.getByLabel("DNS servers").fill("192.168.126.1");
  await page.getByLabel("IPv4 subnet").fill("192.168.126.0/24");
  await page.getByLabel("IPv4 gateway").fill("192.168.126.1");
  await page.getByLabel("Host 1: MAC address").fill("52:54:00:00:00:31");
  await page.getByLabel("Host 1: IPv4 address").fill("192.168.126.31");
  await page.getByRole("button", { name: "Save networks" }).click();
  await page.getByText("Static: show or change").waitFor();
  assert.match((await api(page, "GET", `/infra-envs/${env.id}`)).static_network_config, /192\.168\.126\.31/);
  await page.getByRole("radio", { name: "By DHCP" }).check();
  await page.getByRole("button", { name: "Save networks" }).click();
  await page.getByText("By DHCP: show or change").waitFor();

  const good = service.simulate(env.id, ["--topology", "sno", "--seed", "11"]);
  await page.goto(`/clusters/${id}/hosts`);
  const fresh = page.locator("tr[data-host]").filter({ hasText: "Ready" });
  await fresh.first().waitFor();
  await menu(page, await fresh.first().getAttribute("data-host"), "Change hostname");
  await page.getByRole("dialog").getByLabel("Hostname").fill("extra-1");
  await page.getByRole("dialog").getByRole("button", { name: "Change", exact: true }).click();
  await hostRow(page, "extra-1").getByText("Ready").waitFor();
  await menu(page, "extra-1", "Install");
  await hostRow(page, "extra-1").getByText("Added to the cluster").waitFor();
  assert.equal(await good.ended, 0, good.text);

  const bad = service.simulate(env.id, ["--topology", "sno", "--seed", "12", "--fault", "stage-failure"]);
  await fresh.first().waitFor();
  const failing = await fresh.first().getAttribute("data-host");
  await page.getByRole("button", { name: "Install 1 ready host" }).click();
  await hostRow(page, failing).getByText("Failed").waitFor();
  await menu(page, failing, "Reset");
  await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
  await waitFor("the reset", async () => !["error"].includes((await api(page, "GET", `/clusters/${id}`)).hosts.find((one) => one.requested_hostname === failing)?.status), () => bad.text);
  bad.kill("SIGTERM");
  await bad.ended;
  assertClean(page);
});
