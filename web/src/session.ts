// Who is logged in, as far as the page knows: a bearer token until it ends or is refused, and a role.
import { effect, signal } from "@preact/signals";
import { t } from "./messages";

interface Login {
  token: string;
  expires_at: string;
  name: string;
}

const KEY = "muster-login";
const CALLER = "muster-caller";
const ANSWER_MS = 15_000;

function read<T>(key: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as T | null;
  } catch {
    return null;
  }
}

function stored(): Login | null {
  const found = read<Login>(KEY);
  return found && Date.parse(found.expires_at) > Date.now() ? found : null;
}

export const login = signal<Login | null>(stored());
/** Set when the service refused a call for want of a login: what is on the screen stays, a dialog asks. */
export const loginNeeded = signal<null | "first" | "expired">(null);

/** The caller as the service knows it. */
export interface Caller { mode: string; name: string; role: string; expires_at?: string }
/** Kept beside the login, so that a page that is loaded again knows the role before the first answer. */
export const caller = signal<Caller | null>(login.value ? read<Caller>(CALLER) : null);

/** Which role a control needs: changes and secrets are for users, OS images for administrators. */
export type Needs = "user" | "admin";

/** Why the caller's role cannot use such a control, or null. The service decides; this saves the attempt. */
export function roleRefusal(needs: Needs): string | null {
  const role = caller.value?.role;
  if (role === "read-only") return t("your role is read-only");
  return needs === "admin" && role === "user" ? t("for administrators only") : null;
}

/** Asks for the caller's role again: after a login, and when a call was forbidden. */
export async function askRole(): Promise<void> {
  const of = login.value;
  try {
    const answer = await fetch("/auth/caller", { headers: authorization(), signal: AbortSignal.timeout(ANSWER_MS) });
    const found = answer.ok ? ((await answer.json()) as Caller) : null;
    // Another login may have come in between.
    if (login.value === of) caller.value = found;
  } catch {
    // What was known stays; `watch` asks again when the service is back.
  }
}

effect(() => {
  if (!login.value) caller.value = null;
});
effect(() => {
  if (caller.value && login.peek()) sessionStorage.setItem(CALLER, JSON.stringify(caller.value));
  else sessionStorage.removeItem(CALLER);
});

export function authorization(): Record<string, string> {
  return login.value ? { Authorization: `Bearer ${login.value.token}` } : {};
}

/** The service answered 401. */
export function refused(): void {
  // Calls that were under way are refused after the first: they do not change what is asked.
  loginNeeded.value ??= login.value ? "expired" : "first";
  login.value = null;
  sessionStorage.removeItem(KEY);
}

/** A token of a user; fails with the reason of the service. */
export async function token(username: string, password: string): Promise<{ token: string; expires_at: string }> {
  const answer = await fetch("/auth/token", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username, password }), signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => { throw new Error(t("The service could not be reached.")); });
  const body = (await answer.json()) as { token: string; expires_at: string; message?: string };
  if (!answer.ok) throw new Error(body.message ?? answer.statusText);
  return body;
}

/** Logs in; the reason if that was refused. */
export async function logIn(name: string, password: string): Promise<string | null> {
  try {
    login.value = { ...(await token(name, password)), name };
    sessionStorage.setItem(KEY, JSON.stringify(login.value));
    // Before anything is shown that the role may not use.
    await askRole();
    loginNeeded.value = null;
    return null;
  } catch (problem) {
    return problem instanceof Error ? problem.message : String(problem);
  }
}

export async function logOut(): Promise<void> {
  await fetch("/auth/logout", { method: "POST", headers: authorization() }).catch(() => undefined);
  login.value = null;
  sessionStorage.removeItem(KEY);
  loginNeeded.value = "first";
}
