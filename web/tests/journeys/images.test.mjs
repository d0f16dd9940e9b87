// OS images: fetched with progress, uploaded, refused, removed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { Service, assertClean, closeBrowser, open, root, shot, waitFor } from "../harness.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "muster-web-iso-"));
const iso = execFileSync("python3", ["-c", "import pathlib, sys; sys.path.insert(0, sys.argv[1]); import live_iso; print(live_iso.make(pathlib.Path(sys.argv[2])))", path.join(root, "tests/api"), folder], { encoding: "utf8" }).trim();
const content = readFileSync(iso);

/** Sends half of the image, and the rest when it is let go. */
let release;
const released = new Promise((resolve) => { release = resolve; });
const mirror = http.createServer(async (request, response) => {
  response.writeHead(200, { "Content-Length": content.length });
  response.write(content.subarray(0, content.length / 2));
  await released;
  response.end(content.subarray(content.length / 2));
});

let service;
let page;
before(async () => {
  await new Promise((resolve) => mirror.listen(0, "127.0.0.1", resolve));
  const image = (version, arch) => ({ openshift_version: version, cpu_architecture: arch, version: `${version}.0-1`, url: `http://127.0.0.1:${mirror.address().port}/${version}.iso` });
  service = await Service.start({ env: { OS_IMAGES: JSON.stringify([image("4.20", "x86_64"), image("4.19", "x86_64"), image("4.20", "arm64")]), MUSTER_IMAGES_FETCH: "when-asked" } });
  page = await open(service);
});
after(async () => {
  await closeBrowser();
  await service?.stop();
  mirror.closeAllConnections();
  mirror.close();
  rmSync(folder, { recursive: true });
});

const row = (version) => page.locator(`tr[data-image="${version} x86_64"]`);
const act = async (version, name) => {
  await row(version).getByRole("button", { name: /^Actions of/ }).click();
  await page.getByRole("menuitem", { name }).click();
};

test("an image is fetched while its progress is seen", async () => {
  await page.goto("/os-images");
  await row("4.20").getByText("not available", { exact: true }).waitFor();
  assert.equal(await page.locator("tr[data-image]").count(), 2, "of the architecture that is chosen");
  await act("4.20", /^Fetch/);
  const bar = row("4.20").getByRole("progressbar");
  await waitFor("half of it", async () => Number(await bar.getAttribute("aria-valuenow")) >= 45);
  await shot(page, "images-fetching");
  release();
  await row("4.20").getByText("available", { exact: true }).waitFor();
  await page.getByText("1 image available").waitFor();
});

test("an image is uploaded; what is not one is refused with the reason", async () => {
  const upload = async (file, digest) => {
    const dialog = page.getByRole("dialog");
    if (!(await dialog.isVisible())) await act("4.19", /^Upload/);
    await dialog.getByLabel("ISO file").setInputFiles(file);
    await dialog.getByLabel("SHA-256").fill(digest);
    await dialog.getByRole("button", { name: "Upload" }).click();
    return dialog;
  };
  await act("4.19", /^Upload/);
  await page.getByRole("dialog").getByRole("button", { name: "Upload" }).click();
  await page.getByRole("dialog").getByText("This is required.").waitFor();
  const text = path.join(folder, "page.iso");
  writeFileSync(text, "<html>not found</html>");
  await (await upload(text, "")).getByText(/the upload cannot be used/).waitFor();
  await (await upload(iso, "abc")).getByText("64 hexadecimal digits.").waitFor();
  await (await upload(iso, "0".repeat(64))).getByText(/its SHA-256 is/).waitFor();
  // The same by the line that the dialog shows.
  await page.getByRole("dialog").getByText("Show as API call").click();
  assert.match(await page.getByRole("dialog").getByLabel("REST API").innerText(), /curl -X PUT [^]*os-image\?version=4\.19[^]*-T /);
  const dialog = await upload(iso, "");
  await dialog.waitFor({ state: "hidden" });
  await row("4.19").getByText("available", { exact: true }).waitFor();
  await row("4.19").getByText("added by hand").waitFor();

  await act("4.19", /^Remove/);
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await row("4.19").getByText("not available", { exact: true }).waitFor();
  await page.getByLabel("CPU architecture").selectOption("all");
  await page.waitForURL(/arch=all/);
  await page.locator("tr[data-image='4.20 arm64']").waitFor();
  assertClean(page);
});
