// Addresses of the page. Everything that is shown has one: cluster, step, host, tab, filter.
import { computed, signal } from "@preact/signals";

/** `crates/service/src/http/web.rs` serves the page at these first segments and at `/`. */
export const FIRST_SEGMENTS = ["assisted-installer", "clusters", "import", "infra-envs", "os-images", "releases", "settings"];

function current(): { path: string; query: URLSearchParams } {
  const path = location.pathname.replace(/^\/assisted-installer(?=\/|$)/, "") || "/";
  return { path, query: new URLSearchParams(location.search) };
}

const place = signal(current());
addEventListener("popstate", () => (place.value = current()));

export const segments = computed(() => place.value.path.split("/").filter(Boolean).map(decodeURIComponent));
export const query = computed(() => place.value.query);

export function navigate(to: string, how: "push" | "replace" = "push"): void {
  if (to === location.pathname + location.search) return;
  history[how === "push" ? "pushState" : "replaceState"](null, "", to);
  place.value = current();
  if (how === "push") {
    scrollTo(0, 0);
    // Screen readers and the keyboard continue at the new content.
    requestAnimationFrame(() => document.getElementById("main")?.focus({ preventScroll: true }));
  }
}

/** The present address with members of the query changed; empty values are left out. */
export function withQuery(changes: Record<string, string | null>): string {
  const next = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  return location.pathname + (text ? `?${text}` : "");
}
