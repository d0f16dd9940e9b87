// Fields of the first step, for a cluster that is to be made and for one that exists.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import { t } from "../messages";
import { compareVersions } from "../model/clusters";
import { all, baseDomain, clusterName, pullSecret, required, tangUrl } from "../model/rules";
import { Area, Check, Radios, Select, Text, type Choice } from "../ui/form";
import { Alert, useLoad } from "../ui/parts";

export interface Tang { url: string; thumbprint: string }
export interface Details {
  name: string; domain: string; version: string; architecture: string; pullSecret: string; platform: string; masters: string; oci: boolean;
  encryptMasters: boolean; encryptWorkers: boolean; encryptArbiters: boolean; encryption: string; tang: Tang[];
}

export const EMPTY: Details = { name: "", domain: "", version: "", architecture: "x86_64", pullSecret: "", platform: "baremetal", masters: "3", oci: false, encryptMasters: false, encryptWorkers: false, encryptArbiters: false, encryption: "tpmv2", tang: [{ url: "", thumbprint: "" }] };

export function enableOn(of: Details): "none" | "all" | "masters" | "arbiters" | "workers" | "masters,arbiters" | "masters,workers" | "arbiters,workers" | "masters,arbiters,workers" {
  if (of.masters === "1") return of.encryptMasters ? "all" : "none";
  if (of.encryptMasters && of.encryptWorkers && of.encryptArbiters) return "all";
  const parts = [of.encryptMasters && "masters", of.encryptArbiters && "arbiters", of.encryptWorkers && "workers"].filter(Boolean);
  return (parts.join(",") || "none") as ReturnType<typeof enableOn>;
}

/** Fields with the reason why they cannot be used. */
export function problems(of: Details, mode: "create" | "edit", taken: string[]): Array<[string, string | null]> {
  const tang = enableOn(of) !== "none" && of.encryption === "tang" && mode === "create" ? of.tang.flatMap((one, index): Array<[string, string | null]> => [[t("Tang server {n}: URL", { n: index + 1 }), tangUrl(one.url)], [t("Tang server {n}: thumbprint", { n: index + 1 }), required(one.thumbprint)]]) : [];
  return [
    [t("Cluster name"), clusterName(of.name) ?? (taken.includes(`${of.name}.${of.domain}`) ? t("There is a cluster with this name and domain.") : null)],
    [t("Base domain"), baseDomain(of.domain)],
    [t("Pull secret"), mode === "create" || of.pullSecret ? pullSecret(of.pullSecret) : null],
    ...tang,
  ];
}

const usable = (level: string | undefined) => level !== "unsupported" && level !== "unavailable";
const badge = (level: string | undefined) => (level === "tech-preview" ? ` (${t("technology preview")})` : level === "dev-preview" ? ` (${t("developer preview")})` : "");

export function useFeatures(version: string, architecture: string): Record<string, string> | undefined {
  return useLoad(async () => (version ? ((await call("GetSupportedFeatures", { query: { openshift_version: version, cpu_architecture: architecture as "x86_64" } })) as { features?: Record<string, string> }).features ?? {} : {}), [version, architecture]).value;
}

