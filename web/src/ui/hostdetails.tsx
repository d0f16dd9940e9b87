// The expanded row of a host: what it is made of, its disks and interfaces, its validations.
import type { Cluster, Disk, Host } from "../api/types";
import { call, request } from "../api/client";
import { t } from "../messages";
import { bytes, inventory, isEditable, name, nics } from "../model/hosts";
import { ago } from "../model/clusters";
import { roleRefusal } from "../session";
import { changeHost } from "../store";
import { AsCall } from "./ascall";
import { Icon } from "./icons";
import { Alert, CodeBox, Facts, Label, Problem, useAct } from "./parts";
import { ValidationList } from "./validations";

const listed = (disks: Disk[]) => disks.filter((disk) => disk.drive_type !== "LVM").sort((a, b) => place(a).localeCompare(place(b)));
/** Parts of a device come after it. */
const place = (disk: Disk) => (disk.holders && !disk.holders.includes(",") ? `${disk.holders} ${disk.name}` : disk.name ?? "");
const split = (text: string | undefined | null) => (text ?? "").split(",").filter(Boolean);

/** Disks of a host, with the choice of the one to install to and of those to format. */
export function Disks({ host }: { host: Host }) {
  const { busy, problem, act } = useAct();
  const disks = listed(inventory(host).disks ?? []);
  const editable = isEditable(host) && !roleRefusal("user");
  const formatted = split(host.disks_to_be_formatted);
  const kept = split(host.skip_formatting_disks);
  const at = { infra_env_id: host.infra_env_id ?? "", host_id: host.id };
  const patch = (body: object) => void act(() => changeHost(() => call("v2UpdateHost", { path: at, body })));
  const erased = disks.filter((disk) => disk.bootable && disk.id !== host.installation_disk_id && formatted.includes(disk.id ?? "") && !kept.includes(disk.id ?? ""));
  const skipped = disks.filter((disk) => disk.bootable && kept.includes(disk.id ?? ""));
  const holders = split(disks.find((disk) => disk.id === host.installation_disk_id)?.holders);
  const held = (inventory(host).disks ?? []).filter((disk) => holders.includes(disk.name ?? "")).map((disk) => disk.drive_type as string);
  return (
    <div class="stack">
      <Problem of={problem} />
      {held.includes("LVM") && <Alert tone="orange">{t("The installation disk holds LVM volumes: they are removed with everything on them.")}</Alert>}
      {held.includes("RAID") && <Alert tone="orange">{t("The installation disk is part of a software RAID, which is destroyed.")}</Alert>}
      {held.includes("Multipath") && <Alert tone="orange">{t("The installation disk is a path of a multipath device: choose that device instead.")}</Alert>}
      {skipped.length > 0 && editable && <Alert tone="orange">{t("These bootable disks are not formatted: {names}. The machine may boot from them; check its boot order.", { names: skipped.map((disk) => disk.name).join(", ") })}</Alert>}
      {erased.length > 0 && editable && <Alert tone="orange">{t("These bootable disks will be erased: {names}.", { names: erased.map((disk) => disk.name).join(", ") })}</Alert>}
      <div class="tablewrap">
        <table>
          <caption class="vh">{t("Disks")}</caption>
          <thead><tr><th>{t("Install to")}</th><th>{t("Name")}</th><th>{t("Type")}</th><th>{t("Size")}</th><th>{t("Format")}</th><th>{t("Limitations")}</th><th>{t("Model")}</th><th>{t("Serial, WWN")}</th></tr></thead>
          <tbody>
            {disks.map((disk) => {
              const id = disk.id ?? "";
              const chosen = id === host.installation_disk_id;
              const eligible = disk.installation_eligibility?.eligible === true;
              const reasons = disk.installation_eligibility?.not_eligible_reasons ?? [];
              const mayFormat = editable && formatted.includes(id) && (!chosen || kept.includes(id));
              return (
                <tr key={id}>
                  <td class="tight"><input type="radio" name={`install-${host.id}`} aria-label={t("Install to {name}", { name: disk.name })} checked={chosen} disabled={!editable || !eligible || busy} onChange={() => patch({ disks_selected_config: [{ id, role: "install" }], ...(kept.includes(id) ? { disks_skip_formatting: [{ disk_id: id, skip_formatting: false }] } : {}) })} /></td>
                  <td class="nowrap">{disk.holders && split(disk.holders).length === 1 ? "↳ " : ""}{disk.name}{kept.includes(id) && <Icon name="warn" label={t("not formatted")} />}{disk.bootable && <span class="muted"> {t("(bootable)")}</span>}</td>
                  <td>{disk.drive_type}</td><td class="nowrap">{bytes(disk.size_bytes, 1000)}</td>
                  <td><input type="checkbox" aria-label={t("Format {name}", { name: disk.name })} checked={(chosen || formatted.includes(id)) && !kept.includes(id)} disabled={!mayFormat || busy} onChange={(event) => patch({ disks_skip_formatting: [{ disk_id: id, skip_formatting: !event.currentTarget.checked }] })} /></td>
                  <td>{reasons.length ? <ul>{reasons.map((reason) => <li key={reason}>{reason}</li>)}</ul> : eligible ? t("none") : "—"}</td>
                  <td>{disk.model ?? "—"}</td><td><code>{disk.serial || "—"}</code>{disk.wwn && <div><code class="muted">{disk.wwn}</code></div>}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {editable && host.installation_disk_id && <AsCall requests={[request("v2UpdateHost", { path: at, body: { disks_selected_config: [{ id: host.installation_disk_id, role: "install" }], ...(kept.length ? { disks_skip_formatting: kept.map((disk_id) => ({ disk_id, skip_formatting: true })) } : {}) } })]} names={{ host: name(host) }} />}
    </div>
  );
}

export function Nics({ host }: { host: Host }) {
  return (
    <div class="tablewrap"><table>
      <caption class="vh">{t("Network interfaces")}</caption>
      <thead><tr><th>{t("Name")}</th><th>MAC</th><th>IPv4</th><th>IPv6</th><th>{t("Speed")}</th></tr></thead>
      <tbody>{nics(host).map((one) => <tr key={one.name}><td>{one.name}</td><td><code>{one.mac}</code></td><td>{one.v4.join(", ") || "—"}</td><td>{one.v6.join(", ") || "—"}</td><td>{one.speed > 0 ? t("{n} Mbit/s", { n: one.speed }) : "—"}</td></tr>)}</tbody>
    </table></div>
  );
}

/** Time sources as the host sees them. */
function ntp(host: Host): string {
  try {
    const list = (JSON.parse(host.ntp_sources || "[]") ?? []) as Array<{ source_name?: string; source_state?: string }>;
    return list.map((one) => `${one.source_name} (${one.source_state})`).join(", ");
  } catch {
    return "";
  }
}

export function HostDetails({ host, cluster, only }: { host: Host; cluster?: Cluster | undefined; only?: "disks" | "network" | undefined }) {
  const of = inventory(host);
  if (only === "disks") return <Disks host={host} />;
  return (
    <div class="stack">
      {host.status_info && <p>{host.status_info}</p>}
      <ValidationList of={host} subject="host" clusterId={cluster?.id} />
      <h3>{t("Network interfaces")}</h3><Nics host={host} />
      {only !== "network" && <>
        <h3>{t("Disks")}</h3><Disks host={host} />
        <h3>{t("Machine")}</h3>
        <Facts of={[
          [t("UUID"), <code>{host.id}</code>], [t("Manufacturer"), of.system_vendor?.manufacturer], [t("Product"), of.system_vendor?.product_name], [t("Serial number"), of.system_vendor?.serial_number],
          [t("Memory"), of.memory ? bytes(of.memory.physical_bytes, 1024) : ""], [t("CPU"), of.cpu ? `${of.cpu.model_name} · ${t("{n} cores", { n: of.cpu.count ?? 0 })} · ${of.cpu.architecture}${of.cpu.frequency ? ` · ${Math.round(of.cpu.frequency)} MHz` : ""}${of.cpu.flags?.includes("ht") ? ` · ${t("hyper-threading")}` : ""}` : ""],
          [t("Machine type"), of.system_vendor?.virtual ? t("Virtual machine") : t("Bare metal")], [t("BMC address"), [of.bmc_address, of.bmc_v6address].filter((one) => one && one !== "0.0.0.0" && one !== "::/0").join(", ")],
          [t("Boot mode"), of.boot?.current_boot_mode], [t("PXE interface"), of.boot?.pxe_interface], [t("Secure boot"), of.boot?.secure_boot_state], [t("Time sources"), ntp(host)], ["TPM", of.tpm_version], [t("Discovered"), t("{span} ago", { span: ago(host.created_at) })],
          [t("Labels"), host.node_labels || ""], [t("GPUs"), (of.gpus ?? []).map((gpu) => `${gpu.vendor ?? ""} ${gpu.name ?? ""} ${[gpu.vendor_id, gpu.device_id].filter(Boolean).join(":")} ${gpu.address ?? ""}`.trim()).join(", ")],
        ]} />
        <details><summary>{t("Inventory as JSON")}</summary><CodeBox name={t("Inventory as JSON")} text={JSON.stringify(of, null, 2)} /></details>
      </>}
      {host.bootstrap && <p><Label tone="blue">{t("Leads the installation (bootstrap)")}</Label></p>}
    </div>
  );
}
