// The add-hosts dialog: how the image is made, then where it is. Also day 2 and pools.
import { useEffect, useState } from "preact/hooks";
import type { Cluster, Host, InfraEnv } from "../api/types";
import { call, request, type Request } from "../api/client";
import { t, plural } from "../messages";
import { isOci } from "../model/clusters";
import { name } from "../model/hosts";
import { noProxy, proxyUrl, pullSecret, servers, sshKey } from "../model/rules";
import { navigate, query, withQuery } from "../router";
import { login, roleRefusal } from "../session";
import { changeHost } from "../store";
import { AsCall } from "../ui/ascall";
import { Area, Check, Radios, Select, Text } from "../ui/form";
import { Icon } from "../ui/icons";
import { Alert, Button, CodeBox, Confirm, Link, Modal, Problem, Spinner, useAct, useLoad } from "../ui/parts";

interface Fields { kind: "full-iso" | "minimal-iso" | "ipxe"; key: string; useProxy: boolean; http: string; https: string; none: string; useNtp: boolean; ntp: string; onlyNtp: boolean; useTrust: boolean; trust: string; arguments: string }

const MAX_TRUST_BYTES = 65_535;

function fields(of: InfraEnv): Fields {
  return {
    kind: of.type === "minimal-iso" ? "minimal-iso" : "full-iso", key: of.ssh_authorized_key ?? "", useProxy: Boolean(of.proxy?.http_proxy || of.proxy?.https_proxy || of.proxy?.no_proxy), http: of.proxy?.http_proxy ?? "", https: of.proxy?.https_proxy ?? "", none: of.proxy?.no_proxy ?? "",
    useNtp: Boolean(of.additional_ntp_sources || of.ntp_sources), ntp: of.ntp_sources || of.additional_ntp_sources || "", onlyNtp: Boolean(of.ntp_sources), useTrust: Boolean(of.additional_trust_bundle), trust: of.additional_trust_bundle ?? "",
    arguments: kernelArguments(of.kernel_arguments),
  };
}

function kernelArguments(text: string | undefined | null): string {
  try { return ((JSON.parse(text || "[]") ?? []) as Array<{ operation: string; value: string }>).filter((one) => one.operation === "append").map((one) => one.value).join(" "); } catch { return ""; }
}

function problems(of: Fields): Array<[string, string | null]> {
  return [
    [t("SSH public key"), sshKey(of.key)],
    [t("HTTP proxy"), of.useProxy ? proxyUrl(["http"])(of.http) ?? (of.http || of.https ? null : t("Set the HTTP or the HTTPS proxy.")) : null],
    [t("HTTPS proxy"), of.useProxy ? proxyUrl(["http", "https"])(of.https) : null], [t("No proxy"), of.useProxy ? noProxy(of.none) : null],
    [t("NTP sources"), of.useNtp ? servers("names")(of.ntp) ?? (of.ntp ? null : t("This is required.")) : null],
    [t("Trusted certificates"), of.useTrust ? (of.trust.length > MAX_TRUST_BYTES ? t("At most {n} bytes.", { n: MAX_TRUST_BYTES }) : /-----BEGIN CERTIFICATE-----/.test(of.trust) ? null : t("PEM text with BEGIN CERTIFICATE lines.")) : null],
  ];
}

/** The calls that bring the fields to the service. */
function requests(of: Fields, infraEnv: InfraEnv, cluster: Cluster | undefined): Request[] {
  const proxy = of.useProxy ? { http_proxy: of.http, https_proxy: of.https, no_proxy: of.none } : { http_proxy: "", https_proxy: "", no_proxy: "" };
  const key = of.key.trim();
  const old = fields(infraEnv);
  const words = of.arguments.trim().split(/\s+/).filter(Boolean);
  const sent: Request[] = [];
  // Sources that replace all others are for installed hosts too; the service takes one kind at a time.
  const only = of.useNtp && of.onlyNtp ? of.ntp : "";
  const time = only !== (cluster?.ntp_sources ?? "") ? { ntp_sources: only, ...(only && cluster?.additional_ntp_source ? { additional_ntp_source: "" } : {}) } : {};
  if (cluster && cluster.status !== "adding-hosts" && ("ntp_sources" in time || key !== (cluster.ssh_public_key ?? "") || proxy.http_proxy !== (cluster.http_proxy ?? "") || proxy.https_proxy !== (cluster.https_proxy ?? "") || proxy.no_proxy !== (cluster.no_proxy ?? ""))) {
    sent.push(request("V2UpdateCluster", { path: { cluster_id: cluster.id }, body: { ssh_public_key: key, ...proxy, ...time } }));
  }
  sent.push(request("UpdateInfraEnv", { path: { infra_env_id: infraEnv.id }, body: {
    ssh_authorized_key: key, proxy, additional_ntp_sources: of.useNtp && !of.onlyNtp ? of.ntp : "", ntp_sources: only, additional_trust_bundle: of.useTrust ? of.trust : "", ...(of.kind === "ipxe" ? {} : { image_type: of.kind }),
    ...(of.arguments !== old.arguments ? { kernel_arguments: words.map((value) => ({ operation: "append" as const, value })) } : {}),
  } }));
  return sent;
}

