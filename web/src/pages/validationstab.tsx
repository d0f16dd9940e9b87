// All checks of a cluster and of each of its hosts that needs attention.
import { t } from "../messages";
import { compare, failing, name } from "../model/hosts";
import { ValidationList } from "../ui/validations";
import { Alert } from "../ui/parts";
import type { TabProps } from "./cluster";

export default function ValidationsTab({ cluster, list }: TabProps) {
  const troubled = list.filter((host) => failing(host).length > 0).sort((a, b) => compare(name(a), name(b)));
  return (
    <div class="stack">
      <section class="card"><h2>{t("Cluster")}</h2><ValidationList of={cluster} subject="cluster" clusterId={cluster.id} /></section>
      {troubled.length === 0 ? <Alert tone="green">{list.length ? t("No check of any host fails.") : t("There are no hosts to check yet.")}</Alert>
        : troubled.map((host) => <section class="card" key={host.id}><h2>{t("Host {name}", { name: name(host) })}</h2><ValidationList of={host} subject="host" clusterId={cluster.id} /></section>)}
    </div>
  );
}
