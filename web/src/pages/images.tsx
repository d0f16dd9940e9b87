// OS images: their state, fetching, uploading and removing them; and the releases that can be installed.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, get, send, upload } from "../api/client";
import { t, plural } from "../messages";
import { compareVersions } from "../model/clusters";
import { bytes } from "../model/hosts";
import { navigate, query, withQuery } from "../router";
import { follow } from "../store";
import { AsCall } from "../ui/ascall";
import { Text } from "../ui/form";
import { Icon } from "../ui/icons";
import { asError, Confirm, Empty, Label, Menu, Modal, Problem, Progress, Spinner, useLoad, type Tone } from "../ui/parts";

interface OsImage { openshift_version: string; cpu_architecture: string; version: string; state: string; active?: boolean; done?: number; total?: number; reason?: string; advice?: string; size?: number; sha256?: string; origin?: string }

const TONES: Record<string, Tone> = { ready: "green", fetching: "blue", missing: "grey", broken: "red" };
const stateName = (one: OsImage): string => ({ ready: t("available"), missing: t("not available"), broken: t("failed"), fetching: one.active ? t("downloading") : t("interrupted") })[one.state] ?? one.state;
const address = (one: OsImage, more: Record<string, string> = {}) => `/boot-artifacts/os-image?${new URLSearchParams({ version: one.version, arch: one.cpu_architecture, ...more })}`;
const title = (one: OsImage) => `OpenShift ${one.openshift_version}, ${one.cpu_architecture}`;

/** Sends a file in as an OS image, with progress; closing ends it. */
function Upload({ of, close }: { of: OsImage; close: (done: boolean) => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [digest, setDigest] = useState("");
  const [attempted, setAttempted] = useState(false);
  const [sent, setSent] = useState<number | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const wrong = digest === "" || /^[0-9a-f]{64}$/i.test(digest) ? null : t("64 hexadecimal digits.");
  const submit = async () => {
    setAttempted(true);
    if (!file || wrong || sent !== null) return;
    setProblem(null);
    setSent(0);
    try {
      await upload(to, file, setSent, stop.current.signal);
      close(true);
    } catch (failed) {
      if (!stop.current.signal.aborted) setProblem(asError(failed));
    }
    setSent(null);
  };
  const all = sent !== null && file !== null && sent >= file.size;
  const to = address(of, digest && !wrong ? { sha256: digest } : {});
  return (
    <Modal title={t("Upload an OS image")} close={() => close(false)} submit={() => void submit()} footer={<><button class="primary" disabled={sent !== null}>{sent !== null && <Icon name="spin" />}{t("Upload")}</button><button type="button" onClick={() => close(false)}>{t("Cancel")}</button></>}>
      <p>{t("The live ISO of {build} for {title}. It stays until it is removed by hand.", { build: of.version, title: title(of) })}</p>
      <div class="field"><label for="os-image-file">{t("ISO file")}</label><input id="os-image-file" type="file" accept=".iso" disabled={sent !== null} onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)} />{attempted && !file && <div class="error"><Icon name="fail" />{t("This is required.")}</div>}</div>
      <Text label={t("SHA-256")} value={digest} set={(text) => setDigest(text.trim())} error={wrong} attempted={attempted} disabled={sent !== null} help={t("If given, a file with another digest is refused.")} />
      {sent !== null && file && <div class="stack"><Progress value={(100 * sent) / Math.max(1, file.size)} label={t("Upload of {file}", { file: file.name })} /><div class="small muted" role="status">{all ? t("Upload complete; the service is verifying it.") : `${bytes(sent, 1024)} / ${bytes(file.size, 1024)}`}</div></div>}
      <Problem of={problem} />
      <AsCall requests={[{ method: "PUT", url: to, file: file?.name ?? "image.iso" }]} />
    </Modal>
  );
}

function State({ of }: { of: OsImage }) {
  const running = of.state === "fetching";
  return (
    <>
      <Label tone={TONES[of.state] ?? "grey"}>{stateName(of)}</Label>
      {of.state === "ready" && <span class="small muted"> {bytes(of.size, 1024)}{of.origin === "added" ? ` · ${t("added by hand")}` : ""}</span>}
      {running && of.active && <Progress thin value={of.total ? (100 * (of.done ?? 0)) / of.total : 0} label={t("Download of {version}", { version: of.version })} />}
      {running && <div class="small muted">{bytes(of.done, 1024)}{of.total ? ` / ${bytes(of.total, 1024)}` : ""}</div>}
      {of.reason && <div class="small">{of.reason}</div>}
    </>
  );
}

