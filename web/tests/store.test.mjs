// What the page shows while answers of calls and messages of the watch cross each other.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

let folder;
let store;
let streams;
before(async () => {
  globalThis.sessionStorage = { getItem: () => null, removeItem: () => undefined };
  globalThis.addEventListener ??= () => undefined;
  globalThis.removeEventListener ??= () => undefined;
  folder = await mkdtemp(path.join(tmpdir(), "muster-web-store-"));
  await build({ absWorkingDir: path.join(path.dirname(fileURLToPath(import.meta.url)), ".."), entryPoints: ["src/store.ts"], bundle: true, format: "esm", outfile: path.join(folder, "store.mjs"), platform: "neutral", mainFields: ["module", "main"], logLevel: "error" });
  store = await import(path.join(folder, "store.mjs"));
});
after(async () => {
  // Ends the last watch.
  globalThis.fetch = async () => new Response("", { status: 404 });
  store.follow({});
  await rm(folder, { recursive: true });
});

/** Each watch of the page as a stream that the test writes to. */
beforeEach(() => {
  streams = [];
  globalThis.fetch = (url, { signal }) => new Promise((resolve, reject) => {
    if (!url.includes("/v2/watch")) return resolve(new Response("{}"));
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const fail = () => { void writer.abort().catch(() => undefined); reject(new Error("aborted")); };
    signal.addEventListener("abort", fail);
    const send = (...messages) => void writer.write(new TextEncoder().encode(messages.map(([kind, data]) => `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`).join(""))).catch(() => undefined);
    streams.push({ url, send, open: () => resolve(new Response(readable)), refuse: (status) => resolve(new Response("", { status })), end: () => void writer.close() });
  });
});

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
async function until(what, found) {
  for (let tries = 0; tries < 1000; tries++) {
    if (found()) return;
    await turn();
  }
  assert.fail(`never came: ${what}`);
}
const cluster = (status) => ({ id: "c", status });
const status = () => store.clusters.value.get("c")?.status;

async function watching(scope) {
  store.follow({ cluster_id: "c", scope });
  await until("the request", () => streams.length > 0);
  const [stream] = streams;
  stream.open();
  stream.send(["cluster", cluster("known")], ["host", { id: "h", status: "known" }], ["sync", {}]);
  await until("the objects", () => store.synced.value);
  return stream;
}

test("messages that come closely together are taken together, the first at once", async () => {
  const taken = [];
  const { add, flush, drop } = store.gatherer((messages) => taken.push(messages.length));
  add([1]);
  assert.deepEqual(taken, [1]);
  for (let n = 0; n < 100; n++) add([n]);
  assert.deepEqual(taken, [1], "the crowd waits");
  await until("the crowd", () => taken.length === 2);
  assert.deepEqual(taken, [1, 100]);
  add([1, 2]);
  flush();
  assert.deepEqual(taken, [1, 100, 2]);
  add([3]);
  drop();
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(taken, [1, 100, 2], "what was dropped does not come");
});

test("an answer shows at once", async () => {
  await watching("at once");
  await store.changeCluster(async () => cluster("installing"));
  assert.equal(status(), "installing");
  await store.changeHost(async () => ({ id: "h", status: "installing" }));
  assert.equal(store.hosts.value.get("h").status, "installing");
});

test("an answer that the watch overtook does not replace what the watch brought", async () => {
  const stream = await watching("overtaken");
  await store.changeCluster(async () => {
    // The change was committed and the cluster went on before the answer was read.
    stream.send(["cluster", cluster("insufficient")], ["cluster", cluster("ready")]);
    await until("the message", () => status() === "ready");
    return cluster("insufficient");
  });
  assert.equal(status(), "ready");
  await store.changeHost(async () => {
    stream.send(["deleted", { kind: "host", id: "h" }]);
    await until("the message", () => !store.hosts.value.has("h"));
    return { id: "h", status: "unbinding" };
  });
  assert.equal(store.hosts.value.has("h"), false);
});

test("an answer for something else than what is shown now is not shown", async () => {
  await watching("before");
  await store.changeCluster(async () => { store.follow({ cluster_id: "other" }); return cluster("ready"); });
  assert.equal(store.clusters.value.has("c"), false);
});

test("what an ended watch still brings is not shown", async () => {
  const old = await watching("ended");
  old.send(["cluster", cluster("late")]);
  store.follow({ cluster_id: "next" });
  await until("the next watch", () => streams.length === 2);
  streams[1].open();
  streams[1].send(["cluster", { id: "next" }], ["sync", {}]);
  await until("its objects", () => store.synced.value);
  assert.deepEqual([...store.clusters.value.keys()], ["next"]);

  store.follow({ cluster_id: "refused" });
  await until("a third watch", () => streams.length === 3);
  streams[2].refuse(404);
  store.follow({ cluster_id: "fourth" });
  await turn();
  assert.equal(store.gone.value, false, "the answer was about another cluster");
});

test("after a lost connection the objects are those of the new one", async () => {
  const stream = await watching("lost");
  stream.end();
  await until("the next connection", () => streams.length === 2);
  streams[1].open();
  streams[1].send(["cluster", cluster("ready")], ["host", { id: "new" }]);
  await until("the first of them", () => status() === "ready");
  assert.equal(store.hosts.value.has("h"), true, "shown until everything has come");
  streams[1].send(["sync", {}]);
  await until("the rest", () => !store.hosts.value.has("h"));
  assert.deepEqual([...store.hosts.value.keys()], ["new"]);
});
