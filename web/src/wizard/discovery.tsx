// Host discovery: the image, the machines that came, and help for those that did not.
import { call, request } from "../api/client";
import { t } from "../messages";
import { inventory } from "../model/hosts";
import { changeCluster } from "../store";
import { Check } from "../ui/form";
import { HostTable } from "../ui/hosttable";
import { Alert, Empty, Problem, Spinner, useAct, useLoad } from "../ui/parts";
import { AddHostsButton, Bindable } from "./addhosts";
import { Frame, type StepProps } from "./frame";

function Hints({ cluster }: { cluster: StepProps["cluster"] }) {
  const needs = useLoad(() => call("v2GetPreflightRequirements", { path: { cluster_id: cluster.id } }), [cluster.id]);
  const [master, worker] = [needs.value?.ocp?.master?.quantitative, needs.value?.ocp?.worker?.quantitative];
  return (
    <div class="row top">
      <details class="panel"><summary>{t("Minimum hardware")}</summary>{!needs.value ? <Spinner /> : <table><thead><tr><th>{t("Role")}</th><th>{t("CPU cores")}</th><th>{t("Memory")}</th><th>{t("Disk")}</th></tr></thead><tbody>{([[t("Control plane"), master], [t("Worker"), worker]] as const).map(([role, of]) => <tr key={role}><td>{role}</td><td>{of?.cpu_cores}</td><td>{Math.round((of?.ram_mib ?? 0) / 1024)} GiB</td><td>{of?.disk_size_gb} GB</td></tr>)}</tbody></table>}</details>
      <details class="panel"><summary>{t("Hosts not showing up?")}</summary>
        <ol>
          <li>{t("Is the machine powered on and did it boot the image? Look at its console.")}</li>
          <li>{t("Does it have an address (DHCP or static network) and does it reach the address of this service shown with the image?")}</li>
          <li>{t("Log in with ssh core@… and the key of the image, then:")} <code>sudo systemctl status agent.service; sudo journalctl -u agent.service; sudo journalctl TAG=agent</code></li>
          <li>{t("Virtual machines must boot from their disk after the first restart.")}</li>
        </ol>
      </details>
    </div>
  );
}

export default function DiscoveryStep({ cluster, list }: StepProps) {
  const { busy, problem, act } = useAct();
  const forced = cluster.schedulable_masters_forced_true === true;
  const sent = (on: boolean) => ({ path: { cluster_id: cluster.id }, body: { schedulable_masters: on } });
  const virtual = list.some((host) => inventory(host).system_vendor?.virtual);
  return (
    <Frame step="hosts" cluster={cluster} list={list} shown={cluster.control_plane_count === 1 ? [] : [request("V2UpdateCluster", sent(forced || cluster.schedulable_masters === true))]}>
      <div class="row"><AddHostsButton cluster={cluster} primary={list.length === 0} /><Bindable cluster={cluster} /></div>
      {cluster.control_plane_count !== 1 && <Check asSwitch label={t("Run workloads on the control plane")} value={forced || cluster.schedulable_masters === true} disabled={forced || busy} set={(on) => void act(() => changeCluster(() => call("V2UpdateCluster", sent(on))))} help={forced ? t("Always on with fewer than two workers.") : undefined} />}
      <Problem of={problem} />
      {virtual && <Alert>{t("Some hosts are virtual machines: they must boot from disk after the first restart.")}</Alert>}
      <Hints cluster={cluster} />
      <HostTable hosts={list} cluster={cluster} view="hardware" empty={<Empty title={t("Waiting for hosts…")}><p>{t("Boot machines from the discovery image. Each appears here within seconds after it has started.")}</p><Spinner text={t("Nothing yet")} /></Empty>} />
    </Frame>
  );
}

