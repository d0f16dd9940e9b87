// One infra-env: its image, and its hosts live, with binding.
import { useEffect, useState } from "preact/hooks";
import { ApiError, call, request } from "../api/client";
import { t } from "../messages";
import { isDay2, isDraft, when } from "../model/clusters";
import { segments } from "../router";
import { clusters, events, follow, gone, hosts } from "../store";
import { AsCall } from "../ui/ascall";
import { HostTable } from "../ui/hosttable";
import { Button, Confirm, Empty, Facts, Later, Link, Problem, Spinner, useLoad, useSettled } from "../ui/parts";
import { AddHosts } from "../wizard/addhosts";
import { EventsTab } from "./events";

const networks = async () => ({ default: (await import("../wizard/static")).HostNetworks });

export default function InfraEnvPage() {
  const id = segments.value[1] ?? "";
  useEffect(() => follow({ infra_env_id: id }), [id]);
  const found = useLoad(() => call("GetInfraEnv", { path: { infra_env_id: id } }), [id, useSettled(events.value)]);
  // The watch of an infra-env brings no clusters; the ones to bind to are asked for.
  const known = useLoad(async () => (await call("v2ListClusters")) ?? [], [id, hosts.value.size]);
  const [dialog, setDialog] = useState<"image" | "key" | null>(null);
  const [shown, setShown] = useState(segments.value[2] === "networks");
  const of = found.value;
  if (gone.value || (found.problem instanceof ApiError && found.problem.status === 404)) return <div class="page"><h1>{t("This infra-env does not exist")}</h1><p><Link to="/infra-envs">{t("Go to infra-envs")}</Link></p></div>;
  if (!of) return <div class="page">{found.problem ? <Problem of={found.problem} /> : <Spinner />}</div>;
  const list = [...hosts.value.values()].filter((host) => host.infra_env_id === id);
  const open = (known.value ?? [...clusters.value.values()]).filter((one) => isDraft(one) || isDay2(one));
  const cluster = known.value?.find((one) => one.id === of.cluster_id);
  return (
    <div class="page">
      <nav class="crumbs" aria-label={t("Breadcrumb")}><Link to="/infra-envs">{t("Infra-envs")}</Link><span aria-hidden="true">›</span><span>{of.name}</span></nav>
      <div class="row between"><h1>{of.name}</h1><div class="row"><Button onClick={() => setDialog("key")}>{t("Revoke links")}</Button><Button class="primary" onClick={() => setDialog("image")}>{t("Add hosts")}</Button></div></div>
      <div class="card"><Facts of={[[t("Cluster"), cluster ? <Link to={`/clusters/${cluster.id}`}>{cluster.name}</Link> : of.cluster_id ? of.cluster_id : t("none: a pool for late binding")], [t("Architecture"), of.cpu_architecture], [t("OS image"), of.openshift_version], [t("Image type"), of.type], [t("SSH key"), of.ssh_authorized_key ? t("set") : t("none")], [t("Proxy"), of.proxy?.http_proxy || t("none")], [t("Static networks"), of.static_network_config ? t("set") : t("DHCP")], [t("Created"), when(of.created_at)], [t("Id"), <code>{of.id}</code>]]} /></div>
      <section class="card"><h2>{t("Hosts")}</h2><HostTable hosts={list} cluster={undefined} clusters={open} view="pool" empty={<Empty title={t("No hosts yet")}><p>{t("Boot machines from the discovery image of this infra-env.")}</p></Empty>} /></section>
      <section class="card stack"><h2>{t("Host networks")}</h2><details open={shown} onToggle={(event) => setShown(event.currentTarget.open)}><summary>{of.static_network_config ? t("Static: show or change") : t("By DHCP: show or change")}</summary>{shown && <Later key={of.id} load={networks} of={{ infraEnv: of, reload: found.again }} />}</details></section>
      <section><h2>{t("Events")}</h2><EventsTab infraEnvId={id} list={list} /></section>
      {dialog === "image" && <AddHosts infraEnv={of} cluster={undefined} close={() => { setDialog(null); found.again(); }} />}
      {dialog === "key" && <Confirm title={t("Revoke all links of this infra-env?")} action={t("Revoke links")} danger close={() => setDialog(null)} run={async () => { await call("RegenerateInfraEnvSigningKey", { path: { infra_env_id: id } }); found.again(); }}><p>{t("Image URLs that were handed out stop working. Running machines are not affected.")}</p><AsCall requests={[request("RegenerateInfraEnvSigningKey", { path: { infra_env_id: id } })]} names={{ infraEnv: of.name }} /></Confirm>}
    </div>
  );
}
