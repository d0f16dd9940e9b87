// The installation: overall bar, stages per host, operators, credentials when they are there.
import { useEffect, useState } from "preact/hooks";
import type { Host, MonitoredOperator } from "../api/types";
import { call } from "../api/client";
import { t, plural } from "../messages";
import { ago, hasEnded, isRunning, isTime, runsWorkloads, span, when } from "../model/clusters";
import { compare, hostStatus, name, role } from "../model/hosts";
import { roleRefusal } from "../session";
import { roleName } from "../ui/hostactions";
import { Icon } from "../ui/icons";
import { memo } from "../ui/memo";
import { Rows } from "../ui/rows";
import { Alert, CodeBox, CopyButton, Facts, Label, Later, Link, Problem, Progress, Spinner, useLoad, type Tone } from "../ui/parts";
import type { TabProps } from "./cluster";

/** The clock, for elapsed times. */
export function useNow(active: boolean): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => set(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [active]);
  return now;
}

function Stages({ host }: { host: Host }) {
  const stages = host.progress_stages ?? [];
  const current = host.progress?.current_stage ?? "";
  const at = stages.indexOf(current as never);
  return (
    <ol class="small">{stages.map((stage, index) => <li key={stage} class={index < at ? "muted" : index === at ? "strong" : "muted"} aria-current={index === at ? "step" : undefined}>{index < at || host.status === "installed" ? <Icon name="ok" label={t("done")} /> : index === at ? <Icon name="spin" label={t("now")} /> : null} {stage}</li>)}</ol>
  );
}

const HostProgress = memo(function HostProgress({ host, clusterId, workloads }: { host: Host; clusterId: string; workloads: boolean }) {
  const shown = hostStatus(host);
  const percent = host.status === "installed" ? 100 : host.progress?.installation_percentage ?? 0;
  const tone: Tone | undefined = host.status === "error" ? "red" : host.status === "installed" ? "green" : undefined;
  const stages = host.progress_stages ?? [];
  const at = stages.indexOf((host.progress?.current_stage ?? "") as never) + 1;
  return (
    <tr>
      <td><Link to={`/clusters/${clusterId}/hosts?host=${host.id}`}>{name(host)}</Link>{host.bootstrap && <div class="small muted">{t("bootstrap")}</div>}</td>
      <td class="wide-only">{workloads && role(host) === "master" ? t("Control plane, worker") : roleName(role(host))}</td>
      <td><Label tone={shown.tone} icon={shown.icon}>{shown.text}</Label></td>
      <td>
        <div class="row between small"><span>{host.progress?.current_stage || host.status_info}{host.progress?.progress_info ? ` · ${host.progress.progress_info}` : ""}</span><span class="muted">{at > 0 ? `${t("stage {at} of {n}", { at, n: stages.length })} · ` : ""}{percent} %</span></div>
        <Progress value={percent} label={t("Installation of {name}", { name: name(host) })} {...(tone ? { tone } : {})} />
        {host.progress?.stage_timed_out && <div class="small"><Icon name="clock" /> {t("This stage takes longer than usual ({span}).", { span: ago(host.progress.stage_started_at) })}</div>}
        {(host.status === "installing-pending-user-action" || host.status === "error") && <div class="small strong">{host.status_info}</div>}
        <details class="small"><summary>{t("Stages")}</summary><Stages host={host} /></details>
      </td>
    </tr>
  );
});

const OPERATOR: Record<string, { tone: Tone; icon: "ok" | "spin" | "fail" }> = { available: { tone: "green", icon: "ok" }, progressing: { tone: "blue", icon: "spin" }, failed: { tone: "red", icon: "fail" } };

function Operators({ list }: { list: MonitoredOperator[] }) {
  if (list.length === 0) return null;
  return (
    <section class="card"><h2>{t("Operators")}</h2>
      <div class="tablewrap"><table><caption class="vh">{t("Operators")}</caption><thead><tr><th>{t("Operator")}</th><th class="wide-only">{t("Kind")}</th><th>{t("Status")}</th><th>{t("Reason")}</th></tr></thead>
        <tbody>{list.map((one) => { const shown = OPERATOR[one.status ?? ""]; return <tr key={one.name}><td>{one.name}{one.version ? <span class="muted small"> {one.version}</span> : null}</td><td class="wide-only">{one.operator_type === "olm" ? t("added") : t("built in")}</td><td><Label tone={shown?.tone ?? "grey"} icon={shown?.icon ?? "clock"}>{one.status || t("pending")}</Label></td><td>{one.status_info || "—"}</td></tr>; })}</tbody></table></div>
    </section>
  );
}

