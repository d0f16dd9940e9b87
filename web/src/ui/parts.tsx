// Small parts that every page uses.
import type { VNode } from "preact";
import { useEffect, useErrorBoundary, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { t } from "../messages";
import { navigate } from "../router";
import { roleRefusal, type Needs } from "../session";
import { Icon, type IconName } from "./icons";

/** Preact's own type allows any object; one that it cannot draw, such as an Error, leaves the page half drawn. */
export type Children = VNode | string | number | boolean | null | undefined | Children[];

export type Tone = "green" | "red" | "orange" | "blue" | "grey";

/** A link inside the page; ordinary clicks do not reload. */
export function Link({ to, children, ...rest }: { to: string; children: Children; class?: string; "aria-current"?: "page" | "step" | undefined }) {
  return (
    <a {...rest} href={to} onClick={(event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      navigate(to);
    }}>{children}</a>
  );
}

export function Label({ tone = "grey", icon, children }: { tone?: Tone; icon?: IconName; children: Children }) {
  return <span class={`label ${tone}`}>{icon && <Icon name={icon} />}{children}</span>;
}

const ALERT_ICONS: Record<string, IconName> = { red: "fail", orange: "warn", green: "ok", blue: "info" };

export function Alert({ tone = "blue", title, children, close, live }: { tone?: "red" | "orange" | "green" | "blue"; title?: string; children?: Children; close?: () => void; live?: boolean }) {
  return (
    <div class={`alert ${tone}`} role={live ? "alert" : undefined}>
      <Icon name={ALERT_ICONS[tone] ?? "info"} />
      <div>{title && <div class="strong">{title}</div>}{children}</div>
      {close && <button type="button" class="plain" onClick={close} aria-label={t("Close")}><Icon name="cross" /></button>}
    </div>
  );
}

export const asError = (failed: unknown): Error => (failed instanceof Error ? failed : new Error(String(failed)));
/** The service was not reached, or did not answer: not its word. */
export const isLost = (problem: Error | null): boolean => problem instanceof ApiError && problem.status === 0;

/** Why something did not work: what the service said, or that it said nothing. */
export function Problem({ of, close, quiet }: { of: Error | null; close?: () => void; quiet?: boolean }) {
  if (!of) return null;
  const lost = isLost(of);
  return <Alert tone={lost || quiet ? "orange" : "red"} live={!quiet} {...(lost ? { title: t("No connection to the service") } : quiet ? {} : { title: t("The service refused") })} {...(close ? { close } : {})}>{of.message}{lost && <> {t("Your input is kept. Try again when the service answers.")}</>}</Alert>;
}

/** A button for something that not every role may do; without the role it is disabled, with the reason. */
export function Button({ needs = "user", submit, disabled, children, ...rest }: { needs?: Needs; submit?: boolean; disabled?: boolean; class?: string; "aria-label"?: string; onClick?: () => void; children: Children }) {
  const why = roleRefusal(needs);
  return <button {...rest} type={submit ? "submit" : "button"} disabled={disabled || why !== null} title={why ?? undefined} aria-describedby={why ? ROLE_NOTE : undefined}>{children}</button>;
}

/** The note at the top of the page that says what the role cannot do. */
export const ROLE_NOTE = "role-note";

export function Progress({ value, label, tone, thin }: { value: number; label: string; tone?: Tone; thin?: boolean }) {
  const bar = useRef<HTMLDivElement>(null);
  const shown = Math.max(0, Math.min(100, Math.round(value)));
  useEffect(() => { if (bar.current) bar.current.style.width = `${shown}%`; }, [shown]);
  return <div class={`bar ${tone ?? ""}${thin ? " thin" : ""}`} role="progressbar" aria-valuemin={0} aria-valuemax={100} aria-valuenow={shown} aria-label={label}><div ref={bar} /></div>;
}

export function Spinner({ text }: { text?: string }) {
  return <span class="row muted" role="status"><Icon name="spin" />{text ?? t("Loading…")}</span>;
}

export function Empty({ title, children }: { title: string; children?: Children }) {
  return <div class="empty"><h2>{title}</h2>{children}</div>;
}

/** Name and value pairs. */
export function Facts({ of }: { of: Array<[string, Children] | false | null | undefined> }) {
  return <dl class="facts">{of.map((pair) => pair && <div key={pair[0]}><dt>{pair[0]}</dt><dd>{pair[1] === "" || pair[1] === null || pair[1] === undefined ? "—" : pair[1]}</dd></div>)}</dl>;
}

/** Copies text, over plain HTTP as well, where browsers have no clipboard API. */
export async function copy(text: string): Promise<void> {
  if (window.isSecureContext && navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <button type="button" class="plain" onClick={() => { void copy(text).then(() => { setDone(true); setTimeout(() => setDone(false), 1500); }); }}>
      <Icon name={done ? "ok" : "copy"} />{done ? t("Copied") : label ?? t("Copy")}
    </button>
  );
}

export function CodeBox({ text, name }: { text: string; name: string }) {
  return <div class="codebox"><pre aria-label={name} tabIndex={0}>{text}</pre><CopyButton text={text} /></div>;
}

export interface Action {
  name: string;
  run: () => void;
  /** Why it cannot be used now; shown, not hidden in a tooltip. */
  why?: string | null | undefined;
  /** The role that it needs, if not every role may do it. */
  needs?: Needs;
}

/** A button that opens a list of actions. Arrow keys, Home and End move, Escape closes. Entries that cannot be used are read out with their reason. */
export function Menu({ label, actions, kebab }: { label: string; actions: Action[] | (() => Action[]); kebab?: boolean }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  // With the list, not a frame later: the next key would be pressed in between, and the focus would jump back.
  useLayoutEffect(() => {
    if (!open) return;
    const items = [...(root.current?.querySelectorAll<HTMLButtonElement>("[role=menuitem]") ?? [])];
    (items.find((one) => !one.hasAttribute("aria-disabled")) ?? items[0])?.focus();
    const outside = (event: Event) => { if (!root.current?.contains(event.target as Node)) setOpen(false); };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") { setOpen(false); root.current?.querySelector("button")?.focus(); }
    if (event.key === "Tab") setOpen(false);
    const items = [...(root.current?.querySelectorAll<HTMLButtonElement>("[role=menuitem]") ?? [])];
    const now = items.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined || items.length === 0) return;
    event.preventDefault();
    items[to % items.length]?.focus();
  };
  return (
    <div class="menu" ref={root} onKeyDown={keys}>
      <button type="button" class={kebab ? "plain" : ""} aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} aria-label={kebab ? label : undefined} onClick={() => setOpen(!open)}>
        {kebab ? <Icon name="more" /> : <>{label}<Icon name="down" /></>}
      </button>
      {open && (
        <div role="menu" id={id} aria-label={label}>
          {(typeof actions === "function" ? actions() : actions).map((action) => {
            const why = (action.needs && roleRefusal(action.needs)) ?? action.why;
            return (
              <button type="button" role="menuitem" tabIndex={-1} key={action.name} aria-disabled={why ? "true" : undefined} onClick={() => {
                if (why) return;
                // A dialog that opens now gives the keyboard back to this button.
                root.current?.querySelector("button")?.focus();
                setOpen(false);
                action.run();
              }}>
                <span>{action.name}{why && <span class="small muted"> ({why})</span>}</span>
              </button>
            );
          })}
        </div>
      )}
    </div>
  );
}

