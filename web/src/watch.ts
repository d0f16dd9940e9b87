// GET /v2/watch over fetch (EventSource cannot send a token): objects as they are, then what changes.
// Reconnects by itself after the pause the service names, and goes on after the last event.
import { signal } from "@preact/signals";
import { BASE } from "./api/client";
import { askRole, authorization, login, refused } from "./session";

export type Connection = "connecting" | "live" | "lost";
export interface Message {
  kind: string;
  data: unknown;
}

export const connection = signal<Connection>("connecting");
/** When something last came, for the age of what is shown. */
export const lastHeard = signal(Date.now());

/** Longer silence than this means that the connection is dead (the service sends something every 15 s). */
export const SILENCE_MS = 35_000;
/** The begin of an answer comes sooner. */
const CONNECT_MS = 15_000;
const LONGEST_PAUSE_MS = 5000;

/** Splits a stream of server-sent events; comments keep the connection alive and are not given on. */
export class Parser {
  private rest = "";
  lastId = "";
  retryMs = 1000;

  take(text: string): Message[] {
    const blocks = (this.rest + text).split(/\r?\n\r?\n/);
    this.rest = blocks.pop() ?? "";
    const messages: Message[] = [];
    for (const block of blocks) {
      let kind = "message";
      const data: string[] = [];
      for (const line of block.split(/\r?\n/)) {
        const colon = line.indexOf(":");
        if (colon <= 0) continue;
        const value = line.slice(colon + 1).replace(/^ /, "");
        switch (line.slice(0, colon)) {
          case "event": kind = value; break;
          case "data": data.push(value); break;
          case "id": this.lastId = value; break;
          case "retry": this.retryMs = Number(value) || this.retryMs; break;
        }
      }
      if (data.length) messages.push({ kind, data: JSON.parse(data.join("\n")) as unknown });
    }
    return messages;
  }
}

/** Watches until the returned function is called. `began` runs before the objects of each connection. */
export function watch(query: Record<string, string>, began: () => void, take: (messages: Message[]) => void): () => void {
  const stopped = new AbortController();
  // What had arrived when the watch was stopped is not of the scope that is shown now.
  const give = (messages: Message[]) => { if (!stopped.signal.aborted && messages.length) take(messages); };
  void (async () => {
    let lastId = "";
    let retry = 1000;
    let failures = 0;
    while (!stopped.signal.aborted) {
      const attempt = new AbortController();
      const end = () => attempt.abort();
      stopped.signal.addEventListener("abort", end);
      addEventListener("offline", end);
      let quiet = setTimeout(end, CONNECT_MS);
      try {
        const parameters = new URLSearchParams({ ...query, ...(lastId ? { last_event_id: lastId } : {}) });
        const answer = await fetch(`${BASE}/v2/watch?${parameters}`, { headers: authorization(), signal: attempt.signal });
        if (stopped.signal.aborted) return;
        if (answer.status === 401) {
          refused();
          await loggedIn(stopped.signal);
          continue;
        }
        if (answer.status === 404) {
          give([{ kind: "gone", data: null }]);
          return;
        }
        if (!answer.ok || !answer.body) throw new Error(answer.statusText);
        clearTimeout(quiet);
        quiet = setTimeout(end, SILENCE_MS);
        connection.value = "live";
        lastHeard.value = Date.now();
        failures = 0;
        // Without a login the mode decides about the role, and it may be another service by now.
        void askRole();
        began();
        const parser = new Parser();
        parser.lastId = lastId;
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          clearTimeout(quiet);
          quiet = setTimeout(end, SILENCE_MS);
          lastHeard.value = Date.now();
          const messages = parser.take(value);
          lastId = parser.lastId;
          retry = parser.retryMs;
          give(messages);
        }
      } catch {
        // The loop tries again; what is shown stays, marked with its age.
      } finally {
        clearTimeout(quiet);
        stopped.signal.removeEventListener("abort", end);
        removeEventListener("offline", end);
      }
      if (stopped.signal.aborted) return;
      connection.value = "lost";
      failures += 1;
      await pause(Math.min(retry * 2 ** Math.min(failures - 1, 3), LONGEST_PAUSE_MS), stopped.signal);
    }
  })();
  return () => stopped.abort();
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      removeEventListener("online", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    addEventListener("online", end);
  });
}

function loggedIn(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = login.subscribe((value) => { if (value) { queueMicrotask(() => end()); resolve(); } });
    signal.addEventListener("abort", () => { end(); resolve(); }, { once: true });
  });
}
