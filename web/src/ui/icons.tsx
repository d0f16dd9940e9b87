// A dozen strokes instead of an icon font.
const PATHS = {
  ok: "M4 12l5 5L20 6", cross: "M6 6l12 12M18 6L6 18", warn: "M12 3l10 18H2zM12 10v5M12 18v.5", info: "M12 21a9 9 0 100-18 9 9 0 000 18zM12 11v6M12 7v.5", fail: "M12 21a9 9 0 100-18 9 9 0 000 18zM12 7v6M12 16v.5",
  spin: "M12 3a9 9 0 109 9", clock: "M12 21a9 9 0 100-18 9 9 0 000 18zM12 7v5l3 3", draft: "M6 3h8l5 5v13H6zM14 3v5h5", ban: "M12 21a9 9 0 100-18 9 9 0 000 18zM6 6l12 12", more: "M12 5v.5M12 12v.5M12 19v.5",
  down: "M6 9l6 6 6-6", right: "M9 6l6 6-6 6", up: "M6 15l6-6 6 6", copy: "M9 9h11v11H9zM5 15H4V4h11v1", moon: "M20 14A8 8 0 1110 4a6.500 6.500 0 0010 10z", sun: "M12 16a4 4 0 100-8 4 4 0 000 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5", plug: "M9 2v6M15 2v6M6 8h12v3a6 6 0 01-12 0zM12 17v5",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, label }: { name: IconName; label?: string }) {
  return (
    <svg class={`icon${name === "spin" ? " spin" : ""}`} viewBox="0 0 24 24" aria-hidden={label ? undefined : "true"} role={label ? "img" : undefined} aria-label={label}>
      <path d={PATHS[name]} />
    </svg>
  );
}
