// A role that cannot change anything: every control that would be refused is closed, with the reason.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { PULL_SECRET, Service, api, assertClean, closeBrowser, hostRow, muster, open, shot, violations, waitFor } from "../harness.mjs";

const PASSWORD = "correct horse battery";
const folder = mkdtempSync(path.join(tmpdir(), "muster-web-roles-"));
let service;
let machines;
const ids = {};

async function enter(page, name) {
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
}

before(async () => {
  const hash = execFileSync(muster, ["hash-password"], { input: `${PASSWORD}\n`, encoding: "utf8" }).trim();
  const config = path.join(folder, "muster.toml");
  writeFileSync(config, ["admin", "user", "read-only"].map((role) => `[[auth.users]]\nname = "${role}-one"\npassword_hash = "${hash}"\nrole = "${role}"\n`).join("\n"));
  service = await Service.start({ auth: "users", args: ["--config", config] });
  const page = await open(service);
  page.token = JSON.parse((await service.ask("POST", "/auth/token", { username: "admin-one", password: PASSWORD })).text).token;
  // One cluster that is set up, and one that is installed.
  const versions = await api(page, "GET", "/openshift-versions?only_latest=true");
  const version = Object.entries(versions).find(([, one]) => one.default)?.[0] ?? Object.keys(versions)[0];
  ids.draft = (await api(page, "POST", "/clusters", { name: "draft", base_dns_domain: "example.com", openshift_version: version, pull_secret: PULL_SECRET })).id;
  ids.env = (await api(page, "POST", "/infra-envs", { name: "draft_infra-env", cluster_id: ids.draft, pull_secret: PULL_SECRET })).id;
  await api(page, "POST", `/clusters/${ids.draft}/manifests`, { folder: "manifests", file_name: "a.yaml", content: btoa("a: 1\n") });
  const done = service.rehearse(["--topology", "sno", "--name", "done", "--speed", "600", "--token", page.token]);
  machines = service.simulate(ids.env, ["--topology", "ha", "--token", page.token]);
  assert.equal(await done.ended, 0, done.text);
  ids.done = (await api(page, "GET", "/clusters")).find((one) => one.name === "done").id;
  await waitFor("hosts", async () => (await api(page, "GET", `/infra-envs/${ids.env}/hosts`)).filter((one) => one.status !== "discovering").length === 5, () => machines.text);
});
after(async () => { machines?.kill("SIGKILL"); await closeBrowser(); await service?.stop(); rmSync(folder, { recursive: true }); });

/** Names of the controls in the content that can be used. */
const usable = (page, selector) => page.locator(`main ${selector}`).evaluateAll((all) => all.filter((one) => !one.matches(":disabled") && one.checkVisibility()).map((one) => one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent));

/** What only looks: opens, sorts, filters, copies, downloads what is no secret. */
const LOOKS = /^(Details of|Actions|Status|Hostname|Role|Name|Base domain|Version|Hosts|Created|Discovered|CPU cores|Memory|Storage|Disks|Installation disk|Active NIC|IPv4|IPv6|MAC|Bulk actions|Select |Filter|Next|Copy|Close|Newer|Older|Export JSON|Show all checks|Only what needs attention|Open in the page|Download$|Reload|View|Discard|Ready|Installed$|Insufficient|Pending input|Discovering|Preparing|Cancel$|Search operators|CPU architecture|Which settings|Create a token|Logs of|\d+ selected)/;

