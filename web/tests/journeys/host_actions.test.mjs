import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PULL_SECRET, Service, api, assertClean, closeBrowser, createCluster, hostRow, installed, open, readyToInstall, waitFor } from "../harness.mjs";

let service;
before(async () => { service = await Service.start(); });
after(async () => { await closeBrowser(); await service?.stop(); });

const menu = async (page, host, item) => {
  await hostRow(page, host).getByRole("button", { name: `Actions of ${host}` }).click();
  await page.getByRole("menuitem", { name: item }).click();
};

test("every action of the host table does what it says", async () => {
  const page = await open(service);
  const { id, infraEnv } = await createCluster(page, { name: "actions" });
  const machines = service.simulate(infraEnv, ["--topology", "ha", "--fault", "packet-loss", "--fault", "no-ntp:2"]);
  await page.goto(`/clusters/${id}/hosts`);
  for (const host of ["control-0", "control-1", "control-2", "worker-3", "worker-4"]) await hostRow(page, host).waitFor();
  const hostOf = async (name) => (await api(page, "GET", `/infra-envs/${infraEnv}/hosts`)).find((one) => one.requested_hostname === name);

  // Rename: wrong names are refused with the reason; the right one shows at once.
  await menu(page, "worker-3", "Change hostname");
  for (const [value, reason] of [["Worker", "Only lower-case letters, digits, hyphens and dots."], ["-a", "The first and the last character must be a letter or digit."], ["localhost", "localhost is reserved for the local machine."], ["control-0", "Another host of the cluster has this name."], ["a".repeat(64), "At most 63 characters; these are 64."]]) {
    await page.getByRole("dialog").getByLabel("Hostname").fill(value);
    await page.getByRole("dialog").getByText(reason).waitFor();
  }
  await page.getByRole("dialog").getByLabel("Hostname").fill("rack1-a");
  await page.getByRole("dialog").getByRole("button", { name: "Change", exact: true }).click();
  await hostRow(page, "rack1-a").waitFor();

  // Roles, one by one and in bulk.
  await hostRow(page, "rack1-a").getByLabel("Role of rack1-a").selectOption("worker");
  await waitFor("the role", async () => (await hostOf("rack1-a")).role === "worker");
  for (const host of ["control-0", "control-1", "control-2"]) await page.getByLabel(`Select ${host}`).check();
  await page.getByRole("button", { name: "3 selected" }).click();
  await page.getByRole("menuitem", { name: "Role: Control plane" }).click();
  await waitFor("three roles", async () => (await api(page, "GET", `/infra-envs/${infraEnv}/hosts`)).filter((one) => one.role === "master").length === 3);
  await page.getByRole("button", { name: "3 selected" }).click();
  await page.getByRole("menuitem", { name: "Rename by pattern" }).click();
  await page.getByRole("dialog").getByLabel("Hostname").fill("cp-{{nn}}");
  await page.getByRole("dialog").getByText("cp-03").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Change", exact: true }).click();
  await hostRow(page, "cp-03").waitFor();

  await page.getByRole("button", { name: "3 selected" }).click();
  await page.getByRole("menuitem", { name: "Role: Worker" }).click();
  await waitFor("four workers", async () => (await api(page, "GET", `/infra-envs/${infraEnv}/hosts`)).filter((one) => one.role === "worker").length === 4);
  await page.getByRole("button", { name: "3 selected" }).click();
  await page.getByRole("menuitem", { name: "Role: Automatic" }).click();
  await waitFor("automatic roles", async () => (await api(page, "GET", `/infra-envs/${infraEnv}/hosts`)).filter((one) => one.role === "auto-assign").length >= 3);
  await menu(page, "cp-01", "Role: Control plane");
  await waitFor("the role by the menu", async () => (await hostOf("cp-01")).role === "master");
  await menu(page, "cp-01", "Role: Automatic");
  await waitFor("the role by the menu", async () => (await hostOf("cp-01")).role === "auto-assign");

  // The expanded row has an address, and chooses the disk and what is formatted.
  await hostRow(page, "cp-01").getByRole("button", { name: "Details of cp-01" }).click();
  await page.waitForURL(/host=/);
  await page.getByRole("radio", { name: "Install to nvme0n1" }).click();
  await waitFor("the disk", async () => (await hostOf("cp-01")).installation_disk_path === "/dev/nvme0n1");
  const format = page.locator("tr.more").getByRole("checkbox", { name: "Format sda" });
  await format.click();
  await waitFor("the disk to be kept", async () => (await hostOf("cp-01")).skip_formatting_disks);
  await waitFor("the box to be empty", async () => !(await format.isChecked()));
  await page.getByText("These bootable disks are not formatted: sda.").waitFor();
  await format.click();
  await waitFor("the disk to be formatted", async () => !(await hostOf("cp-01")).skip_formatting_disks);
  await page.reload();
  await page.getByText("Inventory as JSON").first().waitFor();

  // The host that loses packets says what was measured and what to do; the map draws it.
  await hostRow(page, "worker-4").getByRole("button", { name: /problem/ }).click();
  await page.getByText("sufficient-packet-loss-requirement-for-role").first().waitFor();
  await page.getByText(/Look for a bad cable/).first().waitFor();
  await page.getByRole("link", { name: "Network map" }).click();
  await page.getByText(/links have problems$/).first().waitFor();
  assert.ok((await page.locator("svg.map line.slow, svg.map line.bad").count()) > 0);

  // Time sources are given to hosts that run already.
  await page.goto(`/clusters/${id}/validations`);
  await page.getByRole("button", { name: "Add NTP sources" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Save" }).click();
  for (const [value, reason] of [["", "This is required."], ["a b", "is neither an address nor a name"], ["10.0.0.1,10.0.0.1", "in the list twice"]]) {
    await dialog.getByLabel("NTP sources").fill(value);
    await dialog.getByText(reason).waitFor();
  }
  await dialog.getByLabel("NTP sources").fill("ntp.example.com");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "hidden" });
  assert.equal((await api(page, "GET", `/clusters/${id}`)).additional_ntp_source, "ntp.example.com");

  // Filter, sort, events of one host, removal.
  await page.getByRole("link", { name: "Hosts", exact: true }).click();
  await page.getByLabel("Filter hosts").fill("rack1");
  await page.getByText("1 of 5 hosts").waitFor();
  await page.getByRole("button", { name: "Memory" }).click();
  await page.locator('th[aria-sort="ascending"]', { hasText: "Memory" }).waitFor();
  // Both are in the address.
  await page.reload();
  await page.getByText("1 of 5 hosts").waitFor();
  await page.locator('th[aria-sort="ascending"]', { hasText: "Memory" }).waitFor();
  await page.getByLabel("Filter hosts").fill("");
  await menu(page, "rack1-a", "View events");
  await page.waitForURL(/events\?host=/);
  await page.getByLabel("Filter by text").fill("hostname");
  await page.getByLabel("Filter by severity").selectOption("info");
  await page.waitForURL(/severity=info/);
  await page.goto(`/clusters/${id}/hosts`);
  await hostRow(page, "rack1-a").waitFor();
  await menu(page, "rack1-a", /^Remove/);
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await waitFor("the host to be gone", async () => (await page.locator('tr[data-host="rack1-a"]').count()) === 0);
  for (const host of ["cp-02", "cp-03"]) await page.getByLabel(`Select ${host}`).check();
  await page.getByRole("button", { name: "2 selected" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await page.getByRole("dialog").getByText("Remove 2 hosts?").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await waitFor("both to be gone", async () => (await page.locator('tr[data-host="cp-02"], tr[data-host="cp-03"]').count()) === 0);
  machines.kill("SIGTERM");
  await machines.ended;

  // Delete the cluster.
  await page.getByRole("button", { name: "Actions", exact: true }).click();
  await page.getByRole("menuitem", { name: "Delete cluster" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL("**/clusters");
  await page.getByText("No clusters yet").waitFor();
  assertClean(page);
});

test("hosts of a pool are chosen from within a cluster, or bound together from the pool", async () => {
  const page = await open(service);
  const { id } = await createCluster(page, { name: "choosing" });
  const pool = await api(page, "POST", "/infra-envs", { name: "racks", pull_secret: PULL_SECRET });
  await page.goto(`/clusters/${id}/setup/hosts`);
  await page.getByRole("button", { name: "Bind hosts from a pool" }).click();
  await page.getByRole("dialog").getByText("No infra-env without a cluster has free hosts.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  const machines = service.simulate(pool.id, ["--topology", "compact", "--seed", "6"]);
  await waitFor("three free hosts", async () => (await api(page, "GET", `/infra-envs/${pool.id}/hosts`)).filter((one) => one.status === "known-unbound").length === 3, () => machines.text);
  await page.getByRole("button", { name: "Bind hosts from a pool" }).click();
  await page.getByRole("dialog").getByLabel(/^control-1/).check();
  await page.getByRole("dialog").getByRole("button", { name: "Bind 1 host" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await hostRow(page, "control-1").waitFor();
  assert.equal(await page.locator("tr[data-host]").count(), 1);

  await page.goto(`/infra-envs/${pool.id}`);
  for (const name of ["control-0", "control-2"]) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole("button", { name: "2 selected" }).click();
  await page.getByRole("menuitem", { name: "Bind to a cluster" }).click();
  await page.getByRole("dialog").getByText("Bind 2 hosts to a cluster").waitFor();
  await page.getByRole("dialog").getByLabel("Cluster", { exact: true }).selectOption({ label: "choosing" });
  await page.getByRole("dialog").getByRole("button", { name: "Bind" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.goto(`/clusters/${id}/hosts`);
  for (const name of ["control-0", "control-1", "control-2"]) await hostRow(page, name).waitFor();
  machines.kill("SIGTERM");
  await machines.ended;
  assertClean(page);
});

test("a pool's hosts are bound to a cluster and unbound again; an installation is cancelled and reset", async () => {
  const page = await open(service);
  const colleague = await open(service);
  await colleague.goto("/infra-envs");
  await page.goto("/infra-envs");
  await page.getByRole("button", { name: "New infra-env" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("pool");
  await page.getByRole("dialog").getByLabel("Pull secret").first().fill(PULL_SECRET);
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/infra-envs\/[0-9a-f-]{36}/);
  const pool = page.url().split("/infra-envs/")[1];
  await colleague.getByRole("link", { name: "pool", exact: true }).click();
  const machines = service.simulate(pool, ["--topology", "sno", "--seed", "4"]);
  await hostRow(page, "node-0").waitFor();
  // Events of a host in a pool; the other browser sees the same host.
  await menu(page, "node-0", "View events");
  await page.waitForURL(/events=/);
  await page.getByLabel("Filter by host").locator("option:checked", { hasText: "node-0" }).waitFor({ state: "attached" });
  await hostRow(colleague, "node-0").waitFor();
  assertClean(colleague);
  await colleague.close();
  const { id } = await createCluster(page, { name: "bound", masters: "1" });
  await page.goto(`/infra-envs/${pool}`);
  await hostRow(page, "node-0").getByText("Ready").waitFor();
  await menu(page, "node-0", "Bind to a cluster");
  await page.getByRole("dialog").getByLabel("Cluster", { exact: true }).selectOption({ label: "bound" });
  await page.getByRole("dialog").getByRole("button", { name: "Bind" }).click();
  // Leaving the page earlier would end the call.
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.goto(`/clusters/${id}/hosts`);
  await hostRow(page, "node-0").waitFor();
  await menu(page, "node-0", /Unbind/);
  await page.getByRole("dialog").getByRole("button", { name: "Unbind" }).click();
  await page.getByText("No hosts yet").waitFor();
  machines.kill("SIGTERM");
  await machines.ended;

  const { id: other, infraEnv } = await createCluster(page, { name: "again", masters: "1" });
  // Slow enough to be caught in the middle.
  const again = service.simulate(infraEnv, ["--topology", "sno", "--seed", "5"], 90);
  await page.goto(`/clusters/${other}/setup/networking`);
  await page.getByRole("cell", { name: "192.168.126", exact: false }).first().waitFor();
  await page.getByRole("button", { name: /^(Save and continue|Next)$/ }).click();
  await page.waitForURL("**/setup/manifests");
  await page.goto(`/clusters/${other}/setup/review`);
  await readyToInstall(page, other);
  await page.getByRole("button", { name: "Install cluster" }).click();
  // While it is only being prepared, cancelling leads back to the setup without a reset.
  await waitFor("the installation", async () => ["installing", "finalizing"].includes((await api(page, "GET", `/clusters/${other}`)).status), () => again.text);
  await page.getByRole("button", { name: "Cancel installation" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel installation" }).click();
  await page.getByText("The installation was cancelled").waitFor();
  await page.getByRole("button", { name: "Reset cluster" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reset cluster" }).click();
  await page.getByRole("link", { name: "Setup" }).waitFor();
  await page.goto(`/clusters/${other}/setup/review`);
  await readyToInstall(page, other);
  await page.getByRole("button", { name: "Install cluster" }).click();
  await installed(page);
  assert.equal(await again.ended, 0, again.text);
  assertClean(page);
});
