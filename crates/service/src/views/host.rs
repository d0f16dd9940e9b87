//! A host in its wire form.

use muster_api::wire;
use muster_app::heartbeats::Heartbeats;
use muster_engine::inventory;
use muster_model::{Cluster, Host, HostKey, HostStage, LogsState, Timestamp};

use super::{count, flag, millis, text};

/// How complete a host is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostDetail {
    /// With stages and a name that falls back to the inventory's and the id.
    Full,
    /// As stored: stages null, name only if the user gave one.
    Record,
    /// As [`HostDetail::Full`], and with addresses found free (answers to changes).
    WithFreeAddresses,
}

/// Path of the host.
fn host_href(key: HostKey) -> String {
    format!(
        "/api/assisted-install/v2/infra-envs/{}/hosts/{}",
        key.infra_env, key.host
    )
}

/// The host in an answer.
#[must_use]
pub fn host(
    host: &Host,
    cluster: Option<&Cluster>,
    detail: HostDetail,
    heartbeats: &Heartbeats,
) -> wire::Host {
    let reports = &host.reports;
    let full = detail != HostDetail::Record;
    wire::Host {
        kind: Some(host.kind.to_string()),
        id: Some(host.id.to_string()),
        href: Some(host_href(host.key())),
        cluster_id: host.cluster.map(|id| id.to_string()),
        infra_env_id: Some(host.infra_env.to_string()),
        status: Some(host.status.to_string()),
        status_info: Some(host.status_info.clone()),
        status_updated_at: millis(Some(host.status_updated_at)),
        validations_info: host.validations_info.clone(),
        logs_info: host
            .logs_info
            .filter(|state| *state != LogsState::Unset)
            .map(|state| state.to_string()),
        progress: Some(wire::HostProgressInfo {
            installation_percentage: count(host.progress.percentage),
            current_stage: host.progress.stage.map(|stage| stage.to_string()),
            progress_info: host.progress.info.as_deref().and_then(text),
            stage_started_at: millis(host.progress.stage_started_at),
            stage_updated_at: millis(host.progress.stage_updated_at),
            stage_timed_out: flag(host.progress.stage_timed_out),
        }),
        stage_started_at: millis(host.progress.stage_started_at),
        stage_updated_at: millis(host.progress.stage_updated_at),
        progress_stages: full.then(|| {
            stages(host, cluster)
                .iter()
                .map(ToString::to_string)
                .collect()
        }),
        connectivity: reports.connectivity.clone().map(String::from),
        api_vip_connectivity: reports.api_vip_connectivity.clone().map(String::from),
        tang_connectivity: reports.tang_connectivity.clone().map(String::from),
        inventory: reports.inventory.clone().map(String::from),
        free_addresses: (detail == HostDetail::WithFreeAddresses)
            .then(|| reports.free_addresses.clone().map(String::from))
            .flatten(),
        ntp_sources: reports.ntp_sources.clone().map(String::from),
        disks_info: reports.disks_info.clone().map(String::from),
        images_status: reports.images_status.clone().map(String::from),
        domain_name_resolutions: reports.domain_name_resolutions.clone().map(String::from),
        role: Some(host.role.to_string()),
        suggested_role: Some(host.suggested_role.to_string()),
        bootstrap: flag(host.bootstrap),
        logs_collected_at: millis(host.logs_collected_at),
        logs_started_at: millis(host.logs_started_at),
        installer_version: host.installer_version.clone(),
        installation_disk_path: host.installation_disk_path.clone(),
        installation_disk_id: host.installation_disk_id.clone(),
        updated_at: Some(host.updated_at.precise()),
        created_at: Some(host.created_at.precise()),
        checked_in_at: millis(Some(heartbeats.last_seen(host))),
        registered_at: millis(Some(host.registered_at)),
        discovery_agent_version: host.discovery_agent_version.as_deref().and_then(text),
        requested_hostname: if full {
            Some(inventory::hostname(host))
        } else {
            host.requested_hostname.clone()
        },
        user_name: text(&host.user_name),
        connection_timed_out: flag(host.connection_timed_out),
        media_status: media_status(host).map(str::to_owned),
        deleted_at: host.deleted_at.map(Timestamp::precise),
        ignition_config_overrides: host.ignition_config_overrides.as_deref().and_then(text),
        installer_args: host
            .installer_args
            .as_ref()
            .map(|args| serde_json::json!(args).to_string()),
        timestamp: heartbeats.agent_clock(host),
        machine_config_pool_name: host.machine_config_pool_name.as_deref().and_then(text),
        ignition_endpoint_token_set: flag(
            host.ignition_endpoint_token
                .as_ref()
                .is_some_and(|token| !token.is_empty()),
        ),
        node_labels: host
            .node_labels
            .as_ref()
            .map(|labels| serde_json::json!(labels).to_string()),
        disks_to_be_formatted: joined(&host.disks_to_be_formatted),
        skip_formatting_disks: joined(&host.skip_formatting_disks),
        fencing_credentials: host
            .fencing_credentials
            .as_ref()
            .map(|secret| secret.reveal().to_owned()),
    }
}

/// Null until something was heard of the medium.
const fn media_status(host: &Host) -> Option<&'static str> {
    match (host.media_connected, host.media_recovered) {
        (false, _) => Some("disconnected"),
        (true, true) => Some("connected"),
        (true, false) => None,
    }
}

fn joined(items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| items.join(","))
}

fn stages(host: &Host, cluster: Option<&Cluster>) -> &'static [HostStage] {
    let single_node = cluster.is_some_and(Cluster::is_single_node);
    let ends_at_reboot = host.is_day2() && !host.followed;
    HostStage::expected(host.role, host.bootstrap, single_node, ends_at_reboot)
}

#[cfg(test)]
mod tests {
    use muster_model::{HostId, InfraEnvId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_boot_medium_is_shown_only_once_something_was_heard_of_it() {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::nil()),
            host: HostId(Uuid::nil()),
        };
        let mut host = Host::registered(key, None, "admin", Timestamp(0));
        assert_eq!(media_status(&host), None);
        host.media_connected = false;
        assert_eq!(media_status(&host), Some("disconnected"));
        (host.media_connected, host.media_recovered) = (true, true);
        assert_eq!(media_status(&host), Some("connected"));
    }
}