interface Result { url: string; command: string; fileName: string; kind: Fields["kind"] }

/** Addresses that hosts cannot use, or that differ from the one in use here. */
function warning(url: string): string | null {
  try {
    const host = new URL(url).hostname;
    if (/^(127\.|localhost$|\[::1\]$)/.test(host) && !/^(127\.|localhost$|\[::1\]$)/.test(location.hostname)) return t("This is a loopback address of the service: hosts cannot reach it. Set server.base_url.");
    if (/^(127\.|localhost$|\[::1\]$)/.test(host)) return t("The service listens on this machine only. Real hosts cannot reach it; simulated ones can.");
    if (host !== location.hostname) return t("Hosts will use {host}, while you use {own}. Make sure that hosts reach the former.", { host, own: location.hostname });
    return null;
  } catch { return null; }
}

export function AddHosts({ infraEnv, cluster, close }: { infraEnv: InfraEnv; cluster?: Cluster | undefined; close: () => void }) {
  const oci = cluster !== undefined && isOci(cluster);
  const [of, setAll] = useState(() => ({ ...fields(infraEnv), ...(oci ? { kind: "minimal-iso" as const } : {}) }));
  const set = (changes: Partial<Fields>) => setAll({ ...of, ...changes });
  const [attempted, setAttempted] = useState(false);
  const [result, setResult] = useState<Result | null>(null);
  const { busy, problem, act } = useAct();
  const wrong = new Map(problems(of));
  const clusterName = cluster?.name ?? infraEnv.name ?? "";
  const generate = () => {
    setAttempted(true);
    if ([...wrong.values()].some(Boolean)) return;
    void act(async () => {
      if (cluster) {
        const [first] = requests(of, infraEnv, cluster).filter((one) => one.url.includes("/clusters/"));
        if (first) await call("V2UpdateCluster", { path: { cluster_id: cluster.id }, body: first.body as object });
      }
      const body = requests(of, infraEnv, undefined)[0]?.body as object;
      await call("UpdateInfraEnv", { path: { infra_env_id: infraEnv.id }, body });
      const at = { path: { infra_env_id: infraEnv.id } };
      const url = of.kind === "ipxe" ? (await call("GetInfraEnvPresignedFileURL", { ...at, query: { file_name: "ipxe-script" } })).url : (await call("GetInfraEnvDownloadURL", at)).url;
      const fileName = of.kind === "ipxe" ? `discovery_ipxe_script_${clusterName}.txt` : `discovery_image_${clusterName}.iso`;
      setResult({ url: url ?? "", fileName, kind: of.kind, command: `wget -O ${fileName} '${url}'` });
    });
  };
  if (result) {
    const warn = warning(result.url);
    return (
      <Modal title={t("Add hosts")} close={close} wide footer={<><button type="button" class="primary" onClick={close}>{t("Close")}</button><button type="button" onClick={() => setResult(null)}>{t("Change the image")}</button></>}>
        {warn && <Alert tone="orange">{warn}</Alert>}
        <ol>
          {result.kind === "ipxe" ? <li>{t("Configure each machine to load this script with iPXE.")}</li> : <li>{t("Download the image and boot each machine from it: as virtual media of the BMC, from USB, or as the CD of a virtual machine.")}</li>}
          <li>{t("Hosts appear in the table within minutes. Do not share the image: it contains credentials.")}</li>
        </ol>
        <h3>{result.kind === "ipxe" ? t("Address of the script") : t("Address of the image")}</h3><CodeBox name={t("Address of the image")} text={result.url} />
        <h3>{t("Command")}</h3><CodeBox name={t("Command")} text={result.command} />
        <div><a class="button" href={result.url} download={result.fileName}>{result.kind === "ipxe" ? t("Download script") : t("Download image")}</a></div>
        <h3>{t("Try it without machines")}</h3><CodeBox name={t("Try it without machines")} text={`muster simulate --join ${infraEnv.id} --topology ${cluster?.control_plane_count === 1 ? "sno" : "ha"} --url ${location.origin}${location.protocol === "https:" ? " --cacert ca.crt" : ""}${login.value ? " --token \"$TOKEN\"" : ""}`} />{location.protocol === "https:" && <p class="small muted">{t("ca.crt is tls/ca.crt in the data directory of the service.")}{login.value ? ` ${t("A token is created under Service.")}` : ""}</p>}
      </Modal>
    );
  }
  return (
    <Modal title={t("Add hosts")} close={close} wide submit={generate} footer={<><button class="primary" disabled={busy}>{busy && <Icon name="spin" />}{t("Generate image")}</button><button type="button" onClick={close}>{t("Cancel")}</button></>}>
      {oci && <Alert>{t("Machines of Oracle's cloud boot the minimal image.")}</Alert>}
      <Radios legend={t("How machines boot")} value={of.kind} set={(kind) => set({ kind: kind as Fields["kind"] })} disabled={oci} choices={[
        { value: "full-iso", name: t("Full image"), help: t("About 1.3 GB; nothing else is loaded at boot.") },
        { value: "minimal-iso", name: t("Minimal image"), help: t("About 130 MB; loads the rest over the network. For slow virtual media."), why: infraEnv.cpu_architecture === "s390x" ? t("not for s390x") : null },
        { value: "ipxe", name: t("Network boot (iPXE)"), help: t("A script for iPXE; kernel, initrd and root file system come from this service.") }]} />
      <Area label={t("SSH public key")} rows={2} value={of.key} set={(key) => set({ key })} error={wrong.get(t("SSH public key")) ?? null} attempted={attempted} file=".pub" help={t("To log in to hosts as user core, while they are discovered and afterwards.")} />
      <Check label={t("Hosts use a proxy")} value={of.useProxy} set={(useProxy) => set({ useProxy })} />
      {of.useProxy && <div class="two"><Text label={t("HTTP proxy")} value={of.http} set={(http) => set({ http })} error={wrong.get(t("HTTP proxy")) ?? null} attempted={attempted} placeholder="http://proxy.example.com:3128" /><Text label={t("HTTPS proxy")} value={of.https} set={(https) => set({ https })} error={wrong.get(t("HTTPS proxy")) ?? null} attempted={attempted} help={t("The HTTP proxy if empty.")} /><Text label={t("No proxy")} value={of.none} set={(none) => set({ none })} error={wrong.get(t("No proxy")) ?? null} attempted={attempted} help={t("Comma-separated names, addresses and networks; * for all.")} /></div>}
      <Check label={t("Use your own NTP sources")} value={of.useNtp} set={(useNtp) => set({ useNtp })} />
      {of.useNtp && <><Text label={t("NTP sources")} required value={of.ntp} set={(ntp) => set({ ntp })} error={wrong.get(t("NTP sources")) ?? null} attempted={attempted} help={t("Comma-separated names or addresses.")} /><Check label={t("Use no other NTP sources")} value={of.onlyNtp} set={(onlyNtp) => set({ onlyNtp })} help={t("Otherwise hosts also use those that DHCP and the operating system name.")} /></>}
      <Check label={t("Trust additional certificates")} value={of.useTrust} set={(useTrust) => set({ useTrust })} />
      {of.useTrust && <Area label={t("Trusted certificates")} required value={of.trust} set={(trust) => set({ trust })} error={wrong.get(t("Trusted certificates")) ?? null} attempted={attempted} file=".pem,.crt,.ca,.cert" />}
      {cluster?.status === "adding-hosts" && <p class="small">{infraEnv.static_network_config ? t("Hosts get static addresses.") : t("Hosts get their addresses by DHCP.")} <Link to={`/infra-envs/${infraEnv.id}/networks`}>{t("Change")}</Link></p>}
      <details class="panel"><summary>{t("More")}</summary><Text label={t("Kernel arguments")} value={of.arguments} set={(text) => set({ arguments: text })} help={t("Appended to those of the image, separated by spaces, such as console=ttyS0.")} /></details>
      <Problem of={problem} />
      <AsCall requests={[...requests(of, infraEnv, cluster), request("GetInfraEnvDownloadURL", { path: { infra_env_id: infraEnv.id } })]} names={{ cluster: clusterName, infraEnv: infraEnv.name }} />
    </Modal>
  );
}

