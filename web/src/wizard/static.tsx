// Networks of the hosts while they are discovered and afterwards: DHCP, or static by form or YAML.
import { useState } from "preact/hooks";
import { load } from "js-yaml";
import type { InfraEnv } from "../api/types";
import { call, request } from "../api/client";
import { t } from "../messages";
import { isOci } from "../model/clusters";
import { faultOf, type Fault } from "../model/highlight";
import { network, range } from "../model/ip";
import { BOND_MODES, NEW_FORM, NEW_HOST, entries, entryProblem, form, pasted, problems, type StaticEntry, type StaticForm, type StaticHost } from "../model/nmstate";
import { AsCall } from "../ui/ascall";
import { Code } from "../ui/code";
import { Area, Check, Radios, Select, Text } from "../ui/form";
import { Alert, Button, Confirm, Problem, Spinner, useAct, useLoad } from "../ui/parts";
import { infraEnvOf } from "./addhosts";
import { useDraft } from "./draft";
import { Frame, type StepProps } from "./frame";

interface State { mode: "dhcp" | "form" | "yaml"; form: StaticForm; yaml: StaticEntry[] }

function stored(infraEnv: InfraEnv): State {
  let list: StaticEntry[] = [];
  try { list = (JSON.parse(infraEnv.static_network_config || "[]") ?? []) as StaticEntry[]; } catch { /* shown as DHCP; saving replaces it */ }
  const usable = list.map((one) => ({ network_yaml: one.network_yaml ?? "", mac_interface_map: (one.mac_interface_map ?? []).map(({ mac_address, logical_nic_name }) => ({ mac_address, logical_nic_name })) }));
  let read: StaticForm | null = null;
  try { read = form(usable, (text) => load(text)); } catch { /* edited by hand: shown as YAML */ }
  return { mode: usable.length === 0 ? "dhcp" : read ? "form" : "yaml", form: read ?? NEW_FORM, yaml: usable };
}

export default function StaticStep(props: StepProps) {
  const found = useLoad(() => infraEnvOf(props.cluster), [props.cluster.id]);
  if (found.problem) return <Problem of={found.problem} />;
  if (found.value === undefined) return <Spinner />;
  if (isOci(props.cluster)) return <Frame step="static" cluster={props.cluster} list={props.list}><Alert>{t("Machines of Oracle's cloud get their addresses by DHCP.")}</Alert></Frame>;
  if (!found.value) return <Alert tone="orange">{t("This cluster has no infra-env of its own: its hosts come from a pool. Their networks are on the page of the pool.")}</Alert>;
  return <Form {...props} infraEnv={found.value} reload={found.again} />;
}

function Form({ cluster, list, infraEnv, reload }: StepProps & { infraEnv: InfraEnv; reload: () => void }) {
  const { content, attempt, wrong, changed, sent, save } = useStatic(infraEnv, cluster.control_plane_count === 1, reload);
  return <Frame step="static" cluster={cluster} list={list} attempt={attempt} problems={changed ? wrong : []} requests={changed ? [request("UpdateInfraEnv", sent)] : []} shown={[request("UpdateInfraEnv", sent)]} infraEnv={infraEnv.name} save={save}>{content}</Frame>;
}

/** Networks of an infra-env outside the wizard: pools, and hosts that are added later. */
export function HostNetworks({ infraEnv, reload }: { infraEnv: InfraEnv; reload: () => void }) {
  const { content, attempt, wrong, changed, sent, save } = useStatic(infraEnv, false, reload);
  const { busy, problem, act } = useAct();
  const bad = wrong.filter(([, reason]) => reason);
  return (
    <form class="stack" noValidate aria-label={t("Host networks")} onSubmit={(event) => { event.preventDefault(); attempt(); if (changed && bad.length === 0) void act(save); }}>
      {content}
      <Problem of={problem} />
      <AsCall requests={[request("UpdateInfraEnv", sent)]} names={{ infraEnv: infraEnv.name }} />
      <div class="row"><Button submit class="primary" disabled={busy || !changed}>{t("Save networks")}</Button>{changed && <span class="small muted">{t("Not saved yet")}</span>}</div>
    </form>
  );
}

