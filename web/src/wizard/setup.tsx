// The wizard of a draft: steps in any order, each with an address.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../messages";
import { segments } from "../router";
import { Icon } from "../ui/icons";
import { Guard, Later, Link, type Children } from "../ui/parts";
import { STEPS, missing, stepName, type Step, type StepProps } from "./frame";

const LOADERS: Record<Step, () => Promise<{ default: (props: StepProps) => Children }>> = {
  details: () => import("./details"), static: () => import("./static"), operators: () => import("./operators"), hosts: () => import("./discovery"),
  storage: () => import("./storage"), networking: () => import("./networking"), manifests: () => import("./manifests"), review: () => import("./review"),
};

/** Where to begin: at what is missing first, or at the end if nothing is. */
function first({ cluster, list }: StepProps): Step {
  if (cluster.status === "ready") return "review";
  return STEPS.find((step) => step !== "details" && step !== "static" && missing(step, cluster, list).length > 0) ?? "hosts";
}

export function Setup(props: StepProps) {
  const asked = segments.value[3] as Step | undefined;
  const [start] = useState(() => first(props));
  const step = asked && STEPS.includes(asked) ? asked : start;
  // On narrow screens the steps are one line.
  const steps = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const line = steps.current;
    const now = line?.querySelector<HTMLElement>("[aria-current]");
    if (line && now) line.scrollLeft = now.offsetLeft - line.offsetLeft - 40;
  }, [step]);
  return (
    <div class="wizard">
      <nav aria-label={t("Steps")}><ol ref={steps}>{STEPS.map((one, index) => {
        const open = missing(one, props.cluster, props.list).length;
        return <li key={one}><Link to={`/clusters/${props.cluster.id}/setup/${one}`} aria-current={one === step ? "step" : undefined}><span class="muted">{index + 1}</span>{stepName(one)}{open > 0 && <Icon name="warn" label={t("{n} to do", { n: open })} />}</Link></li>;
      })}</ol></nav>
      <Guard key={`${props.cluster.id}-${step}`}><Later load={LOADERS[step]} of={props} /></Guard>
    </div>
  );
}
