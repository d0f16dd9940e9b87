// Links between hosts from what each measured. Pure.
import type { RemoteHost } from "./hosts";

export interface HostLink { from: string; to: string; state: "good" | "slow" | "bad"; rtt: number | null; loss: number | null; failed: string[] }

/** Slower than what a worker may have; the service's own limits decide about validations. */
const SLOW_MS = 100;

/** One entry per direction that was measured. */
export function links(hosts: Array<{ id: string; remotes: RemoteHost[] }>): HostLink[] {
  const known = new Set(hosts.map((host) => host.id));
  return hosts.flatMap(({ id, remotes }) => remotes.filter((remote) => remote.host_id && remote.host_id !== id && known.has(remote.host_id)).map((remote) => {
    const l3 = remote.l3_connectivity ?? [];
    const l2 = remote.l2_connectivity ?? [];
    const failed = [...l3.filter((one) => !one.successful), ...l2.filter((one) => !one.successful)].map((one) => one.remote_ip_address ?? "").filter(Boolean);
    const rtts = l3.map((one) => one.average_rtt_ms ?? 0);
    const losses = l3.map((one) => one.packet_loss_percentage ?? 0);
    const reached = l3.some((one) => one.successful) || l2.some((one) => one.successful);
    const [rtt, loss] = [rtts.length ? Math.max(...rtts) : null, losses.length ? Math.max(...losses) : null];
    const state = !reached || failed.length ? "bad" : (rtt ?? 0) > SLOW_MS || (loss ?? 0) > 0 ? "slow" : "good";
    return { from: id, to: remote.host_id ?? "", state, rtt, loss, failed: [...new Set(failed)] };
  }));
}