function useStatic(infraEnv: InfraEnv, single: boolean, reload: () => void) {
  const from = stored(infraEnv);
  const draft = useDraft<State>(`${infraEnv.id} static`, from);
  const [attempted, setAttempted] = useState(false);
  const [leaving, setLeaving] = useState<State["mode"] | null>(null);
  const of = draft.value;
  const config = of.mode === "dhcp" ? [] : of.mode === "form" ? entries(of.form) : of.yaml;
  const wrong: Array<[string, string | null]> = of.mode === "dhcp" ? [] : of.mode === "form" ? problems(of.form) : of.yaml.length ? of.yaml.map((one, at) => [t("Host {n}", { n: at + 1 }), entryProblem(one, of.yaml) ?? yamlProblem(one.network_yaml)]) : [[t("Hosts"), t("At least one host is needed.")]];
  const sent = { path: { infra_env_id: infraEnv.id }, body: { static_network_config: config } };
  // Static networks without any host are no DHCP either: they are asked for.
  const changed = draft.changed && (JSON.stringify(config) !== JSON.stringify(from.mode === "dhcp" ? [] : from.yaml) || (from.mode === "dhcp" && of.mode !== "dhcp"));
  const choose = (mode: State["mode"]) => {
    // The form becomes YAML without loss; the way back may lose what the form does not know.
    if (mode === "yaml" && of.mode === "form") draft.set({ mode, yaml: problems(of.form).some(([, bad]) => bad) ? of.yaml : entries(of.form) });
    else if (of.mode === "yaml" && mode === "form" && of.yaml.length) setLeaving(mode);
    else draft.set({ mode });
  };
  const content = (
    <>
      <Radios legend={t("Hosts get their addresses")} value={of.mode} set={(mode) => choose(mode as State["mode"])} choices={[
        { value: "dhcp", name: t("By DHCP") }, { value: "form", name: t("Static, by a form"), help: t("One subnet per family; VLAN and bonds.") }, { value: "yaml", name: t("Static, as nmstate YAML"), help: t("Anything nmstate supports, per host.") }]} />
      {of.mode !== "dhcp" && <Alert>{t("Addresses are part of the discovery image: generate a new image after a change, and boot the machines from it.")}</Alert>}
      {of.mode === "form" && <FormView value={of.form} set={(changes) => draft.set({ form: { ...of.form, ...changes } })} attempted={attempted} single={single} />}
      {of.mode === "yaml" && <YamlView value={of.yaml} set={(yaml) => draft.set({ yaml })} attempted={attempted} />}
      {leaving && <Confirm title={t("Leave the YAML view?")} action={t("Use the form")} close={() => setLeaving(null)} run={async () => draft.set({ mode: "form" })}><p>{t("The form starts with its own values; the YAML is not carried over.")}</p></Confirm>}
    </>
  );
  return { content, attempt: () => setAttempted(true), wrong, changed, sent, save: async () => { await call("UpdateInfraEnv", sent); draft.drop(); reload(); } };
}

function yamlFault(text: string): Fault | null {
  try { load(text); return null; } catch (failed) { return faultOf(failed); }
}
const yamlProblem = (text: string): string | null => yamlFault(text)?.reason ?? null;

