// Lists and what surrounds the clusters: filters that are in the address, addresses of the reference's page,
// events with their filters and as a file, infra-envs, settings in force.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { PULL_SECRET, Service, api, assertClean, closeBrowser, hostRow, open, waitFor } from "../harness.mjs";

let service;
let page;
let version;
const ids = {};
before(async () => {
  service = await Service.start({ env: { MUSTER_CLUSTER_NTP_DEFAULT_SERVER: "ntp.example.com" } });
  page = await open(service);
  const versions = await api(page, "GET", "/openshift-versions?only_latest=true");
  version = Object.entries(versions).find(([, one]) => one.default)?.[0] ?? Object.keys(versions)[0];
  for (const [name, domain] of [["alpha", "example.com"], ["beta", "lab.example.net"], ["gamma", "example.com"]]) ids[name] = (await api(page, "POST", "/clusters", { name, base_dns_domain: domain, openshift_version: version, pull_secret: PULL_SECRET })).id;
  await api(page, "POST", "/clusters/disconnected", { name: "offline", openshift_version: version });
});
after(async () => { await closeBrowser(); await service?.stop(); });

const names = () => page.getByRole("table", { name: "Clusters" }).locator("tbody tr td:first-child").allInnerTexts();
const shows = (wanted) => waitFor(`clusters ${wanted}`, async () => JSON.stringify(await names()) === JSON.stringify(wanted)).catch(async (error) => assert.fail(`${error.message}: ${await names()}`));

test("the list of clusters is filtered and sorted, and its address shows another user the same", async () => {
  await page.goto("/");
  await shows(["alpha", "beta", "gamma", "offline"]);
  await page.getByRole("row", { name: /offline/ }).getByText("Not monitored").waitFor();
  await page.getByLabel("Filter clusters").fill("LAB.");
  await shows(["beta"]);
  await page.getByLabel("Filter clusters").fill(ids.gamma.slice(0, 13));
  await shows(["gamma"]);
  await page.getByLabel("Filter clusters").fill("");
  await page.getByLabel("Status", { exact: true }).selectOption("draft");
  await shows(["alpha", "beta", "gamma"]);
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await shows(["gamma", "beta", "alpha"]);
  await page.getByRole("button", { name: "Base domain" }).click();
  await shows(["alpha", "gamma", "beta"]);
  const colleague = await open(service);
  await colleague.goto(page.url());
  await waitFor("the same order", async () => (await colleague.getByRole("table", { name: "Clusters" }).locator("tbody tr td:first-child").allInnerTexts()).join() === "alpha,gamma,beta");
  assert.equal(await colleague.getByLabel("Status", { exact: true }).inputValue(), "draft");
  await page.getByLabel("Status", { exact: true }).selectOption("failed");
  await page.getByText("No cluster matches the filter").waitFor();
  // Deleted here, gone there.
  await colleague.getByRole("button", { name: "Actions of gamma" }).click();
  await colleague.getByRole("menuitem", { name: "Delete" }).click();
  await colleague.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.goto("/");
  await shows(["alpha", "beta", "offline"]);
  assertClean(colleague);
});

test("addresses of the reference's page lead to the same", async () => {
  await page.goto("/assisted-installer/clusters");
  await shows(["alpha", "beta", "offline"]);
  await page.goto(`/assisted-installer/clusters/${ids.alpha}`);
  await page.getByRole("heading", { name: "alpha", level: 1 }).waitFor();
  await page.goto("/assisted-installer/clusters/~new?useArm=true");
  await page.getByLabel("Cluster name").waitFor();
  await waitFor("the architecture of the address", async () => (await page.getByLabel("CPU architecture").inputValue()) === "arm64");
});

test("events are filtered by what they are about, and saved as a file", async () => {
  const env = await api(page, "POST", "/infra-envs", { name: "alpha_infra-env", cluster_id: ids.alpha, pull_secret: PULL_SECRET });
  const machines = service.simulate(env.id, ["--topology", "compact"]);
  await page.goto(`/clusters/${ids.alpha}/hosts`);
  for (const name of ["control-0", "control-1", "control-2"]) await hostRow(page, name).waitFor();
  machines.kill("SIGTERM");
  await machines.ended;
  const gone = (await api(page, "GET", `/infra-envs/${env.id}/hosts`)).find((one) => one.requested_hostname === "control-2");
  await api(page, "DELETE", `/infra-envs/${env.id}/hosts/${gone.id}`);
  await page.goto(`/clusters/${ids.alpha}/events`);
  const messages = page.getByRole("table", { name: "Events" }).locator("tbody td:last-child");
  await messages.first().waitFor();
  const all = Number(/(\d+) events/.exec(await page.getByText(/^\d+ events$/).innerText())[1]);
  /** Chooses, and returns how many events the service has of that. */
  const choose = async (value, asked) => {
    const answer = page.waitForResponse((one) => one.url().includes("/v2/events?") && one.url().includes(asked));
    await page.getByLabel("Filter by host").selectOption(value);
    const count = Number((await answer).headers()["event-count"]);
    await page.getByText(`${count} events`, { exact: true }).waitFor();
    return count;
  };
  const ofCluster = await choose("cluster", "cluster_level=true");
  const ofDeleted = await choose("deleted", "deleted_hosts=true");
  const ofHost = await choose({ label: "control-0" }, "host_ids=");
  for (const n of [ofCluster, ofDeleted, ofHost]) assert.ok(n > 0 && n < all, `${ofCluster}, ${ofDeleted}, ${ofHost} of ${all}`);
  await page.waitForURL(/host=[0-9a-f-]{36}/);
  await page.getByLabel("Filter by text").fill("registered");
  await page.waitForURL(/text=registered/);
  await waitFor("only what matches", async () => { const shown = await messages.allInnerTexts(); return shown.length > 0 && shown.length < ofHost && shown.every((text) => /registered/i.test(text)); });
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export JSON" }).click()]);
  const saved = JSON.parse(await readFile(await file.path(), "utf8"));
  assert.equal(saved.length, await messages.count());
  for (const one of saved) assert.match(one.message, /registered/i);
  assertClean(page);
});

test("links of an infra-env are revoked, and it is deleted", async () => {
  const env = await api(page, "POST", "/infra-envs", { name: "pool-one", pull_secret: PULL_SECRET });
  await page.goto(`/infra-envs/${env.id}`);
  const changed = page.waitForResponse((answer) => answer.url().endsWith("/regenerate-signing-key"));
  await page.getByRole("button", { name: "Revoke links" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke links" }).click();
  assert.equal((await changed).status(), 204);
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.goto("/infra-envs");
  await page.getByRole("row", { name: /pool-one/ }).getByText("pool", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Actions of pool-one" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("link", { name: "pool-one" }).waitFor({ state: "detached" });
  assertClean(page);
});

test("settings in force show what was changed, and all of them on demand", async () => {
  await page.goto("/settings");
  const table = page.getByRole("table", { name: "Settings in force" });
  await table.getByRole("row", { name: /cluster\.ntp_default_server ntp\.example\.com/ }).waitFor();
  const changed = await table.getByRole("row").count();
  await page.getByLabel("Which settings").selectOption("all");
  await waitFor("all settings", async () => (await table.getByRole("row").count()) > changed + 50);
  await page.getByLabel("Filter settings").fill("NTP_default");
  await waitFor("one setting", async () => (await table.getByRole("row").count()) === 2);
  await page.getByText("assisted-installer-service").waitFor();
  assertClean(page);
});
