// How the page is served: policy, caching, compression, deep links beside the API, size.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service, assertClean, closeBrowser, open } from "../harness.mjs";

let service;
before(async () => { service = await Service.start(); });
after(async () => { await closeBrowser(); await service?.stop(); });

test("the page is served with a strict policy, cached by tag and name, and never shadows the API", async () => {
  const page = await open(service);
  const first = await page.request.get("/");
  assert.match(first.headers()["content-security-policy"], /default-src 'none'; script-src 'self'; style-src 'self'/);
  assert.doesNotMatch(first.headers()["content-security-policy"], /unsafe/);
  assert.equal((await page.request.get("/", { headers: { "If-None-Match": first.headers().etag } })).status(), 304);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await first.text())[1];
  const asset = await page.request.get(script);
  assert.match(asset.headers()["cache-control"], /immutable/);
  assert.equal(asset.headers()["content-encoding"], "br");
  assert.match(asset.headers()["content-type"], /^text\/javascript/);
  assert.equal((await page.request.get("/clusters/some/deep/link")).headers()["content-type"], "text/html; charset=utf-8");
  for (const [path, status] of [["/api/assisted-install/v2/nothing", 404], ["/v2/nothing", 404], ["/clusterz", 404], ["/assets/none.js", 404], ["/health", 200], ["/v2/clusters", 200], ["/docs", 200]]) {
    const answer = await page.request.get(path);
    assert.equal(answer.status(), status, path);
    if (path !== "/docs") assert.doesNotMatch(answer.headers()["content-type"] ?? "", /html/, path);
  }
});

test("the first view is small, asks nothing outside, and is usable at once", async () => {
  const page = await open(service);
  let bytes = 0;
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  client.on("Network.loadingFinished", ({ encodedDataLength }) => { bytes += encodedDataLength; });
  const began = Date.now();
  await page.goto("/");
  await page.getByText("No clusters yet").waitFor();
  const ms = Date.now() - began;
  console.log(`web: first view ${bytes} bytes transferred, headers included; usable after ${ms} ms`);
  assert.ok(bytes > 10_000 && bytes < 100_000, `${bytes} bytes`);
  assertClean(page);
});
