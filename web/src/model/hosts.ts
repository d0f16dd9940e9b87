// What a host message means: the JSON texts in it, parsed once per object.
import type { Host, Inventory } from "../api/types";
import { t } from "../messages";
import type { Tone } from "../ui/parts";
import type { IconName } from "../ui/icons";
import { address, contains, network } from "./ip";

export interface Validation { id: string; status: string; message: string }
export type Validations = Record<string, Validation[]>;

const parsed = new WeakMap<object, Map<string, unknown>>();

function once<T>(of: object, text: string | undefined | null, name: string, fallback: T): T {
  let known = parsed.get(of);
  if (!known) parsed.set(of, (known = new Map()));
  if (!known.has(name)) {
    let value: unknown = fallback;
    try { value = text ? JSON.parse(text) : fallback; } catch { /* a text that cannot be read shows as nothing */ }
    known.set(name, value ?? fallback);
  }
  return known.get(name) as T;
}

export const inventory = (host: Host): Inventory => once(host, host.inventory, "inventory", {} as Inventory);
export const validations = (of: { validations_info?: string | null }): Validations => once(of, of.validations_info, "validations", {});

export interface RemoteHost {
  host_id?: string;
  l2_connectivity?: Array<{ successful?: boolean; remote_ip_address?: string; outgoing_nic?: string }> | null;
  l3_connectivity?: Array<{ successful?: boolean; remote_ip_address?: string; average_rtt_ms?: number; packet_loss_percentage?: number }> | null;
}
export const connectivity = (host: Host): RemoteHost[] => once<{ remote_hosts?: RemoteHost[] | null }>(host, host.connectivity, "connectivity", {}).remote_hosts ?? [];

export const name = (host: Host): string => host.requested_hostname || inventory(host).hostname || host.id;
const collator = new Intl.Collator(undefined, { numeric: true });
/** By name, with numbers by their value. */
export const compare = (a: string, b: string): number => collator.compare(a, b);
export const role = (host: Host): string => (host.role === "auto-assign" ? host.suggested_role ?? "auto-assign" : host.role ?? "");

/** Failed or pending ones that hold nothing back. */
export const SOFT = ["ntp-synced", "container-images-available", "mtu-valid", "inventory-not-partially-truncated", "openshift-ai-gpu-requirements-satisfied"];

export function failing(of: { validations_info?: string | null }): Array<Validation & { category: string }> {
  return Object.entries(validations(of)).flatMap(([category, list]) => list.filter((one) => one.status === "failure" || one.status === "error").map((one) => ({ ...one, category })));
}

interface Shown { text: string; tone: Tone; icon: IconName }

export function hostStatus(host: Host): Shown {
  const status = (host.status ?? "").replace(/-unbound$/, "");
  switch (status) {
    case "known": return { text: t("Ready"), tone: "green", icon: "ok" };
    case "insufficient": return { text: t("Insufficient"), tone: "orange", icon: "warn" };
    case "pending-for-input": return { text: t("Pending input"), tone: "blue", icon: "info" };
    case "discovering": return { text: t("Discovering"), tone: "blue", icon: "spin" };
    case "disconnected": return { text: t("Disconnected"), tone: "red", icon: "plug" };
    case "disabled": return { text: t("Disabled"), tone: "grey", icon: "ban" };
    case "binding": return { text: t("Binding"), tone: "blue", icon: "spin" };
    case "unbinding-pending-user-action": case "resetting-pending-user-action": return { text: t("Reboot required"), tone: "orange", icon: "warn" };
    case "unbinding": return { text: t("Unbinding"), tone: "blue", icon: "spin" };
    case "reclaiming": case "reclaiming-rebooting": return { text: t("Reclaiming"), tone: "blue", icon: "spin" };
    case "preparing-for-installation": case "preparing-failed": return { text: status === "preparing-failed" ? t("Preparation failed") : t("Preparing"), tone: status === "preparing-failed" ? "red" : "blue", icon: status === "preparing-failed" ? "fail" : "spin" };
    case "preparing-successful": return { text: t("Prepared"), tone: "blue", icon: "clock" };
    case "installing": case "installing-in-progress": return { text: t("Installing"), tone: "blue", icon: "spin" };
    case "installing-pending-user-action": return { text: t("Action needed"), tone: "orange", icon: "warn" };
    case "installed": return { text: t("Installed"), tone: "green", icon: "ok" };
    case "added-to-existing-cluster": return { text: t("Added to the cluster"), tone: "green", icon: "ok" };
    case "error": return { text: t("Failed"), tone: "red", icon: "fail" };
    case "cancelled": return { text: t("Cancelled"), tone: "grey", icon: "ban" };
    case "resetting": return { text: t("Resetting"), tone: "blue", icon: "spin" };
    default: return { text: host.status ?? "", tone: "grey", icon: "info" };
  }
}

const RENAMABLE = ["discovering", "known", "disconnected", "disabled", "insufficient", "pending-for-input"];
const REMOVABLE = [...RENAMABLE, "resetting", "resetting-pending-user-action", "installing-pending-user-action", "error", "added-to-existing-cluster", "installed", "cancelled", "unbinding", "binding"];
const plain = (host: Host) => (host.status ?? "").replace(/-unbound$/, "");
/** May hostname, role and disks be changed? */
export const isEditable = (host: Host): boolean => RENAMABLE.includes(plain(host));
export const isRemovable = (host: Host): boolean => REMOVABLE.includes(plain(host));
export const isUnbound = (host: Host): boolean => !host.cluster_id || (host.status ?? "").endsWith("-unbound");

export interface Nic { name: string; mac: string; v4: string[]; v6: string[]; speed: number }
export function nics(host: Host): Nic[] {
  return (inventory(host).interfaces ?? []).map((one) => ({ name: one.name ?? "", mac: one.mac_address ?? "", v4: one.ipv4_addresses ?? [], v6: one.ipv6_addresses ?? [], speed: one.speed_mbps ?? 0 }));
}

/** The interface with an address in the machine network, else the first with any. */
export function activeNic(host: Host, machineNetwork?: string): Nic | undefined {
  const net = machineNetwork ? network(machineNetwork) : null;
  const list = nics(host);
  const inside = (one: Nic) => [...one.v4, ...one.v6].some((text) => { const ip = address(text.split("/")[0] ?? ""); return Boolean(net && ip && contains(net, ip)); });
  return list.find(inside) ?? list.find((one) => one.v4.length + one.v6.length > 0);
}

export const storage = (host: Host): number => (inventory(host).disks ?? []).filter((disk) => disk.drive_type !== "ODD" && !disk.holders).reduce((sum, disk) => sum + (disk.size_bytes ?? 0), 0);

export function bytes(n: number | undefined | null, base: 1000 | 1024): string {
  const units = base === 1000 ? ["B", "kB", "MB", "GB", "TB", "PB"] : ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = n ?? 0;
  let unit = 0;
  while (value >= base && unit < units.length - 1) { value /= base; unit += 1; }
  return `${Number(value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0))} ${units[unit]}`;
}