function OsImages({ fits }: { fits: (text: string) => boolean }) {
  const [round, setRound] = useState(0);
  const [dialog, setDialog] = useState<{ kind: "upload" | "remove"; of: OsImage } | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const images = useLoad(() => get<OsImage[]>("/boot-artifacts"), [round]);
  const again = () => setRound((n) => n + 1);
  const all = images.value ?? [];
  const busy = all.some((one) => one.state === "fetching" && one.active);
  useEffect(() => {
    // States of files are not part of the watch.
    const timer = setInterval(again, busy ? 1000 : 15_000);
    return () => clearInterval(timer);
  }, [busy]);
  const arch = query.value.get("arch") ?? "x86_64";
  const architectures = [...new Set(all.map((one) => one.cpu_architecture))].sort();
  const shown = all.filter((one) => (arch === "all" || one.cpu_architecture === arch || one.state !== "missing") && fits(`${one.openshift_version} ${one.cpu_architecture} ${one.version}`))
    .sort((a, b) => Number(b.state !== "missing") - Number(a.state !== "missing") || compareVersions(a.openshift_version, b.openshift_version) || a.cpu_architecture.localeCompare(b.cpu_architecture));
  const here = all.filter((one) => one.state === "ready").length;
  const run = (work: () => Promise<unknown>) => void work().then(again, (failed: unknown) => setProblem(asError(failed)));
  const close = () => { setDialog(null); again(); };
  return (
    <section class="card stack"><h2>{t("OS images")}</h2>
      <p class="muted">{t("Discovery images are built from these. A missing one is downloaded when it is first needed, or on request here. Without internet access, upload it.")}</p>
      <Problem of={images.problem} />
      <Problem of={problem} close={() => setProblem(null)} />
      {!images.value ? <Spinner /> : <>
        <div class="row"><div class="field"><select aria-label={t("CPU architecture")} value={arch} onChange={(event) => navigate(withQuery({ arch: event.currentTarget.value }), "replace")}>{[...architectures, "all"].map((one) => <option key={one} value={one} selected={one === arch}>{one === "all" ? t("All architectures") : one}</option>)}</select></div><span class="grow" /><Label tone={here ? "green" : "grey"}>{plural(here, "{n} image available", "{n} images available")}</Label></div>
        <div class="tablewrap"><table class="middle"><caption class="vh">{t("OS images")}</caption><thead><tr><th>{t("OpenShift version")}</th><th>{t("Architecture")}</th><th class="wide-only">{t("Build")}</th><th>{t("State")}</th><th class="tight"><span class="vh">{t("Actions")}</span></th></tr></thead><tbody>
          {shown.map((one) => (
            <tr key={`${one.openshift_version}${one.cpu_architecture}${one.version}`} data-image={`${one.openshift_version} ${one.cpu_architecture}`}>
              <td>{one.openshift_version}</td><td>{one.cpu_architecture}</td><td class="wide-only"><code>{one.version}</code></td><td><State of={one} />{one.state !== "missing" && one.state !== "ready" && one.advice && <div class="small muted">{one.advice}</div>}</td>
              <td class="tight right"><Menu kebab label={t("Actions of {name}", { name: title(one) })} actions={[
                { name: t("Fetch"), needs: "admin", why: one.state === "ready" ? t("already available") : one.state === "fetching" && one.active ? t("downloading") : null, run: () => run(() => send({ method: "POST", url: address(one) })) },
                { name: t("Upload"), needs: "admin", why: one.state === "fetching" && one.active ? t("downloading") : null, run: () => setDialog({ kind: "upload", of: one }) },
                { name: t("Remove"), needs: "admin", why: one.state === "missing" ? t("not available") : one.state === "fetching" && one.active ? t("downloading") : null, run: () => setDialog({ kind: "remove", of: one }) },
              ]} /></td>
            </tr>
          ))}
          {shown.length === 0 && <tr><td colSpan={5}><Empty title={t("No OS image matches the filter")} /></td></tr>}
        </tbody></table></div>
      </>}
      {dialog?.kind === "upload" && <Upload of={dialog.of} close={close} />}
      {dialog?.kind === "remove" && <Confirm title={t("Remove the OS image of {title}?", { title: title(dialog.of) })} action={t("Remove")} danger close={close} run={() => send({ method: "DELETE", url: address(dialog.of) })}><p>{t("Machines that are booting keep their image. The next one that needs it waits until it is available again.")}</p><AsCall requests={[{ method: "DELETE", url: address(dialog.of) }]} /></Confirm>}
    </section>
  );
}

export default function Images() {
  useEffect(() => follow({ kinds: "cluster" }), []);
  const filter = query.value.get("q") ?? "";
  const releases = useLoad(() => call("v2ListSupportedOpenshiftVersions"), []);
  const fits = (text: string) => text.toLowerCase().includes(filter.toLowerCase());
  return (
    <div class="page">
      <div class="row between"><h1>{t("Images and releases")}</h1><div class="field"><input type="search" aria-label={t("Filter")} placeholder={t("Version or build")} value={filter} onInput={(event) => navigate(withQuery({ q: event.currentTarget.value }), "replace")} /></div></div>
      <OsImages fits={fits} />
      <section class="card"><h2>{t("Releases")}</h2>
        <Problem of={releases.problem} />
        {!releases.value ? <Spinner /> : <div class="tablewrap"><table><caption class="vh">{t("Releases")}</caption><thead><tr><th>{t("Version")}</th><th>{t("Support level")}</th><th>{t("Architectures")}</th></tr></thead><tbody>{Object.entries(releases.value).filter(([key, one]) => fits(`${key} ${(one.cpu_architectures ?? []).join(" ")}`)).sort(([a], [b]) => compareVersions(a, b)).map(([key, one]) => <tr key={key}><td>{one.display_name} {one.default && <Label tone="blue">{t("default")}</Label>}</td><td>{one.support_level}</td><td>{(one.cpu_architectures ?? []).join(", ")}</td></tr>)}</tbody></table></div>}
      </section>
    </div>
  );
}
