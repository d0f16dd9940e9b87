// What journeys share: a real service, simulated machines, a browser without any outside connection.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, mkdir, readFile, rm } from "node:fs/promises";
import https from "node:https";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const muster = process.env.MUSTER ?? path.join(root, "target/debug/muster");
export const shots = path.join(root, "target/web-screenshots");
const login = { auth: Buffer.from("user:secret").toString("base64") };
export const PULL_SECRET = JSON.stringify({ auths: Object.fromEntries(["cloud.openshift.com", "quay.io", "registry.connect.redhat.com", "registry.redhat.io", "registry.ci.openshift.org"].map((name) => [name, login])) });
/** Generous: the machine may be busy. */
export const LONG = Number(process.env.LONG_MS ?? 120_000);

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

function run(args, env = {}) {
  assert.ok(existsSync(muster), `${muster} is missing; run make programs, or set MUSTER`);
  const child = spawn(muster, args, { env: { ...process.env, DUMMY_IGNITION: "true", ...env }, stdio: ["ignore", "pipe", "pipe"] });
  child.text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (child.text = (child.text + data).slice(-20_000)));
  child.ended = new Promise((resolve) => child.on("exit", resolve));
  return child;
}

/** A service with data of its own; `restart` keeps data and port. */
export class Service {
  static async start(options = {}) {
    const service = new Service();
    service.folder = await mkdtemp(path.join(tmpdir(), "muster-web-"));
    service.options = options;
    service.children = [];
    service.listen = "127.0.0.1:0";
    await service.up();
    return service;
  }

  async up() {
    const { auth = "none", env = {} } = this.options;
    // Simulated machines live faster than real ones, so silence is noticed sooner as well.
    this.child = run(["serve", "--listen", this.listen, "--data-dir", this.folder, "--auth", auth, ...(this.options.args ?? [])], env);
    this.url = await waitFor("the service to listen", () => /listening on (\S+)/.exec(this.child.text)?.[1], () => this.child.text);
    this.listen = new URL(this.url).host;
    this.password ??= /password\s+(\S+)/i.exec(this.child.text)?.[1];
  }

  async down() {
    this.child.kill("SIGTERM");
    await this.child.ended;
  }

  async stop() {
    this.proxy?.kill();
    for (const child of this.children) child.kill("SIGKILL");
    await this.down();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A request without a browser. */
  ask(method, at, body, headers = {}) {
    return new Promise((resolve, reject) => {
      const sent = body === undefined ? "" : JSON.stringify(body);
      const request = https.request(this.url + at, { method, rejectUnauthorized: false, headers: { ...headers, ...(sent ? { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(sent) } : {}) } }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (data) => (text += data)).on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text })).on("error", reject);
      });
      request.on("error", reject).end(sent);
    });
  }

  /** The text at a path. */
  async get(at) {
    return (await this.ask("GET", at)).text;
  }

  /** Machines that boot the image of an infra-env; ends with the cluster installed or when stopped. */
  simulate(infraEnv, args = [], speed = 240) {
    return this.machines(["simulate", "--url", this.url, "--ca", path.join(this.folder, "tls/ca.crt"), "--join", infraEnv, "--speed", String(speed), ...args]);
  }

  /** Ends with the service at the latest. */
  machines(args) {
    const child = run(args);
    this.children.push(child);
    return child;
  }

  /** A whole simulated cluster, its user included. */
  rehearse(args) {
    return this.machines(["simulate", "--url", this.url, "--ca", path.join(this.folder, "tls/ca.crt"), "--keep", ...args]);
  }
}

