// Infra-envs: images and the hosts they bring; those without a cluster are pools.
import { useEffect, useState } from "preact/hooks";
import type { InfraEnv } from "../api/types";
import { call, request } from "../api/client";
import { t } from "../messages";
import { compareVersions, when } from "../model/clusters";
import { all, clusterName, pullSecret, required } from "../model/rules";
import { navigate } from "../router";
import { clusters, events, follow } from "../store";
import { AsCall } from "../ui/ascall";
import { Area, Select, Text } from "../ui/form";
import { Icon } from "../ui/icons";
import { Button, Confirm, Empty, Label, Link, Menu, Modal, Problem, Spinner, useAct, useLoad, useSettled } from "../ui/parts";

function NewPool({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [secret, setSecret] = useState("");
  const [architecture, setArchitecture] = useState("x86_64");
  const [version, setVersion] = useState("");
  const [attempted, setAttempted] = useState(false);
  const { busy, problem, act } = useAct();
  const versions = useLoad(() => call("v2ListSupportedOpenshiftVersions", { query: { only_latest: true } }), []);
  const body = { name, pull_secret: secret, cpu_architecture: architecture as "x86_64", ...(version ? { openshift_version: version } : {}) };
  const wrong = { name: all(required, clusterName)(name), secret: pullSecret(secret) };
  const submit = () => { setAttempted(true); if (!wrong.name && !wrong.secret) void act(async () => navigate(`/infra-envs/${(await call("RegisterInfraEnv", { body })).id}`)); };
  return (
    <Modal title={t("New infra-env")} close={close} submit={submit} footer={<><button class="primary" disabled={busy}>{busy && <Icon name="spin" />}{t("Create")}</button><button type="button" onClick={close}>{t("Cancel")}</button></>}>
      <p>{t("Hosts of an infra-env without a cluster form a pool; bind them to a cluster later.")}</p>
      <Text label={t("Name")} required value={name} set={setName} error={wrong.name} attempted={attempted} autoFocus />
      <Select label={t("CPU architecture")} value={architecture} set={setArchitecture} choices={["x86_64", "arm64", "ppc64le", "s390x"].map((one) => ({ value: one, name: one }))} />
      <Select label={t("OpenShift version")} value={version} set={setVersion} choices={[{ value: "", name: t("The newest") }, ...Object.keys(versions.value ?? {}).sort(compareVersions).map((one) => ({ value: one, name: one }))]} />
      <Area label={t("Pull secret")} required value={secret} set={setSecret} error={wrong.secret} attempted={attempted} file=".json,.txt" />
      <Problem of={problem} />
      <AsCall requests={[request("RegisterInfraEnv", { body })]} />
    </Modal>
  );
}

export default function InfraEnvs() {
  useEffect(() => follow({ kinds: "cluster,event" }), []);
  // Infra-envs are not part of the watch, but what happens to them is an event.
  const found = useLoad(() => call("ListInfraEnvs"), [useSettled(clusters.value), useSettled(events.value)]);
  const [dialog, setDialog] = useState<"new" | InfraEnv | null>(null);
  const list = found.value ?? [];
  return (
    <div class="page">
      <div class="row between"><h1>{t("Infra-envs")}</h1><Button class="primary" onClick={() => setDialog("new")}>{t("New infra-env")}</Button></div>
      <p class="muted">{t("An infra-env makes a discovery image. Its hosts join its cluster, or wait in a pool to be bound to one.")}</p>
      <Problem of={found.problem} />
      <div class="card flush">{!found.value ? <div class="empty"><Spinner /></div> : list.length === 0 ? <Empty title={t("No infra-envs yet")} /> : (
        <div class="tablewrap"><table><caption class="vh">{t("Infra-envs")}</caption><thead><tr><th>{t("Name")}</th><th>{t("Cluster")}</th><th class="wide-only">{t("Architecture")}</th><th class="wide-only">{t("OS image")}</th><th class="wide-only">{t("Image")}</th><th class="wide-only">{t("Created")}</th><th class="tight"><span class="vh">{t("Actions")}</span></th></tr></thead>
          <tbody>{list.map((one) => <tr key={one.id} class="click"><td><Link to={`/infra-envs/${one.id}`}>{one.name}</Link></td><td>{one.cluster_id ? <Link to={`/clusters/${one.cluster_id}`}>{clusters.value.get(one.cluster_id)?.name ?? one.cluster_id}</Link> : <Label tone="blue">{t("pool")}</Label>}</td><td class="wide-only">{one.cpu_architecture}</td><td class="wide-only">{one.openshift_version}</td><td class="wide-only">{one.type}</td><td class="nowrap wide-only">{when(one.created_at)}</td><td class="tight"><Menu kebab label={t("Actions of {name}", { name: one.name })} actions={[{ name: t("Open"), run: () => navigate(`/infra-envs/${one.id}`) }, { name: t("Delete"), needs: "user", run: () => setDialog(one) }]} /></td></tr>)}</tbody></table></div>
      )}</div>
      {dialog === "new" && <NewPool close={() => setDialog(null)} />}
      {dialog && dialog !== "new" && <Confirm title={t("Delete infra-env {name}?", { name: dialog.name })} action={t("Delete")} danger close={() => setDialog(null)} run={async () => { await call("DeregisterInfraEnv", { path: { infra_env_id: dialog.id } }); found.again(); }}><p>{t("Its image can no longer register hosts.")}</p><AsCall requests={[request("DeregisterInfraEnv", { path: { infra_env_id: dialog.id } })]} names={{ infraEnv: dialog.name }} /></Confirm>}
    </div>
  );
}
