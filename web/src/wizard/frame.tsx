// The frame of a step: its content, what is missing, what would be sent, and the way on.
import { useState } from "preact/hooks";
import type { Cluster, Host } from "../api/types";
import type { Request } from "../api/client";
import { t } from "../messages";
import { SOFT, failing, name, validations } from "../model/hosts";
import { fix } from "../model/fixes";
import { navigate } from "../router";
import { AsCall } from "../ui/ascall";
import { Icon } from "../ui/icons";
import { Alert, Button, Link, Problem, useAct, type Children } from "../ui/parts";

export const STEPS = ["details", "static", "operators", "hosts", "storage", "networking", "manifests", "review"] as const;
export type Step = (typeof STEPS)[number];
export const stepName = (step: Step): string =>
  ({ details: t("Cluster details"), static: t("Host networks"), operators: t("Operators"), hosts: t("Host discovery"), storage: t("Storage"), networking: t("Networking"), manifests: t("Custom manifests"), review: t("Review and install") })[step];

export interface StepProps { cluster: Cluster; list: Host[] }

/** Checks that this step can fix: of the cluster and of its hosts. */
export function missing(step: Step, cluster: Cluster, list: Host[]): string[] {
  const of = Object.values(validations(cluster)).flat().filter((one) => one.status !== "success" && one.status !== "disabled" && !SOFT.includes(one.id) && fix(one.id)?.step === step).map((one) => one.message);
  const hosts = new Map<string, string[]>();
  for (const host of list) for (const one of failing(host)) if (!SOFT.includes(one.id) && (fix(one.id)?.step ?? "hosts") === step) hosts.set(one.id, [...(hosts.get(one.id) ?? []), `${name(host)}: ${one.message}`]);
  return [...of, ...[...hosts.values()].map((lines) => (lines.length > 2 ? `${lines[0]} (${t("and {n} more hosts", { n: lines.length - 1 })})` : lines.join("; ")))];
}

interface FrameProps extends StepProps {
  step: Step;
  children: Children;
  /** Names of fields that cannot be saved, with the reason. */
  problems?: Array<[string, string | null | undefined]>;
  /** What would be sent; nothing if nothing was changed. */
  requests?: Request[];
  /** What the step stands for as a call, also while nothing was changed. */
  shown?: Request[];
  /** Saves; called only without problems and with something to send. */
  save?: () => Promise<unknown>;
  attempt?: () => void;
  infraEnv?: string | undefined;
  last?: Children;
}

export function Frame({ step, cluster, list, children, problems = [], requests = [], shown = requests, save, attempt, infraEnv, last }: FrameProps) {
  const { busy, problem, setProblem, act } = useAct();
  const [attempted, setAttempted] = useState(false);
  const at = STEPS.indexOf(step);
  const wrong = problems.filter((pair): pair is [string, string] => Boolean(pair[1]));
  const open = missing(step, cluster, list);
  const to = (index: number) => `/clusters/${cluster.id}/setup/${STEPS[index]}`;
  const go = async (target: string | null) => {
    attempt?.();
    setAttempted(true);
    if (wrong.length) return;
    if (save && requests.length && !(await act(save))) return;
    if (target) navigate(target);
  };
  return (
    <form class="stack" noValidate aria-label={stepName(step)} onSubmit={(event) => { event.preventDefault(); void go(at < STEPS.length - 1 ? to(at + 1) : null); }}>
      <div class="card stack"><h2>{stepName(step)}</h2>{children}{shown.length > 0 && <AsCall requests={shown} names={{ cluster: cluster.name, infraEnv }} />}</div>
      <div class="footer">
        <Problem of={problem} close={() => setProblem(null)} />
        {attempted && wrong.length > 0 && <Alert tone="red" title={t("These fields need another value")} live><ul>{wrong.map(([field, reason]) => <li key={field}><strong>{field}</strong>: {reason}</li>)}</ul></Alert>}
        {open.length > 0 && <details><summary><Icon name="clock" /> {t("Still missing in this step: {n}", { n: open.length })}</summary><ul>{open.map((text) => <li key={text}>{text}</li>)}</ul></details>}
        <div class="row">
          {at > 0 && <Link to={to(at - 1)} class="button">{t("Back")}</Link>}
          {last ?? (requests.length ? <Button submit class="primary" disabled={busy}>{busy && <Icon name="spin" />}{t("Save and continue")}</Button> : <button class="primary" disabled={busy}>{t("Next")}</button>)}
          {requests.length > 0 && !last && <Button disabled={busy} onClick={() => void go(null)}>{t("Save")}</Button>}
          {requests.length > 0 && <span class="small muted">{t("Not saved yet")}</span>}
        </div>
      </div>
    </form>
  );
}