export function DetailsForm({ value, set, mode, taken, attempted }: { value: Details; set: (changes: Partial<Details>) => void; mode: "create" | "edit"; taken: string[]; attempted: boolean }) {
  const [everything, setEverything] = useState(false);
  const versions = useLoad(() => call("v2ListSupportedOpenshiftVersions", { query: { only_latest: !everything } }), [everything]);
  const known = useFeatures(value.version, value.architecture);
  const wrong = new Map(problems(value, mode, taken));
  const list = Object.entries(versions.value ?? {}).sort(([a], [b]) => compareVersions(a, b));
  const chosen = versions.value?.[value.version];
  if (mode === "create" && !value.version && list.length) {
    const preferred = list.find(([, one]) => one.default) ?? list[0];
    if (preferred) queueMicrotask(() => set({ version: preferred[0] }));
  }
  const features = known ?? {};
  const architectures = (chosen?.cpu_architectures ?? ["x86_64"]).filter((one) => one !== "multi");
  const why = (id: string) => (usable(features[id]) ? null : t("not for this version and architecture"));
  const sno = value.masters === "1";
  const plainOnly = sno && ["ppc64le", "s390x"].includes(value.architecture) ? t("not for a single node of this architecture") : null;
  const counts: Choice[] = [
    { value: "1", name: t("1 (single node)") + badge(features["SNO"]), why: why("SNO") }, { value: "2", name: t("2 (with an arbiter)") + badge(features["TNA"]), why: features["TNA"] ? why("TNA") : t("not for this version and architecture") },
    { value: "3", name: t("3 (highly available)") }, { value: "4", name: "4", why: why("NON_STANDARD_HA_CONTROL_PLANE") }, { value: "5", name: "5", why: why("NON_STANDARD_HA_CONTROL_PLANE") }];
  const platforms: Choice[] = [
    { value: "baremetal", name: t("Bare metal") }, { value: "none", name: t("None: own load balancer") },
    { value: "nutanix", name: "Nutanix", why: plainOnly ?? (sno ? t("not for a single node") : why("NUTANIX_INTEGRATION")) }, { value: "vsphere", name: "vSphere", why: plainOnly ?? (sno ? t("not for a single node") : why("VSPHERE_INTEGRATION")) }, { value: "oci", name: t("Oracle Cloud Infrastructure"), why: plainOnly ?? why("EXTERNAL_PLATFORM_OCI") }];
  const on = enableOn(value) !== "none";
  // What the chosen version or architecture does not have falls back to what every one has.
  useEffect(() => {
    if (mode !== "create") return;
    if (chosen && !architectures.includes(value.architecture as "x86_64") && architectures[0]) set({ architecture: architectures.includes("x86_64") ? "x86_64" : architectures[0] });
    else if (known && counts.find((one) => one.value === value.masters)?.why) set({ masters: "3" });
    else if (known && platforms.find((one) => one.value === (value.oci ? "oci" : value.platform))?.why) set({ platform: sno ? "none" : "baremetal", oci: false });
  }, [chosen, known, value.version, value.architecture, value.masters, value.platform, value.oci]);
  return (
    <>
      <div class="two">
        <Text label={t("Cluster name")} required value={value.name} set={(name) => set({ name: name.trim() })} error={wrong.get(t("Cluster name")) ?? null} attempted={attempted} autoFocus={mode === "create"} help={t("1 to 54 lower-case letters, digits and hyphens; begins and ends with a letter or digit.")} />
        <Text label={t("Base domain")} required value={value.domain} set={(domain) => set({ domain: domain.trim() })} error={wrong.get(t("Base domain")) ?? null} attempted={attempted} placeholder="example.com" help={t("All DNS names of the cluster end in {name}.{domain}.", { name: value.name || t("[name]"), domain: value.domain || t("[domain]") })} />
      </div>
      {mode === "create" && <>
        <div class="four">
          <div class="stack">
            <Select label={t("OpenShift version")} value={value.version} set={(version) => set({ version })} choices={list.map(([key, one]) => ({ value: key, name: `${one.display_name}${one.support_level === "beta" ? ` (${t("preview")})` : one.support_level === "end-of-life" ? ` (${t("end of life")})` : ""}` }))} />
            <Check label={t("Show all versions")} value={everything} set={setEverything} />
          </div>
          <Select label={t("CPU architecture")} value={value.architecture} set={(architecture) => set({ architecture })} choices={architectures.map((one) => ({ value: one, name: one }))} />
          <Select label={t("Control plane nodes")} value={value.masters} set={(masters) => set({ masters })} choices={counts} help={sno ? t("One machine is control plane and worker; if it fails, the cluster fails.") : value.masters === "2" ? t("A third, small host is the arbiter: it only votes.") : undefined} />
          <Select label={t("Platform")} value={value.oci ? "oci" : value.platform} set={(platform) => set(platform === "oci" ? { platform: "external", oci: true } : { platform, oci: false })} choices={platforms} help={value.oci ? t("Needs the manifests of Oracle's cloud controller, and addresses by DHCP; hosts boot the minimal image.") : undefined} />
        </div>
        {chosen && chosen.support_level !== "production" && chosen.support_level !== "maintenance" && <Alert tone="orange">{t("Version {version} has support level {level}.", { version: chosen.display_name, level: chosen.support_level })}</Alert>}
        {versions.problem && <Alert tone="red" title={t("The versions could not be read")}>{versions.problem.message} <button type="button" class="link" onClick={versions.again}>{t("Try again")}</button></Alert>}
      </>}
      <Area label={t("Pull secret")} required={mode === "create"} value={value.pullSecret} set={(text) => set({ pullSecret: text })} error={wrong.get(t("Pull secret")) ?? null} attempted={attempted} file=".json,.txt,application/json" placeholder={'{"auths": {…}}'} help={mode === "edit" ? t("A pull secret is set. Paste another one to replace it.") : t("Credentials of the registries that serve OpenShift. For OKD any object with \"auths\" works. Drop a file here or choose one.")} />
      {mode === "create" && <fieldset class="stack">
        <legend>{t("Disk encryption")}</legend>
        <Check asSwitch label={sno ? t("Encrypt the disk") : t("Control plane")} value={value.encryptMasters} set={(encryptMasters) => set({ encryptMasters })} />
        {!sno && <Check asSwitch label={t("Workers")} value={value.encryptWorkers} set={(encryptWorkers) => set({ encryptWorkers })} />}
        {value.masters === "2" && <Check asSwitch label={t("Arbiter")} value={value.encryptArbiters} set={(encryptArbiters) => set({ encryptArbiters })} />}
        {on && <Radios legend={t("Key source")} value={value.encryption} set={(encryption) => set({ encryption })} choices={[{ value: "tpmv2", name: t("TPM 2.0 of each machine") }, { value: "tang", name: t("Tang servers") }]} />}
        {on && value.encryption === "tang" && value.tang.map((one, index) => {
          const change = (changes: Partial<Tang>) => set({ tang: value.tang.map((old, at) => (at === index ? { ...old, ...changes } : old)) });
          return (
            <div class="row top" key={index}>
              <div class="grow"><Text label={t("Tang server {n}: URL", { n: index + 1 })} required value={one.url} set={(url) => change({ url })} error={tangUrl(one.url)} attempted={attempted} placeholder="http://tang.example.com:7500" /></div>
              <div class="grow"><Text label={t("Tang server {n}: thumbprint", { n: index + 1 })} required value={one.thumbprint} set={(thumbprint) => change({ thumbprint })} error={all(required)(one.thumbprint)} attempted={attempted} /></div>
              {index > 0 && <button type="button" onClick={() => set({ tang: value.tang.filter((_, at) => at !== index) })}>{t("Remove")}</button>}
            </div>
          );
        })}
        {on && value.encryption === "tang" && <div><button type="button" onClick={() => set({ tang: [...value.tang, { url: "", thumbprint: "" }] })}>{t("Add a Tang server")}</button></div>}
      </fieldset>}
    </>
  );
}