/** The infra-env of a cluster, made if there is none (day 2, imported clusters). */
export async function infraEnvOf(cluster: Cluster): Promise<InfraEnv | null> {
  const list = await call("ListInfraEnvs", { query: { cluster_id: cluster.id } });
  return (list ?? []).find((one) => one.cpu_architecture === cluster.cpu_architecture) ?? list?.[0] ?? null;
}

/** A pull secret is needed for a new infra-env. */
function NewInfraEnv({ cluster, done, close }: { cluster: Cluster; done: (made: InfraEnv) => void; close: () => void }) {
  const [secret, setSecret] = useState("");
  const [architecture, setArchitecture] = useState<string>(cluster.cpu_architecture === "multi" ? "x86_64" : cluster.cpu_architecture ?? "x86_64");
  const [attempted, setAttempted] = useState(false);
  const { busy, problem, act } = useAct();
  const wrong = pullSecret(secret);
  const body = { name: `${cluster.name}_infra-env-${architecture}`, pull_secret: secret, cluster_id: cluster.id, cpu_architecture: architecture as "x86_64", ...(cluster.openshift_version ? { openshift_version: cluster.openshift_version } : {}) };
  const submit = () => { setAttempted(true); if (!wrong) void act(async () => done(await call("RegisterInfraEnv", { body }))); };
  return (
    <Modal title={t("Create a discovery image for this cluster")} close={close} submit={submit} footer={<><button class="primary" disabled={busy}>{busy && <Icon name="spin" />}{t("Continue")}</button><button type="button" onClick={close}>{t("Cancel")}</button></>}>
      {cluster.cpu_architecture === "multi" && <Select label={t("CPU architecture")} value={architecture} set={setArchitecture} choices={["x86_64", "arm64", "ppc64le", "s390x"].map((one) => ({ value: one, name: one }))} />}
      <Area label={t("Pull secret")} required value={secret} set={setSecret} error={wrong} attempted={attempted} file=".json,.txt" />
      <Problem of={problem} />
      <AsCall requests={[request("RegisterInfraEnv", { body })]} names={{ cluster: cluster.name }} />
    </Modal>
  );
}

