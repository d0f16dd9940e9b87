// The service itself: versions, who is logged in, users and tokens, settings in force.
import { useEffect, useState } from "preact/hooks";
import { call, get } from "../api/client";
import { t } from "../messages";
import { when } from "../model/clusters";
import { login, token, type Caller } from "../session";
import { follow } from "../store";
import { AsCall } from "../ui/ascall";
import { Text } from "../ui/form";
import { Icon } from "../ui/icons";
import { Alert, CodeBox, CopyButton, Facts, Label, Modal, Problem, Spinner, useAct, useLoad } from "../ui/parts";

interface Setting { key: string; value: string; variable: string; help: string; is_default: boolean }

interface User { name: string; role: string }
const mayDo = (role: string): string => ({ admin: t("Everything, including OS images and settings"), user: t("Clusters, hosts and infra-envs"), "read-only": t("View, without secrets") })[role] ?? "—";

/** A login of its own for a script: ending the one of the page does not end it. */
function MakeToken({ close }: { close: () => void }) {
  const [name, setName] = useState(login.value?.name ?? "");
  const [password, setPassword] = useState("");
  const [attempted, setAttempted] = useState(false);
  const [made, setMade] = useState<{ token: string; expires_at: string } | null>(null);
  const { busy, problem, act } = useAct();
  const submit = () => { setAttempted(true); if (name && password) void act(async () => { const answer = await token(name, password); setMade(answer); setPassword(""); }); };
  const needed = (text: string) => (text ? null : t("This is required."));
  return (
    <Modal title={t("Create a token")} close={close} submit={submit} footer={made ? <button type="button" class="primary" onClick={close}>{t("Close")}</button> : <><button class="primary" disabled={busy}>{busy && <Icon name="spin" />}{t("Create")}</button><button type="button" onClick={close}>{t("Cancel")}</button></>}>
      {made ? <>
        <Alert tone="green" title={t("Valid until {time}", { time: when(made.expires_at) })}>{t("It is shown once. Anyone who has it can do what {name} can.", { name })}</Alert>
        <CodeBox name={t("Token")} text={made.token} />
        <CodeBox name={t("Command")} text={`export AI_TOKEN=…\ncurl -H "Authorization: Bearer $AI_TOKEN" ${location.origin}/api/assisted-install/v2/clusters`} />
      </> : <>
        <Text label={t("User name")} always required value={name} set={setName} error={needed(name)} attempted={attempted} autoComplete="username" />
        <Text label={t("Password")} always required kind="password" value={password} set={setPassword} error={needed(password)} attempted={attempted} autoComplete="current-password" autoFocus />
        <Problem of={problem} />
        <AsCall requests={[{ method: "POST", url: "/auth/token", body: { username: name, password } }]} />
      </>}
    </Modal>
  );
}

