// Networking: who manages it, which networks, which virtual addresses.
import { useState } from "preact/hooks";
import { call, request } from "../api/client";
import { t } from "../messages";
import { THIRD_PARTY_NETWORKS } from "../model/clusters";
import { nics } from "../model/hosts";
import { network, range } from "../model/ip";
import { apiLabel, body, candidates, defaultsOf, fields, ingressLabel, podLabel, prefixLabel, problems, records, serviceLabel, withMachine, withStack, type Defaults, type NetworkFields } from "../model/networks";
import { changeCluster } from "../store";
import { Area, Check, Radios, Select, Text } from "../ui/form";
import { HostTable } from "../ui/hosttable";
import { Alert, CodeBox, Empty, Link, Problem, Spinner, useLoad } from "../ui/parts";
import { useFeatures } from "./detailsform";
import { useDraft } from "./draft";
import { Frame, type StepProps } from "./frame";

const TYPES = ["OVNKubernetes", "OpenShiftSDN", "CiscoACI", "Cilium", "Calico", "None"];
const FEATURES: Record<string, string> = { OVNKubernetes: "OVN_NETWORK_TYPE", OpenShiftSDN: "SDN_NETWORK_TYPE", CiscoACI: "CISCO_ACI_NETWORK_TYPE", Cilium: "CILIUM_NETWORK_TYPE", Calico: "CALICO_NETWORK_TYPE", None: "NONE_NETWORK_TYPE" };

async function defaults(): Promise<Defaults> {
  const of = await call("V2GetClusterDefaultConfig");
  const pods = (list: Array<{ cidr?: string; host_prefix?: number }> | null | undefined) => (list ?? []).map((one) => ({ cidr: one.cidr ?? "", prefix: String(one.host_prefix ?? "") }));
  const plain = (list: Array<{ cidr?: string }> | null | undefined) => (list ?? []).map((one) => one.cidr ?? "");
  return { pods4: pods(of.cluster_networks_ipv4), podsDual: pods(of.cluster_networks_dualstack), services4: plain(of.service_networks_ipv4), servicesDual: plain(of.service_networks_dualstack) };
}

export default function NetworkingStep(props: StepProps) {
  const loaded = useLoad(defaults, []);
  if (!loaded.value) return loaded.problem ? <Problem of={loaded.problem} /> : <Spinner />;
  return <Form {...props} defaults={loaded.value} />;
}