const DIALOG = "add-hosts";

export function AddHostsButton({ cluster, primary }: { cluster: Cluster; primary?: boolean }) {
  const [open, setOpen] = useState<InfraEnv | "missing" | null>(null);
  const day2 = cluster.status === "adding-hosts";
  const { busy, problem, act } = useAct();
  // The dialog has an address, so that it can be linked to.
  const asked = query.value.get("dialog") === DIALOG && !roleRefusal("user");
  const close = () => { setOpen(null); navigate(withQuery({ dialog: null }), "replace"); };
  useEffect(() => {
    if (asked) void act(async () => setOpen((await infraEnvOf(cluster)) ?? "missing"));
    else setOpen(null);
  }, [asked]);
  return (
    <>
      <Button class={primary ? "primary" : ""} onClick={() => navigate(withQuery({ dialog: DIALOG }), "replace")}>{busy && <Icon name="spin" />}{cluster.control_plane_count === 1 && !day2 ? t("Add host") : t("Add hosts")}</Button>
      <Problem of={problem} />
      {day2 && cluster.cpu_architecture === "multi" && <Button disabled={busy} onClick={() => setOpen("missing")}>{t("Image for another architecture")}</Button>}
      {open === "missing" ? <NewInfraEnv cluster={cluster} done={setOpen} close={close} /> : open && <AddHosts infraEnv={open} cluster={cluster} close={close} />}
    </>
  );
}

/** Hosts of pools that could join this cluster. */
export function Bindable({ cluster }: { cluster: Cluster }) {
  const [open, setOpen] = useState(false);
  return <><Button onClick={() => setOpen(true)}>{t("Bind hosts from a pool")}</Button>{open && <BindDialog cluster={cluster} close={() => setOpen(false)} />}</>;
}

function BindDialog({ cluster, close }: { cluster: Cluster; close: () => void }) {
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const found = useLoad(async () => {
    const pools = ((await call("ListInfraEnvs")) ?? []).filter((one) => !one.cluster_id);
    const lists = await Promise.all(pools.map(async (pool) => ((await call("v2ListHosts", { path: { infra_env_id: pool.id } })) ?? []).filter((host) => host.status?.endsWith("-unbound"))));
    return lists.flat();
  }, [cluster.id]);
  const picked = (found.value ?? []).filter((host) => chosen.has(host.id));
  const bound = (host: Host) => ({ path: { infra_env_id: host.infra_env_id ?? "", host_id: host.id }, body: { cluster_id: cluster.id } });
  const pick = (host: Host, on: boolean) => { const next = new Set(chosen); if (on) next.add(host.id); else next.delete(host.id); setChosen(next); };
  return (
    <Confirm title={t("Bind hosts from a pool")} action={plural(chosen.size, "Bind {n} host", "Bind {n} hosts")} close={close} run={async () => { for (const host of picked) await changeHost(() => call("BindHost", bound(host))); }}>
      {!found.value ? <Spinner /> : found.value.length === 0 ? <p>{t("No infra-env without a cluster has free hosts.")}</p> : found.value.map((host) => <Check key={host.id} label={`${name(host)} (${host.status})`} value={chosen.has(host.id)} set={(on) => pick(host, on)} />)}
      {picked.length > 0 && <AsCall requests={picked.map((host) => request("BindHost", bound(host)))} names={picked.map((host) => ({ host: name(host), cluster: cluster.name }))} />}
    </Confirm>
  );
}
