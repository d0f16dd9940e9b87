// What was typed and not yet saved, by cluster and step: leaving a step or the wizard, or loading the page
// again in the same tab, loses nothing. Secrets are kept in memory only.
import { signal, type Signal } from "@preact/signals";
import { useState } from "preact/hooks";

const drafts = new Map<string, Signal<unknown>>();
const KEY = "muster-draft ";
const SECRETS = ["pullSecret"];

export interface Draft<T> { value: T; changed: boolean; set: (changes: Partial<T>) => void; drop: () => void }

function remember(key: string, value: object): void {
  try {
    sessionStorage.setItem(KEY + key, JSON.stringify(value, (name, inner: unknown) => (SECRETS.includes(name) ? undefined : inner)));
  } catch {
    // Too large for the browser's storage: it stays in memory.
  }
}

/** The draft of this tab, also from before the page was loaded. */
function known<T extends object>(key: string, stored: T): Signal<T> | undefined {
  const found = drafts.get(key) as Signal<T> | undefined;
  if (found) return found;
  try {
    const text = sessionStorage.getItem(KEY + key);
    if (!text) return undefined;
    const made = signal({ ...stored, ...(JSON.parse(text) as Partial<T>) });
    drafts.set(key, made as Signal<unknown>);
    return made;
  } catch {
    return undefined;
  }
}

/** The draft under this key, or the stored values until something is typed. */
export function useDraft<T extends object>(key: string, stored: T): Draft<T> {
  const [, render] = useState(0);
  // Subscribes; a draft that is made later renders by hand.
  const typed = known(key, stored)?.value;
  return {
    value: typed ?? stored,
    changed: typed !== undefined && JSON.stringify(typed) !== JSON.stringify(stored),
    set: (changes) => {
      const draft = known(key, stored);
      const next = { ...(draft?.value ?? stored), ...changes };
      remember(key, next);
      if (draft) draft.value = next;
      else { drafts.set(key, signal(next) as Signal<unknown>); render((n) => n + 1); }
    },
    drop: () => { drafts.delete(key); sessionStorage.removeItem(KEY + key); render((n) => n + 1); },
  };
}
