// Details of a cluster that exists: name, domain and pull secret can change, the rest is fixed.
import { useState } from "preact/hooks";
import { call, request } from "../api/client";
import { t } from "../messages";
import { changeCluster } from "../store";
import { Facts } from "../ui/parts";
import { DetailsForm, EMPTY, problems, type Details } from "./detailsform";
import { useDraft } from "./draft";
import { Frame, type StepProps } from "./frame";

export default function DetailsStep({ cluster, list }: StepProps) {
  const stored: Details = { ...EMPTY, name: cluster.name ?? "", domain: cluster.base_dns_domain ?? "", version: cluster.openshift_version ?? "", architecture: cluster.cpu_architecture ?? "x86_64", masters: String(cluster.control_plane_count ?? 3) };
  const draft = useDraft(`${cluster.id} details`, stored);
  const [attempted, setAttempted] = useState(false);
  const { name, domain, pullSecret } = draft.value;
  const body = { ...(name !== stored.name ? { name } : {}), ...(domain !== stored.domain ? { base_dns_domain: domain } : {}), ...(pullSecret ? { pull_secret: pullSecret } : {}) };
  const sent = { path: { cluster_id: cluster.id }, body };
  return (
    <Frame step="details" cluster={cluster} list={list} problems={problems(draft.value, "edit", [])} attempt={() => setAttempted(true)}
      requests={Object.keys(body).length ? [request("V2UpdateCluster", sent)] : []} shown={[request("V2UpdateCluster", { ...sent, body: { name, base_dns_domain: domain, ...body } })]} save={async () => { await changeCluster(() => call("V2UpdateCluster", sent)); draft.drop(); }}>
      <DetailsForm value={draft.value} set={draft.set} mode="edit" taken={[]} attempted={attempted} />
      <Facts of={[[t("OpenShift version"), cluster.openshift_version], [t("CPU architecture"), cluster.cpu_architecture], [t("Control plane nodes"), String(cluster.control_plane_count ?? 3)], [t("Platform"), cluster.platform?.type], [t("Disk encryption"), cluster.disk_encryption?.enable_on === "none" ? t("off") : `${cluster.disk_encryption?.enable_on} (${cluster.disk_encryption?.mode})`], [t("Id"), <code>{cluster.id}</code>]]} />
    </Frame>
  );
}