function Access({ cluster }: { cluster: TabProps["cluster"] }) {
  const [shown, setShown] = useState(false);
  const refusal = roleRefusal("user");
  const console_ = (cluster.monitored_operators ?? []).find((one) => one.name === "console");
  const ready = cluster.status === "installed" || (cluster.status === "finalizing" && console_?.status === "available");
  const found = useLoad(async () => (ready && !refusal ? call("V2GetCredentials", { path: { cluster_id: cluster.id } }) : null), [ready, refusal, cluster.id]);
  const credentials = found.value;
  if (!ready) return null;
  // The multicluster engine has a page of its own in the console.
  const console_url = credentials?.console_url && (cluster.monitored_operators ?? []).some((one) => one.name === "mce") ? `${credentials.console_url}/multicloud/infrastructure/clusters` : credentials?.console_url;
  const domain = `${cluster.name}.${cluster.base_dns_domain}`;
  const [api, ingress] = [cluster.api_vips?.[0]?.ip, cluster.ingress_vips?.[0]?.ip];
  return (
    <section class="card stack"><h2>{t("Access")}</h2>
      {credentials ? <Facts of={[
        [t("Web console"), console_url ? <a href={console_url} target="_blank" rel="noreferrer">{console_url}</a> : ""],
        [t("User"), credentials.username],
        [t("Password"), <span class="row"><code>{shown ? credentials.password : "••••••••"}</code><button type="button" class="link" onClick={() => setShown(!shown)}>{shown ? t("Hide") : t("Show")}</button><CopyButton text={credentials.password ?? ""} /></span>],
      ]} /> : refusal ? <p class="muted">{t("Passwords and kubeconfig are hidden: {reason}.", { reason: refusal })}</p> : found.problem ? <Problem of={found.problem} /> : <Spinner />}
      {api && ingress && <details><summary>{t("DNS records and hosts file")}</summary><CodeBox name={t("DNS records and hosts file")} text={`api.${domain}    A  ${api}\n*.apps.${domain} A  ${ingress}\n\n# /etc/hosts\n${api} api.${domain}\n${ingress} ${["oauth-openshift", "console-openshift-console", "grafana-openshift-monitoring", "thanos-querier-openshift-monitoring", "prometheus-k8s-openshift-monitoring", "alertmanager-main-openshift-monitoring"].map((one) => `${one}.apps.${domain}`).join(" ")}`} /></details>}
    </section>
  );
}

/** How many hosts of each role are installed, and how many failed. */
function counts(list: Host[]): Array<[string, string]> {
  return ["master", "arbiter", "worker"].flatMap((one): Array<[string, string]> => {
    const of = list.filter((host) => role(host) === one);
    const [done, failed] = [of.filter((host) => host.status === "installed").length, of.filter((host) => host.status === "error").length];
    return of.length ? [[roleName(one), t("{done} of {n} installed", { done, n: of.length }) + (failed ? t(", {n} failed", { n: failed }) : "")]] : [];
  });
}

