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

/** Asks for a token; the reason if it was refused. */
export async function logIn(name: string, password: string): Promise<string | null> {
  try {
    const answer = await fetch("/auth/token", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ username: name, password }),
    });
    const body = (await answer.json()) as { token: string; expires_at: string; message?: string };
    if (!answer.ok) return body.message ?? answer.statusText;
    login.value = { token: body.token, expires_at: body.expires_at, name };
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
