// What was typed and not yet saved, by cluster and step: leaving a step or the wizard loses nothing.
import { signal, type Signal } from "@preact/signals";
import { useState } from "preact/hooks";

const drafts = new Map<string, Signal<unknown>>();

export interface Draft<T> { value: T; changed: boolean; set: (changes: Partial<T>) => void; drop: () => void }

/** The draft under this key, or the stored values until something is typed. */
export function useDraft<T extends object>(key: string, stored: T): Draft<T> {
  const [, render] = useState(0);
  const draft = drafts.get(key) as Signal<T> | undefined;
  // Subscribes; a draft that is made later renders by hand.
  const typed = draft?.value;
  return {
    value: typed ?? stored,
    changed: typed !== undefined && JSON.stringify(typed) !== JSON.stringify(stored),
    set: (changes) => {
      const known = drafts.get(key) as Signal<T> | undefined;
      if (known) known.value = { ...known.value, ...changes };
      else { drafts.set(key, signal({ ...stored, ...changes })); render((n) => n + 1); }
    },
    drop: () => { drafts.delete(key); render((n) => n + 1); },
  };
}
