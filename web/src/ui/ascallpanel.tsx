// What a form stands for: REST calls, aicli lines, custom resources. Loaded when the panel is opened.
import type { Request } from "../api/client";
import { t } from "../messages";
import { aicliLines, curl, type Names } from "../model/commands";
import { resources } from "../model/resources";
import { login } from "../session";
import { CodeBox } from "./parts";

export interface Shown { requests: Request[]; /** One for all requests, or one for each. */ names?: Names | Names[]; /** Custom resources, instead of those of the requests. */ whole?: (() => string) | undefined }

export default function Panel({ requests, names = {}, whole }: Shown) {
  const lines = aicliLines(requests, location.origin, names);
  const made = whole ? whole() : resources(requests, names);
  return (
    <div class="stack">
      <h3>{t("REST API")}</h3>
      {requests.length ? <CodeBox name={t("REST API")} text={requests.map((one) => curl(one, location.origin, login.value !== null)).join("\n\n")} /> : <p class="muted">{t("Nothing has changed, so nothing would be sent.")}</p>}
      <h3>aicli</h3>
      {lines.length > 0 ? <CodeBox name="aicli" text={lines.join("\n")} /> : <p class="muted">{t("aicli has no command for this.")}</p>}
      <h3>{t("Custom resources")}</h3>
      {made ? <CodeBox name={t("Custom resources")} text={made} /> : <p class="muted">{t("No custom resource stands for this.")}</p>}
      <p class="small muted">{t("Secrets are omitted; insert your own.")}</p>
    </div>
  );
}
