// Form fields: label, help and error are one thing for screen readers, and an error never hides the help.
import { useId, useRef } from "preact/hooks";
import { t } from "../messages";
import { roleRefusal } from "../session";
import { Icon } from "./icons";
import type { Children } from "./parts";

export interface Common {
  label: string;
  help?: Children;
  required?: boolean;
  disabled?: boolean;
  /** Usable by every role: forms that only look, or log in. */
  always?: boolean;
  /** The reason why the value cannot be used. */
  error?: string | null | undefined;
  /** Errors of a field that was not touched show only after an attempt to submit. */
  attempted?: boolean;
}

/** Forms change something, so their fields are closed to those who cannot. */
const isLocked = (props: { disabled?: boolean; always?: boolean }): boolean => Boolean(props.disabled) || (!props.always && roleRefusal("user") !== null);

export function useField(props: Common, value: string) {
  const id = useId();
  // An error that appeared on leaving the field would move the button under the pointer.
  const had = useRef(false);
  had.current ||= value !== "";
  const shown = props.error && (props.attempted || had.current) ? props.error : null;
  const describedBy = [props.help ? `${id}-help` : "", shown ? `${id}-error` : ""].filter(Boolean).join(" ") || undefined;
  const frame = (control: Children) => (
    <div class="field">
      <label for={id}>{props.label}{props.required && <span class="req" aria-hidden="true"> *</span>}</label>
      {control}
      {props.help && <div class="help" id={`${id}-help`}>{props.help}</div>}
      {shown && <div class="error" id={`${id}-error`}><Icon name="fail" />{shown}</div>}
    </div>
  );
  const control = {
    id, disabled: isLocked(props), required: props.required,
    "aria-invalid": shown ? ("true" as const) : undefined, "aria-describedby": describedBy,
  };
  return { frame, control };
}

export function Text(props: Common & { value: string; set: (value: string) => void; placeholder?: string; kind?: "text" | "password"; autoFocus?: boolean; autoComplete?: string; name?: string }) {
  const { frame, control } = useField(props, props.value);
  return frame(<input {...control} name={props.name} type={(props.kind ?? "text") as "text"} value={props.value} placeholder={props.placeholder} autoComplete={props.autoComplete ?? "off"} spellcheck={false} autoFocus={props.autoFocus} onInput={(event) => props.set(event.currentTarget.value)} />);
}

export function Area(props: Common & { value: string; set: (value: string) => void; rows?: number; placeholder?: string; file?: string }) {
  const { frame, control } = useField(props, props.value);
  return frame(
    <>
      <textarea {...control} rows={props.rows ?? 4} value={props.value} placeholder={props.placeholder} spellcheck={false} onInput={(event) => props.set(event.currentTarget.value)}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => { const file = event.dataTransfer?.files[0]; if (file) { event.preventDefault(); void file.text().then(props.set); } }} />
      {props.file && <input type="file" aria-label={t("{label} from a file", { label: props.label })} accept={props.file} disabled={isLocked(props)} onChange={(event) => { const file = event.currentTarget.files?.[0]; if (file) void file.text().then(props.set); }} />}
    </>,
  );
}

export interface Choice { value: string; name: string; why?: string | null | undefined }

export function Select(props: Common & { value: string; set: (value: string) => void; choices: Choice[] }) {
  const { frame, control } = useField(props, props.value);
  return frame(
    <select {...control} value={props.value} onChange={(event) => props.set(event.currentTarget.value)}>
      {props.choices.map((one) => <option key={one.value} value={one.value} disabled={Boolean(one.why)} selected={one.value === props.value}>{one.name}{one.why ? ` (${one.why})` : ""}</option>)}
    </select>,
  );
}

export function Check(props: { label: Children; value: boolean; set: (value: boolean) => void; disabled?: boolean; always?: boolean; help?: Children; asSwitch?: boolean }) {
  const id = useId();
  return (
    <div class="check">
      <input id={id} type="checkbox" class={props.asSwitch ? "switch" : ""} role={props.asSwitch ? "switch" : undefined} checked={props.value} disabled={isLocked(props)} aria-describedby={props.help ? `${id}-help` : undefined} onChange={(event) => props.set(event.currentTarget.checked)} />
      <div><label for={id}>{props.label}</label>{props.help && <div class="help" id={`${id}-help`}>{props.help}</div>}</div>
    </div>
  );
}

export function Radios(props: { legend: string; value: string; set: (value: string) => void; choices: Array<Choice & { help?: string }>; disabled?: boolean }) {
  const name = useId();
  return (
    <fieldset disabled={isLocked(props)}>
      <legend>{props.legend}</legend>
      <div class="stack">
        {props.choices.map((one) => (
          <div class="check" key={one.value}>
            <input type="radio" id={`${name}-${one.value}`} name={name} checked={props.value === one.value} disabled={Boolean(one.why)} onChange={() => props.set(one.value)} />
            <div><label for={`${name}-${one.value}`}>{one.name}</label>{(one.why || one.help) && <div class="help">{one.why ?? one.help}</div>}</div>
          </div>
        ))}
      </div>
    </fieldset>
  );
}
