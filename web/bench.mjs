// Figures of the page with a cluster of 500 hosts: what is transferred, when it can be used, what an update
// costs, what it keeps in memory. The objects are those of a real service (a simulated cluster of five), its
// workers multiplied; the watch is played from here, so that only the page is measured.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { Service, chrome, root, waitFor } from "./tests/harness.mjs";

const HOSTS = 500;
const UPDATES = 200;
const dist = path.join(root, "web/dist");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const gzip = (text) => gzipSync(text, { level: 6 }).length;
const kb = (n) => (n > 1e6 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1000).toFixed(1)} kB`);

/** A cluster as the service shows it, ready to be installed. */
export async function sample(service) {
  const machines = service.rehearse(["--topology", "ha", "--until", "ready", "--speed", "600"]);
  await waitFor("a ready cluster", async () => machines.exitCode !== null, () => machines.text);
  const ask = async (url) => JSON.parse(await service.get(`/api/assisted-install/v2${url}`));
  const [{ id }] = await ask("/clusters");
  return ask(`/clusters/${id}`);
}

/** The same with many workers, each with the connectivity to all others that it would report. */
export function multiplied({ hosts, ...cluster }, count = HOSTS) {
  const masters = hosts.filter((host) => host.role === "master");
  const worker = hosts.find((host) => host.role === "worker");
  const workers = Array.from({ length: count - masters.length }, (_, n) => ({ ...worker, id: worker.id.slice(0, -4) + String(n).padStart(4, "0"), requested_hostname: `worker-${n}` }));
  const all = [...masters, ...workers];
  const [remote] = JSON.parse(worker.connectivity).remote_hosts;
  for (const host of all) host.connectivity = JSON.stringify({ remote_hosts: all.filter((one) => one !== host).map((one) => ({ ...remote, host_id: one.id })) });
  return { cluster: { ...cluster, hosts: [], enabled_host_count: count, total_host_count: count }, hosts: all };
}

export const event = (kind, data) => `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;

/** Serves the page as the service does (Brotli), and the watch of one cluster. */
export async function served({ cluster, hosts }) {
  const watchers = new Set();
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://page");
    if (pathname.endsWith("/v2/watch")) {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      if (searchParams.get("kinds")) response.write(event("sync", {}));
      else response.write(event("cluster", cluster) + hosts.map((host) => event("host", host)).join("") + event("sync", {}));
      watchers.add(response);
      request.on("close", () => watchers.delete(response));
    } else if (/^\/(api|auth|explain)\//.test(pathname)) {
      response.writeHead(200, { "Content-Type": "application/json" }).end("[]");
    } else {
      const name = existsSync(path.join(dist, pathname)) && pathname !== "/" ? pathname : "/index.html";
      response.writeHead(200, { "Content-Type": types[path.extname(name)] ?? "", "Content-Encoding": "br" }).end(await readFile(path.join(dist, `${name}.br`)));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, send: (text) => { for (const one of watchers) one.write(text); }, close: () => { server.closeAllConnections(); server.close(); } };
}

