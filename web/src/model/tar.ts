// Reads tar archives, packed or not, archives inside included. Bounded: logs come from machines.
export interface Entry { path: string; bytes: Uint8Array }

const MAX_BYTES = 256 << 20;

async function unpacked(bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MAX_BYTES) throw new Error("the archive is larger than 256 MiB; download it instead");
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).replace(/\0.*$/s, "");

/** Files of an archive, with those of archives in it under the path of the archive. */
export async function entries(archive: Uint8Array, below = "", depth = 0): Promise<Entry[]> {
  const bytes = await unpacked(archive);
  const found: Entry[] = [];
  let longName = "";
  for (let at = 0; at + 512 <= bytes.length; ) {
    const head = bytes.subarray(at, at + 512);
    if (head[0] === 0) { at += 512; continue; }
    const size = Number.parseInt(text(head.subarray(124, 136)).trim() || "0", 8);
    if (!Number.isFinite(size) || size < 0) break;
    const body = bytes.subarray(at + 512, Math.min(at + 512 + size, bytes.length));
    const kind = String.fromCharCode(head[156] ?? 48);
    const prefix = text(head.subarray(345, 500));
    const path = longName || (prefix ? `${prefix}/` : "") + text(head.subarray(0, 100));
    longName = "";
    if (kind === "L") longName = text(body);
    else if (kind === "x") longName = /(?:^|\n)\d+ path=([^\n]+)/.exec(text(body))?.[1] ?? "";
    else if (kind === "0" || kind === "\0") {
      if (/\.(tar|tar\.gz|tgz)$/.test(path) && depth < 3) found.push(...(await entries(body, `${below}${path}/`, depth + 1)));
      else if (/\.gz$/.test(path) && depth < 4) found.push({ path: `${below}${path}`, bytes: await unpacked(body) });
      else found.push({ path: `${below}${path}`, bytes: body });
    }
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return found;
}
