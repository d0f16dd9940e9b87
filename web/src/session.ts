// Who is logged in, as far as the page knows: a bearer token until it ends or is refused.
import { signal } from "@preact/signals";

interface Login {
  token: string;
  expires_at: string;
  name: string;
}

const KEY = "muster-login";

function stored(): Login | null {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Login | null;
    return found && Date.parse(found.expires_at) > Date.now() ? found : null;
  } catch {
    return null;
  }
}

export const login = signal<Login | null>(stored());
/** Set when the service refused a call for want of a login: what is on the screen stays, a dialog asks. */
export const loginNeeded = signal<null | "first" | "expired">(null);

export function authorization(): Record<string, string> {
  return login.value ? { Authorization: `Bearer ${login.value.token}` } : {};
}

/** The service answered 401. */
export function refused(): void {
  loginNeeded.value = login.value ? "expired" : "first";
  login.value = null;
  sessionStorage.removeItem(KEY);
}

/** A token of a user; fails with the reason of the service. */
export async function token(username: string, password: string): Promise<{ token: string; expires_at: string }> {
  const answer = await fetch("/auth/token", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username, password }) });
  const body = (await answer.json()) as { token: string; expires_at: string; message?: string };
  if (!answer.ok) throw new Error(body.message ?? answer.statusText);
  return body;
}

/** Logs in; the reason if that was refused. */
export async function logIn(name: string, password: string): Promise<string | null> {
  try {
    login.value = { ...(await token(name, password)), name };
    sessionStorage.setItem(KEY, JSON.stringify(login.value));
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
