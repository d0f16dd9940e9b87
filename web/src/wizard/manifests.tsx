// Custom manifests: typed, dropped or chosen; saved one by one, UTF-8, with the service's words per file.
import { useEffect, useState } from "preact/hooks";
import { call, request, send } from "../api/client";
import { t } from "../messages";
import { isOci, needsManifests } from "../model/clusters";
import { faultOf, type Fault } from "../model/highlight";
import { manifestContent, manifestName } from "../model/rules";
import { roleRefusal } from "../session";
import { Code } from "../ui/code";
import { Select, Text } from "../ui/form";
import { Icon } from "../ui/icons";
import { Alert, Button, Confirm, Empty, Label, Problem, Spinner, useAct, useLoad } from "../ui/parts";
import { AsCall } from "../ui/ascall";
import { Frame, type StepProps } from "./frame";

interface Edited { folder: "manifests" | "openshift"; file: string; content: string; was: { folder: "manifests" | "openshift"; file: string } | null }

/** Base64 of the UTF-8 form, piecewise: the number of arguments of a call is limited. */
function encode(text: string): string {
  const all = new TextEncoder().encode(text);
  let binary = "";
  for (let at = 0; at < all.length; at += 8192) binary += String.fromCharCode(...all.subarray(at, at + 8192));
  return btoa(binary);
}

const isPatch = (file: string) => file.includes("patch");

async function syntax(file: string, content: string): Promise<Fault | null> {
  if (isPatch(file)) return null;
  try {
    if (file.endsWith(".json")) JSON.parse(content);
    else (await import("js-yaml")).loadAll(content);
    return null;
  } catch (failed) {
    return faultOf(failed);
  }
}

