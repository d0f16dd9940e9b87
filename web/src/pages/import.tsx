// Import of a cluster that runs already, to add hosts to it.
import { useEffect, useState } from "preact/hooks";
import { call, request } from "../api/client";
import { t } from "../messages";
import { apiName, clusterName } from "../model/rules";
import { navigate } from "../router";
import { follow } from "../store";
import { AsCall } from "../ui/ascall";
import { Text } from "../ui/form";
import { Icon } from "../ui/icons";
import { Button, Link, Problem, useAct } from "../ui/parts";

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

export default function Import() {
  useEffect(() => follow({ kinds: "cluster" }), []);
  const [of, setAll] = useState({ name: "", id: "", api: "", version: "" });
  const set = (changes: Partial<typeof of>) => setAll({ ...of, ...changes });
  const [attempted, setAttempted] = useState(false);
  const { busy, problem, act } = useAct();
  const wrong = { name: clusterName(of.name), id: UUID.test(of.id) ? null : t("A UUID, as in oc get clusterversion -o jsonpath='{.items[].spec.clusterID}'."), api: apiName(of.api) };
  const body = { name: of.name, openshift_cluster_id: of.id, api_vip_dnsname: of.api, ...(of.version ? { openshift_version: of.version } : {}) };
  const submit = () => { setAttempted(true); if (!wrong.name && !wrong.id && !wrong.api) void act(async () => navigate(`/clusters/${(await call("v2ImportCluster", { body })).id}/hosts`)); };
  return (
    <div class="page">
      <nav class="crumbs" aria-label={t("Breadcrumb")}><Link to="/clusters">{t("Clusters")}</Link><span aria-hidden="true">›</span><span>{t("Import")}</span></nav>
      <h1>{t("Import a cluster")}</h1>
      <form class="card stack" noValidate onSubmit={(event) => { event.preventDefault(); submit(); }}>
        <p>{t("A cluster that was installed elsewhere becomes known here, so that hosts can be added to it. Nothing is changed in the cluster itself.")}</p>
        <div class="two">
          <Text label={t("Cluster name")} required value={of.name} set={(name) => set({ name: name.trim() })} error={wrong.name} attempted={attempted} autoFocus />
          <Text label={t("Cluster id")} required value={of.id} set={(id) => set({ id: id.trim() })} error={wrong.id} attempted={attempted} help={t("The cluster's own id.")} />
          <Text label={t("Name or address of its API")} required value={of.api} set={(api) => set({ api: api.trim() })} error={wrong.api} attempted={attempted} placeholder="api.cluster.example.com" />
          <Text label={t("OpenShift version")} value={of.version} set={(version) => set({ version: version.trim() })} help={t("Optional, such as 4.20.")} />
        </div>
        <Problem of={problem} />
        <AsCall requests={[request("v2ImportCluster", { body })]} names={{ cluster: of.name }} />
        <div class="row"><Button submit class="primary" disabled={busy}>{busy && <Icon name="spin" />}{t("Import")}</Button><Link to="/clusters" class="button">{t("Cancel")}</Link></div>
      </form>
    </div>
  );
}