test("a read-only user finds everything open to look at and nothing open to change", async () => {
  const page = await open(service);
  const forbidden = [];
  page.on("response", (answer) => { if (answer.status() === 403) forbidden.push(`${answer.request().method()} ${new URL(answer.url()).pathname}`); });
  await page.goto("/");
  await enter(page, "read-only-one");
  await page.getByRole("note").getByText("Your role is read-only").waitFor();
  const places = {
    "/": "draft", "/clusters/new": "Cluster details", "/import": "Import a cluster", "/infra-envs": "New infra-env", [`/infra-envs/${ids.env}`]: "control-0", "/os-images": "OS images",
    ...Object.fromEntries(["details", "static", "operators", "hosts", "storage", "networking", "manifests", "review"].map((step) => [`/clusters/${ids.draft}/setup/${step}`, { details: "Platform", manifests: "a.yaml", operators: "Individual operators", static: "By DHCP", review: "Cluster checks" }[step] ?? "Back"])),
    [`/clusters/${ids.draft}/hosts`]: "control-0", [`/clusters/${ids.draft}/network`]: "Links", [`/clusters/${ids.draft}/validations`]: "Cluster", [`/infra-envs/${ids.env}/networks`]: "Static, by a form", "/settings": "For administrators only.", [`/clusters/${ids.done}/hosts`]: "node-0", [`/clusters/${ids.done}/progress`]: "The cluster is installed", [`/clusters/${ids.done}/events`]: "Severity", [`/clusters/${ids.done}/logs`]: "Open in the page",
  };
  for (const [place, sign] of Object.entries(places)) {
    await page.goto(place);
    await page.locator("main").getByText(sign).filter({ visible: true }).first().waitFor();
    await page.getByRole("note").waitFor();
    await page.locator("main").getByText("Loading…").first().waitFor({ state: "hidden" });
    const wrong = (await usable(page, "button, input, select, textarea")).filter((name) => !LOOKS.test((name ?? "").trim()));
    assert.deepEqual(wrong, [], `${place} has open controls`);
  }
  // Secrets are not asked for, and say why they are missing; also while the service has not yet named the role.
  await page.route("**/auth/caller", async (route) => { await new Promise((resolve) => setTimeout(resolve, 1500)); await route.continue(); });
  await page.goto(`/clusters/${ids.done}/progress`);
  await page.getByText("Passwords and kubeconfig are hidden: your role is read-only.").waitFor();
  await page.unroute("**/auth/caller", { behavior: "wait" });
  assert.deepEqual(forbidden, [], "nothing was asked for that is refused");

  // Menus name the reason at each entry, and still offer what may be looked at.
  const entries = async (button) => {
    await button.click();
    const found = await page.getByRole("menuitem").evaluateAll((all) => all.map((one) => [one.ariaDisabled === "true", one.textContent]));
    await page.keyboard.press("Escape");
    return { open: found.filter(([closed]) => !closed).map(([, text]) => text), closed: found.filter(([closed]) => closed).map(([, text]) => text) };
  };
  const ofCluster = await entries(page.getByRole("button", { name: "Actions", exact: true }));
  assert.deepEqual(ofCluster.open, ["Download logs"]);
  assert.ok(ofCluster.closed.includes("Download kubeconfig (your role is read-only)"), ofCluster.closed.join("; "));
  await page.goto(`/clusters/${ids.draft}/hosts`);
  await hostRow(page, "control-0").waitFor();
  const ofHost = await entries(page.getByRole("button", { name: "Actions of control-0" }));
  assert.deepEqual(ofHost.open, ["View events"]);
  assert.ok(ofHost.closed.filter((text) => text.endsWith("(your role is read-only)")).length >= 5, ofHost.closed.join("; "));
  await page.getByLabel("Select control-0").check();
  const bulk = await entries(page.getByRole("button", { name: "1 selected" }));
  assert.deepEqual(bulk.open, []);
  await hostRow(page, "control-0").getByRole("button", { name: "Details of control-0" }).click();
  await page.getByText("Inventory as JSON").waitFor();
  assert.equal(await page.locator("tr.more input:not(:disabled)").count(), 0, "disks cannot be chosen");
  await page.goto("/os-images");
  assert.deepEqual((await entries(page.locator("tr[data-image]").first().getByRole("button", { name: /^Actions of/ }))).open, []);

  // A manifest without secrets can be read.
  await page.goto(`/clusters/${ids.draft}/setup/manifests`);
  await page.getByRole("button", { name: "View a.yaml" }).click();
  assert.equal(await page.getByRole("textbox", { name: "Content" }).inputValue(), "a: 1\n");
  assert.equal(await page.getByRole("button", { name: "Save manifest" }).isDisabled(), true);
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    assert.deepEqual(await violations(page, theme), []);
    await shot(page, `read-only-${theme}`);
  }
  assertClean(page);
});

test("OS images are for administrators; the rest is open to users", async () => {
  const page = await open(service);
  await page.goto("/os-images");
  await enter(page, "user-one");
  await page.locator("tr[data-image]").first().getByRole("button", { name: /^Actions of/ }).click();
  await page.getByRole("menuitem", { name: "Upload (for administrators only)" }).waitFor();
  assert.equal(await page.getByRole("menuitem", { name: "Upload (for administrators only)" }).isDisabled(), true);
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("note").count(), 0);
  await page.goto("/");
  await page.getByRole("button", { name: "Create cluster" }).click();
  await page.getByLabel("Cluster name").fill("mine");
  await page.goto(`/clusters/${ids.done}/progress`);
  await page.getByText("kubeadmin").waitFor();

  // Another login in the same tab brings its own role.
  await page.getByRole("button", { name: "Log out" }).click();
  await enter(page, "read-only-one");
  await page.getByRole("note").getByText("Your role is read-only").waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await enter(page, "admin-one");
  await page.getByRole("note").waitFor({ state: "hidden" });
  assertClean(page);
});
