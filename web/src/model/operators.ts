// Operators as the page shows them: title, category, whether they stand alone. Unknown ones show by name.
import { t } from "../messages";

export interface OperatorInfo { title: string; category: string; alone: boolean; feature: string }

export const CATEGORIES = (): Record<string, string> => ({ storage: t("Storage"), virtualization: t("Virtualization"), ai: t("AI"), network: t("Network"), remediation: t("Remediation"), security: t("Security"), cicd: t("CI/CD"), platform: t("Platform"), scheduling: t("Scheduling") });

const KNOWN: Record<string, [title: string, category: string, alone?: false]> = {
  lso: ["Local Storage", "storage", false], lvm: ["Logical Volume Manager Storage", "storage"], odf: ["OpenShift Data Foundation", "storage"], oadp: ["OADP (backup)", "storage", false],
  cnv: ["OpenShift Virtualization", "virtualization"], mtv: ["Migration Toolkit for Virtualization", "virtualization"], osc: ["Sandboxed Containers", "virtualization"],
  "openshift-ai": ["OpenShift AI", "ai"], "amd-gpu": ["AMD GPU", "ai"], "nvidia-gpu": ["NVIDIA GPU", "ai"],
  nmstate: ["NMState", "network"], servicemesh: ["Service Mesh", "network", false], metallb: ["MetalLB", "network", false],
  "node-healthcheck": ["Node Health Check", "remediation", false], "fence-agents-remediation": ["Fence Agents Remediation", "remediation", false], "self-node-remediation": ["Self Node Remediation", "remediation", false],
  authorino: ["Authorino", "security", false], kmm: ["Kernel Module Management", "security"], pipelines: ["Pipelines", "cicd", false], serverless: ["Serverless", "cicd", false],
  mce: ["Multicluster Engine", "platform"], "node-maintenance": ["Node Maintenance", "platform", false], "cluster-observability": ["Cluster Observability", "platform"], loki: ["Loki", "platform", false], "openshift-logging": ["OpenShift Logging", "platform", false],
  "node-feature-discovery": ["Node Feature Discovery", "scheduling"], "kube-descheduler": ["Kube Descheduler", "scheduling", false], numaresources: ["NUMA Resources", "scheduling", false],
};

export function operator(name: string): OperatorInfo {
  const [title, category, alone] = KNOWN[name] ?? [name, "platform"];
  const feature = name === "numaresources" ? "NUMA_RESOURCES" : name === "loki" || name === "openshift-logging" ? "CLUSTER_OBSERVABILITY" : name.toUpperCase().replaceAll("-", "_");
  return { title, category, alone: alone !== false, feature };
}

/** Everything that a choice brings with it, and what asked for each. */
export function closure(chosen: string[], dependencies: Map<string, string[]>): Map<string, string> {
  const because = new Map<string, string>();
  const visit = (name: string) => {
    for (const needed of dependencies.get(name) ?? []) {
      if (!because.has(needed)) { because.set(needed, name); visit(needed); }
    }
  };
  chosen.forEach(visit);
  return because;
}
