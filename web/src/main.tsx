// The frame of the page: masthead, connection state, login, and which page the address shows.
import "./style.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { t } from "./messages";
import { segments } from "./router";
import { waitingSince } from "./api/client";
import { caller, login, loginNeeded, logOut } from "./session";
import { connection, lastHeard } from "./watch";
import { span } from "./model/clusters";
import { Icon } from "./ui/icons";
import { Guard, Label, Later, Link, ROLE_NOTE } from "./ui/parts";
import { LoginForm } from "./pages/login";
import { ClusterList } from "./pages/clusters";
import { ClusterPage } from "./pages/cluster";

const THEME = "muster-theme";
const theme = signal(localStorage.getItem(THEME) ?? "");
const applyTheme = () => { if (theme.value) document.documentElement.dataset["theme"] = theme.value; };
applyTheme();

const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => { systemDark.value = system.matches; });

function ThemeSwitch() {
  const dark = theme.value ? theme.value === "dark" : systemDark.value;
  return (
    <button type="button" class="plain" aria-label={dark ? t("Use the light theme") : t("Use the dark theme")} onClick={() => {
      theme.value = dark ? "light" : "dark";
      localStorage.setItem(THEME, theme.value);
      applyTheme();
    }}><Icon name={dark ? "sun" : "moon"} /></button>
  );
}

/** A call that takes longer than this is shown. */
const SLOW_MS = 4000;

/** A thin bar while the service is away: what is shown stays, with its age. */
function LostBar() {
  const [, tick] = useState(0);
  const lost = connection.value === "lost";
  const since = waitingSince.value;
  const watched = lost || since !== null;
  useEffect(() => {
    if (!watched) return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [watched]);
  if (loginNeeded.value) return null;
  const bar = (text: string) => <div class="lostbar" role="status"><Icon name="plug" /> {text}</div>;
  if (lost) return bar(t("The service does not answer. What you see is {age} old; the page reconnects by itself.", { age: span(Date.now() - lastHeard.value) }));
  if (since !== null && Date.now() - since > SLOW_MS) return bar(t("The service has not answered a request for {age}.", { age: span(Date.now() - since) }));
  return null;
}

/** What a role cannot do, said once; disabled buttons refer to it. */
function RoleNote() {
  if (caller.value?.role !== "read-only") return null;
  return <div class="rolenote" id={ROLE_NOTE} role="note"><Icon name="info" /> {t("Your role is read-only: you can view everything except secrets, but not change anything. An administrator can change your role.")}</div>;
}

function Content() {
  const [first, second] = segments.value;
  switch (first) {
    case undefined: return <ClusterList />;
    case "clusters": return second === undefined ? <ClusterList /> : second === "new" || second === "~new" ? <Later key="new" load={() => import("./wizard/create")} of={{}} /> : <ClusterPage key={second} id={second} />;
    case "infra-envs": return <Later key={`envs-${second ?? ""}`} load={() => (second ? import("./pages/infraenv") : import("./pages/infraenvs"))} of={{}} />;
    case "os-images": case "releases": return <Later key="images" load={() => import("./pages/images")} of={{}} />;
    case "import": return <Later key="import" load={() => import("./pages/import")} of={{}} />;
    case "settings": return <Later key="settings" load={() => import("./pages/settings")} of={{}} />;
    default: return <div class="page"><h1>{t("There is no such page")}</h1><p><Link to="/">{t("Go to clusters")}</Link></p></div>;
  }
}

function Masthead() {
  const first = segments.value[0] ?? "clusters";
  const item = (to: string, id: string[], text: string) => <Link to={to} aria-current={id.includes(first) ? "page" : undefined}>{text}</Link>;
  return (
    <header class="masthead">
      <Link to="/" class="brand"><img src={document.querySelector<HTMLLinkElement>("link[rel=icon]")?.href} alt="" />Muster</Link>
      <nav aria-label={t("Main")}>
        {item("/clusters", ["clusters"], t("Clusters"))}{item("/infra-envs", ["infra-envs"], t("Infra-envs"))}{item("/os-images", ["os-images", "releases"], t("Images and releases"))}{item("/settings", ["settings"], t("Service"))}
      </nav>
      <span class="grow" />
      {connection.value === "live" && <span class="small muted row"><Icon name="plug" />{t("Live")}</span>}
      <ThemeSwitch />
      {login.value && <><span class="small muted">{login.value.name}</span>{caller.value?.role === "read-only" && <Label>{t("read-only")}</Label>}<button type="button" class="plain" onClick={() => void logOut()}>{t("Log out")}</button></>}
    </header>
  );
}

function App() {
  return (
    <>
      <a class="skip" href="#main">{t("Skip to the content")}</a>
      <Masthead />
      <LostBar />
      <main id="main" tabIndex={-1}>{loginNeeded.value === "first" ? <LoginForm /> : <><RoleNote /><Guard key={segments.value[0] ?? ""}><Content /></Guard></>}</main>
      {loginNeeded.value === "expired" && <LoginForm asDialog />}
    </>
  );
}

const root = document.getElementById("app");
if (root) render(<App />, root);
