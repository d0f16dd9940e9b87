// Hundreds of hosts in one table: everything can be reached, and a change is on the screen within a second.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { event, multiplied, sample, served } from "../../bench.mjs";
import { Service, assertClean, closeBrowser, hostRow, open } from "../harness.mjs";

const HOSTS = 300;
let data;
let server;
let page;
before(async () => {
  const service = await Service.start();
  data = multiplied(await sample(service).finally(() => service.stop()), HOSTS);
  for (const host of data.hosts) host.connectivity = "";
  server = await served(data);
  page = await open({ url: server.url, front: server.url });
});
after(async () => { await closeBrowser(); server?.close(); });

test("a table of hundreds of hosts is scrolled, filtered, opened and kept current", async () => {
  await page.goto(`/clusters/${data.cluster.id}/hosts`);
  await page.getByText(`${HOSTS} hosts`).waitFor();
  const drawn = () => page.locator("tr[data-host]").count();
  assert.ok((await drawn()) < 100, "rows far from the window are not drawn");
  assert.equal(await page.getByRole("table", { name: "Hosts" }).getAttribute("aria-rowcount"), String(HOSTS + 1));

  // Down to the last one and back.
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await hostRow(page, `worker-${HOSTS - 4}`).waitFor();
  assert.ok((await drawn()) < 100);
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
  await hostRow(page, `worker-${HOSTS - 4}`).waitFor({ state: "detached" });
  const [middle] = await page.locator("tr[data-host]").evaluateAll((rows) => rows.filter((row) => row.getBoundingClientRect().top > 300).map((row) => row.dataset.host));
  assert.match(middle, /^worker-1[0-9][0-9]$/, "the window shows the middle of the list");

  // An open row stays drawn wherever the window is.
  await hostRow(page, middle).getByRole("button", { name: `Details of ${middle}` }).click();
  await page.getByText("Inventory as JSON").waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await hostRow(page, "control-0").waitFor();
  assert.equal(await page.getByText("Inventory as JSON").count(), 1);

  // What changes shows at once, by whatever the table is filtered.
  const changed = data.hosts.find((host) => host.requested_hostname === "worker-250");
  await page.getByLabel("Filter hosts").fill("worker-250");
  await page.getByText(`1 of ${HOSTS} hosts`).waitFor();
  server.send(event("host", { ...changed, status: "installing-in-progress", progress: { current_stage: "Writing image to disk", installation_percentage: 40 } }));
  await hostRow(page, "worker-250").getByText("Writing image to disk").waitFor();
  await page.getByLabel("Filter hosts").fill("");

  // All at once.
  server.send(data.hosts.map((host) => event("host", { ...host, status: "preparing-successful" })).join(""));
  await page.waitForFunction(() => [...document.querySelectorAll("tr[data-host]")].every((row) => row.textContent.includes("Prepared")));
  assertClean(page);
});