function Form({ cluster, list, defaults }: StepProps & { defaults: Defaults }) {
  const nets = candidates(list.map((host) => nics(host).flatMap((nic) => [...nic.v4, ...nic.v6])));
  const draft = useDraft<NetworkFields>(`${cluster.id} networking`, fields(cluster, nets, defaults));
  const [attempted, setAttempted] = useState(false);
  const features = useFeatures(cluster.openshift_version ?? "", cluster.cpu_architecture ?? "x86_64") ?? {};
  const of = draft.value;
  const sno = cluster.control_plane_count === 1;
  const managed = of.managed === "cluster" && !sno;
  const wrong = new Map(problems(of, sno, cluster.openshift_version));
  const error = (name: string) => wrong.get(name) ?? null;
  const fixedUser = cluster.platform?.type === "none" || cluster.platform?.type === "external";
  const sent = { path: { cluster_id: cluster.id }, body: body(of, cluster) };
  const families = new Set(nets.map((one) => network(one.cidr)?.family));
  const at = (items: string[], index: number, value: string) => { const next = [...items]; while (next.length <= index) next.push(""); next[index] = value; return next; };
  const usable = (type: string) => !["unsupported", "unavailable"].includes(features[FEATURES[type] ?? ""] ?? "");
  /** First and last address of a network. */
  const spread = (text: string | undefined) => { const net = network(text ?? ""); return net ? range(net) : ""; };
  const choices = (wanted: 4 | 6 | null, now: string) => {
    const fit = nets.filter((one) => wanted === null || network(one.cidr)?.family === wanted).map((one) => ({ value: one.cidr, name: `${one.cidr} · ${t("{n} of {all} hosts", { n: one.hosts, all: list.length })}` }));
    return [...(fit.some((one) => one.value === now) ? [] : now ? [{ value: now, name: t("{net} (no host is in it)", { net: now }) }] : [{ value: "", name: t("none yet") }]), ...fit];
  };
  // Saved values that the form only proposes must be sent as well, so "changed" is not enough for a new cluster.
  const needsSave = draft.changed || (sno && of.machine.length > 0 && !(cluster.machine_networks ?? []).length);
  return (
    <Frame step="networking" cluster={cluster} list={list} attempt={() => setAttempted(true)} problems={needsSave ? [...wrong] : []} requests={needsSave ? [request("V2UpdateCluster", sent)] : []} shown={[request("V2UpdateCluster", sent)]} save={async () => { await changeCluster(() => call("V2UpdateCluster", sent)); draft.drop(); }}>
      {list.length === 0 && <Alert tone="orange">{t("Networks are known once hosts have been discovered.")} <Link to={`/clusters/${cluster.id}/setup/hosts`}>{t("Go to host discovery")}</Link></Alert>}
      <Radios legend={t("Network management")} value={sno ? "user" : of.managed} set={(value) => draft.set({ managed: value as "cluster" })} choices={[
        { value: "cluster", name: t("Managed by the cluster"), help: t("The cluster provides the virtual addresses of API and ingress."), why: sno ? t("A single node needs no virtual addresses.") : fixedUser ? t("The platform provides the load balancer.") : null },
        { value: "user", name: t("Managed by you"), help: t("You provide load balancer and DNS."), why: of.dual && !sno ? t("Dual stack is managed by the cluster.") : null }]} />
      {(sno || managed) && <Radios legend={t("IP stack")} value={of.dual ? "dual" : "single"} set={(value) => draft.set(withStack(of, value === "dual", nets, defaults))} choices={[
        { value: "single", name: t("One family"), help: t("IPv4, or IPv6 if the machine network is one.") }, { value: "dual", name: t("Dual stack"), help: t("IPv4 and IPv6 side by side."), why: families.has(4) && families.has(6) || of.dual ? null : t("The hosts have addresses of one family only.") }]} />}
      <div class="two">
        <Select label={t("Network type")} value={of.type} set={(type) => draft.set({ type })} error={error(t("Network type"))} choices={TYPES.map((one) => ({ value: one, name: one, why: usable(one) ? null : t("not for this version") }))} help={THIRD_PARTY_NETWORKS.includes(of.type) ? t("A third-party network needs custom manifests.") : undefined} />
        {(sno || managed) && <Select label={t("Machine network")} value={of.machine[0] ?? ""} set={(value) => draft.set(withMachine(of, value, nets, defaults))} error={error(t("Machine network"))} choices={choices(null, of.machine[0] ?? "")} help={[spread(of.machine[0]), t("The network the hosts use to reach each other.")].filter(Boolean).join(" · ")} />}
        {(sno || managed) && of.dual && <Select label={t("Machine network (second)")} value={of.machine[1] ?? ""} set={(value) => draft.set({ machine: at(of.machine, 1, value) })} choices={choices(network(of.machine[0] ?? "")?.family === 6 ? 4 : 6, of.machine[1] ?? "")} help={spread(of.machine[1])} />}
      </div>
      {managed && <>
        {(of.type === "OpenShiftSDN" || of.dhcp) && <Check label={t("Allocate the virtual addresses by DHCP")} value={of.dhcp} set={(dhcp) => draft.set({ dhcp })} />}
        {of.dhcp ? <p>{cluster.api_vips?.[0]?.ip ? t("Allocated: API {api}, ingress {ingress}.", { api: cluster.api_vips[0].ip, ingress: cluster.ingress_vips?.[0]?.ip }) : t("The addresses will be allocated by the DHCP server.")}</p> : (
          <div class="two">{(of.dual ? [0, 1] : [0]).flatMap((index) => [
            <Text key={`a${index}`} label={apiLabel(index)} required={index === 0} value={of.api[index] ?? ""} set={(value) => draft.set({ api: at(of.api, index, value.trim()) })} error={index && !of.api[1] && !of.ingress[1] ? null : error(apiLabel(index))} attempted={attempted} help={index ? t("Optional, together with the second ingress address.") : t("Where api.{domain} points to. A free address of the machine network, outside the DHCP range.", { domain: `${cluster.name}.${cluster.base_dns_domain}` })} />,
            <Text key={`i${index}`} label={ingressLabel(index)} required={index === 0} value={of.ingress[index] ?? ""} set={(value) => draft.set({ ingress: at(of.ingress, index, value.trim()) })} error={index && !of.api[1] && !of.ingress[1] ? null : error(ingressLabel(index))} attempted={attempted} help={index ? undefined : t("Where *.apps.{domain} points to.", { domain: `${cluster.name}.${cluster.base_dns_domain}` })} />])}</div>
        )}
      </>}
      <details class="panel" open={!managed && !sno}><summary>{t("DNS records to create")}</summary><CodeBox name={t("DNS records to create")} text={records(cluster, of)} /></details>
      <Check label={t("Advanced: networks of pods and services")} value={of.advanced} disabled={of.dual} set={(advanced) => draft.set(advanced ? { advanced } : { advanced, ...(of.dual ? { pods: defaults.podsDual, services: defaults.servicesDual } : defaultsOf(network(of.machine[0] ?? "")?.family, defaults)) })} />
      {of.advanced && <div class="two">
        {of.pods.flatMap((one, index) => [
          <Text key={`c${index}`} label={podLabel(index)} required value={one.cidr} set={(cidr) => draft.set({ pods: of.pods.map((old, i) => (i === index ? { ...old, cidr: cidr.trim() } : old)) })} error={error(podLabel(index))} attempted={attempted} help={t("Addresses of pods.")} />,
          <Text key={`p${index}`} label={prefixLabel(index)} required value={one.prefix} set={(prefix) => draft.set({ pods: of.pods.map((old, i) => (i === index ? { ...old, prefix: prefix.trim() } : old)) })} error={error(prefixLabel(index))} attempted={attempted} help={t("How much of it each host gets.")} />])}
        {of.services.map((one, index) => <Text key={index} label={serviceLabel(index)} required value={one} set={(value) => draft.set({ services: of.services.map((old, i) => (i === index ? value.trim() : old)) })} error={error(serviceLabel(index))} attempted={attempted} help={t("Addresses of services.")} />)}
      </div>}
      {[t("Networks"), t("Cluster and service networks")].map((one) => error(one) && <Alert key={one} tone="red">{error(one)}</Alert>)}
      <Area label={t("SSH public key")} rows={2} value={of.key} set={(key) => draft.set({ key })} error={error(t("SSH public key"))} attempted={attempted} help={t("To log in to the installed hosts as user core.")} />
      <h3>{t("Hosts")}</h3>
      <HostTable hosts={list} cluster={cluster} view="network" empty={<Empty title={t("No hosts yet")} />} />
    </Frame>
  );
}
