// The log archive, opened in the page: files as a list, search over all of them, lines as in a console.
import { useEffect, useMemo, useState } from "preact/hooks";
import { download, request, send } from "../api/client";
import { t, plural } from "../messages";
import { isTime } from "../model/clusters";
import { name } from "../model/hosts";
import { entries, type Entry } from "../model/tar";
import { navigate, query, withQuery } from "../router";
import { Icon } from "../ui/icons";
import { Empty, Problem, useAct } from "../ui/parts";
import type { TabProps } from "./cluster";

const SHOWN_LINES = 3000;
const level = (line: string) => (/\b(error|fatal|failed|panic|critical)\b/i.test(line) ? "bad" : /\bwarn(ing)?\b/i.test(line) ? "warn" : "");

function Line({ text, find }: { text: string; find: string }) {
  const at = find ? text.toLowerCase().indexOf(find.toLowerCase()) : -1;
  return <div class={level(text)}>{at < 0 ? text || " " : <>{text.slice(0, at)}<mark>{text.slice(at, at + find.length)}</mark>{text.slice(at + find.length)}</>}</div>;
}

export default function Logs({ cluster, list }: TabProps) {
  const [files, setFiles] = useState<Entry[] | null>(null);
  const { busy, problem, act } = useAct();
  const host = query.value.get("host") ?? "";
  const chosen = query.value.get("file") ?? "";
  const find = query.value.get("find") ?? "";
  const collected = list.filter((one) => isTime(one.logs_collected_at));
  const ask = (of: string) => request("V2DownloadClusterLogs", { path: { cluster_id: cluster.id }, query: of === "controller" ? { logs_type: "controller" } : of ? { logs_type: "host", host_id: of } : { logs_type: "all" } });
  const file = files?.find((one) => one.path === chosen) ?? files?.[0];
  const lines = useMemo(() => {
    if (!files) return [];
    const decode = (one: Entry) => new TextDecoder().decode(one.bytes.subarray(0, 16 << 20)).split("\n");
    if (!find) return file ? decode(file).slice(-SHOWN_LINES) : [];
    const word = find.toLowerCase();
    return files.flatMap((one) => decode(one).filter((line) => line.toLowerCase().includes(word)).map((line) => `${one.path}: ${line}`)).slice(0, SHOWN_LINES);
  }, [files, file, find]);
  const load = () => void act(async () => setFiles((await entries(new Uint8Array(await (await send(ask(host))).arrayBuffer()))).sort((a, b) => a.path.localeCompare(b.path))));
  const available = collected.length > 0 || isTime(cluster.controller_logs_collected_at);
  // A link to a file or to a search shows it at once.
  useEffect(() => { if (available && !files && (chosen || find)) load(); }, [available]);
  return (
    <div class="card stack">
      <div class="row">
        <div class="field"><select aria-label={t("Logs of")} value={host} onChange={(event) => { setFiles(null); navigate(withQuery({ host: event.currentTarget.value, file: null }), "replace"); }}><option value="">{t("All hosts and the controller")}</option><option value="controller" selected={host === "controller"}>{t("Controller")}</option>{collected.map((one) => <option key={one.id} value={one.id} selected={host === one.id}>{name(one)}</option>)}</select></div>
        <button type="button" class="primary" disabled={!available || busy} onClick={load}>{busy && <Icon name="spin" />}{files ? t("Reload") : t("Open in the page")}</button>
        <button type="button" disabled={!available} onClick={() => void act(() => download(ask(host), `${cluster.name}-logs.tar`))}>{t("Download")}</button>
      </div>
      <Problem of={problem} />
      {!available && <Empty title={t("No logs yet")}><p>{t("Hosts send logs while they are installed and when an installation fails or is cancelled.")}</p></Empty>}
      {files && <>
        <div class="row">
          <div class="field"><select aria-label={t("File")} value={file?.path} onChange={(event) => navigate(withQuery({ file: event.currentTarget.value }), "replace")}>{files.map((one) => <option key={one.path} value={one.path} selected={one.path === file?.path}>{one.path}</option>)}</select></div>
          <div class="field"><input type="search" aria-label={t("Search in all files")} placeholder={t("Search in all files")} value={find} onInput={(event) => navigate(withQuery({ find: event.currentTarget.value }), "replace")} /></div>
          <span class="muted small">{plural(files.length, "{n} file", "{n} files")} · {plural(lines.length, "{n} line", "{n} lines")}</span>
        </div>
        <div class="logs" tabIndex={0} role="region" aria-label={find ? t("Lines with {find}", { find }) : file?.path ?? ""}>{lines.map((line, index) => <Line key={index} text={line} find={find} />)}</div>
      </>}
    </div>
  );
}
