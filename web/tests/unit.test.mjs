// Pure parts: field rules, addresses, nmstate, commands, the watch protocol, catalogue, generated types.
import assert from "node:assert/strict";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test, before, after } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { load } from "js-yaml";
import { texts } from "../messages.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = {};
let folder;
before(async () => {
  // Browser globals that module bodies touch.
  globalThis.document = { documentElement: { lang: "en" } };
  globalThis.sessionStorage = { getItem: () => null, removeItem: () => undefined };
  globalThis.location = { pathname: "/", search: "" };
  globalThis.addEventListener ??= () => undefined;
  globalThis.removeEventListener ??= () => undefined;
  folder = await mkdtemp(path.join(tmpdir(), "muster-web-unit-"));
  const names = ["rules", "ip", "nmstate", "commands", "networks", "links", "operators", "clusters", "hosts", "highlight", "fixes"];
  await build({ absWorkingDir: path.join(here, ".."), entryPoints: [...names.map((name) => `src/model/${name}.ts`), "src/watch.ts", "src/ui/rows.tsx"], bundle: true, format: "esm", outdir: folder, outExtension: { ".js": ".mjs" }, platform: "neutral", mainFields: ["module", "main"], jsx: "automatic", jsxImportSource: "preact", logLevel: "error" });
  for (const name of names) modules[name] = await import(path.join(folder, `model/${name}.mjs`));
  modules.rows = await import(path.join(folder, "ui/rows.mjs"));
  modules.watch = await import(path.join(folder, "watch.mjs"));
});
after(() => rm(folder, { recursive: true }));

