// Events with filters that are in the address; new ones come by the watch.
import { useEffect, useState } from "preact/hooks";
import type { Event, Host } from "../api/types";
import { request, save, send } from "../api/client";
import { t } from "../messages";
import { ago, when } from "../model/clusters";
import { name } from "../model/hosts";
import { navigate, query, withQuery } from "../router";
import { events as live } from "../store";
import { asError, isLost, Label, Link, Problem, Spinner, type Tone } from "../ui/parts";

const TONES: Record<string, Tone> = { info: "grey", warning: "orange", error: "red", critical: "red" };
const PAGE = 50;

export function EventsTab({ clusterId, infraEnvId, list }: { clusterId?: string; infraEnvId?: string; list: Host[] }) {
  // Beside a table of hosts `host` is the row that is open.
  const parameter = infraEnvId ? "events" : "host";
  const host = query.value.get(parameter) ?? "";
  const severity = query.value.get("severity") ?? "";
  const message = query.value.get("text") ?? "";
  const page = Number(query.value.get("page") ?? "0") || 0;
  const [state, set] = useState<{ events: Event[]; counts: Record<string, number>; total: number } | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const [round, setRound] = useState(0);
  const newest = live.value[0]?.event_time ?? "";
  const ask = (limit: number, offset: number) => request("v2ListEvents", { query: {
    ...(clusterId ? { cluster_id: clusterId } : {}), ...(infraEnvId ? { infra_env_id: infraEnvId } : {}), order: "descending", limit, offset,
    ...(host === "cluster" ? { cluster_level: true } : host === "deleted" ? { deleted_hosts: true } : host ? { host_ids: host } : {}),
    ...(severity ? { severities: severity } : {}), ...(message ? { message } : {}),
  } });
  useEffect(() => {
    const stop = new AbortController();
    // A burst of events is one question.
    let timer = setTimeout(() => void (async () => {
      try {
        const answer = await send(ask(PAGE, page * PAGE), stop.signal);
        const number = (header: string) => Number(answer.headers.get(header) ?? "0");
        set({ events: (await answer.json()) as Event[], total: number("Event-Count"), counts: { info: number("Severity-Count-Info"), warning: number("Severity-Count-Warning"), error: number("Severity-Count-Error"), critical: number("Severity-Count-Critical") } });
        setProblem(null);
      } catch (failed) {
        if (stop.signal.aborted) return;
        setProblem(asError(failed));
        if (isLost(asError(failed))) timer = setTimeout(() => setRound((n) => n + 1), 2000);
      }
    })(), 250);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [clusterId, infraEnvId, host, severity, message, page, newest, round]);
  const change = (changes: Record<string, string | null>) => navigate(withQuery({ page: null, ...changes }), "replace");
  const names = new Map(list.map((one) => [one.id, name(one)]));
  const exportAll = async () => save(new Blob([await (await send(ask(5000, 0))).text()], { type: "application/json" }), "events.json");
  return (
    <div class="card stack">
      <div class="row">
        <div class="field"><input type="search" aria-label={t("Filter by text")} placeholder={t("Text in the message")} value={message} onInput={(event) => change({ text: event.currentTarget.value })} /></div>
        <div class="field"><select aria-label={t("Filter by host")} value={host} onChange={(event) => change({ [parameter]: event.currentTarget.value })}><option value="">{infraEnvId ? t("Infra-env and hosts") : t("Cluster and hosts")}</option>{!infraEnvId && <option value="cluster" selected={host === "cluster"}>{t("Cluster only")}</option>}<option value="deleted" selected={host === "deleted"}>{t("Deleted hosts")}</option>{list.map((one) => <option key={one.id} value={one.id} selected={host === one.id}>{name(one)}</option>)}</select></div>
        <div class="field"><select aria-label={t("Filter by severity")} value={severity} onChange={(event) => change({ severity: event.currentTarget.value })}><option value="">{t("Any severity")}</option>{["info", "warning", "error", "critical"].map((one) => <option key={one} value={one} selected={one === severity}>{one}{state ? ` (${state.counts[one] ?? 0})` : ""}</option>)}</select></div>
        <span class="grow" /><button type="button" onClick={() => void exportAll().catch((failed: unknown) => setProblem(asError(failed)))}>{t("Export JSON")}</button>
      </div>
      <Problem of={problem} />
      {!state ? <Spinner /> : (
        <>
          <div class="tablewrap"><table><caption class="vh">{t("Events")}</caption>
            <thead><tr><th>{t("Time")}</th><th>{t("Severity")}</th><th>{t("Message")}</th></tr></thead>
            <tbody>{state.events.map((event, index) => (
              <tr key={`${event.event_time}${index}`}><td class="nowrap tight" title={event.event_time}>{when(event.event_time)}<div class="small muted">{t("{span} ago", { span: ago(event.event_time) })}</div></td><td class="tight"><Label tone={TONES[event.severity ?? ""] ?? "grey"}>{event.severity}</Label></td>
                <td>{event.message}{event.host_id && names.has(event.host_id) && clusterId && <div class="small"><Link to={`/clusters/${clusterId}/hosts?host=${event.host_id}`}>{names.get(event.host_id)}</Link></div>}</td></tr>
            ))}{state.events.length === 0 && <tr><td colSpan={3} class="muted">{t("No events match the filter.")}</td></tr>}</tbody>
          </table></div>
          <div class="row"><button type="button" disabled={page === 0} onClick={() => navigate(withQuery({ page: page > 1 ? String(page - 1) : null }), "replace")}>{t("Newer")}</button><button type="button" disabled={(page + 1) * PAGE >= state.total} onClick={() => navigate(withQuery({ page: String(page + 1) }), "replace")}>{t("Older")}</button><span class="muted small">{t("{n} events", { n: state.total })}</span></div>
        </>
      )}
    </div>
  );
}
