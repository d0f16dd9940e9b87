// Builds src to dist: scripts and style under names with a digest, each also as Brotli and gzip, and
// index.html that names them. Fails if the first view outgrows its budget. `--watch` for development.
import { build, context } from "esbuild";
import { readFile, readdir, rm, mkdir, writeFile } from "node:fs/promises";
import { brotliCompressSync, gzipSync, constants } from "node:zlib";
import { createHash } from "node:crypto";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { collect } from "./messages.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(here, "dist");
/** Bytes that travel (gzip, the larger of the two forms). */
const FIRST_VIEW_BUDGET = 100_000;
const ALL_BUDGET = 300_000;

const options = {
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: "dist/assets",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022", "chrome110", "firefox115", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
};

/** Writes index.html and the compressed forms, and returns the sizes. */
async function finish(result) {
  const outputs = result.metafile.outputs;
  const [entry, of] = Object.entries(outputs).find(([, one]) => one.entryPoint === "src/main.tsx");
  const first = new Set([entry]);
  const follow = (name) => {
    for (const one of outputs[name]?.imports ?? []) {
      if (one.kind === "import-statement" && !first.has(one.path)) {
        first.add(one.path);
        follow(one.path);
      }
    }
  };
  follow(entry);
  if (of.cssBundle) first.add(of.cssBundle);
  const icon = await readFile(path.join(here, "src/icon.svg"));
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  await writeFile(path.join(dist, "assets", iconName), icon);
  const page = (await readFile(path.join(here, "src/index.html"), "utf8"))
    .replace("{{icon}}", `/assets/${iconName}`)
    .replace("{{style}}", `/${of.cssBundle.replace("dist/", "")}`)
    .replace("{{script}}", `/${entry.replace("dist/", "")}`)
    .replace("{{preload}}", [...first].filter((name) => name.endsWith(".js") && name !== entry).map((name) => `<link rel="modulepreload" href="/${name.replace("dist/", "")}">`).join("\n"));
  await writeFile(path.join(dist, "index.html"), page);
  const sizes = [];
  const files = ["index.html", ...(await readdir(path.join(dist, "assets"))).map((name) => `assets/${name}`)];
  for (const name of files.sort()) {
    if (/\.(br|gz)$/.test(name)) continue;
    const plain = await readFile(path.join(dist, name));
    const brotli = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
    const gzip = gzipSync(plain, { level: 9 });
    await writeFile(path.join(dist, `${name}.br`), brotli);
    await writeFile(path.join(dist, `${name}.gz`), gzip);
    const isFirst = name === "index.html" || name.endsWith(".svg") || first.has(`dist/${name}`);
    sizes.push({ name, first: isFirst, plain: plain.length, gzip: gzip.length, brotli: brotli.length });
  }
  await writeFile(path.join(dist, "sizes.json"), JSON.stringify(sizes, null, 1));
  return sizes;
}

function report(sizes) {
  const sum = (list, of) => list.reduce((all, one) => all + one[of], 0);
  const first = sizes.filter((one) => one.first);
  for (const one of sizes) {
    console.log(`${one.first ? "first" : "later"}  ${String(one.plain).padStart(8)}  gzip ${String(one.gzip).padStart(7)}  br ${String(one.brotli).padStart(7)}  ${one.name}`);
  }
  console.log(`first view: ${sum(first, "brotli")} bytes br, ${sum(first, "gzip")} gzip (budget ${FIRST_VIEW_BUDGET})`);
  console.log(`all files:  ${sum(sizes, "brotli")} bytes br, ${sum(sizes, "gzip")} gzip (budget ${ALL_BUDGET})`);
  if (sum(first, "gzip") > FIRST_VIEW_BUDGET || sum(sizes, "gzip") > ALL_BUDGET) {
    console.error("web: the page outgrew its budget; load what is not needed at once with import()");
    process.exit(1);
  }
}

async function clear() {
  await mkdir(path.join(dist, "assets"), { recursive: true });
  for (const name of await readdir(dist)) {
    if (name !== ".gitkeep") await rm(path.join(dist, name), { recursive: true });
  }
  await mkdir(path.join(dist, "assets"));
}

await clear();
if (process.argv.includes("--watch")) {
  const plugin = { name: "finish", setup: (one) => one.onEnd(async (result) => { if (!result.errors.length) { await finish(result); console.log("built"); } }) };
  await (await context({ ...options, minify: false, entryNames: "[name]", chunkNames: "[name]-[hash]", plugins: [plugin] })).watch();
} else {
  await collect({ write: process.env.BLESS === "1" });
  report(await finish(await build(options)));
}
