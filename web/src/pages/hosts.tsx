// Hosts of a cluster outside the wizard; for day 2 also adding and installing them.
import { useState } from "preact/hooks";
import { call, request } from "../api/client";
import { t, plural } from "../messages";
import { isDay2, isDraft } from "../model/clusters";
import { name } from "../model/hosts";
import { apiName } from "../model/rules";
import { changeCluster } from "../store";
import { AsCall } from "../ui/ascall";
import { Text } from "../ui/form";
import { HostTable } from "../ui/hosttable";
import { Alert, Button, CodeBox, Empty, Problem, useAct } from "../ui/parts";
import { AddHostsButton } from "../wizard/addhosts";
import type { TabProps } from "./cluster";

/** A host that joins must reach the API of the cluster; an imported cluster may need another name for it. */
function ApiAddress({ cluster }: { cluster: TabProps["cluster"] }) {
  const [value, setValue] = useState(cluster.api_vip_dns_name ?? "");
  const { busy, problem, act } = useAct();
  const sent = { path: { cluster_id: cluster.id }, body: { api_vip_dns_name: value } };
  return (
    <details class="panel"><summary>{t("Address of the cluster's API for new hosts")}</summary>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); if (!apiName(value)) void act(() => changeCluster(() => call("V2UpdateCluster", sent))); }}>
        <Text label={t("Name or address")} value={value} set={setValue} error={apiName(value)} help={t("New hosts fetch their configuration from port 22624 there.")} />
        <AsCall requests={[request("V2UpdateCluster", sent)]} names={{ cluster: cluster.name }} />
        <div><Button submit disabled={busy}>{t("Save")}</Button></div>
        <Problem of={problem} />
      </form>
    </details>
  );
}

export function HostsTab({ cluster, list }: TabProps) {
  const { busy, problem, act } = useAct();
  const ready = list.filter((host) => host.status === "known");
  const day2 = isDay2(cluster);
  const added = list.filter((host) => host.status === "added-to-existing-cluster");
  return (
    <section class="card stack">
      <h2>{t("Hosts")}</h2>
      <div class="row">
        {(isDraft(cluster) || day2) && <AddHostsButton cluster={cluster} />}
        {day2 && <Button class="primary" disabled={ready.length === 0 || busy} onClick={() => void act(() => Promise.all(ready.map((host) => call("v2InstallHost", { path: { infra_env_id: host.infra_env_id ?? "", host_id: host.id } }))))}>{plural(ready.length, "Install {n} ready host", "Install {n} ready hosts")}</Button>}
      </div>
      <Problem of={problem} />
      {day2 && <ApiAddress cluster={cluster} />}
      {added.length > 0 && <Alert tone="green" title={t("Approve the certificates of the new nodes")}><p>{t("{names}: the cluster waits for an administrator to approve them, unless that is automatic.", { names: added.map(name).join(", ") })}</p><CodeBox name={t("Command")} text={"oc get csr -o go-template='{{range .items}}{{if not .status}}{{.metadata.name}}{{\"\\n\"}}{{end}}{{end}}' | xargs oc adm certificate approve"} /></Alert>}
      <HostTable hosts={list} cluster={cluster} view={day2 || isDraft(cluster) ? "hardware" : "progress"} empty={<Empty title={t("No hosts yet")}>{(isDraft(cluster) || day2) && <p>{t("Add hosts: boot machines from the discovery image, and they appear here.")}</p>}</Empty>} />
    </section>
  );
}
