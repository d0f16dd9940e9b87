// Every page in both themes and on a narrow screen: axe finds nothing, and pictures are made for review.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PULL_SECRET, Service, api, assertClean, closeBrowser, createCluster, hostRow, open, shot, violations, waitFor } from "../harness.mjs";

let service;
let ids;
let machines;
before(async () => {
  service = await Service.start();
  const page = await open(service);
  const done = service.rehearse(["--topology", "ha", "--name", "installed-one", "--speed", "600"]);
  const draft = await createCluster(page, { name: "draft-one" });
  machines = service.simulate(draft.infraEnv, ["--topology", "ha", "--fault", "packet-loss", "--seed", "3"]);
  assert.equal(await done.ended, 0, done.text);
  const all = await api(page, "GET", "/clusters");
  ids = { draft: draft.id, infraEnv: draft.infraEnv, done: all.find((one) => one.name === "installed-one").id };
  await page.goto(`/clusters/${ids.draft}/hosts`);
  await hostRow(page, "worker-4").getByText(/problem/).waitFor();
  ids.host = (await api(page, "GET", `/infra-envs/${ids.infraEnv}/hosts`))[0].id;
});
after(async () => { machines?.kill("SIGTERM"); await machines?.ended; await closeBrowser(); await service?.stop(); });

const pages = () => ({
  clusters: "/", new: "/clusters/new", "setup-details": `/clusters/${ids.draft}/setup/details`, "setup-static": `/clusters/${ids.draft}/setup/static`, "setup-operators": `/clusters/${ids.draft}/setup/operators`, "setup-hosts": `/clusters/${ids.draft}/setup/hosts`,
  "setup-storage": `/clusters/${ids.draft}/setup/storage?host=${ids.host}`, "setup-networking": `/clusters/${ids.draft}/setup/networking`, "setup-manifests": `/clusters/${ids.draft}/setup/manifests`, "setup-review": `/clusters/${ids.draft}/setup/review`,
  hosts: `/clusters/${ids.draft}/hosts?host=${ids.host}`, network: `/clusters/${ids.draft}/network`, validations: `/clusters/${ids.draft}/validations`, events: `/clusters/${ids.draft}/events`, logs: `/clusters/${ids.done}/logs`, progress: `/clusters/${ids.done}/progress`,
  "infra-envs": "/infra-envs", "infra-env": `/infra-envs/${ids.infraEnv}`, "infra-env-networks": `/infra-envs/${ids.infraEnv}/networks`, images: "/os-images", import: "/import", settings: "/settings", missing: "/clusters/00000000-0000-4000-8000-000000000000",
});

/** What is opened on a page before it is looked at. */
const opened = {
  logs: async (page) => { await page.getByRole("button", { name: "Open in the page" }).click(); await page.locator(".logs").waitFor(); },
  "setup-manifests": async (page) => {
    await page.getByRole("button", { name: "Add a manifest" }).click();
    await page.getByLabel("File name").fill("50-example.yaml");
    await page.getByLabel("Content *", { exact: true }).fill("# shown while the cluster is installed\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: example\n  labels: {count: 3, on: true}\ndata:\n  text: \"a: b\"\n  broken: [\n");
    await page.getByText("50-example.yaml cannot be parsed").waitFor();
  },
  progress: async (page) => { await page.getByText("Versions, hosts and networks that it is made of").click(); await page.getByText("IP stack").waitFor(); await page.locator("#main").getByText("Loading…").first().waitFor({ state: "hidden" }); },
  "infra-env-networks": async (page) => { await page.getByRole("radio", { name: "Static, by a form" }).check(); await page.getByRole("button", { name: "Save networks" }).click(); },
  rename: async (page) => { await page.getByRole("button", { name: /^Change hostname/ }).first().click(); await page.getByRole("dialog").waitFor(); },
  "add-hosts": async (page) => { await page.getByRole("button", { name: "Add hosts" }).click(); await page.getByRole("dialog").waitFor(); },
};

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

