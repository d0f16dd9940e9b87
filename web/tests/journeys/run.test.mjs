// `make run`: what it prints leads to the page, and a simulated cluster moves on it until it is installed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { assertClean, closeBrowser, installed, muster, open, root, waitFor } from "../harness.mjs";

let folder;
let started;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "muster-web-run-"));
  started = spawn(path.join(root, "scripts/run"), { cwd: root, env: { ...process.env, MUSTER: muster, LISTEN: "127.0.0.1:0", DATA_DIR: path.join(folder, "data"), DEMO_SPEED: "120" }, stdio: ["ignore", "pipe", "pipe"] });
  started.text = "";
  for (const stream of [started.stdout, started.stderr]) stream.on("data", (data) => (started.text += data));
  started.ended = new Promise((resolve) => started.on("exit", resolve));
});
after(async () => {
  await closeBrowser();
  started.kill("SIGTERM");
  await started.ended;
  await rm(folder, { recursive: true });
});

test("the address that is printed opens the page, and the demo cluster moves on it", async () => {
  const url = await waitFor("the address", () => /^Open (https:\S+)\/ in a browser/m.exec(started.text)?.[1], () => started.text);
  const page = await open({ front: url, url });
  await page.goto("/");
  await page.getByRole("link", { name: "demo", exact: true }).click();
  await page.getByRole("heading", { name: "demo", level: 1 }).waitFor();
  // It begins with the hosts' discovery; the tab changes when the installation begins.
  await page.getByRole("link", { name: "Progress" }).click();
  const bar = page.getByRole("progressbar", { name: "Installation of demo" });
  const seen = new Set();
  await waitFor("the bar to move", async () => { seen.add(await bar.getAttribute("aria-valuenow")); return seen.size > 2; }, () => [...seen].join(" "));
  await installed(page);
  assertClean(page);

  // Ctrl-C stops all of it.
  started.kill("SIGTERM");
  await started.ended;
  const { hostname, port } = new URL(url);
  await assert.rejects(new Promise((resolve, reject) => { net.connect(port, hostname, resolve).on("error", reject); }), /ECONNREFUSED/);
});
