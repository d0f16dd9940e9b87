// Validations by category: what was measured and needed (the service's message), what it checks and
// holds back (the service's table), and what to do.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Cluster } from "../api/types";
import { call, get, request } from "../api/client";
import { t } from "../messages";
import { SOFT, validations, type Validation } from "../model/hosts";
import { fix } from "../model/fixes";
import { isDay2, isDraft } from "../model/clusters";
import { servers } from "../model/rules";
import { changeCluster, clusters } from "../store";
import { AsCall } from "./ascall";
import { Text } from "./form";
import { Icon, type IconName } from "./icons";
import { Button, Label, Link, Modal, Problem, useAct, type Tone } from "./parts";

interface Explanation { id: string; subject: string; asks: string; blocks: string; ignorable: boolean }
const explanations = signal<Map<string, Explanation> | null>(null);
let asked = false;

function explanation(subject: string, id: string): Explanation | undefined {
  if (!asked) {
    asked = true;
    get<Explanation[]>("/explain/validations").then(
      (list) => (explanations.value = new Map(list.map((one) => [`${one.subject} ${one.id}`, one]))),
      () => (asked = false),
    );
  }
  return explanations.value?.get(`${subject} ${id}`);
}

export const categoryName = (category: string): string =>
  ({ hardware: t("Hardware"), network: t("Network"), operators: t("Operators"), infrastructure: t("Infrastructure"), configuration: t("Configuration"), "hosts-data": t("Hosts") })[category] ?? category;

const NTP = ["ntp-synced", "ntp-server-configured", "time-synced-between-host-and-service"];

const ICONS: Record<string, IconName> = { success: "ok", failure: "fail", error: "fail", pending: "clock", disabled: "ban" };
const STATES = (): Record<string, string> => ({ success: t("Passed"), failure: t("Failed"), error: t("Error"), pending: t("Pending"), disabled: t("Switched off") });

export function summary(of: { validations_info?: string | null }): { failed: number; soft: number; pending: number; total: number } {
  const all = Object.values(validations(of)).flat();
  const failed = all.filter((one) => one.status === "failure" || one.status === "error");
  return { failed: failed.filter((one) => !SOFT.includes(one.id)).length, soft: failed.filter((one) => SOFT.includes(one.id)).length, pending: all.filter((one) => one.status === "pending").length, total: all.length };
}

function Line({ one, subject, clusterId }: { one: Validation; subject: string; clusterId?: string | undefined }) {
  const known = explanation(subject, one.id);
  const bad = one.status === "failure" || one.status === "error" || one.status === "pending";
  const advice = bad ? fix(one.id) : null;
  const cluster = clusterId ? clusters.value.get(clusterId) : undefined;
  const soft = bad && SOFT.includes(one.id);
  return (
    <li class={soft ? "soft" : one.status}>
      <Icon name={soft ? "warn" : ICONS[one.status] ?? "info"} label={STATES()[one.status] ?? one.status} />
      <div>
        <p><span class={bad ? "strong" : ""}>{one.message}</span> <code class="muted">{one.id}</code></p>
        {bad && known && <p class="small muted">{known.asks} {known.blocks && t("If it fails: {what}.", { what: known.blocks })}</p>}
        {advice && <p class="small">{t("What to do:")} {advice.text} {advice.step && clusterId && cluster && isDraft(cluster) && <Link to={`/clusters/${clusterId}/setup/${advice.step}`}>{t("Go there")}</Link>} {NTP.includes(one.id) && cluster && (isDraft(cluster) || isDay2(cluster)) && !cluster.ntp_sources && <AddNtp cluster={cluster} />}</p>}
      </div>
    </li>
  );
}

/** Time sources for hosts that are booted already: their agents take them over. */
function AddNtp({ cluster }: { cluster: Cluster }) {
  const [open, setOpen] = useState(false);
  const [value, setValue] = useState(cluster.additional_ntp_source ?? "");
  const [attempted, setAttempted] = useState(false);
  const { busy, problem, act } = useAct();
  const wrong = value.trim() ? servers("names")(value) : t("This is required.");
  const sent = { path: { cluster_id: cluster.id }, body: { additional_ntp_source: value } };
  const submit = () => { setAttempted(true); if (!wrong) void act(() => changeCluster(() => call("V2UpdateCluster", sent))).then((ok) => ok && setOpen(false)); };
  return (
    <>
      <Button class="link" onClick={() => setOpen(true)}>{t("Add NTP sources")}</Button>
      {open && <Modal title={t("NTP sources of the cluster")} close={() => setOpen(false)} submit={submit} footer={<><button class="primary" disabled={busy}>{t("Save")}</button><button type="button" onClick={() => setOpen(false)}>{t("Cancel")}</button></>}>
        <p>{t("Hosts use them in addition to their own. No new image is needed.")}</p>
        <Text label={t("NTP sources")} required value={value} set={setValue} error={wrong} attempted={attempted} autoFocus help={t("Comma-separated names or addresses.")} />
        <Problem of={problem} />
        <AsCall requests={[request("V2UpdateCluster", sent)]} names={{ cluster: cluster.name }} />
      </Modal>}
    </>
  );
}

export function ValidationList({ of, subject, clusterId }: { of: { validations_info?: string | null }; subject: "host" | "cluster"; clusterId?: string | undefined }) {
  const [everything, setEverything] = useState(false);
  const groups = Object.entries(validations(of));
  if (groups.length === 0) return <p class="muted">{t("Nothing has been checked yet.")}</p>;
  const bad = (list: Validation[]) => list.filter((one) => one.status !== "success" && one.status !== "disabled");
  const shown = groups.filter(([, list]) => everything || bad(list).length > 0);
  const fine = groups.filter(([, list]) => !everything && bad(list).length === 0);
  return (
    <div class="stack">
      <div class="row between"><span class="muted small">{t("What was measured, what is needed, and what to do.")}</span>
        <button type="button" class="link" onClick={() => setEverything(!everything)}>{everything ? t("Only what needs attention") : t("Show all checks")}</button></div>
      <div class="row">{fine.map(([category, list]) => <span key={category} class="row"><span class="strong">{categoryName(category)}</span><Label tone="green">{t("{n} passed", { n: list.length })}</Label></span>)}</div>
      {shown.map(([category, list]) => {
        const open = bad(list);
        const failed = open.filter((one) => one.status !== "pending" && !SOFT.includes(one.id)).length;
        const tone: Tone = failed ? "red" : open.length ? "orange" : "green";
        return (
          <div key={category}>
            <h3 class="row">{categoryName(category)} <Label tone={tone}>{failed ? t("{n} failed", { n: failed }) : open.length ? t("{n} open", { n: open.length }) : t("{n} passed", { n: list.length })}</Label></h3>
            <ul class="checks">{(everything ? list : open).map((one) => <Line key={one.id} one={one} subject={subject} clusterId={clusterId} />)}</ul>
          </div>
        );
      })}
    </div>
  );
}