test("field rules accept what is right and name what is wrong", () => {
  const r = modules.rules;
  const rows = [
    ["clusterName", r.clusterName, ["a", "edge-1", "0a", "a".repeat(54)], ["", "A", "-a", "a-", "a_b", "a.b", "a".repeat(55)]],
    ["baseDomain", r.baseDomain, ["example.com", "local", "a-b.example"], ["", "a b", ".com", "a..b", "-a.com", `${"a".repeat(64)}.com`]],
    ["pullSecret", r.pullSecret, ['{"auths":{}}'], ["", "{", "{}", "[]", '{"auths":1}', "null"]],
    ["sshKey", r.sshKey, ["", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKs= me@host", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ==\n"], ["ssh-rsa", "ssh-rsa abc", "sk-ssh-ed25519 AAAA", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"]],
    ["hostname", r.hostname(["taken"]), ["a", "node-1.rack", "a".repeat(63)], ["", "A", "-a", "a.", "taken", "localhost", "localhost6.localdomain6", "a".repeat(64)]],
    ["mac", r.mac, ["52:54:00:aa:BB:01"], ["", "52-54-00-aa-bb-01", "52:54:00:aa:bb", "gg:54:00:aa:bb:01"]],
    ["servers by name", r.servers("names"), ["", "10.0.0.1, ntp.example.com", "fe80::1"], ["a,,b", "A_b", "10.0.0.1,10.0.0.1", "10.0.0.300"]],
    ["servers by address", r.servers("addresses"), ["10.0.0.1,2001:db8::1"], ["ntp.example.com", "127.0.0.1", "ff02::1"]],
    ["noProxy", r.noProxy, ["", "*", ".example.com,10.0.0.0/8,a_b"], ["a,*", "a b", "x;y"]],
    ["clusterCidr", r.clusterCidr, ["10.128.0.0/14", "fd01::/48"], ["10.128.0.0", "10.128.0.1/14", "10.0.0.0/26", "0.0.0.0/8", "fd01::1/48", "fd00::/4"]],
    ["hostPrefix", r.hostPrefix("10.128.0.0/14"), ["14", "23", "25"], ["", "13", "26", "x"]],
    ["hostPrefix v6", r.hostPrefix("fd01::/48"), ["48", "64"], ["47", "129"]],
    ["vip", r.vip(["192.168.1.0/24", "fd00::/64"], "192.168.1.6"), ["192.168.1.5", "fd00::5"], ["", "192.168.1.6", "192.168.1.0", "192.168.1.255", "192.168.2.5", "192.168.1.5/24", "x"]],
    ["manifestName", r.manifestName(["a.yaml"]), ["b.yaml", "c.yml", "d.json", "e.yaml.patch"], ["", "a.yaml", "a/b.yaml", "a.txt", "a b.yaml"]],
    ["manifestContent", r.manifestContent, ["a"], ["", " ", "a".repeat((1 << 20) + 1)]],
    ["vlan", r.vlan, ["1", "4094"], ["0", "4095", "x", ""]],
    ["proxyUrl", r.proxyUrl(["http"]), ["", "http://p:1"], ["https://p", "p:1", "http://"]],
    ["inSubnet", r.inSubnet("192.0.2.0/24", ["192.0.2.9"]), ["192.0.2.1"], ["", "192.0.2.0", "192.0.2.255", "192.0.2.9", "10.0.0.1", "127.0.0.1"]],
    ["inSubnet /31", r.inSubnet("192.0.2.0/31", []), ["192.0.2.0", "192.0.2.1"], ["192.0.2.2"]],
    ["apiName", r.apiName, ["api.example.com", "10.0.0.1", "::1"], ["", "a b", "10.0.0.300"]],
  ];
  for (const [name, rule, right, wrong] of rows) {
    for (const value of right) assert.equal(rule(value), null, `${name} should accept ${JSON.stringify(value)}`);
    for (const value of wrong) assert.ok(rule(value), `${name} should refuse ${JSON.stringify(value).slice(0, 80)}`);
  }
  assert.match(r.overlap([["a", "10.0.0.0/8"], ["b", "10.1.0.0/16"]]), /a and b overlap/);
  assert.equal(r.overlap([["a", "10.0.0.0/8"], ["b", "11.0.0.0/8"], ["c", "fd00::/8"]]), null);
  assert.equal(r.numbered("cp-{{nn}}-{{n}}", 7), "cp-07-7");
});

test("rules end quickly on hostile input", () => {
  const long = `${"a.".repeat(100_000)}!`;
  const began = performance.now();
  for (const rule of [modules.rules.baseDomain, modules.rules.servers("names"), modules.rules.noProxy, modules.rules.apiName, modules.rules.hostname([])]) rule(long);
  assert.ok(performance.now() - began < 1000);
});

test("addresses and networks are read and written", () => {
  const { address, network, format, cidr, contains, isEdge } = modules.ip;
  for (const [text, shown] of [["192.0.2.1", "192.0.2.1"], ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"], ["::", "::"], ["::ffff:192.0.2.1", "::ffff:c000:201"], ["1:0:0:2:0:0:0:3", "1:0:0:2::3"]]) assert.equal(format(address(text)), shown);
  for (const text of ["", "1.2.3", "1.2.3.256", "01.2.3.4", ":::", "1:2", "1:2:3:4:5:6:7:8:9", "g::", "1.2.3.4/8"]) assert.equal(address(text), null, text);
  assert.equal(cidr(network("10.1.2.3/8")), "10.0.0.0/8");
  assert.ok(network("10.1.2.3/8").hostBits);
  assert.ok(contains(network("fd00::/64"), address("fd00::ffff")));
  assert.ok(isEdge(network("10.0.0.0/24"), address("10.0.0.255")) && !isEdge(network("10.0.0.0/31"), address("10.0.0.1")));
});

test("static networks go from form to YAML and back without loss", () => {
  const { entries, form, NEW_FORM, problems } = modules.nmstate;
  for (const [bond, useVlan, dual] of [[false, false, false], [true, false, false], [false, true, false], [true, true, true], [false, false, true]]) {
    const of = { ...NEW_FORM, dual, useVlan, vlan: useVlan ? "100" : "", dns: "192.0.2.53", net4: "192.0.2.0/24", gateway4: "192.0.2.1", net6: dual ? "2001:db8::/64" : "", gateway6: dual ? "2001:db8::1" : "", hosts: [1, 2].map((n) => ({ mac: `52:54:00:00:00:0${n}`, bond, port2: bond ? `52:54:00:00:01:0${n}` : "", ip4: `192.0.2.1${n}`, ip6: dual ? `2001:db8::1${n}` : "" })) };
    assert.deepEqual(problems(of).filter(([, bad]) => bad), []);
    const made = entries(of);
    assert.deepEqual(form(made, load), of, made[0].network_yaml);
    const names = load(made[0].network_yaml).interfaces.map((one) => one.name);
    assert.equal(new Set(names).size, names.length, "no interface twice");
  }
  assert.equal(form([{ network_yaml: "interfaces: []", mac_interface_map: [] }], load), null);
});

test("networking sends what each kind of cluster needs", () => {
  const { candidates, fields, body, withStack } = modules.networks;
  const nets = candidates([["192.168.1.20/24", "fd00::20/64", "fe80::1/64", "169.254.0.3/16"], ["192.168.1.21/24", "10.0.0.1/8"]]);
  assert.deepEqual(nets, [{ cidr: "192.168.1.0/24", hosts: 2 }, { cidr: "10.0.0.0/8", hosts: 1 }, { cidr: "fd00::/64", hosts: 1 }]);
  const defaults = { pods4: [{ cidr: "10.128.0.0/14", prefix: "23" }], podsDual: [{ cidr: "10.128.0.0/14", prefix: "23" }, { cidr: "fd01::/48", prefix: "64" }], services4: ["172.30.0.0/16"], servicesDual: ["172.30.0.0/16", "fd02::/112"] };
  const cluster = { id: "c", control_plane_count: 3 };
  const of = { ...fields(cluster, nets, defaults), api: ["192.168.1.5"], ingress: ["192.168.1.6"] };
  assert.equal("machine_networks" in body(of, cluster), false, "follows from the addresses");
  assert.deepEqual(body({ ...of, managed: "user" }, cluster).api_vips, []);
  const dual = withStack(of, true, nets, defaults);
  assert.deepEqual(body(dual, cluster).machine_networks.map((one) => one.cidr), ["192.168.1.0/24", "fd00::/64"]);
  assert.equal(body(dual, cluster).cluster_networks.length, 2);
  const single = { ...cluster, control_plane_count: 1 };
  assert.deepEqual(body(fields(single, nets, defaults), single).machine_networks.map((one) => one.cidr), ["192.168.1.0/24"]);
  assert.deepEqual(withStack(dual, false, nets, defaults).pods, defaults.pods4);

  // Hosts with IPv6 only: pods and services follow, unless they were changed by hand.
  const six = candidates([["fd00::20/64"], ["fd00::21/64"]]);
  const only6 = fields(cluster, six, defaults);
  assert.deepEqual([only6.machine, only6.pods.map((one) => one.cidr), only6.services], [["fd00::/64"], ["fd01::/48"], ["fd02::/112"]]);
  const { withMachine, problems } = modules.networks;
  const moved = withMachine(of, "fd00::/64", nets, defaults);
  assert.deepEqual([moved.machine, moved.services], [["fd00::/64"], ["fd02::/112"]]);
  assert.deepEqual(withMachine({ ...of, services: ["172.31.0.0/16"] }, "fd00::/64", nets, defaults).services, ["172.31.0.0/16"]);
  const wrong = (one) => problems(one, false).filter(([, reason]) => reason).map(([name]) => name);
  assert.deepEqual(wrong({ ...moved, api: ["fd00::5"], ingress: ["fd00::6"] }), []);
  assert.deepEqual(wrong({ ...of, services: ["fd02::/112"] }), ["Cluster and service networks"]);
  assert.equal(fields({ ...cluster, platform: { type: "external" } }, nets, defaults).managed, "user");
  // Which family comes first is free since 4.12.
  const reversed = { ...withStack({ ...of, machine: ["fd00::/64"] }, true, nets, defaults), api: ["fd00::5"], ingress: ["fd00::6"] };
  const first = (one, version) => problems(one, false, version).filter(([, reason]) => reason).map(([name]) => name);
  assert.deepEqual(["4.11.59", "4.12.0", "5.0.0", ""].map((version) => first(reversed, version)), [["Machine network"], [], [], []]);
  assert.deepEqual(first({ ...dual, api: ["192.168.1.5"], ingress: ["192.168.1.6"] }, "4.11.59"), []);
});

test("the watch protocol is read across any cut", () => {
  const text = 'retry: 2000\n\nevent: host\ndata: {"id":"a"}\n\n: ping\n\nid: 7\nevent: event\ndata: {"m":\ndata: 1}\n\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const parser = new modules.watch.Parser();
    const messages = [...parser.take(text.slice(0, cut)), ...parser.take(text.slice(cut))];
    assert.deepEqual(messages, [{ kind: "host", data: { id: "a" } }, { kind: "event", data: { m: 1 } }]);
    assert.equal(parser.lastId, "7");
    assert.equal(parser.retryMs, 2000);
  }
});

test("a long table draws the rows near the window", () => {
  const { near } = modules.rows;
  assert.deepEqual(near(500, 50, -200, 700), { from: 0, to: 29 });
  assert.deepEqual(near(500, 50, 5000, 5900), { from: 85, to: 133 });
  assert.deepEqual(near(500, 50, 24_500, 25_400), { from: 475, to: 500 });
  assert.deepEqual(near(90, 50, 99_999, 100_900), { from: 74, to: 90 }, "below the end: the last ones");
});

test("YAML is coloured without losing a character, and new lines are indented", () => {
  const { parts, indentAfter, faultOf } = modules.highlight;
  const kinds = (line) => parts(line).filter(([kind]) => kind).map(([kind, text]) => `${kind}:${text}`);
  assert.deepEqual(kinds("- name: eth0  # first"), ["mark:- ", "key:name", "mark::", "text:eth0", "comment:# first"]);
  assert.deepEqual(kinds("  mtu: 1500"), ["mark:  ", "key:mtu", "mark::", "number:1500"]);
  assert.deepEqual(kinds('{"a": [true, "b: c"]}'), ["mark:{", 'key:"a"', "mark::", "mark:[", "number:true", "mark:,", 'text:"b: c"', "mark:]", "mark:}"]);
  assert.deepEqual(kinds("url: http://a:80/#x"), ["key:url", "mark::", "text:http://a:80/#x"]);
  assert.deepEqual(kinds("---"), ["mark:---"]);
  for (const line of ["", "   ", "a", "a:", "- - b", "x: 'it''s' # y", '"open', "a: b: c", "key with blanks : v", "? k", "*ref", "<<: *x", "a: |", "\t- x", "#", "a#b", "[", "é: ü"]) assert.equal(parts(line).map(([, text]) => text).join(""), line, line);
  assert.deepEqual(["a:", "  - b: c", "  x", "- y:", "k: v # not:"].map(indentAfter), ["  ", "    ", "  ", "    ", ""]);
  let failed;
  try { load("a: 1\nb: [\nc: 2\n"); } catch (problem) { failed = problem; }
  assert.ok(faultOf(failed).line >= 2 && faultOf(failed).reason.length > 3);
  assert.deepEqual(faultOf(new SyntaxError("Unexpected token")), { reason: "Unexpected token", line: null });
});

test("links between hosts are good, slow or bad", () => {
  const remote = (l3) => [{ id: "a", remotes: [{ host_id: "b", l3_connectivity: [l3] }] }, { id: "b", remotes: [] }];
  const state = (l3) => modules.links.links(remote(l3))[0].state;
  assert.equal(state({ successful: true, average_rtt_ms: 1 }), "good");
  assert.equal(state({ successful: true, packet_loss_percentage: 25 }), "slow");
  assert.equal(state({ successful: true, average_rtt_ms: 1500 }), "slow");
  assert.equal(state({ successful: false, remote_ip_address: "10.0.0.1" }), "bad");
});

test("operators bring what they depend on", () => {
  const because = modules.operators.closure(["odf"], new Map([["odf", ["lso"]], ["lso", ["x"]], ["x", ["odf"]]]));
  assert.deepEqual([...because.keys()].sort(), ["lso", "odf", "x"]);
});

test("versions are sorted newest first", () => {
  assert.deepEqual(["4.9.1", "4.20.3", "4.20.10", "5.0.0-ec.1"].sort(modules.clusters.compareVersions), ["5.0.0-ec.1", "4.20.10", "4.20.3", "4.9.1"]);
});

test("the catalogue has every text", async () => {
  const catalogue = JSON.parse(await readFile(path.join(here, "../messages/en.json"), "utf8"));
  assert.deepEqual(Object.keys(catalogue), await texts());
});

test("no text of the page is outside of the catalogue", async () => {
  // Names, and terms that every language shares.
  const known = ["Muster", "OpenAPI", "aicli", "MAC", "IPv4", "IPv6"];
  const sources = path.join(here, "../src");
  const found = [];
  for (const file of (await readdir(sources, { recursive: true })).filter((one) => one.endsWith(".tsx"))) {
    const code = await readFile(path.join(sources, file), "utf8");
    for (const [, text] of code.matchAll(/>([^<>{}=;()&|]*[A-Za-z]{2,}[^<>{}=;()&|]*)<\//g)) if (!known.includes(text.trim())) found.push(`${file}: ${text}`);
    for (const [, text] of code.matchAll(/\b(?:label|title|aria-label|help|legend|text)="([^"]*[a-z]{2,}[^"]*)"/g)) found.push(`${file}: ${text}`);
  }
  assert.deepEqual(found, []);
});

test("every form and dialog that changes something shows its calls", async () => {
  // Forms that send nothing to the service, the login, and the frame of dialogs itself.
  const exempt = ["ui/parts.tsx", "pages/login.tsx", "Leave the YAML view?"];
  const sources = path.join(here, "../src");
  let seen = 0;
  for (const file of (await readdir(sources, { recursive: true })).filter((one) => one.endsWith(".tsx") && !exempt.includes(one))) {
    const code = await readFile(path.join(sources, file), "utf8");
    for (const [part] of code.matchAll(/<(Confirm|Modal|form)\b(?:(?!<\1\b)[^])*?(?:<\/\1>|(?=<\1\b)|$)/g)) {
      if (!/\b(run|submit|onSubmit)=/.test(part) || exempt.some((text) => part.includes(text))) continue;
      seen += 1;
      assert.match(part, /<AsCall\b|\{shown\(/, `${file}: ${part.slice(0, 160)}`);
    }
  }
  assert.ok(seen >= 20, `${seen} forms`);
});

test("every check of the service has advice", async () => {
  const page = await readFile(path.join(here, "../../docs/validations.md"), "utf8");
  const ids = [...page.matchAll(/^\| `([a-z0-9-]+)`/gm)].map(([, id]) => id);
  assert.ok(ids.length > 80);
  assert.deepEqual(ids.filter((id) => !modules.fixes.fix(id)), []);
});

test("the service serves the page at every address that the page knows", async () => {
  const words = (text, from) => [...text.slice(text.indexOf(from) + from.length).split("]")[0].matchAll(/"([^"]+)"/g)].map((one) => one[1]);
  const service = await readFile(path.join(here, "../../crates/service/src/http/web.rs"), "utf8");
  const page = await readFile(path.join(here, "../src/router.ts"), "utf8");
  const known = words(page, "FIRST_SEGMENTS = [");
  assert.ok(known.includes("clusters"));
  assert.deepEqual(words(service, "const SHOWN: &[&str] = &["), known);
});
