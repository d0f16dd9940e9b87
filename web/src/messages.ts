// Texts of the page. The English text is the key; a translation maps it to another language. The
// catalogue (messages/en.json) is collected from the calls by messages.mjs.

type Values = Record<string, string | number | undefined | null>;

let catalogue: Record<string, string> = {};

/** Uses another language: texts that it lacks stay English. */
export function use(translation: Record<string, string>): void {
  catalogue = translation;
}

/** The text in the language in use, with {name} replaced by values. */
export function t(text: string, values?: Values): string {
  const found = catalogue[text] ?? text;
  return values ? found.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)) : found;
}

/** One of two texts by a count, which both may name as {n}. */
export function plural(n: number, one: string, many: string, values?: Values): string {
  const form = new Intl.PluralRules(document.documentElement.lang || "en").select(n);
  return t(form === "one" ? one : many, { n, ...values });
}