export async function waitFor(what, found, explain = () => "") {
  const end = Date.now() + LONG;
  for (;;) {
    const value = await found();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${LONG / 1000} s for ${what}\n${explain()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** While the page is written: WEB_DEV=1 serves dist from disk in front of the service. */
async function front(service) {
  if (!process.env.WEB_DEV) return service.url;
  if (!service.front) {
    const port = String(20000 + Math.floor(Math.random() * 20000));
    service.proxy = spawn(process.execPath, [path.join(root, "web/dev.mjs"), service.url, port], { stdio: "ignore" });
    service.front = `http://127.0.0.1:${port}`;
    await waitFor("the proxy", () => fetch(service.front).then(() => true, () => false));
  }
  return service.front;
}

export const chrome = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

let browser;
export async function open(service, options = {}) {
  browser ??= await chrome();
  const origin = await front(service);
  const context = await browser.newContext({ baseURL: origin, ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(LONG);
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error.stack ?? error)));
  page.on("console", (message) => { if (message.type() === "error" && !/status of (401|4\d\d|5\d\d)|net::ERR/.test(message.text())) page.problems.push(message.text()); });
  page.on("request", (request) => { if (!request.url().startsWith(origin) && !request.url().startsWith("blob:")) page.problems.push(`outside request: ${request.url()}`); });
  return page;
}

export async function closeBrowser() {
  await browser?.close();
  browser = undefined;
}

/** Nothing went wrong in the page itself, and nothing outside was asked. */
export function assertClean(page) {
  assert.deepEqual(page.problems, []);
}

export async function api(page, method, url, data) {
  const answer = await page.request.fetch(`/api/assisted-install/v2${url}`, { method, data, headers: page.token ? { Authorization: `Bearer ${page.token}` } : {} });
  assert.ok(answer.ok(), `${method} ${url}: ${answer.status()} ${await answer.text()}`);
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

/** The new-cluster form from the first click; returns the ids. */
export async function createCluster(page, { name, masters = "3", domain = "example.com" }) {
  await page.goto("/");
  await page.getByRole("button", { name: "Create cluster" }).first().click();
  await page.getByLabel("Cluster name").fill(name);
  await page.getByLabel("Base domain").fill(domain);
  await page.getByLabel("Control plane nodes").selectOption(masters);
  await page.getByLabel("Pull secret", { exact: true }).or(page.getByLabel("Pull secret *")).first().fill(PULL_SECRET);
  await page.getByRole("button", { name: "Create and continue" }).click();
  await page.waitForURL(/\/clusters\/[0-9a-f-]{36}\/setup\/operators/);
  const id = page.url().split("/clusters/")[1].slice(0, 36);
  const [infraEnv] = await api(page, "GET", `/infra-envs?cluster_id=${id}`);
  return { id, infraEnv: infraEnv.id };
}

export async function shot(page, name) {
  await mkdir(shots, { recursive: true });
  // As tall as the page, so that what sticks to the edges of the window does not cover anything.
  const size = page.viewportSize();
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: size.width, height: Math.min(Math.max(size.height, height), 4000) });
  await page.screenshot({ path: path.join(shots, `${name}.png`) });
  await page.setViewportSize(size);
}

/** In the second theme only colours differ. */
const AXE_RULES = { light: {}, dark: { runOnly: ["color-contrast"] } };
let axe;

/** What axe finds on the page as it is. */
export async function violations(page, theme) {
  axe ??= await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  // Through the protocol, which the policy of the page does not hold back.
  const client = await page.context().newCDPSession(page);
  await client.send("Runtime.evaluate", { expression: axe });
  const { result } = await client.send("Runtime.evaluate", { expression: `axe.run(document, ${JSON.stringify({ resultTypes: ["violations"], ...AXE_RULES[theme] })}).then((r) => JSON.stringify(r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")).join(" | "))))`, awaitPromise: true });
  await client.detach();
  return JSON.parse(result.value);
}

export const hostRow = (page, name) => page.locator(`tr[data-host="${name}"]`);

export async function installed(page) {
  await page.getByText("The cluster is installed", { exact: true }).first().waitFor();
}

/** Waits on the review step until the cluster can be installed; says what is missing if that takes too long. */
export async function readyToInstall(page, id) {
  const open = async () => {
    const cluster = await api(page, "GET", `/clusters/${id}`);
    const failing = (of) => Object.values(JSON.parse(of.validations_info ?? "{}")).flat().filter((one) => one.status !== "success" && one.status !== "disabled").map((one) => `${one.id}: ${one.message}`);
    return [cluster.status, ...failing(cluster), ...cluster.hosts.flatMap((host) => failing(host).map((text) => `${host.requested_hostname} ${text}`))].join("\n");
  };
  // Exactly: messages of checks contain "not ready to install".
  await page.getByText("Ready to install", { exact: true }).first().waitFor().catch(async (error) => { throw new Error(`${error.message}\n${await open()}`); });
}
