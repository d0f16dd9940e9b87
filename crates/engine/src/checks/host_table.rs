//! The table of host validations, in the order clients see them.

use super::{
    CheckResult,
    host::{Gate, Hidden, HostCheck, HostContext},
    host_disks as disks, host_encryption as encryption, host_group as group, host_hardware as hw,
    host_names as names, host_network as net, host_reach as reach,
};

type Run = fn(&HostContext<'_>) -> CheckResult;

const fn row(
    category: &'static str,
    id: &'static str,
    gate: Gate,
    asks: &'static str,
    run: Run,
) -> HostCheck {
    HostCheck {
        id,
        category,
        gate,
        asks,
        hidden: Hidden::Never,
        run,
    }
}

const fn hardware(id: &'static str, gate: Gate, asks: &'static str, run: Run) -> HostCheck {
    row("hardware", id, gate, asks, run)
}

const fn network(id: &'static str, gate: Gate, asks: &'static str, run: Run) -> HostCheck {
    row("network", id, gate, asks, run)
}

const fn hidden(when: Hidden, check: HostCheck) -> HostCheck {
    HostCheck {
        hidden: when,
        ..check
    }
}

/// Every host validation.
pub(crate) static HOST_CHECKS: &[HostCheck] = &[
    hidden(
        Hidden::AfterReboot,
        network(
            "connected",
            Gate::Connection,
            "Has the agent polled recently? A host that does not poll cannot be installed.",
            net::connected,
        ),
    ),
    hidden(
        Hidden::AfterReboot,
        network(
            "media-connected",
            Gate::Connection,
            "Can the host still read its boot medium? The live system runs from it.",
            net::media_connected,
        ),
    ),
    hardware(
        "has-inventory",
        Gate::Inventory,
        "Has the agent sent its inventory? All other hardware checks need it.",
        hw::has_inventory,
    ),
    hardware(
        "inventory-not-partially-truncated",
        Gate::Nothing,
        "Is the inventory complete? A very large one is truncated, so disks may be missing.",
        hw::inventory_whole,
    ),
    hardware(
        "inventory-not-fully-truncated",
        Gate::Inventory,
        "Is the inventory usable? A fully truncated one is not.",
        hw::inventory_usable,
    ),
    hardware(
        "has-min-cpu-cores",
        Gate::MinimumHardware,
        "Does the machine have the CPU cores of the smallest role?",
        hw::has_min_cpu_cores,
    ),
    hardware(
        "has-min-memory",
        Gate::MinimumHardware,
        "Does the machine have the memory of the smallest role?",
        hw::has_min_memory,
    ),
    hardware(
        "has-min-valid-disks",
        Gate::MinimumHardware,
        "Is there a disk that can be installed to: large enough, of a supported type, not in use?",
        disks::has_min_valid_disks,
    ),
    network(
        "machine-cidr-defined",
        Gate::Input,
        "Is the machine network known? The virtual addresses must be in it.",
        net::machine_cidr_defined,
    ),
    hardware(
        "has-cpu-cores-for-role",
        Gate::Install,
        "Does the machine have the CPU cores for its role and the selected operators?",
        hw::has_cpu_cores_for_role,
    ),
    hardware(
        "has-memory-for-role",
        Gate::Install,
        "Does the machine have the memory for its role and the selected operators?",
        hw::has_memory_for_role,
    ),
    hardware(
        "hostname-unique",
        Gate::Install,
        "Is the host name unique in the cluster? Nodes are identified by name.",
        hw::hostname_unique,
    ),
    network(
        "belongs-to-machine-cidr",
        Gate::Install,
        "Does the host have an address in the machine network? Otherwise the others cannot reach it.",
        net::belongs_to_machine_cidr,
    ),
    hardware(
        "hostname-valid",
        Gate::Install,
        "Is the host name valid for a node?",
        hw::hostname_valid,
    ),
    network(
        "ignition-downloadable",
        Gate::Install,
        "Can a host that joins a running cluster fetch its configuration from there?",
        net::ignition_downloadable,
    ),
    network(
        "belongs-to-majority-group",
        Gate::Install,
        "Do this host and most others reach each other, in both directions?",
        group::belongs_to_majority_group,
    ),
    network(
        "mtu-valid",
        Gate::Nothing,
        "Do packets of full size reach the other hosts? A switch with a smaller limit drops them silently.",
        reach::mtu_valid,
    ),
    network(
        "valid-platform-network-settings",
        Gate::Install,
        "Does the platform of the machine allow the chosen networking? Some clouds drop traffic to virtual addresses.",
        net::valid_platform_network_settings,
    ),
    hidden(
        Hidden::AfterReboot,
        network(
            "ntp-synced",
            Gate::Nothing,
            "Is the host's clock synchronised with a time source?",
            net::ntp_synced,
        ),
    ),
    hidden(
        Hidden::AfterReboot,
        network(
            "time-synced-between-host-and-service",
            Gate::Install,
            "Do host and service agree about the time? Certificates are valid only from the time they are issued.",
            net::time_synced,
        ),
    ),
    network(
        "container-images-available",
        Gate::Preparation,
        "Could the host pull the images an installation needs, and fast enough?",
        net::container_images_available,
    ),
    hardware(
        "sufficient-installation-disk-speed",
        Gate::Install,
        "Could the speed of the installation disk be measured? A disk that fails the test will fail etcd.",
        disks::sufficient_disk_speed,
    ),
    network(
        "sufficient-network-latency-requirement-for-role",
        Gate::Install,
        "Is the latency between hosts of the same role low enough? Consensus fails between slow peers.",
        reach::latency_for_role,
    ),
    network(
        "sufficient-packet-loss-requirement-for-role",
        Gate::Install,
        "Is the packet loss between hosts of the same role low enough?",
        reach::packet_loss_for_role,
    ),
    network(
        "has-default-route",
        Gate::Install,
        "Does the host have a default route? Registries and name servers may be outside its own networks.",
        net::has_default_route,
    ),
    network(
        "api-domain-name-resolved-correctly",
        Gate::Install,
        "Does the API name resolve, where the user manages DNS?",
        names::api,
    ),
    network(
        "api-int-domain-name-resolved-correctly",
        Gate::Install,
        "Does the internal API name resolve, where the user manages DNS?",
        names::api_int,
    ),
    network(
        "apps-domain-name-resolved-correctly",
        Gate::Install,
        "Do the application names resolve, where the user manages DNS?",
        names::apps,
    ),
    hardware(
        "compatible-with-cluster-platform",
        Gate::MinimumHardware,
        "Does the machine match the platform of the cluster?",
        hw::compatible_with_platform,
    ),
    network(
        "dns-wildcard-not-configured",
        Gate::Install,
        "Do names that do not exist stay unresolved? A wildcard in the cluster's domain breaks lookups inside it.",
        names::no_wildcard,
    ),
    hardware(
        "disk-encryption-requirements-satisfied",
        Gate::MinimumHardware,
        "Can the host unlock its encrypted disk at boot, with a TPM or reachable Tang servers?",
        encryption::can_open_its_disk,
    ),
    network(
        "non-overlapping-subnets",
        Gate::Install,
        "Is each interface in a different network? Otherwise replies leave through the wrong one.",
        net::non_overlapping_subnets,
    ),
    hardware(
        "vsphere-disk-uuid-enabled",
        Gate::VsphereDisks,
        "Do the disks of a VMware machine expose their UUIDs? Storage identifies volumes by them.",
        disks::vsphere_disk_uuid,
    ),
    hidden(
        Hidden::WhileInstalling,
        hardware(
            "compatible-agent",
            Gate::Install,
            "Does the agent have the version the service expects?",
            hw::compatible_agent,
        ),
    ),
    hardware(
        "no-skip-installation-disk",
        Gate::Install,
        "May the installation disk be formatted? It cannot be installed to and kept.",
        disks::no_skip_installation_disk,
    ),
    hardware(
        "no-skip-missing-disk",
        Gate::Install,
        "Do the disks to keep exist? A wrong name would cost data.",
        disks::no_skip_missing_disk,
    ),
    network(
        "no-ip-collisions-in-network",
        Gate::Install,
        "Are the addresses of this host unique in the network?",
        net::no_ip_collisions,
    ),
    network(
        "no-iscsi-nic-belongs-to-machine-cidr",
        Gate::Install,
        "Is the network of an iSCSI installation disk separate from the machine network? Reconfiguring the latter would disconnect the disk.",
        disks::no_iscsi_nic_in_machine_network,
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::checks::host::NEVER_IGNORED;

    #[test]
    fn ids_are_unique_and_every_row_says_what_it_asks() {
        let ids: BTreeSet<&str> = HOST_CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), 38);
        for check in HOST_CHECKS {
            assert!(check.asks.ends_with(['?', '.']), "{}", check.id);
            assert!(check.asks.contains('?'), "{}", check.id);
            assert!(!check.gate.about().is_empty());
        }
        assert!(NEVER_IGNORED.iter().all(|id| ids.contains(id)));
    }

    #[test]
    fn each_gate_holds_what_the_contract_says() {
        let behind = |gate| -> Vec<&str> {
            let rows = HOST_CHECKS.iter().filter(|check| check.gate == gate);
            rows.map(|check| check.id).collect()
        };
        assert_eq!(behind(Gate::Connection), ["connected", "media-connected"]);
        assert_eq!(
            behind(Gate::Inventory),
            ["has-inventory", "inventory-not-fully-truncated"]
        );
        assert_eq!(
            behind(Gate::MinimumHardware),
            [
                "has-min-cpu-cores",
                "has-min-memory",
                "has-min-valid-disks",
                "compatible-with-cluster-platform",
                "disk-encryption-requirements-satisfied",
            ]
        );
        assert_eq!(behind(Gate::VsphereDisks), ["vsphere-disk-uuid-enabled"]);
        assert_eq!(behind(Gate::Input), ["machine-cidr-defined"]);
        assert_eq!(behind(Gate::Preparation), ["container-images-available"]);
        assert_eq!(
            behind(Gate::Nothing),
            [
                "inventory-not-partially-truncated",
                "mtu-valid",
                "ntp-synced"
            ]
        );
        assert_eq!(behind(Gate::Install).len(), 23);
    }
}
