// Addresses and networks as numbers. Pure.
export interface Address { family: 4 | 6; value: bigint }
export interface Network { family: 4 | 6; first: bigint; prefix: number; last: bigint; hostBits: boolean }

function parse4(text: string): bigint | null {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return null;
  return parts.reduce((all, part) => (all << 8n) | BigInt(part), 0n);
}

function parse6(text: string): bigint | null {
  let source = text;
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (tail?.[1] && tail[2]) {
    const four = parse4(tail[2]);
    if (four === null) return null;
    source = `${tail[1]}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`;
  }
  const halves = source.split("::");
  if (halves.length > 2) return null;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  const given = groups.flat();
  if (!given.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return null;
  const missing = 8 - given.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  const all = halves.length === 1 ? given : [...(groups[0] ?? []), ...Array<string>(missing).fill("0"), ...(groups[1] ?? [])];
  return all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

export function address(text: string): Address | null {
  const four = parse4(text);
  if (four !== null) return { family: 4, value: four };
  const six = text.includes(":") ? parse6(text) : null;
  return six === null ? null : { family: 6, value: six };
}

export function network(text: string): Network | null {
  const [ip, prefix, more] = text.split("/");
  const of = address(ip ?? "");
  if (!of || more !== undefined || !prefix || !/^\d{1,3}$/.test(prefix)) return null;
  const bits = of.family === 4 ? 32 : 128;
  const length = Number(prefix);
  if (length > bits) return null;
  const size = 1n << BigInt(bits - length);
  const first = (of.value / size) * size;
  return { family: of.family, first, prefix: length, last: first + size - 1n, hostBits: first !== of.value };
}

export const contains = (net: Network, ip: Address): boolean => net.family === ip.family && ip.value >= net.first && ip.value <= net.last;
export const overlaps = (a: Network, b: Network): boolean => a.family === b.family && a.first <= b.last && b.first <= a.last;

/** The network or broadcast address of an IPv4 network that has them; the router anycast address of IPv6. */
export function isEdge(net: Network, ip: Address): boolean {
  if (!contains(net, ip)) return false;
  if (net.family === 4) return net.prefix < 31 && (ip.value === net.first || ip.value === net.last);
  return net.prefix < 127 && ip.value === net.first;
}

export function format(ip: Address): string {
  if (ip.family === 4) return [24n, 16n, 8n, 0n].map((shift) => String((ip.value >> shift) & 255n)).join(".");
  const groups = Array.from({ length: 8 }, (_, at) => ((ip.value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16));
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at++) {
    let end = at;
    while (end < 8 && groups[end] === "0") end++;
    if (end - at > best.length) best = { at, length: end - at };
  }
  if (best.at < 0) return groups.join(":");
  return `${groups.slice(0, best.at).join(":")}::${groups.slice(best.at + best.length).join(":")}`;
}

/** First and last address as text. */
export const range = (net: Network): string => `${format({ family: net.family, value: net.first })} – ${format({ family: net.family, value: net.last })}`;
export const cidr = (net: Network): string => `${format({ family: net.family, value: net.first })}/${net.prefix}`;