export default function ManifestsStep({ cluster, list }: StepProps) {
  const at = { cluster_id: cluster.id };
  const found = useLoad(() => call("V2ListClusterManifests", { path: at }), [cluster.id]);
  const [edited, setEdited] = useState<Edited | null>(null);
  const [removing, setRemoving] = useState<{ folder: string; file: string } | null>(null);
  const [attempted, setAttempted] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const { busy, problem, setProblem, act } = useAct();
  // A moment after the last key: the fault shows while typing, not only on saving.
  useEffect(() => {
    if (!edited?.content) { setFault(null); return; }
    const timer = setTimeout(() => void syntax(edited.file, edited.content).then(setFault), 400);
    return () => clearTimeout(timer);
  }, [edited?.file, edited?.content]);
  const mine = (found.value ?? []).filter((one) => one.manifest_source !== "system");
  const needed = needsManifests(cluster);
  const others = mine.map((one) => one.file_name ?? "").filter((one) => one !== edited?.was?.file);
  const error = edited ? { name: manifestName(others)(edited.file), content: manifestContent(edited.content) } : null;
  const sent = edited && (edited.was
    ? request("V2UpdateClusterManifest", { path: at, body: { folder: edited.was.folder, file_name: edited.was.file, updated_folder: edited.folder, updated_file_name: edited.file, updated_content: encode(edited.content) } })
    : request("V2CreateClusterManifest", { path: at, body: { folder: edited.folder, file_name: edited.file, content: encode(edited.content) } }));
  const save = () => {
    setAttempted(true);
    if (!edited || !sent || error?.name || error?.content) return;
    void syntax(edited.file, edited.content).then(async (bad) => {
      setFault(bad);
      if (bad || !(await act(() => send(sent)))) return;
      setEdited(null);
      setAttempted(false);
      found.again();
    });
  };
  const removal = ({ folder, file }: { folder: string; file: string }) => request("V2DeleteClusterManifest", { path: at, query: { folder, file_name: file } as never });
  const open = (folder: "manifests" | "openshift", file: string) => void act(async () => setEdited({ folder, file, was: { folder, file }, content: await (await send(request("v2DownloadClusterManifest", { path: at, query: { folder, file_name: file } }))).text() }));
  const drop = (files: FileList | null | undefined) => void act(async () => { for (const file of files ?? []) await call("V2CreateClusterManifest", { path: at, body: { folder: "manifests", file_name: file.name, content: encode(await file.text()) } }); found.again(); });
  return (
    <Frame step="manifests" cluster={cluster} list={list} problems={edited ? [[t("Manifest {file}", { file: edited.file }), t("Save or discard it first.")]] : needed && found.value && mine.length === 0 ? [[t("Custom manifests"), t("This cluster needs at least one.")]] : []}>
      <p>{t("Manifests are applied while the cluster is installed. Most clusters need none; some platforms and network types do.")}</p>
      {needed && found.value && mine.length === 0 && <Alert tone="orange" title={t("Manifests are required")}>{isOci(cluster) ? t("Without the manifests of Oracle's cloud controller the nodes of this cluster never become ready.") : t("Network type {type} is not part of the release: add its manifests.", { type: cluster.network_type })}</Alert>}
      <Problem of={problem} close={() => setProblem(null)} />
      {!found.value ? (found.problem ? <Problem of={found.problem} /> : <Spinner />) : mine.length === 0 ? !edited && <Empty title={t("No custom manifests")} /> : (
        <div class="tablewrap"><table><caption class="vh">{t("Custom manifests")}</caption><thead><tr><th>{t("Folder")}</th><th>{t("File")}</th><th class="tight"><span class="vh">{t("Actions")}</span></th></tr></thead><tbody>{mine.map((one) => <tr key={`${one.folder}/${one.file_name}`}><td><Label>{one.folder}</Label></td><td><code>{one.file_name}</code></td><td class="tight"><div class="row"><button type="button" class="plain" aria-label={roleRefusal("user") ? t("View {file}", { file: one.file_name }) : t("Edit {file}", { file: one.file_name })} onClick={() => open(one.folder as "manifests", one.file_name ?? "")}>{roleRefusal("user") ? t("View") : t("Edit")}</button><Button class="plain" aria-label={t("Remove {file}", { file: one.file_name ?? "" })} onClick={() => setRemoving({ folder: one.folder ?? "", file: one.file_name ?? "" })}>{t("Remove")}</Button></div></td></tr>)}</tbody></table></div>
      )}
      {edited ? (
        <div class="tile">
          <div class="two"><Select label={t("Folder")} value={edited.folder} set={(folder) => setEdited({ ...edited, folder: folder as "manifests" })} choices={[{ value: "manifests", name: "manifests" }, { value: "openshift", name: "openshift" }]} /><Text label={t("File name")} required value={edited.file} set={(file) => setEdited({ ...edited, file: file.trim() })} error={error?.name} attempted={attempted} placeholder="50-example.yaml" /></div>
          <Code label={t("Content")} required faultyLine={fault?.line} value={edited.content} set={(content) => setEdited({ ...edited, content })} error={error?.content ?? (fault ? t("{file} cannot be parsed: {reason}", { file: edited.file || t("The text"), reason: fault.reason }) : null)} attempted={attempted} file=".yaml,.yml,.json,.patch" help={t("YAML with one or more documents, or JSON.")} />
          {sent && <AsCall requests={[sent]} names={{ cluster: cluster.name }} />}
          <div class="row"><Button class="primary" disabled={busy} onClick={save}>{busy && <Icon name="spin" />}{t("Save manifest")}</Button><button type="button" onClick={() => { setEdited(null); setAttempted(false); }}>{t("Discard")}</button></div>
        </div>
      ) : (
        <div class="row"><Button onClick={() => setEdited({ folder: "manifests", file: "", content: "", was: null })}>{t("Add a manifest")}</Button>{!roleRefusal("user") && <label class="button">{t("Upload files")}<input class="vh" type="file" multiple accept=".yaml,.yml,.json,.patch" onChange={(event) => drop(event.currentTarget.files)} /></label>}</div>
      )}
      {removing && <Confirm title={t("Remove {file}?", { file: removing.file })} action={t("Remove")} danger close={() => setRemoving(null)} run={async () => { await send(removal(removing)); found.again(); }}><AsCall requests={[removal(removing)]} names={{ cluster: cluster.name }} /></Confirm>}
    </Frame>
  );
}
