// "Show as": a form as the calls it will make, so that a click-through becomes automation.
import type { Request } from "../api/client";
import { t } from "../messages";
import { aicli, curl } from "../model/commands";
import { login } from "../session";
import { CodeBox } from "./parts";

export function AsCall({ requests, names = {}, resources }: { requests: Request[]; names?: { cluster?: string | undefined; host?: string | undefined; infraEnv?: string | undefined }; resources?: string }) {
  const lines = requests.map((one) => aicli(one, location.origin, names)).filter((line): line is string => line !== null);
  return (
    <details class="panel">
      <summary>{t("Show as API call, aicli line or custom resources")}</summary>
      <div class="stack">
        <h3>{t("REST API")}</h3>
        {requests.length ? <CodeBox name={t("REST API")} text={requests.map((one) => curl(one, location.origin, login.value !== null)).join("\n\n")} /> : <p class="muted">{t("Nothing has changed, so nothing would be sent.")}</p>}
        {lines.length > 0 && <><h3>aicli</h3><CodeBox name="aicli" text={lines.join("\n")} /></>}
        {resources && <><h3>{t("Custom resources")}</h3><CodeBox name={t("Custom resources")} text={resources} /></>}
        <p class="small muted">{t("Secrets are omitted; insert your own.")}</p>
      </div>
    </details>
  );
}
