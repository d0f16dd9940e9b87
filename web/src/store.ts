// What the service holds, as it last said: filled by one watch at a time, whose scope follows the page.
import { batch, signal } from "@preact/signals";
import type { Cluster, Event, Host } from "./api/types";
import { watch, type Message } from "./watch";

export const clusters = signal<Map<string, Cluster>>(new Map());
export const hosts = signal<Map<string, Host>>(new Map());
/** Newest first; only those that came while watching. */
export const events = signal<Event[]>([]);
/** Everything that is there has been received. */
export const synced = signal(false);
/** What was watched does not exist (any more). */
export const gone = signal(false);

const KEPT_EVENTS = 500;

/** Counts what was received and sent; an object's last message is at its moment. */
let moment = 0;
const heard = new Map<string, number>();

let scope = "";
let stop: (() => void) | null = null;

/** Watches this scope instead of the one before; the same one goes on. */
export function follow(query: Record<string, string>): void {
  const wanted = JSON.stringify(query);
  if (wanted === scope) return;
  stop?.();
  scope = wanted;
  heard.clear();
  batch(() => {
    clusters.value = new Map();
    hosts.value = new Map();
    events.value = [];
    synced.value = false;
    gone.value = false;
  });
  // Objects that the new connection does not send again were deleted in between.
  let seen: Set<string> | null = null;
  const gather = gatherer((messages) => { seen = take(messages, seen); });
  const end = watch(query, () => { gather.flush(); seen = new Set(); }, gather.add);
  stop = () => { end(); gather.drop(); };
}

/** How long what comes is gathered at least, and how much longer than taking it took: most of the time is the user's. */
const GATHER_MS = 40;
const GATHER_FACTOR = 3;

/** Takes the first messages at once and what follows closely together, so that a crowd of changes is drawn once. */
export function gatherer(take: (messages: Message[]) => void): { add: (messages: Message[]) => void; flush: () => void; drop: () => void } {
  let waiting: Message[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const flush = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.length === 0) return;
    const messages = waiting;
    waiting = [];
    const began = performance.now();
    take(messages);
    // Drawing follows; it takes about as long again.
    timer = setTimeout(() => { timer = null; flush(); }, Math.max(GATHER_MS, (performance.now() - began) * GATHER_FACTOR));
  };
  return {
    add: (messages) => { waiting.push(...messages); if (timer === null) flush(); },
    flush,
    drop: () => { waiting = []; if (timer !== null) clearTimeout(timer); timer = null; },
  };
}

/** Applies messages; what is seen between the begin of a connection and `sync` replaces the rest. */
export function take(messages: Message[], seen: Set<string> | null): Set<string> | null {
  const nextClusters = new Map(clusters.value);
  const nextHosts = new Map(hosts.value);
  const fresh: Event[] = [];
  let isSynced = synced.value;
  moment += 1;
  for (const { kind, data } of messages) {
    if (kind === "cluster") {
      const cluster = data as Cluster;
      nextClusters.set(cluster.id, cluster);
      heard.set(cluster.id, moment);
      seen?.add(cluster.id);
    } else if (kind === "host") {
      const host = data as Host;
      nextHosts.set(host.id, host);
      heard.set(host.id, moment);
      seen?.add(host.id);
    } else if (kind === "event") {
      fresh.unshift(data as Event);
    } else if (kind === "deleted") {
      const { kind: what, id } = data as { kind: string; id: string };
      heard.set(id, moment);
      if (what === "cluster") nextClusters.delete(id);
      if (what === "host") nextHosts.delete(id);
      if ((what === "cluster" || what === "infra-env") && scope.includes(id)) gone.value = true;
    } else if (kind === "sync" && seen) {
      for (const id of [...nextClusters.keys()]) if (!seen.has(id)) nextClusters.delete(id);
      for (const id of [...nextHosts.keys()]) if (!seen.has(id)) nextHosts.delete(id);
      seen = null;
      isSynced = true;
    } else if (kind === "gone") {
      gone.value = true;
    }
  }
  batch(() => {
    clusters.value = nextClusters;
    hosts.value = nextHosts;
    if (fresh.length) events.value = [...fresh, ...events.value].slice(0, KEPT_EVENTS);
    synced.value = isSynced;
  });
  return seen;
}

/** Runs a change of a cluster and shows its answer at once; the watch would bring it a moment later. */
export const changeCluster = (run: () => Promise<Cluster>): Promise<Cluster> =>
  change(run, (cluster) => { clusters.value = new Map(clusters.value).set(cluster.id, { ...cluster, hosts: [] }); });

export const changeHost = (run: () => Promise<Host>): Promise<Host> =>
  change(run, (host) => { hosts.value = new Map(hosts.value).set(host.id, host); });

/**
 * Answer and watch come by different connections, in any order. If the watch brought something about the
 * object while the call was under way, the answer may be the older of the two, and the watch does not send
 * the newer one again: then the watch decides. It always brings the last state.
 */
async function change<T extends { id: string }>(run: () => Promise<T>, show: (answer: T) => void): Promise<T> {
  const began = ++moment;
  const of = scope;
  const answer = await run();
  if (scope === of && (heard.get(answer.id) ?? 0) < began) show(answer);
  return answer;
}
