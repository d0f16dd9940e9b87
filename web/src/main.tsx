// The frame of the page: masthead, connection state, login, and which page the address shows.
import "./style.css";
import { render, type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { t } from "./messages";
import { segments } from "./router";
import { login, loginNeeded, logOut } from "./session";
import { connection, lastHeard } from "./watch";
import { span } from "./model/clusters";
import { Icon } from "./ui/icons";
import { Alert, Link, Spinner } from "./ui/parts";
import { LoginForm } from "./pages/login";
import { ClusterList } from "./pages/clusters";
import { ClusterPage } from "./pages/cluster";

const THEME = "muster-theme";
const theme = signal(localStorage.getItem(THEME) ?? "");
const applyTheme = () => { if (theme.value) document.documentElement.dataset["theme"] = theme.value; };
applyTheme();

function ThemeSwitch() {
  const dark = theme.value ? theme.value === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return (
    <button type="button" class="plain" aria-label={dark ? t("Use the light theme") : t("Use the dark theme")} onClick={() => {
      theme.value = dark ? "light" : "dark";
      localStorage.setItem(THEME, theme.value);
      applyTheme();
    }}><Icon name={dark ? "sun" : "moon"} /></button>
  );
}

/** A thin bar while the service is away: what is shown stays, with its age. */
function LostBar() {
  const [, tick] = useState(0);
  const lost = connection.value === "lost";
  useEffect(() => {
    if (!lost) return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [lost]);
  if (!lost || loginNeeded.value) return null;
  return <div class="lostbar" role="status"><Icon name="plug" /> {t("The service does not answer. What you see is {age} old; the page reconnects by itself.", { age: span(Date.now() - lastHeard.value) })}</div>;
}

/** A part of the page that is loaded when it is first shown. */
function Later({ load }: { load: () => Promise<{ default: () => ComponentChildren }> }) {
  const [Shown, set] = useState<{ it: () => ComponentChildren } | null>(null);
  const [problem, setProblem] = useState(false);
  useEffect(() => { load().then((module) => set({ it: module.default }), () => setProblem(true)); }, []);
  if (problem) return <Alert tone="red">{t("This part of the page could not be loaded. Reload the page.")}</Alert>;
  return Shown ? <Shown.it /> : <Spinner />;
}

function Content() {
  const [first, second] = segments.value;
  switch (first) {
    case undefined: return <ClusterList />;
    case "clusters": return second === undefined ? <ClusterList /> : second === "new" || second === "~new" ? <Later key="new" load={() => import("./wizard/create")} /> : <ClusterPage key={second} id={second} />;
    case "infra-envs": return <Later key={`envs-${second ?? ""}`} load={() => (second ? import("./pages/infraenv") : import("./pages/infraenvs"))} />;
    case "os-images": case "releases": return <Later key="images" load={() => import("./pages/images")} />;
    case "import": return <Later key="import" load={() => import("./pages/import")} />;
    case "settings": return <Later key="settings" load={() => import("./pages/settings")} />;
    default: return <div class="page"><h1>{t("There is no such page")}</h1><p><Link to="/">{t("To the clusters")}</Link></p></div>;
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
      {login.value && <><span class="small muted">{login.value.name}</span><button type="button" class="plain" onClick={() => void logOut()}>{t("Log out")}</button></>}
    </header>
  );
}

function App() {
  return (
    <>
      <a class="skip" href="#main">{t("Skip to the content")}</a>
      <Masthead />
      <LostBar />
      <main id="main" tabIndex={-1}>{loginNeeded.value === "first" ? <LoginForm /> : <Content />}</main>
      {loginNeeded.value === "expired" && <LoginForm asDialog />}
    </>
  );
}

const root = document.getElementById("app");
if (root) render(<App />, root);