export default function Settings() {
  useEffect(() => follow({ kinds: "cluster" }), []);
  const [filter, setFilter] = useState("");
  const [changedOnly, setChangedOnly] = useState(true);
  const versions = useLoad(() => call("v2ListComponentVersions"), []);
  const caller = useLoad(() => get<Caller>("/auth/caller"), [login.value]);
  const role = caller.value?.role;
  // Not asked for by those who would be refused.
  const ifAdmin = <T,>(url: string) => async () => (role === "admin" ? get<T>(url) : undefined);
  const settings = useLoad(ifAdmin<Setting[]>("/explain/settings"), [login.value, role]);
  const users = useLoad(ifAdmin<User[]>("/auth/users"), [login.value, role]);
  const hidden = role && role !== "admin" ? <p class="muted">{t("For administrators only.")}</p> : null;
  const [making, setMaking] = useState(false);
  const shown = (settings.value ?? []).filter((one) => (!changedOnly || !one.is_default) && `${one.key} ${one.help}`.toLowerCase().includes(filter.toLowerCase()));
  return (
    <div class="page">
      <h1>{t("Service")}</h1>
      <section class="card"><h2>{t("Versions")}</h2>{!versions.value ? <Spinner /> : <Facts of={[...Object.entries(versions.value.versions ?? {}).map(([key, value]): [string, string] => [key, String(value)]), [t("Release"), versions.value.release_tag ?? ""]]} />}<p><a href="/docs">{t("API reference")}</a> · <a href="/openapi.json">OpenAPI</a> · <a href="/metrics">{t("Metrics")}</a></p></section>
      <section class="card stack"><h2>{t("Access")}</h2>
        {caller.problem ? <Problem of={caller.problem} quiet /> : !caller.value ? <Spinner /> : <Facts of={[[t("Mode"), caller.value.mode], [t("Logged in as"), caller.value.name || "—"], [t("Role"), <Label tone="blue">{caller.value.role}</Label>], [t("Login ends"), caller.value.expires_at ? when(caller.value.expires_at) : "—"]]} />}
        {login.value && <div class="row"><button type="button" onClick={() => setMaking(true)}>{t("Create a token")}</button><span class="small muted">{t("For a script. The token of this login:")}</span><CopyButton text={login.value.token} label={t("Copy token")} /></div>}
      </section>
      <section class="card stack"><h2>{t("Users")}</h2>
        {hidden ?? (users.problem ? <Problem of={users.problem} /> : !users.value ? <Spinner /> : users.value.length === 0 ? <p class="muted">{t("There are no users in this mode: everyone who reaches the service may use it as administrator.")}</p>
          : <div class="tablewrap"><table><caption class="vh">{t("Users")}</caption><thead><tr><th>{t("Name")}</th><th>{t("Role")}</th><th>{t("Permissions")}</th></tr></thead><tbody>{users.value.map((one) => <tr key={one.name}><td>{one.name}{one.name === caller.value?.name && <span class="muted"> {t("(you)")}</span>}</td><td><Label tone={one.role === "admin" ? "blue" : "grey"}>{one.role}</Label></td><td>{mayDo(one.role)}</td></tr>)}</tbody></table></div>)}
        {users.value && users.value.length > 0 && <details class="panel"><summary>{t("Add, change or remove a user")}</summary><p>{t("Users are in muster.toml, and changes there take effect within seconds, without a restart. A new password ends all logins of its user.")}</p><CodeBox name={t("Add, change or remove a user")} text={'muster hash-password        # asks for the password, prints its hash\n\n[[auth.users]]\nname = "alice"\npassword_hash = "$argon2id$…"\nrole = "user"                # admin, user or read-only'} /></details>}
      </section>
      <section class="card stack"><h2>{t("Settings in force")}</h2>
        {hidden ?? (settings.problem ? <Problem of={settings.problem} /> : !settings.value ? <Spinner /> : <>
          <div class="row"><div class="field"><input type="search" aria-label={t("Filter settings")} placeholder={t("Filter settings")} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /></div><div class="field"><select aria-label={t("Which settings")} value={changedOnly ? "changed" : "all"} onChange={(event) => setChangedOnly(event.currentTarget.value === "changed")}><option value="changed">{t("Changed from the default")}</option><option value="all">{t("All")}</option></select></div></div>
          <div class="tablewrap"><table><caption class="vh">{t("Settings in force")}</caption><thead><tr><th>{t("Setting")}</th><th>{t("Value")}</th><th>{t("Meaning")}</th><th>{t("Variable")}</th></tr></thead><tbody>{shown.map((one) => <tr key={one.key}><td><code>{one.key}</code></td><td><code>{one.value || "—"}</code></td><td class="small">{one.help}</td><td><code>{one.variable}</code></td></tr>)}{shown.length === 0 && <tr><td colSpan={4} class="muted">{t("None.")}</td></tr>}</tbody></table></div>
        </>)}
      </section>
      {making && <MakeToken close={() => setMaking(false)} />}
    </div>
  );
}
