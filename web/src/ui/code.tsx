// An editor for YAML: a text area (so that every keyboard, screen reader and spelling of input works) over
// the same text in colours, with line numbers and the faulty line marked. Loaded with the steps that use it.
import { useMemo } from "preact/hooks";
import { t } from "../messages";
import { indentAfter, parts } from "../model/highlight";
import { useField, type Common } from "./form";

/** Beyond this the text is shown without colours, so that typing stays quick. */
const COLOURED = 200_000;

interface Props extends Common { value: string; set: (value: string) => void; file?: string; /** Counted from 1. */ faultyLine?: number | null | undefined; lines?: number }

/** Through the browser, so that undo knows it. */
const insert = (text: string) => document.execCommand("insertText", false, text);

function keys(event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) {
  const area = event.currentTarget;
  const { selectionStart: from, selectionEnd: to, value } = area;
  const start = value.lastIndexOf("\n", from - 1) + 1;
  if (event.key === "Escape") {
    // From here Tab leaves the field.
    area.dataset["leaving"] = "1";
    return;
  }
  const leaving = area.dataset["leaving"];
  if (event.key !== "Shift") delete area.dataset["leaving"];
  if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && from === to) {
    event.preventDefault();
    insert(`\n${indentAfter(value.slice(start, from))}`);
  } else if (event.key === "Tab" && !leaving && !event.ctrlKey && !event.altKey) {
    event.preventDefault();
    const lines = value.slice(start, to).split("\n");
    if (!event.shiftKey && lines.length === 1) { insert("  "); return; }
    const moved = lines.map((line) => (event.shiftKey ? line.replace(/^ {1,2}/, "") : line && `  ${line}`)).join("\n");
    area.setSelectionRange(start, to);
    insert(moved);
    if (lines.length > 1) area.setSelectionRange(start, start + moved.length);
  }
}

export function Code(props: Props) {
  const { frame, control } = useField({ ...props, help: <>{props.help} {t("Tab indents; Esc, then Tab leaves the field.")}</> }, props.value);
  const lines = useMemo(() => props.value.split("\n"), [props.value]);
  const coloured = props.value.length <= COLOURED;
  const numbers = useMemo(() => lines.map((_, index) => index + 1).join("\n"), [lines.length]);
  return frame(
    <>
      <div class={`code${(props.lines ?? 14) > 12 ? " tall" : ""}`} data-invalid={control["aria-invalid"]}>
        <pre class="numbers" aria-hidden="true">{numbers}</pre>
        <div>
          <pre aria-hidden="true">{coloured ? lines.map((line, index) => <span key={index} class={props.faultyLine === index + 1 ? "faulty" : undefined}>{parts(line).map(([kind, text], at) => (kind ? <span key={at} class={`c-${kind}`}>{text}</span> : text))}{"\n"}</span>) : `${props.value}\n`}</pre>
          <textarea {...control} value={props.value} spellcheck={false} autoCapitalize="off" autoComplete="off" wrap="off" onInput={(event) => props.set(event.currentTarget.value)} onKeyDown={keys}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => { const file = event.dataTransfer?.files[0]; if (file) { event.preventDefault(); void file.text().then(props.set); } }} />
        </div>
      </div>
      {props.file && <input type="file" aria-label={t("{label} from a file", { label: props.label })} accept={props.file} disabled={control.disabled} onChange={(event) => { const file = event.currentTarget.files?.[0]; if (file) void file.text().then(props.set); }} />}
    </>,
  );
}
