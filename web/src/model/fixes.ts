// What to do about a validation, and where in the page. `asks` and `blocks` come from the service.
import { t } from "../messages";

export interface Fix { text: string; step?: "details" | "operators" | "hosts" | "storage" | "networking" | "manifests" }

export function fix(id: string): Fix | null {
  switch (id) {
    case "connected": return { text: t("Check power and network of the machine, and that it reaches this service at the address in its image."), step: "hosts" };
    case "media-connected": return { text: t("Connect the boot medium again (virtual media often drop) and restart the machine.") };
    case "inventory-not-fully-truncated": case "inventory-not-partially-truncated": return { text: t("The machine has more disks, interfaces or addresses than a report can carry. Disconnect devices that the cluster does not need, then restart it.") };
    case "compatible-agent": return { text: t("Generate the discovery image again and boot the machine from it: its agent is older than this service."), step: "hosts" };
    case "has-inventory": return { text: t("Wait for the agent. If it sends nothing, check the journal of agent.service on the machine.") };
    case "has-min-cpu-cores": case "has-cpu-cores-for-role": return { text: t("Add CPU cores, or give the host a role that needs fewer."), step: "hosts" };
    case "has-min-memory": case "has-memory-for-role": return { text: t("Add memory, or give the host a role that needs less."), step: "hosts" };
    case "has-min-valid-disks": return { text: t("Add a disk of at least 100 GB, or free one that is in use; its limitations are listed under Storage."), step: "storage" };
    case "sufficient-installation-disk-speed": return { text: t("Choose a faster installation disk."), step: "storage" };
    case "no-skip-installation-disk": case "no-skip-missing-disk": return { text: t("Choose which disks are formatted and which one is installed to."), step: "storage" };
    case "hostname-unique": case "hostname-valid": return { text: t("Give the host another name."), step: "hosts" };
    case "machine-cidr-defined": case "belongs-to-machine-cidr": return { text: t("Choose a machine network in which every host has an address, or connect the host to it."), step: "networking" };
    case "belongs-to-majority-group": return { text: t("Check cables, VLANs and firewalls between this host and the others; the network map shows the failing links."), step: "networking" };
    case "mtu-valid": return { text: t("Set the same MTU on hosts and switches.") };
    case "ntp-synced": return { text: t("Add NTP sources that the hosts reach."), step: "hosts" };
    case "time-synced-between-host-and-service": return { text: t("Set the clock of the machine, or add NTP sources that it reaches."), step: "hosts" };
    case "container-images-available": return { text: t("Check that the host reaches the registry (proxy, mirror, pull secret) and how fast.") };
    case "sufficient-network-latency-requirement-for-role": case "sufficient-packet-loss-requirement-for-role": return { text: t("Look for a bad cable, an overloaded switch or a wrong route; the network map shows the link.") };
    case "has-default-route": return { text: t("Give the host a default gateway by DHCP or in its static network.") };
    case "api-domain-name-resolved-correctly": case "api-int-domain-name-resolved-correctly": case "apps-domain-name-resolved-correctly": return { text: t("Create the DNS records that are listed under Networking."), step: "networking" };
    case "dns-wildcard-not-configured": return { text: t("Remove the wildcard record of the cluster's domain from the DNS server, or choose another base domain."), step: "details" };
    case "no-iscsi-nic-belongs-to-machine-cidr": return { text: t("Choose another machine network, or connect the iSCSI disk by an interface outside it."), step: "networking" };
    case "valid-platform-network-settings": return { text: t("Manage the network yourself: this kind of machine cannot carry virtual addresses."), step: "networking" };
    case "non-overlapping-subnets": return { text: t("Give each interface of the host a network of its own.") };
    case "no-ip-collisions-in-network": return { text: t("Find the other machine with this address and change one of them.") };
    case "disk-encryption-requirements-satisfied": return { text: t("Enable the TPM 2.0 in the firmware, or let the host reach its Tang servers.") };
    case "vsphere-disk-uuid-enabled": return { text: t("Set disk.EnableUUID to TRUE on the virtual machine.") };
    case "compatible-with-cluster-platform": return { text: t("Choose the platform these machines run on, or none."), step: "details" };
    case "ignition-downloadable": return { text: t("Set the address of the cluster's API so that the new host reaches it.") };
    case "sufficient-masters-count": return { text: t("Add hosts, or give enough of them the control plane role."), step: "hosts" };
    case "all-hosts-are-ready-to-install": return { text: t("Fix or remove the hosts that are not ready."), step: "hosts" };
    case "api-vips-defined": case "ingress-vips-defined": return { text: t("Set the virtual addresses."), step: "networking" };
    case "api-vips-valid": case "ingress-vips-valid": return { text: t("Choose a free address in the machine network."), step: "networking" };
    case "cluster-cidr-defined": case "service-cidr-defined": case "no-cidrs-overlapping": case "networks-same-address-families": case "network-prefix-valid": case "network-type-valid": case "machine-cidr-equals-to-calculated-cidr": return { text: t("Change the networks of the cluster."), step: "networking" };
    case "dns-domain-defined": return { text: t("Set the base domain."), step: "details" };
    case "pull-secret-set": return { text: t("Set the pull secret."), step: "details" };
    case "ntp-server-configured": return { text: t("Add NTP sources that all hosts reach."), step: "hosts" };
    case "platform-requirements-satisfied": case "custom-manifests-requirements-satisfied": return { text: t("Add the manifests that the platform or the network type needs."), step: "manifests" };
    default: return id.endsWith("-requirements-satisfied") ? { text: t("Meet the requirements of the operator, or deselect it."), step: "operators" } : null;
  }
}