export function ProgressTab({ cluster, list }: TabProps) {
  const running = isRunning(cluster);
  const now = useNow(running);
  const [summary, setSummary] = useState(false);
  const percent = cluster.progress?.total_percentage ?? 0;
  const tone: Tone | undefined = cluster.status === "installed" ? "green" : cluster.status === "error" || cluster.status === "cancelled" ? "red" : undefined;
  const shown = list.filter((host) => host.status !== "disabled").sort((a, b) => role(a).localeCompare(role(b)) || compare(name(a), name(b)));
  const waiting = shown.filter((host) => host.status === "installing-pending-user-action");
  const broken = shown.filter((host) => host.status === "error");
  const failedOperators = (cluster.monitored_operators ?? []).filter((one) => one.operator_type === "olm" && one.status === "failed");
  const stage = cluster.progress?.finalizing_stage;
  return (
    <div class="stack">
      {cluster.status === "installed" && <Alert tone="green" title={t("The cluster is installed")}>{isTime(cluster.install_completed_at) && isTime(cluster.install_started_at) && t("It took {span}.", { span: span(Date.parse(cluster.install_completed_at) - Date.parse(cluster.install_started_at)) })}</Alert>}
      {cluster.status === "error" && <Alert tone="red" title={t("The installation failed")}><p>{cluster.status_info}</p>{broken.length > 0 && <p>{t("Failed hosts: {names}.", { names: broken.map(name).join(", ") })}</p>}<p>{t("Look at the events and logs, then reset the cluster to try again.")} <Link to={`/clusters/${cluster.id}/events?severity=error`}>{t("Errors")}</Link> · <Link to={`/clusters/${cluster.id}/logs`}>{t("Logs")}</Link></p></Alert>}
      {cluster.status === "cancelled" && <Alert tone="orange" title={t("The installation was cancelled")}>{t("Reset the cluster to install it again.")}</Alert>}
      {waiting.length > 0 && <Alert tone="orange" title={plural(waiting.length, "{n} host needs attention", "{n} hosts need attention")} live><ul>{waiting.map((host) => <li key={host.id}><strong>{name(host)}</strong>: {host.status_info}</li>)}</ul></Alert>}
      {cluster.status !== "error" && broken.length > 0 && <Alert tone="orange" title={plural(broken.length, "{n} host failed", "{n} hosts failed")}>{t("{names}. The cluster is installed without them; add them again afterwards.", { names: broken.map(name).join(", ") })}</Alert>}
      {cluster.status !== "error" && failedOperators.length > 0 && <Alert tone="orange" title={t("The cluster is degraded")}>{t("Operators that failed: {names}.", { names: failedOperators.map((one) => one.name).join(", ") })}</Alert>}
      {cluster.status === "installed" && ["vsphere", "nutanix", "external"].includes(cluster.platform?.type ?? "") && <Alert title={t("Complete the configuration of the platform")}>{t("The cluster runs on platform {platform}. Add the platform's credentials and settings to it.", { platform: cluster.platform?.type })}</Alert>}
      {cluster.progress?.finalizing_stage_timed_out && <Alert tone="orange" title={t("Finalizing takes longer than usual")}>{t("Stage {stage} has been running for {span}.", { stage: stage ?? "", span: ago(cluster.progress.finalizing_stage_started_at, now) })}</Alert>}
      <section class="card stack">
        <div class="row between"><h2>{t("Installation")}</h2><span class="strong">{percent} %</span></div>
        <Progress value={percent} label={t("Installation of {name}", { name: cluster.name })} {...(tone ? { tone } : {})} />
        <Facts of={[
          [t("Started"), when(cluster.install_started_at)],
          hasEnded(cluster) ? [t("Ended"), when(cluster.install_completed_at)] : [t("Running for"), isTime(cluster.install_started_at) ? span(now - Date.parse(cluster.install_started_at)) : "—"],
          [t("Preparing"), `${cluster.progress?.preparing_for_installation_stage_percentage ?? 0} %`], [t("Installing"), `${cluster.progress?.installing_stage_percentage ?? 0} %`],
          [t("Finalizing"), `${cluster.progress?.finalizing_stage_percentage ?? 0} %${stage ? ` · ${stage}` : ""}`],
          ...counts(shown),
          [t("Version"), `${cluster.openshift_version} (${cluster.cpu_architecture})`],
        ]} />
      </section>
      <Access cluster={cluster} />
      <section class="card"><h2>{t("Hosts")}</h2>
        <div class="tablewrap"><table><caption class="vh">{t("Progress of the hosts")}</caption><thead><tr><th>{t("Hostname")}</th><th class="wide-only">{t("Role")}</th><th>{t("Status")}</th><th>{t("Progress")}</th></tr></thead><Rows count={shown.length} columns={4} row={(index) => { const host = shown[index]; return host && <HostProgress key={host.id} host={host} clusterId={cluster.id} workloads={runsWorkloads(cluster)} />; }} /></table></div>
      </section>
      <Operators list={cluster.monitored_operators ?? []} />
      <section class="card"><h2>{t("Summary of the cluster")}</h2><details open={summary} onToggle={(event) => setSummary(event.currentTarget.open)}><summary>{t("Versions, hosts and networks that it is made of")}</summary>{summary && <Later load={() => import("../wizard/summary")} of={{ cluster, list }} />}</details></section>
    </div>
  );
}
