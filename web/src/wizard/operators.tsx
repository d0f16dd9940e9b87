// Bundles as cards, single operators by category, each with its requirements and the reason if it is fixed.
import { useState } from "preact/hooks";
import { call, request } from "../api/client";
import { t } from "../messages";
import { bytes } from "../model/hosts";
import { CATEGORIES, closure, operator } from "../model/operators";
import { changeCluster } from "../store";
import { Check } from "../ui/form";
import { Alert, Label, Problem, Spinner, useLoad, type Children } from "../ui/parts";
import { useFeatures } from "./detailsform";
import { useDraft } from "./draft";
import { Frame, type StepProps } from "./frame";

/** What an operator adds to the needs of a host. */
const more = (mib: number | undefined, cpu: number | undefined): string => t("+{memory} memory, +{cpu} CPU", { memory: bytes((mib ?? 0) * 1024 * 1024, 1024), cpu: cpu ?? 0 });

interface Chosen { bundles: Record<string, string[]>; single: string[] }

export default function OperatorsStep({ cluster, list }: StepProps) {
  const stored: Chosen = {
    bundles: Object.fromEntries((cluster.operator_bundles ?? []).map((one) => [one.id ?? "", one.optional_operators ?? []])),
    single: (cluster.monitored_operators ?? []).filter((one) => one.operator_type === "olm" && !(one.source_bundles ?? []).length && !one.dependency_only).map((one) => one.name ?? ""),
  };
  const draft = useDraft(`${cluster.id} operators`, stored);
  const [search, setSearch] = useState("");
  const loaded = useLoad(async () => {
    const sno = cluster.control_plane_count === 1;
    const [names, bundles, fitting, needs] = await Promise.all([call("V2ListSupportedOperators"), call("V2ListBundles", { query: { openshift_version: cluster.openshift_version ?? "", cpu_architecture: cluster.cpu_architecture ?? "" } as never }), sno ? call("V2ListBundles", { query: { feature_ids: "SNO" } as never }) : null, call("v2GetPreflightRequirements", { path: { cluster_id: cluster.id } })]);
    return { names: names ?? [], bundles: bundles ?? [], fitting: fitting?.map((one) => one.id) ?? null, needs: needs.operators ?? [] };
  }, [cluster.id]);
  const features = useFeatures(cluster.openshift_version ?? "", cluster.cpu_architecture ?? "x86_64") ?? {};
  const of = draft.value;
  const body = { operator_bundles: Object.entries(of.bundles).map(([id, optional_operators]) => ({ id, optional_operators })), olm_operators: of.single.map((name) => ({ name })) };
  const sent = { path: { cluster_id: cluster.id }, body };
  const frame = (content: Children) => (
    <Frame step="operators" cluster={cluster} list={list} requests={draft.changed ? [request("V2UpdateCluster", sent)] : []} shown={[request("V2UpdateCluster", sent)]} save={async () => { await changeCluster(() => call("V2UpdateCluster", sent)); draft.drop(); }}>{content}</Frame>
  );
  if (!loaded.value) return frame(loaded.problem ? <Problem of={loaded.problem} /> : <Spinner />);
  const { names, bundles, fitting, needs } = loaded.value;
  const inBundle = new Map<string, string>();
  for (const bundle of bundles) if (bundle.id && bundle.id in of.bundles) for (const name of [...(bundle.operators ?? []), ...(of.bundles[bundle.id] ?? [])]) inBundle.set(name, bundle.title ?? bundle.id);
  const because = closure([...of.single, ...inBundle.keys()], new Map(needs.map((one) => [one.operator_name ?? "", one.dependencies ?? []])));
  const fits = (text: string) => text.toLowerCase().includes(search.toLowerCase());
  const bad = (name: string) => ["unsupported", "unavailable"].includes(features[operator(name).feature] ?? "");
  const reason = (name: string): string | null => bad(name) ? t("not for this version, architecture or platform") : inBundle.has(name) ? t("part of {bundle}", { bundle: inBundle.get(name) }) : because.has(name) ? t("needed by {name}", { name: operator(because.get(name) ?? "").title }) : !operator(name).alone && !of.single.includes(name) ? t("cannot be installed on its own") : null;
  const total = [...new Set([...of.single, ...inBundle.keys(), ...because.keys()])];
  const sum = (pick: (of: { ram_mib?: number; cpu_cores?: number }) => number | undefined, role: "master" | "worker") => needs.filter((one) => total.includes(one.operator_name ?? "")).reduce((all, one) => all + (pick(one.requirements?.[role]?.quantitative ?? {}) ?? 0), 0);
  return frame(
    <>
      <div class="field"><input type="search" aria-label={t("Search operators")} placeholder={t("Search operators")} value={search} onInput={(event) => setSearch(event.currentTarget.value)} /></div>
      <h3>{t("Bundles")}</h3>
      <div class="grid">{bundles.filter((one) => fits(`${one.title} ${one.description}`)).map((bundle) => {
        const id = bundle.id ?? "";
        const on = id in of.bundles;
        const unusable = (bundle.operators ?? []).find(bad);
        const why = unusable ? t("{name} is not available here", { name: operator(unusable).title }) : fitting && !fitting.includes(id) ? t("not for a single node") : null;
        const change = (bundlesNow: Record<string, string[]>) => draft.set({ bundles: bundlesNow });
        const without = Object.fromEntries(Object.entries(of.bundles).filter(([key]) => key !== id));
        return (
          <div class={`tile${on ? " on" : ""}`} key={id}>
            <Check label={<strong>{bundle.title}</strong>} value={on} disabled={Boolean(why) && !on} set={(next) => change(next ? { ...of.bundles, [id]: bundle.optional_operators ?? [] } : without)} help={why ?? bundle.description} />
            <p class="small muted">{(bundle.operators ?? []).map((one) => operator(one).title).join(", ")}</p>
            {on && (bundle.optional_operators ?? []).map((one) => <Check key={one} label={t("with {name}", { name: operator(one).title })} value={(of.bundles[id] ?? []).includes(one)} set={(next) => change({ ...of.bundles, [id]: next ? [...(of.bundles[id] ?? []), one] : (of.bundles[id] ?? []).filter((old) => old !== one) })} />)}
          </div>
        );
      })}</div>
      <h3>{t("Individual operators")} <Label>{t("{n} chosen", { n: total.length })}</Label></h3>
      <div class="grid">{Object.entries(CATEGORIES()).map(([category, title]) => {
        const here = names.filter((name) => operator(name).category === category && fits(`${name} ${operator(name).title}`));
        return here.length > 0 && (
          <fieldset key={category} class="stack"><legend>{title}</legend>{here.map((name) => {
            const why = reason(name);
            const need = needs.find((one) => one.operator_name === name)?.requirements;
            const [m, w] = [need?.master?.quantitative, need?.worker?.quantitative];
            const lines = [...new Set([...(need?.master?.qualitative ?? []), ...(need?.worker?.qualitative ?? [])])];
            const extra = [m?.ram_mib || m?.cpu_cores ? t("control plane: {need}", { need: more(m.ram_mib, m.cpu_cores) }) : "", cluster.control_plane_count !== 1 && (w?.ram_mib || w?.cpu_cores) ? t("worker: {need}", { need: more(w.ram_mib, w.cpu_cores) }) : "", ...lines].filter(Boolean).join("; ");
            const level = features[operator(name).feature];
            return <Check key={name} label={<>{operator(name).title} {level === "tech-preview" || level === "dev-preview" ? <Label tone="orange">{level === "tech-preview" ? t("technology preview") : t("developer preview")}</Label> : null}</>} value={of.single.includes(name) || inBundle.has(name) || because.has(name)} disabled={why !== null} set={(next) => draft.set({ single: next ? [...of.single, name] : of.single.filter((old) => old !== name) })} help={[why, extra].filter(Boolean).join(" · ") || undefined} />;
          })}</fieldset>
        );
      })}</div>
      {total.length > 0 && <Alert>{t("All chosen operators together need, on each control plane node: {master}; on each worker: {worker}.", { master: more(sum((one) => one.ram_mib, "master"), sum((one) => one.cpu_cores, "master")), worker: more(sum((one) => one.ram_mib, "worker"), sum((one) => one.cpu_cores, "worker")) })}</Alert>}
    </>,
  );
}
