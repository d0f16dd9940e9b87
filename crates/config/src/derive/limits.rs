//! Timeouts that contain one another, and numbers that must fit.

use crate::load::Loading;
use crate::sections::minutes;

/// The preparing phase contains the checks, so it must not end before they can.
pub(super) fn timeouts(loading: &mut Loading) {
    let timeouts = &mut loading.config.timeouts;
    let slowest = timeouts.disk_check.max(timeouts.image_availability);
    let cluster = slowest + minutes(2);
    let host = slowest + minutes(1);
    if timeouts.prepare_cluster < cluster {
        timeouts.prepare_cluster = cluster;
        loading.derived(
            "timeouts.prepare_cluster",
            "raised to the slowest check and 2m",
        );
    }
    let timeouts = &mut loading.config.timeouts;
    if timeouts.prepare_host < host {
        timeouts.prepare_host = host;
        loading.derived(
            "timeouts.prepare_host",
            "raised to the slowest check and 1m",
        );
    }
    let key = "finalizing_stages.waiting_for_cluster_operators";
    if loading.config.features.soft_timeouts && !loading.is_set(key) {
        loading
            .config
            .finalizing_stages
            .waiting_for_cluster_operators = minutes(70);
        loading.derived(key, "because features.soft_timeouts is on");
    }
}

/// Numbers that are limited by other settings, or by what they mean.
pub(super) fn ranges(loading: &mut Loading) {
    let cluster = &loading.config.cluster;
    let prefixes = [
        (
            "cluster.cluster_network_host_prefix",
            cluster.cluster_network_cidr,
            cluster.cluster_network_host_prefix,
        ),
        (
            "cluster.cluster_network_host_prefix_ipv6",
            cluster.cluster_network_cidr_ipv6,
            cluster.cluster_network_host_prefix_ipv6,
        ),
    ];
    for (key, network, prefix) in prefixes {
        let range = u16::from(network.prefix_len())..=u16::from(network.max_prefix_len());
        if !range.contains(&prefix) {
            let (low, high) = range.into_inner();
            let problem = format!("{prefix} does not fit {network}; expected {low} to {high}");
            loading.complain(key, problem);
        }
    }
    if loading.config.storage.usage_threshold > 100 {
        loading.complain("storage.usage_threshold", "a percentage ends at 100");
    }
}
