// The service itself: versions, who is logged in, health, settings in force.
import { useEffect, useState } from "preact/hooks";
import { call, get } from "../api/client";
import { t } from "../messages";
import { when } from "../model/clusters";
import { login } from "../session";
import { follow } from "../store";
import { Alert, CopyButton, Facts, Label, Spinner, useLoad } from "../ui/parts";

interface Caller { mode: string; name: string; role: string; expires_at?: string }
interface Setting { key: string; value: string; variable: string; help: string; is_default: boolean }

export default function Settings() {
  useEffect(() => follow({ kinds: "cluster" }), []);
  const [filter, setFilter] = useState("");
  const [changedOnly, setChangedOnly] = useState(true);
  const versions = useLoad(() => call("v2ListComponentVersions"), []);
  const caller = useLoad(() => get<Caller>("/auth/caller"), [login.value]);
  const settings = useLoad(() => get<Setting[]>("/explain/settings"), [login.value]);
  const shown = (settings.value ?? []).filter((one) => (!changedOnly || !one.is_default) && `${one.key} ${one.help}`.toLowerCase().includes(filter.toLowerCase()));
  return (
    <div class="page">
      <h1>{t("Service")}</h1>
      <section class="card"><h2>{t("Versions")}</h2>{!versions.value ? <Spinner /> : <Facts of={[...Object.entries(versions.value.versions ?? {}).map(([key, value]): [string, string] => [key, String(value)]), [t("Release"), versions.value.release_tag ?? ""]]} />}<p><a href="/docs">{t("API reference")}</a> · <a href="/openapi.json">OpenAPI</a> · <a href="/metrics">{t("Metrics")}</a></p></section>
      <section class="card stack"><h2>{t("Access")}</h2>
        {caller.problem ? <Alert tone="orange">{caller.problem}</Alert> : !caller.value ? <Spinner /> : <Facts of={[[t("Mode"), caller.value.mode], [t("You are"), caller.value.name || "—"], [t("Role"), <Label tone="blue">{caller.value.role}</Label>], [t("Login ends"), caller.value.expires_at ? when(caller.value.expires_at) : "—"]]} />}
        {login.value && <p>{t("Token for scripts, valid as long as this login:")} <CopyButton text={login.value.token} label={t("Copy token")} /></p>}
        <p class="small muted">{t("Users and their roles are in muster.toml ([[auth.users]]); changes there take effect without a restart.")}</p>
      </section>
      <section class="card stack"><h2>{t("Settings in force")}</h2>
        {settings.problem ? <Alert tone="orange">{settings.problem}</Alert> : !settings.value ? <Spinner /> : <>
          <div class="row"><div class="field"><input type="search" aria-label={t("Filter settings")} placeholder={t("Filter settings")} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /></div><div class="field"><select aria-label={t("Which settings")} value={changedOnly ? "changed" : "all"} onChange={(event) => setChangedOnly(event.currentTarget.value === "changed")}><option value="changed">{t("Changed from the default")}</option><option value="all">{t("All")}</option></select></div></div>
          <div class="tablewrap"><table><caption class="vh">{t("Settings in force")}</caption><thead><tr><th>{t("Setting")}</th><th>{t("Value")}</th><th>{t("Meaning")}</th><th>{t("Variable")}</th></tr></thead><tbody>{shown.map((one) => <tr key={one.key}><td><code>{one.key}</code></td><td><code>{one.value || "—"}</code></td><td class="small">{one.help}</td><td><code>{one.variable}</code></td></tr>)}{shown.length === 0 && <tr><td colSpan={4} class="muted">{t("None.")}</td></tr>}</tbody></table></div>
        </>}
      </section>
    </div>
  );
}
