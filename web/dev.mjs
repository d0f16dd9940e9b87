// Development: serves dist from disk and passes everything else to a running service.
//   npm run dev -- https://127.0.0.1:8090 [port]     with `node build.mjs --watch` beside it
import http from "node:http";
import https from "node:https";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const [target = "https://127.0.0.1:8090", port = "5173"] = process.argv.slice(2);
const dist = path.join(path.dirname(fileURLToPath(import.meta.url)), "dist");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'";
const passed = /^\/(api|v2|auth|boot-artifacts|images|byid|byapikey|bytoken|explain|health|ready|metrics|docs|openapi\.json|swagger\.json)(\/|$|\?)/;

http.createServer(async (request, response) => {
  if (passed.test(request.url)) {
    const url = new URL(request.url, target);
    const headers = { ...request.headers, host: url.host };
    const on = (url.protocol === "https:" ? https : http).request(
      url, { method: request.method, headers, rejectUnauthorized: false },
      (answer) => { response.writeHead(answer.statusCode, answer.headers); answer.pipe(response); });
    on.on("error", () => response.writeHead(502).end());
    response.on("close", () => on.destroy());
    request.pipe(on);
    return;
  }
  const wanted = decodeURIComponent(new URL(request.url, "http://x").pathname);
  const file = path.join(dist, path.normalize(wanted));
  const bytes = wanted === "/" ? null : await readFile(file).catch(() => null);
  const sent = bytes ?? (await readFile(path.join(dist, "index.html")));
  response.writeHead(200, { "content-type": bytes ? types[path.extname(file)] ?? "" : "text/html; charset=utf-8", "content-security-policy": policy, "cache-control": "no-store" });
  response.end(sent);
}).listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${port} -> ${target}`));
