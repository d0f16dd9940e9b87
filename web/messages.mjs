// The message catalogue: every text inside t("…") or plural("…", "…") of src, in messages/en.json. A
// translation is a file beside it with the same keys. Without BLESS=1 a stale catalogue is an error.
import { readFile, readdir, writeFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const CALL = /\bt\(\s*("(?:[^"\\]|\\.)*")/g;
const PLURAL = /\bplural\(\s*[^,]+?,\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*")/g;

export async function texts() {
  const found = new Set();
  for (const name of await readdir(path.join(here, "src"), { recursive: true })) {
    if (!/\.tsx?$/.test(name)) continue;
    const source = await readFile(path.join(here, "src", name), "utf8");
    for (const [, text] of source.matchAll(CALL)) found.add(JSON.parse(text));
    for (const [, one, many] of source.matchAll(PLURAL)) found.add(JSON.parse(one)).add(JSON.parse(many));
  }
  return [...found].sort();
}

export async function collect({ write }) {
  const file = path.join(here, "messages/en.json");
  const current = `${JSON.stringify(Object.fromEntries((await texts()).map((text) => [text, text])), null, 1)}\n`;
  if (write) {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, current);
  } else if ((await readFile(file, "utf8").catch(() => "")) !== current) {
    console.error("web: messages/en.json is stale; run `BLESS=1 npm run build` and commit it");
    process.exit(1);
  }
}
