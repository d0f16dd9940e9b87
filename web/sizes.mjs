// Prints what the page weighs, beside the reference's production build (facts measured on 75218408c), and how
// it does with a cluster of 500 hosts if there is a browser.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { bench } from "./bench.mjs";

const sizes = JSON.parse(await readFile(new URL("dist/sizes.json", import.meta.url), "utf8"));
const sum = (list, of) => list.reduce((all, one) => all + one[of], 0);
const kb = (n) => `${(n / 1000).toFixed(1)} kB`;
const first = sizes.filter((one) => one.first);
const reference = 727_000;
console.log(`web page, first view: ${kb(sum(first, "brotli"))} Brotli, ${kb(sum(first, "gzip"))} gzip in ${first.length} files; reference ${kb(reference)} gzip (ratio ${(reference / sum(first, "gzip")).toFixed(1)})`);
console.log(`web page, everything: ${kb(sum(sizes, "brotli"))} Brotli, ${kb(sum(sizes, "gzip"))} gzip in ${sizes.length} files`);
if (existsSync(process.env.CHROMIUM ?? "/usr/bin/chromium")) await bench();
else console.log("web page, 500 hosts: not measured, there is no Chromium (scripts/prepare bench installs it)");
