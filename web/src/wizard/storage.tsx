import { t } from "../messages";
import { HostTable } from "../ui/hosttable";
import { Alert, Empty } from "../ui/parts";
import { Frame, type StepProps } from "./frame";

export default function StorageStep({ cluster, list }: StepProps) {
  const storage = (cluster.monitored_operators ?? []).some((one) => one.name === "odf" || one.name === "lvm");
  return (
    <Frame step="storage" cluster={cluster} list={list}>
      <p>{t("Open a host to choose the disk that it is installed to, and which other disks are formatted.")}</p>
      {storage && <Alert>{t("The chosen storage operators need empty disks: keep formatting enabled for all other disks.")}</Alert>}
      <HostTable hosts={list} cluster={cluster} view="storage" empty={<Empty title={t("No hosts yet")} />} />
    </Frame>
  );
}
