// What the page shows as a command does what its form does: a cluster is set up by the lines of the panels, run
// in a shell with curl and the real aicli, and the page shows what they did.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { PULL_SECRET, Service, api, assertClean, closeBrowser, hostRow, open, root, waitFor } from "../harness.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "muster-web-lines-"));
let service;
let page;
before(async () => {
  service = await Service.start();
  page = await open(service);
  writeFileSync(path.join(folder, "openshift_pull.json"), PULL_SECRET);
  // aicli reads the user's key even where it does not use it.
  mkdirSync(path.join(folder, ".ssh"));
  writeFileSync(path.join(folder, ".ssh/id_rsa.pub"), "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@host\n");
});
after(async () => { await closeBrowser(); await service?.stop(); rmSync(folder, { recursive: true }); });

/** Opens the panel and takes what it shows under this heading. */
async function shown(name, within = page) {
  const panel = within.locator("details.panel", { hasText: "Show as API call" }).last();
  if ((await panel.getAttribute("open")) === null) await panel.locator("summary").click();
  return panel.getByLabel(name, { exact: true }).innerText();
}

/** Runs lines as a user would. In front of a page from disk the service has another address. */
async function run(lines) {
  const script = lines.replaceAll(new URL(page.url()).origin, service.url).replaceAll("curl ", "curl -sS --fail-with-body -k ").replaceAll("<pull_secret>", PULL_SECRET.replaceAll('"', '\\"'));
  const env = { ...process.env, PATH: `${root}/target/test-venv/bin:${process.env.PATH}`, HOME: folder };
  return (await promisify(execFile)("bash", ["-euc", script], { cwd: folder, env })).stdout;
}

test("a cluster is set up by the lines that the page shows", async () => {
  // Filled, but never sent by the page itself.
  await page.goto("/clusters/new");
  await page.getByLabel("Cluster name").fill("scripted");
  await page.getByLabel("Base domain").fill("example.com");
  await page.getByLabel(/^Pull secret( \*)?$/).first().fill(PULL_SECRET);
  await page.getByLabel("OpenShift version").locator("option").first().waitFor({ state: "attached" });
  assert.doesNotMatch(await shown("REST API"), /auths/);
  assert.match(await shown("Custom resources"), /kind: ClusterDeployment[^]*kind: AgentClusterInstall[^]*kind: InfraEnv/);
  const line = await shown("aicli");
  await run(line);
  const [cluster] = await api(page, "GET", "/clusters");
  assert.equal(cluster.name, "scripted");
  const [env] = await api(page, "GET", `/infra-envs?cluster_id=${cluster.id}`);
  const { id } = cluster;

  // Details by curl.
  await page.goto(`/clusters/${id}/setup/details`);
  await page.getByLabel("Base domain").fill("other.example.com");
  await run(await shown("REST API"));
  assert.equal((await api(page, "GET", `/clusters/${id}`)).base_dns_domain, "other.example.com");

  // Static networks by aicli: several lines of YAML in one parameter.
  await page.goto(`/clusters/${id}/setup/static`);
  await page.getByRole("radio", { name: "Static, by a form" }).check();
  for (const [label, value] of [["DNS servers", "192.168.126.1"], ["IPv4 subnet", "192.168.126.0/24"], ["IPv4 gateway", "192.168.126.1"], ["Host 1: MAC address", "52:54:00:aa:bb:01"], ["Host 1: IPv4 address", "192.168.126.20"]]) await page.getByLabel(label).fill(value);
  assert.match(await shown("Custom resources"), /kind: NMStateConfig[^]*macAddress: "52:54:00:aa:bb:01"/);
  await run(await shown("aicli"));
  assert.match((await api(page, "GET", `/infra-envs/${env.id}`)).static_network_config, /192\.168\.126\.20/);

  // Operators by aicli, the image by curl.
  await page.goto(`/clusters/${id}/setup/operators`);
  await page.getByLabel("Logical Volume Manager Storage").check();
  await run(await shown("aicli"));
  await waitFor("the operator", async () => (await api(page, "GET", `/clusters/${id}`)).monitored_operators.some((one) => one.name === "lvm"));
  await page.goto(`/clusters/${id}/setup/hosts`);
  await page.getByRole("button", { name: "Add hosts" }).click();
  await page.getByLabel("Use your own NTP sources").check();
  await page.getByLabel(/^NTP sources( \*)?$/).fill("ntp.example.com");
  await page.getByLabel("Use no other NTP sources").check();
  await run(await shown("REST API", page.getByRole("dialog")));
  const changed = await api(page, "GET", `/infra-envs/${env.id}`);
  assert.deepEqual([changed.ntp_sources, changed.additional_ntp_sources ?? ""], ["ntp.example.com", ""]);
  assert.equal((await api(page, "GET", `/clusters/${id}`)).ntp_sources, "ntp.example.com");

  // A manifest by curl; it is removed by aicli.
  await page.goto(`/clusters/${id}/setup/manifests`);
  await page.getByRole("button", { name: "Add a manifest" }).click();
  await page.getByLabel("File name").fill("by-line.yaml");
  await page.getByRole("textbox", { name: "Content" }).fill("apiVersion: v1\nkind: Namespace\nmetadata: {name: by-line}\n");
  await run(await shown("REST API"));
  const manifests = async () => (await api(page, "GET", `/clusters/${id}/manifests`)).map((one) => one.file_name);
  assert.deepEqual(await manifests(), ["by-line.yaml"]);
  await page.reload();
  await page.getByRole("button", { name: "Remove by-line.yaml" }).click();
  await run(await shown("aicli", page.getByRole("dialog")));
  assert.deepEqual(await manifests(), []);
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();

  // Networks and a host, with machines that are there.
  const machines = service.simulate(env.id, ["--topology", "compact"]);
  await page.goto(`/clusters/${id}/setup/networking`);
  await page.getByRole("cell", { name: /^192.168.126/ }).first().waitFor();
  await page.getByLabel(/^API address/).fill("192.168.126.5");
  await page.getByLabel(/^Ingress address/).fill("192.168.126.6");
  await run(await shown("aicli"));
  assert.deepEqual((await api(page, "GET", `/clusters/${id}`)).api_vips.map((one) => one.ip), ["192.168.126.5"]);
  await page.goto(`/clusters/${id}/hosts`);
  await hostRow(page, "control-1").getByRole("button", { name: "Change hostname control-1" }).click();
  await page.getByRole("dialog").getByLabel("Hostname").fill("by-line");
  await run(await shown("aicli", page.getByRole("dialog")));
  await hostRow(page, "by-line").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  assertClean(page);
  machines.kill("SIGTERM");
  await machines.ended;
});
