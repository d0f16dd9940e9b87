// "Show as": a form as the calls it will make, so that a click-through becomes automation.
import { useState } from "preact/hooks";
import { t } from "../messages";
import type { Shown } from "./ascallpanel";
import { Later } from "./parts";

export function AsCall(props: Shown) {
  const [open, setOpen] = useState(false);
  return <details class="panel" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}><summary>{t("Show as API call, aicli line or custom resources")}</summary>{open && <Later load={() => import("./ascallpanel")} of={props} />}</details>;
}