/** A dialog on the browser's own: focus stays in it, Escape closes it, unless it must be answered and has no `close`. */
export function Modal({ title, close, children, footer, wide, submit }: { title: string; close?: () => void; children: Children; footer?: Children; wide?: boolean; submit?: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isGone = useRef(false);
  // At once: a key that is pressed before the dialog is up would move the focus that it gives back.
  useLayoutEffect(() => {
    const [own, opener] = [dialog.current, document.activeElement];
    own?.showModal();
    return () => {
      isGone.current = true;
      // Nothing outside can have the focus while it is open.
      own?.close();
      const to = opener instanceof HTMLElement && opener !== document.body && opener.isConnected ? opener : document.getElementById("main");
      to?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog ref={dialog} class={wide ? "wide" : ""} aria-labelledby={id} onCancel={(event) => {
      // File choosers inside that are left without a choice send the same event.
      if (event.target !== dialog.current) return;
      event.preventDefault();
      close?.();
    }} onClose={() => {
      // Browsers may close it without asking, as when Escape is pressed twice.
      if (isGone.current) return;
      if (close) close();
      else dialog.current?.showModal();
    }}>
      <form noValidate onSubmit={(event) => { event.preventDefault(); submit?.(); }}>
        <header><h2 id={id}>{title}</h2>{close && <button type="button" class="plain" aria-label={t("Close")} onClick={close}><Icon name="cross" /></button>}</header>
        <div class="body">{children}</div>
        {footer && <footer>{footer}</footer>}
      </form>
    </dialog>
  );
}

/** Asks before something that cannot be taken back; shows what the service refused. */
export function Confirm({ title, children, action, run, close, danger }: { title: string; children?: Children; action: string; run: () => Promise<unknown>; close: () => void; danger?: boolean }) {
  const { busy, problem, act } = useAct();
  return (
    <Modal title={title} close={close} submit={() => void act(run).then((ok) => ok && close())}
      footer={<><button class={danger ? "danger" : "primary"} disabled={busy}>{busy && <Icon name="spin" />}{action}</button><button type="button" onClick={close}>{t("Cancel")}</button></>}>
      {children}
      <Problem of={problem} />
    </Modal>
  );
}

/** Runs a call with a busy state and keeps the reason of a refusal. */
export function useAct() {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error | null>(null);
  const act = async (run: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setProblem(null);
    try {
      await run();
      return true;
    } catch (failed) {
      setProblem(asError(failed));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, setProblem, act };
}

const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 5000;

/** What a call gives, with its error and a way to ask again. While the service is not reached it is asked again and again. */
export function useLoad<T>(load: () => Promise<T>, on: unknown[]): { value: T | undefined; problem: Error | null; again: () => void } {
  const [state, set] = useState<{ value: T | undefined; problem: Error | null }>({ value: undefined, problem: null });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let stale = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = (pause: number) => void load().then(
      (value) => { if (!stale) set({ value, problem: null }); },
      (failed: unknown) => {
        if (stale) return;
        set((old) => ({ value: old.value, problem: asError(failed) }));
        if (isLost(asError(failed))) timer = setTimeout(() => ask(Math.min(pause * 2, LONGEST_RETRY_MS)), pause);
      },
    );
    ask(RETRY_MS);
    return () => { stale = true; clearTimeout(timer); };
  }, [...on, round]);
  return { ...state, again: () => setRound((n) => n + 1) };
}

const SETTLED_MS = 400;

/** A value once it has not changed for a moment: a crowd of changes is one question. */
export function useSettled<T>(value: T): T {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(() => value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** A part that cannot be drawn does not take the page with it. */
export function Guard({ children }: { children: Children }) {
  const [failed, again] = useErrorBoundary((problem) => console.error(problem));
  if (!failed) return <>{children}</>;
  return <Alert tone="red" title={t("This part of the page cannot be shown")} live>{asError(failed).message} <button type="button" class="link" onClick={again}>{t("Try again")}</button></Alert>;
}

/** A part of the page that is fetched when it is first shown. */
export function Later<P extends object>({ load, of }: { load: () => Promise<{ default: (props: P) => Children }>; of: P }) {
  const found = useLoad(async () => {
    try {
      return { it: (await load()).default };
    } catch {
      throw new ApiError(0, t("This part of the page could not be loaded."));
    }
  }, []);
  const Part = found.value?.it;
  return Part ? <Part {...of} /> : found.problem ? <Problem of={found.problem} /> : <Spinner />;
}
