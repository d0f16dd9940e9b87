// The body of a long table: only rows near the window are drawn, so that an update costs the same with
// fifty hosts and with five hundred.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Children } from "./parts";

/** Shorter tables are drawn whole: the browser's own search finds everything in them. */
export const WHOLE = 80;
/** Rows beyond the window on either side, for quick scrolling. */
const MARGIN = 15;

function Gap({ height, columns }: { height: number; columns: number }) {
  const cell = useRef<HTMLTableCellElement>(null);
  useLayoutEffect(() => { if (cell.current) cell.current.style.height = `${height}px`; }, [height]);
  return <tr class="gap" aria-hidden="true"><td ref={cell} colSpan={columns} /></tr>;
}

/** Which rows to draw when the window shows `top` to `bottom` of a body of equally high rows. */
export function near(count: number, height: number, top: number, bottom: number): { from: number; to: number } {
  const from = Math.max(0, Math.min(count - 1, Math.floor(top / height)) - MARGIN);
  return { from, to: Math.min(count, Math.max(from + 1, Math.ceil(bottom / height) + MARGIN)) };
}

/** `keep` is a row that stays drawn wherever it is, because it is open. */
export function Rows({ count, columns, keep, row }: { count: number; columns: number; keep?: number | undefined; row: (index: number) => Children }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const height = useRef(48);
  const [shown, set] = useState({ from: 0, to: 40 });
  const long = count > WHOLE;
  useEffect(() => {
    if (!long) return;
    let frame = 0;
    const look = () => {
      frame = 0;
      const box = body.current?.getBoundingClientRect();
      if (!body.current || !box) return;
      const drawn = [...body.current.querySelectorAll<HTMLElement>(":scope > tr:not(.gap):not(.more)")];
      const all = drawn.reduce((sum, one) => sum + one.offsetHeight, 0);
      if (drawn.length && all) height.current = all / drawn.length;
      // An open row above the window pushes the others down.
      const open = body.current.querySelector<HTMLElement>(":scope > tr.more");
      const pushed = open && open.getBoundingClientRect().bottom < 0 ? open.offsetHeight : 0;
      const next = near(count, height.current, -box.top - pushed, innerHeight - box.top - pushed);
      set((old) => (old.from === next.from && old.to === next.to ? old : next));
    };
    const later = () => { frame ||= requestAnimationFrame(look); };
    look();
    addEventListener("scroll", later, { passive: true });
    addEventListener("resize", later);
    return () => { cancelAnimationFrame(frame); removeEventListener("scroll", later); removeEventListener("resize", later); };
  }, [long, count]);
  const out: Children[] = [];
  let skipped = 0;
  const gap = (at: number) => { if (skipped) out.push(<Gap key={`gap-${at < shown.to ? "above" : "below"}-${keep !== undefined && at > keep ? 1 : 0}`} height={skipped * height.current} columns={columns} />); skipped = 0; };
  for (let index = 0; index < count; index++) {
    if (long && index !== keep && (index < shown.from || index >= shown.to)) { skipped += 1; continue; }
    gap(index);
    out.push(row(index));
  }
  gap(count);
  return <tbody ref={body}>{out}</tbody>;
}