test("no page has an accessibility violation in either theme, or is wider than a narrow screen", async () => {
  const page = await open(service, { colorScheme: "light", reducedMotion: "reduce", viewport: WIDE });
  const found = {};
  for (const [name, path] of Object.entries({ ...pages(), rename: `/clusters/${ids.draft}/hosts`, "add-hosts": `/clusters/${ids.draft}/setup/hosts` })) {
    await page.goto(path);
    await waitFor(`${name} to be drawn`, async () => (await page.locator("main h1, main h2, main .alert").count()) > 0 && (await page.locator("main > .page > .row.muted[role=status]").count()) === 0);
    await page.locator("#main").getByText("Loading…").first().waitFor({ state: "hidden" });
    await opened[name]?.(page);
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme });
      const bad = await violations(page, theme);
      if (bad.length) found[`${name} ${theme}`] = bad;
      await shot(page, `${name}-${theme}`);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(NARROW);
    // A frame later: tables look at the window when it has its new size.
    if (!(await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(document.documentElement.scrollWidth <= innerWidth)))))) found[`${name} narrow`] = "wider than the screen";
    await shot(page, `${name}-narrow`);
    await page.setViewportSize(WIDE);
  }
  assert.deepEqual(found, {});
  assertClean(page);
});

test("the theme that is chosen stays", async () => {
  const page = await open(service, { colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.goto("/settings");
  const light = await background();
  await page.getByRole("button", { name: "Use the dark theme" }).click();
  assert.notEqual(await background(), light);
  await page.reload();
  await page.getByRole("button", { name: "Use the light theme" }).click();
  assert.equal(await background(), light);
});

const focused = (page) => page.evaluate(() => { const one = document.activeElement; return one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? (one.id || one.textContent); });
const isFocused = (of) => of.evaluate((one) => one === document.activeElement);
/** The page moves the focus a frame after an address is opened, which may come late on a busy machine. */
const hasFocus = (page, of) => waitFor(`the focus on ${of}`, () => isFocused(of)).catch(async (error) => assert.fail(`${error.message}it is on ${await focused(page)}`));
/** Presses Tab until this has the focus. It must be there first: Tab goes round while a page is still loading. */
async function tabTo(page, of) {
  await of.waitFor();
  await waitFor(`${of} to be enabled`, () => of.isEnabled());
  for (let n = 0; n < 80; n++) {
    if (await isFocused(of)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`the keyboard does not reach ${of}; it is at ${await focused(page)}`);
}

test("the keyboard alone makes a cluster and renames a host", async () => {
  const page = await open(service);
  await page.goto("/");
  await page.getByRole("link", { name: "installed-one" }).waitFor();
  await page.keyboard.press("Tab");
  await hasFocus(page, page.getByRole("link", { name: "Skip to the content" }));
  await tabTo(page, page.getByRole("button", { name: "Create cluster", exact: true }));
  await page.keyboard.press("Enter");
  await page.waitForURL("**/clusters/new");
  await hasFocus(page, page.locator("#main"));
  await tabTo(page, page.getByLabel("Cluster name"));
  await page.keyboard.type("by-keyboard");
  await tabTo(page, page.getByLabel("Base domain"));
  await page.keyboard.type("example.com");
  await tabTo(page, page.getByLabel(/^Pull secret( \*)?$/));
  await page.keyboard.insertText(PULL_SECRET);
  await tabTo(page, page.getByRole("button", { name: "Create and continue" }));
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/setup\/operators/);

  // Menus by arrows: entries that cannot be used say why, Escape leads back.
  await page.goto(`/clusters/${ids.draft}/hosts`);
  const actions = page.getByRole("button", { name: "Actions of control-0", exact: true });
  await tabTo(page, actions);
  await page.keyboard.press("Enter");
  await page.getByRole("menu").waitFor();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowUp");
  await hasFocus(page, page.getByRole("menuitem", { name: "Download logs (none yet)" }));
  await page.keyboard.press("Enter");
  await page.getByRole("menu").waitFor();
  await page.keyboard.press("Escape");
  await hasFocus(page, actions);

  // Dialogs hold the focus, connect an error with its field, and give the focus back.
  await page.keyboard.press("Enter");
  await page.keyboard.press("Home");
  await hasFocus(page, page.getByRole("menuitem", { name: "Change hostname" }));
  await page.keyboard.press("Enter");
  const field = page.getByRole("dialog").getByLabel("Hostname");
  await hasFocus(page, field);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("Wrong");
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  const described = (await field.getAttribute("aria-describedby")).split(" ");
  assert.match(await page.locator(`[id="${described.at(-1)}"]`).innerText(), /Only lower-case letters/);
  for (let n = 0; n < 12; n++) {
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("dialog") !== null), "the focus left the dialog");
  }
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await hasFocus(page, actions);

  // A dialog that the browser closes by itself is gone for the page as well, and can be opened again.
  for (let n = 0; n < 2; n++) {
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await hasFocus(page, field);
    await page.evaluate(() => document.querySelector("dialog").close());
    await page.locator("dialog").waitFor({ state: "detached" });
    await hasFocus(page, actions);
  }
  assertClean(page);
});
