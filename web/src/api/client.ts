// Calls of the API, typed by the contract: name of an operation in, its answer out.
import { calls, type Operations } from "./types";
import { signal } from "@preact/signals";
import { t } from "../messages";
import { askRole, authorization, refused } from "../session";

export const BASE = "/api/assisted-install";

type Parts<K extends keyof Operations> = Omit<Operations[K], "answer" | "header" | "upload">;
type Optional<T> = { [K in keyof T]: Record<string, never> extends T[K] ? K : never }[keyof T];
/** Members that may be left out as a whole are optional. */
type Given<T> = Omit<T, Optional<T> & string> & Partial<Pick<T, Optional<T> & keyof T>>;
type Arguments<K extends keyof Operations> = keyof Parts<K> extends never
  ? []
  : Record<string, never> extends Given<Parts<K>>
    ? [Given<Parts<K>>?]
    : [Given<Parts<K>>];

/** What the service refused, in its words. Status 0: it was not reached, or did not answer. */
export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly body?: unknown) {
    super(message);
  }
}

/** Without an answer for this long a call has failed: a connection that is cut somewhere between stays silent. */
const ANSWER_MS = 30_000;
const waiting = new Set<number>();
/** Since when the oldest call has been waiting for its answer. */
export const waitingSince = signal<number | null>(null);

/** Runs work that must end within the limit; the signal ends what it started. */
async function limited<T>(work: (signal: AbortSignal) => Promise<T>, outer?: AbortSignal): Promise<T> {
  const stop = new AbortController();
  const end = () => stop.abort();
  outer?.addEventListener("abort", end);
  if (outer?.aborted) end();
  // Distinct for calls that begin in the same moment.
  let began = Date.now();
  while (waiting.has(began)) began += 0.001;
  waiting.add(began);
  waitingSince.value = Math.min(...waiting);
  let late = false;
  const timer = setTimeout(() => { late = true; stop.abort(); }, ANSWER_MS);
  try {
    return await work(stop.signal);
  } catch (problem) {
    if (outer?.aborted || problem instanceof ApiError) throw problem;
    throw new ApiError(0, late ? t("The service has not answered for {n} s. Whether it made a change is not known.", { n: ANSWER_MS / 1000 }) : t("The service could not be reached."));
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", end);
    waiting.delete(began);
    waitingSince.value = waiting.size ? Math.min(...waiting) : null;
  }
}

export interface Request {
  method: string;
  url: string;
  body?: unknown;
  /** Name of a file that is the body. */
  file?: string;
}

/** The request of a call, also for showing it. */
export function request<K extends keyof Operations>(id: K, ...[given]: Arguments<K>): Request {
  const { method, path } = calls[id];
  const parts = (given ?? {}) as { path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown };
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parts.path?.[name] ?? ""));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parts.query ?? {})) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return { method, url: BASE + filled + (text ? `?${text}` : ""), body: parts.body };
}

async function exchange({ method, url, body }: Request, signal: AbortSignal): Promise<Response> {
  const answer = await fetch(url, {
    method,
    headers: { ...authorization(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    body: body === undefined ? null : JSON.stringify(body),
    signal,
  });
  if (answer.status === 401) refused();
  if (answer.status === 403) void askRole();
  if (!answer.ok) throw await failure(answer);
  return answer;
}

/** The body may take as long as it takes: archives are large. */
export function send(request: Request, signal?: AbortSignal): Promise<Response> {
  return limited((end) => exchange(request, end), signal);
}

async function failure(answer: Response): Promise<ApiError> {
  return refusal(answer.status, answer.statusText, await answer.text());
}

function refusal(status: number, statusText: string, text: string): ApiError {
  try {
    const body = JSON.parse(text) as { reason?: string; message?: string };
    return new ApiError(status, body.reason ?? body.message ?? statusText, body);
  } catch {
    return new ApiError(status, text.slice(0, 500) || `${status} ${statusText}`);
  }
}

/** Sends a file as the body of a PUT; fetch has no progress of what it sends. */
export function upload(url: string, file: Blob, progress: (sent: number) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("PUT", url);
    for (const [name, value] of Object.entries(authorization())) sending.setRequestHeader(name, value);
    sending.setRequestHeader("Content-Type", "application/octet-stream");
    sending.upload.onprogress = (event) => progress(event.loaded);
    sending.onload = () => {
      if (sending.status === 401) refused();
      if (sending.status < 300) resolve();
      else reject(refusal(sending.status, sending.statusText, sending.responseText));
    };
    sending.onerror = () => reject(new ApiError(0, t("The service could not be reached.")));
    sending.onabort = () => reject(new ApiError(0, t("The upload was cancelled.")));
    signal.addEventListener("abort", () => sending.abort(), { once: true });
    sending.send(file);
  });
}

/** Calls an operation of the contract. */
export async function call<K extends keyof Operations>(id: K, ...given: Arguments<K>): Promise<Operations[K]["answer"]> {
  const text = await limited(async (end) => { const answer = await exchange(request(id, ...given), end); return answer.status === 204 ? "" : answer.text(); });
  return (text ? JSON.parse(text) : null) as Operations[K]["answer"];
}

/** What the service serves beside the contract. */
export async function get<T>(url: string): Promise<T> {
  return (await limited(async (end) => (await exchange({ method: "GET", url }, end)).json())) as T;
}

/** Saves a file under the name the service gives it. */
export async function download(sent: Request, fallback: string): Promise<void> {
  const answer = await send(sent);
  const name = /filename="?([^";]+)"?/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
  save(await answer.blob(), name ?? fallback);
}

export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
