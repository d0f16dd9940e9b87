// Name and password; as a dialog over the page if a login has ended, so that nothing typed is lost.
import { useState } from "preact/hooks";
import { t } from "../messages";
import { logIn } from "../session";
import { Text } from "../ui/form";
import { Icon } from "../ui/icons";
import { Alert, Modal } from "../ui/parts";

export function LoginForm({ asDialog }: { asDialog?: boolean }) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [attempted, setAttempted] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async () => {
    setAttempted(true);
    if (!name || !password) return;
    setBusy(true);
    setProblem(await logIn(name, password));
    setBusy(false);
  };
  const fields = (
    <>
      <Text label={t("User name")} name="username" always required value={name} set={setName} autoComplete="username" autoFocus error={name ? null : t("This is required.")} attempted={attempted} />
      <Text label={t("Password")} name="password" always required kind="password" value={password} set={setPassword} autoComplete="current-password" error={password ? null : t("This is required.")} attempted={attempted} />
      {problem && <Alert tone="red" live>{problem}</Alert>}
    </>
  );
  const button = <button class="primary" disabled={busy}>{busy && <Icon name="spin" />}{t("Log in")}</button>;
  if (asDialog) return <Modal title={t("Your login has ended")} submit={() => void submit()} footer={button}><p>{t("Log in again to continue where you were.")}</p>{fields}</Modal>;
  return (
    <form class="card login stack" noValidate onSubmit={(event) => { event.preventDefault(); void submit(); }}>
      <h1>{t("Log in")}</h1>{fields}<div>{button}</div>
      <p class="small muted">{t("The first start of the service printed the password of the user admin.")}</p>
    </form>
  );
}