async function measured(page, client, work) {
  const figures = async () => Object.fromEntries((await client.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  const before = await figures();
  await work();
  const now = await figures();
  return (now.TaskDuration - before.TaskDuration) * 1000;
}

async function heap(client) {
  await client.send("HeapProfiler.collectGarbage");
  return (await client.send("Runtime.getHeapUsage")).usedSize;
}

/** Sends changes one by one and waits for each on the screen; the median time from send to paint. */
async function updates(page, client, server, change) {
  const times = [];
  const cost = await measured(page, client, async () => {
    for (let n = 0; n < UPDATES; n++) {
      const { text, mark, isShown } = change(n);
      const seen = page.evaluate(({ mark, isShown }) => new Promise((resolve) => {
        const look = new Function("mark", `return ${isShown}`);
        const poll = () => (look(mark) ? requestAnimationFrame(() => resolve(Date.now())) : requestAnimationFrame(poll));
        poll();
      }), { mark, isShown });
      const began = Date.now();
      server.send(text);
      times.push((await seen) - began);
    }
  });
  times.sort((a, b) => a - b);
  return { median: times[times.length >> 1], worst: times.at(-1), cost: cost / UPDATES };
}

/** A slow connection and machine: 10 Mbit/s with 40 ms to each answer, a processor a quarter as fast. */
const SLOW = { latency: 40, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8, offline: false };
const VISITS = 5;

/** Milliseconds from the click on a link to the first paint, and until the first view can be used: its button is drawn and the browser is idle. */
async function visit(browser, url, isSlow) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const client = await context.newCDPSession(page);
  if (isSlow) {
    await client.send("Network.enable");
    await client.send("Network.emulateNetworkConditions", SLOW);
    await client.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  }
  await page.addInitScript(() => {
    const look = () => (document.querySelector("main button.primary:enabled") ? requestIdleCallback(() => { window.usable = performance.now(); }) : requestAnimationFrame(look));
    addEventListener("DOMContentLoaded", look);
  });
  await page.goto(url);
  const usable = await (await page.waitForFunction(() => window.usable)).jsonValue();
  const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  await context.close();
  return { painted, usable };
}

/** The median of several visits, each with an empty cache. */
async function firstView(browser, url, isSlow) {
  const visits = [];
  for (let n = 0; n < VISITS; n++) visits.push(await visit(browser, url, isSlow));
  const median = (of) => visits.map((one) => one[of]).sort((a, b) => a - b)[VISITS >> 1].toFixed(0);
  return `painted after ${median("painted")} ms, usable after ${median("usable")} ms`;
}

export async function bench() {
  const service = await Service.start();
  const data = multiplied(await sample(service).finally(() => service.stop()));
  const server = await served(data);
  const browser = await chrome();
  try {
    console.log(`web page, first view: ${await firstView(browser, server.url, false)} (loopback, empty cache)`);
    console.log(`web page, first view: ${await firstView(browser, server.url, true)} (10 Mbit/s, 40 ms, a processor a quarter as fast, empty cache)`);
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    const client = await page.context().newCDPSession(page);
    await client.send("Performance.enable");
    await client.send("Network.enable");
    let bytes = 0;
    client.on("Network.loadingFinished", ({ encodedDataLength }) => { bytes += encodedDataLength; });
    await page.goto(`${server.url}/settings`);
    await page.locator("h1").waitFor();
    const empty = await heap(client);
    bytes = 0;
    const began = Date.now();
    await page.goto(`${server.url}/clusters/${data.cluster.id}/hosts`);
    await page.getByText(`${HOSTS} hosts`).waitFor();
    await page.locator("tr[data-host]").first().waitFor();
    const shown = Date.now() - began;
    console.log(`web page, ${HOSTS} hosts: ${kb(bytes)} of scripts and style; table usable ${shown} ms after the click (loopback, empty cache)`);
    const used = await heap(client);
    console.log(`web page, ${HOSTS} hosts: ${kb(used - empty)} of memory beyond the empty page's ${kb(empty)}`);

    const messages = data.hosts.map((host) => event("host", host)).join("") + event("cluster", data.cluster);
    const poll = JSON.stringify({ ...data.cluster, hosts: data.hosts });
    const one = event("host", data.hosts.at(-1));
    console.log(`web page, ${HOSTS} hosts: everything once ${kb(messages.length)}, then ${kb(one.length)} for each host that changes; the reference's page reads ${kb(poll.length)} (${kb(gzip(poll))} gzip) every 10 s`);

    const last = data.hosts.find((host) => host.requested_hostname === "worker-3");
    const host = await updates(page, client, server, (n) => ({ text: event("host", { ...last, progress: { ...last.progress, installation_percentage: n % 100, current_stage: `Stage ${n}` }, status: "installing-in-progress" }), mark: `Stage ${n}`, isShown: "document.querySelector('tr[data-host=\"worker-3\"]')?.textContent.includes(mark)" }));
    console.log(`web page, ${HOSTS} hosts: a change of one host is painted after ${host.median} ms (worst ${host.worst}), ${host.cost.toFixed(1)} ms of the browser's main thread`);
    const cluster = await updates(page, client, server, (n) => ({ text: event("cluster", { ...data.cluster, status_info: `Round ${n}` }), mark: `Round ${n}`, isShown: "document.querySelector('.page > .row')?.textContent.includes(mark)" }));
    console.log(`web page, ${HOSTS} hosts: a change of the cluster is painted after ${cluster.median} ms (worst ${cluster.worst}), ${cluster.cost.toFixed(1)} ms of the main thread`);
    const burst = await measured(page, client, async () => {
      server.send(data.hosts.map((one) => event("host", { ...one, status_info: "burst", status: "preparing-successful" })).join(""));
      await page.waitForFunction(() => [...document.querySelectorAll("tr[data-host]")].every((row) => row.textContent.includes("Prepared")));
    });
    console.log(`web page, ${HOSTS} hosts: all hosts changing at once take ${burst.toFixed(0)} ms of the main thread`);
    return { host, cluster, used, shown };
  } finally {
    await browser.close();
    server.close();
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) await bench();
