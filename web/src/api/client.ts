// Calls of the API, typed by the contract: name of an operation in, its answer out.
import { calls, type Operations } from "./types";
import { t } from "../messages";
import { authorization, refused } from "../session";

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

/** What the service refused, in its words. */
export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly body?: unknown) {
    super(message);
  }
}

export interface Request {
  method: string;
  url: string;
  body?: unknown;
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

export async function send({ method, url, body }: Request, signal?: AbortSignal): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, {
      method,
      headers: { ...authorization(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new ApiError(0, problem instanceof Error ? problem.message : String(problem));
  }
  if (answer.status === 401) refused();
  if (!answer.ok) throw await failure(answer);
  return answer;
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
    sending.onerror = () => reject(new ApiError(0, t("The connection was lost.")));
    sending.onabort = () => reject(new ApiError(0, t("The upload was ended.")));
    signal.addEventListener("abort", () => sending.abort(), { once: true });
    sending.send(file);
  });
}

/** Calls an operation of the contract. */
export async function call<K extends keyof Operations>(id: K, ...given: Arguments<K>): Promise<Operations[K]["answer"]> {
  const answer = await send(request(id, ...given));
  const text = answer.status === 204 ? "" : await answer.text();
  return (text ? JSON.parse(text) : null) as Operations[K]["answer"];
}

/** What the service serves beside the contract. */
export async function get<T>(url: string): Promise<T> {
  return (await (await send({ method: "GET", url })).json()) as T;
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