function FormView({ value, set, attempted, single }: { value: StaticForm; set: (changes: Partial<StaticForm>) => void; attempted: boolean; single: boolean }) {
  const wrong = new Map(problems(value));
  const [paste, setPaste] = useState("");
  const hint = (text: string) => { const net = network(text); return net ? range(net) : undefined; };
  const change = (at: number, changes: Partial<StaticHost>) => set({ hosts: value.hosts.map((host, index) => (index === at ? { ...host, ...changes } : host)) });
  const field = (label: string, text: string, put: (text: string) => void, more: { placeholder?: string; help?: string | undefined } = {}) => <Text key={label} label={label} required value={text} set={(next) => put(next.trim())} error={wrong.get(label) ?? null} attempted={attempted} {...more} />;
  return (
    <>
      <h3>{t("For all hosts")}</h3>
      <div class="row"><Check label={t("Dual stack")} value={value.dual} set={(dual) => set({ dual })} /><Check label={t("Use a VLAN")} value={value.useVlan} set={(useVlan) => set({ useVlan })} /></div>
      <div class="two">
        {value.useVlan && field(t("VLAN id"), value.vlan, (text) => set({ vlan: text }))}
        {field(t("DNS servers"), value.dns, (dns) => set({ dns }), { help: t("Comma-separated addresses.") })}
        {field(t("IPv4 subnet"), value.net4, (net4) => set({ net4 }), { placeholder: "192.0.2.0/24", help: hint(value.net4) })}
        {field(t("IPv4 gateway"), value.gateway4, (gateway4) => set({ gateway4 }))}
        {value.dual && field(t("IPv6 subnet"), value.net6, (net6) => set({ net6 }), { placeholder: "2001:db8::/64", help: hint(value.net6) })}
        {value.dual && field(t("IPv6 gateway"), value.gateway6, (gateway6) => set({ gateway6 }))}
        {value.hosts.some((host) => host.bond) && <Select label={t("Bond mode")} value={value.bondMode} set={(bondMode) => set({ bondMode })} choices={BOND_MODES.map((one) => ({ value: one, name: one }))} />}
      </div>
      <h3>{t("Hosts")}</h3>
      {value.hosts.map((host, at) => (
        <div class="tile" key={at}>
          <div class="row between"><strong>{t("Host {n}", { n: at + 1 })}</strong><div class="row"><Check label={t("Bond of two ports")} value={host.bond} set={(bond) => change(at, { bond })} />{value.hosts.length > 1 && <button type="button" class="plain" onClick={() => set({ hosts: value.hosts.filter((_, index) => index !== at) })}>{t("Remove host {n}", { n: at + 1 })}</button>}</div></div>
          <div class="two">
            {field(t("Host {n}: MAC address", { n: at + 1 }), host.mac, (text) => change(at, { mac: text }))}
            {host.bond && field(t("Host {n}: MAC address of the second port", { n: at + 1 }), host.port2, (text) => change(at, { port2: text }))}
            {field(t("Host {n}: IPv4 address", { n: at + 1 }), host.ip4, (text) => change(at, { ip4: text }))}
            {value.dual && field(t("Host {n}: IPv6 address", { n: at + 1 }), host.ip6, (text) => change(at, { ip6: text }))}
          </div>
        </div>
      ))}
      {!single && <div class="row"><button type="button" onClick={() => set({ hosts: [...value.hosts, NEW_HOST] })}>{t("Add a host")}</button></div>}
      {!single && <details class="panel"><summary>{t("Paste rows of a spreadsheet")}</summary><Area label={t("Rows")} value={paste} set={setPaste} help={t("One host a line: MAC address, IPv4 address and, for dual stack, IPv6 address.")} /><button type="button" disabled={!paste.trim()} onClick={() => { set({ hosts: pasted(paste) }); setPaste(""); }}>{t("Use these rows")}</button></details>}
    </>
  );
}

function YamlView({ value, set, attempted }: { value: StaticEntry[]; set: (value: StaticEntry[]) => void; attempted: boolean }) {
  const change = (at: number, changes: Partial<StaticEntry>) => set(value.map((one, index) => (index === at ? { ...one, ...changes } : one)));
  return (
    <>
      {value.map((one, at) => (
        <div class="tile" key={at}>
          <div class="row between"><strong>{t("Host {n}", { n: at + 1 })}</strong><button type="button" class="plain" onClick={() => set(value.filter((_, index) => index !== at))}>{t("Remove host {n}", { n: at + 1 })}</button></div>
          <Code label={t("nmstate YAML of host {n}", { n: at + 1 })} required value={one.network_yaml} set={(network_yaml) => change(at, { network_yaml })} faultyLine={yamlFault(one.network_yaml)?.line} error={entryProblem(one, value) ?? yamlProblem(one.network_yaml)} attempted={attempted} file=".yaml,.yml" />
          {one.mac_interface_map.map((pair, index) => {
            const put = (changes: Partial<typeof pair>) => change(at, { mac_interface_map: one.mac_interface_map.map((old, i) => (i === index ? { ...old, ...changes } : old)) });
            return <div class="row top" key={index}><div class="grow"><Text label={t("MAC address {n} of host {host}", { n: index + 1, host: at + 1 })} value={pair.mac_address} set={(text) => put({ mac_address: text.trim() })} /></div><div class="grow"><Text label={t("Interface {n} of host {host}", { n: index + 1, host: at + 1 })} value={pair.logical_nic_name} set={(text) => put({ logical_nic_name: text.trim() })} /></div>{one.mac_interface_map.length > 1 && <button type="button" onClick={() => change(at, { mac_interface_map: one.mac_interface_map.filter((_, i) => i !== index) })}>{t("Remove")}</button>}</div>;
          })}
          <div><button type="button" onClick={() => change(at, { mac_interface_map: [...one.mac_interface_map, { mac_address: "", logical_nic_name: `eth${one.mac_interface_map.length}` }] })}>{t("Add an interface")}</button></div>
        </div>
      ))}
      <div class="row"><button type="button" onClick={() => set([...value, { network_yaml: "", mac_interface_map: [{ mac_address: "", logical_nic_name: "eth0" }] }])}>{t("Add a host")}</button>{value.length > 0 && <button type="button" onClick={() => set([...value, { network_yaml: value.at(-1)?.network_yaml ?? "", mac_interface_map: [{ mac_address: "", logical_nic_name: "eth0" }] }])}>{t("Add a copy of the last host")}</button>}</div>
    </>
  );
}
