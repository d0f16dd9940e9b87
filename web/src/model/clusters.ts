// What a cluster message means.
import type { Cluster } from "../api/types";
import { t } from "../messages";
import type { Tone } from "../ui/parts";
import type { IconName } from "../ui/icons";

export const DRAFT = ["pending-for-input", "insufficient", "ready"];
export const RUNNING = ["preparing-for-installation", "installing", "finalizing", "installing-pending-user-action"];

export const isDraft = (cluster: Cluster): boolean => DRAFT.includes(cluster.status ?? "");
export const isRunning = (cluster: Cluster): boolean => RUNNING.includes(cluster.status ?? "");
export const isDay2 = (cluster: Cluster): boolean => cluster.status === "adding-hosts";
export const isSno = (cluster: Cluster): boolean => (cluster.control_plane_count ?? 3) === 1;
/** Do control plane nodes run workloads? */
export const runsWorkloads = (cluster: Cluster | undefined): boolean => cluster?.schedulable_masters === true || cluster?.schedulable_masters_forced_true === true;
export const hasEnded = (cluster: Cluster): boolean => ["installed", "error", "cancelled"].includes(cluster.status ?? "");

export const isOci = (cluster: Cluster): boolean => cluster.platform?.type === "external" && cluster.platform.external?.platform_name === "oci";
export const THIRD_PARTY_NETWORKS = ["CiscoACI", "Cilium", "Calico", "None"];
/** Without manifests of the user the nodes of such a cluster never become ready. */
export const needsManifests = (cluster: Cluster): boolean => isOci(cluster) || THIRD_PARTY_NETWORKS.includes(cluster.network_type ?? "");

export function clusterStatus(status: string | undefined): { text: string; tone: Tone; icon: IconName } {
  switch (status) {
    case "insufficient": return { text: t("Draft: not ready"), tone: "orange", icon: "draft" };
    case "pending-for-input": return { text: t("Draft: input needed"), tone: "blue", icon: "draft" };
    case "ready": return { text: t("Ready to install"), tone: "green", icon: "ok" };
    case "preparing-for-installation": return { text: t("Preparing"), tone: "blue", icon: "spin" };
    case "installing": return { text: t("Installing"), tone: "blue", icon: "spin" };
    case "finalizing": return { text: t("Finalizing"), tone: "blue", icon: "spin" };
    case "installing-pending-user-action": return { text: t("Action needed"), tone: "orange", icon: "warn" };
    case "installed": return { text: t("Installed"), tone: "green", icon: "ok" };
    case "adding-hosts": return { text: t("Adding hosts"), tone: "blue", icon: "info" };
    case "error": return { text: t("Failed"), tone: "red", icon: "fail" };
    case "cancelled": return { text: t("Cancelled"), tone: "grey", icon: "ban" };
    case "unmonitored": return { text: t("Not monitored"), tone: "grey", icon: "info" };
    default: return { text: status ?? "", tone: "grey", icon: "info" };
  }
}

/** The zero time of the API means "never". */
export const isTime = (text: string | undefined | null): text is string => Boolean(text) && !text?.startsWith("0001-");

export function when(text: string | undefined | null): string {
  if (!isTime(text)) return "—";
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }).format(new Date(text));
}

/** The time of day, with the date unless it is today's. */
export function shortTime(text: string | undefined | null, now = new Date()): string {
  if (!isTime(text)) return "—";
  const time = new Date(text);
  const today = time.toDateString() === now.toDateString();
  return new Intl.DateTimeFormat(undefined, today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" }).format(time);
}

export function ago(text: string | undefined | null, now = Date.now()): string {
  if (!isTime(text)) return "—";
  return span(now - Date.parse(text));
}

/** A length of time in its two largest units. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return t("{n} s", { n: seconds });
  if (seconds < 3600) return t("{m} min {s} s", { m: Math.floor(seconds / 60), s: seconds % 60 });
  if (seconds < 86400) return t("{h} h {m} min", { h: Math.floor(seconds / 3600), m: Math.floor((seconds % 3600) / 60) });
  return t("{d} d {h} h", { d: Math.floor(seconds / 86400), h: Math.floor((seconds % 86400) / 3600) });
}

/** Minor versions newest first, and patch versions within. */
export function compareVersions(a: string, b: string): number {
  const parts = (text: string) => text.split(/[.-]/).slice(0, 3).map((part) => Number.parseInt(part, 10) || 0);
  const [x, y] = [parts(a), parts(b)];
  for (let at = 0; at < 3; at++) if ((x[at] ?? 0) !== (y[at] ?? 0)) return (y[at] ?? 0) - (x[at] ?? 0);
  return a.length - b.length || a.localeCompare(b);
}
