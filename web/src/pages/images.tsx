// OS images with their state, and the releases that can be installed.
import { useEffect, useState } from "preact/hooks";
import { call, get } from "../api/client";
import { t } from "../messages";
import { compareVersions } from "../model/clusters";
import { bytes } from "../model/hosts";
import { follow } from "../store";
import { Alert, Label, Progress, Spinner, useLoad, type Tone } from "../ui/parts";

interface OsImage { openshift_version: string; cpu_architecture: string; version: string; state: string; active?: boolean; done?: number; total?: number; reason?: string; advice?: string }
const TONES: Record<string, Tone> = { ready: "green", fetching: "blue", missing: "grey", broken: "red" };

export default function Images() {
  useEffect(() => follow({ kinds: "cluster" }), []);
  const [filter, setFilter] = useState("");
  const [round, setRound] = useState(0);
  const images = useLoad(() => get<OsImage[]>("/boot-artifacts"), [round]);
  const releases = useLoad(() => call("v2ListSupportedOpenshiftVersions"), []);
  const busy = (images.value ?? []).some((one) => one.state === "fetching" && one.active);
  useEffect(() => {
    // States of files are not part of the watch.
    const timer = setInterval(() => setRound((n) => n + 1), busy ? 2000 : 15000);
    return () => clearInterval(timer);
  }, [busy]);
  const fits = (text: string) => text.toLowerCase().includes(filter.toLowerCase());
  return (
    <div class="page">
      <h1>{t("Images and releases")}</h1>
      <div class="row"><div class="field"><input type="search" aria-label={t("Filter")} placeholder={t("Version or architecture")} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /></div></div>
      <section class="card"><h2>{t("OS images")}</h2>
        <p class="muted">{t("Discovery images are made from these. A missing one is fetched when it is first needed, or added with muster os-images add.")}</p>
        {images.problem && <Alert tone="red">{images.problem}</Alert>}
        {!images.value ? <Spinner /> : <div class="tablewrap"><table><caption class="vh">{t("OS images")}</caption><thead><tr><th>{t("OpenShift version")}</th><th>{t("Architecture")}</th><th>{t("Build")}</th><th>{t("State")}</th><th>{t("What to do")}</th></tr></thead><tbody>{[...images.value].filter((one) => fits(`${one.openshift_version} ${one.cpu_architecture} ${one.version}`)).sort((a, b) => compareVersions(a.openshift_version, b.openshift_version) || a.cpu_architecture.localeCompare(b.cpu_architecture)).map((one) => <tr key={`${one.openshift_version}${one.cpu_architecture}${one.version}`}><td>{one.openshift_version}</td><td>{one.cpu_architecture}</td><td><code>{one.version}</code></td><td><Label tone={TONES[one.state] ?? "grey"}>{one.state}</Label>{one.state === "fetching" && <Progress thin value={one.total ? (100 * (one.done ?? 0)) / one.total : 0} label={t("Download of {version}", { version: one.version })} />}{one.state === "fetching" && <div class="small muted">{bytes(one.done, 1024)}{one.total ? ` / ${bytes(one.total, 1024)}` : ""}</div>}{one.reason && <div class="small">{one.reason}</div>}</td><td class="small">{one.advice ?? "—"}</td></tr>)}</tbody></table></div>}
      </section>
      <section class="card"><h2>{t("Releases")}</h2>
        {releases.problem && <Alert tone="red">{releases.problem}</Alert>}
        {!releases.value ? <Spinner /> : <div class="tablewrap"><table><caption class="vh">{t("Releases")}</caption><thead><tr><th>{t("Version")}</th><th>{t("Support level")}</th><th>{t("Architectures")}</th></tr></thead><tbody>{Object.entries(releases.value).filter(([key, one]) => fits(`${key} ${(one.cpu_architectures ?? []).join(" ")}`)).sort(([a], [b]) => compareVersions(a, b)).map(([key, one]) => <tr key={key}><td>{one.display_name} {one.default && <Label tone="blue">{t("default")}</Label>}</td><td>{one.support_level}</td><td>{(one.cpu_architectures ?? []).join(", ")}</td></tr>)}</tbody></table></div>}
      </section>
    </div>
  );
}
