// Colours for YAML (and JSON, which is YAML): what each part of a line is. Pure, line by line; good enough
// to read by, the service and js-yaml decide what is right.

export type Part = [kind: "key" | "text" | "number" | "comment" | "mark" | "", text: string];

const SCALAR = /^(?:-?(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)|true|false|null|yes|no|on|off|~)$/i;

/** The parts of one line; together they are the line. */
export function parts(line: string): Part[] {
  const found: Part[] = [];
  const add = (kind: Part[0], text: string) => { if (text) found.push([kind, text]); };
  const lead = /^(?:\s|-(?=\s|$)|\?(?=\s))*/.exec(line)?.[0] ?? "";
  if (/^(---|\.\.\.)(\s|$)/.test(line)) return [["mark", line]];
  add("mark", lead);
  let rest = line.slice(lead.length);
  while (rest) {
    const token = /^(?:#.*|"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?|[{}[\],|>&*!]|\s+|(?:[^\s{}[\],#"'][^{}[\],]*?)(?=\s*:(?:\s|$)|\s+#|\s*[{}[\],]|\s*$))/.exec(rest)?.[0] ?? rest;
    const after = rest.slice(token.length);
    if (token.startsWith("#")) add("comment", token);
    else if (/^\s/.test(token)) add("", token);
    else if (/^\s*:(\s|$)/.test(after)) {
      const colon = /^\s*:/.exec(after)?.[0] ?? "";
      add("key", token);
      add("mark", colon);
      rest = after.slice(colon.length);
      continue;
    } else if (/^[{}[\],|>&*!]/.test(token)) add("mark", token);
    else add(SCALAR.test(token) ? "number" : "text", token);
    rest = after;
  }
  return found;
}

/** The blanks that a new line begins with after this one. */
export function indentAfter(line: string): string {
  const [, lead = "", dash = ""] = /^(\s*)((?:- )?)/.exec(line) ?? [];
  const own = lead + (dash ? "  " : "");
  return /:\s*$|[[{]\s*$/.test(line.replace(/\s#.*$/, "")) ? `${own}  ` : own;
}

export interface Fault { reason: string; /** Counted from 1. */ line: number | null }

/** What a parser refused, and where. */
export function faultOf(failed: unknown): Fault {
  const { message, mark } = failed as Error & { mark?: { line?: number } };
  return { reason: String(message).split("\n")[0] ?? "", line: mark?.line === undefined ? null : mark.line + 1 };
}
