//! Every kind of event, as data: its stable name, its severity, who emits it and when.
//!
//! Clients filter by name and severity, so both are part of the contract. Messages are made
//! where the event happens; `names` lists what they must contain.

use muster_model::Severity;

/// Who emits an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The rules in this crate.
    Engine,
    /// Handlers and jobs of the service.
    Service,
    /// Agents and controllers, through `POST /v2/events`.
    Client,
    /// No one: the case does not arise here.
    Unused,
}

/// One kind of event.
#[derive(Clone, Copy, Debug)]
pub struct EventKind {
    /// Stable machine name.
    pub name: &'static str,
    /// How bad it is; changes of host status differ by the new status.
    pub severity: Severity,
    /// Who emits it.
    pub owner: Owner,
    /// What the message names beside the record itself.
    pub names: &'static [&'static str],
    /// The moment it is emitted.
    pub when: &'static str,
}

macro_rules! catalogue {
    ($($constant:ident = $name:literal, $severity:ident, $owner:ident, [$($names:literal),*], $when:literal;)+) => {
        $(
            #[doc = concat!("`", $name, "`: ", $when, ".")]
            pub const $constant: EventKind = EventKind {
                name: $name,
                severity: Severity::$severity,
                owner: Owner::$owner,
                names: &[$($names),*],
                when: $when,
            };
        )+

        /// The catalogue, hosts first.
        pub static EVENTS: &[EventKind] = &[$($constant,)+];
    };
}

catalogue! {
    HOST_REGISTRATION_SUCCEEDED = "host_registration_succeeded", Info, Engine, [], "a host registers for the first time";
    HOST_REGISTRATION_FAILED = "host_registration_failed", Error, Engine, ["reason"], "a registration is refused";
    HOST_STATUS_UPDATED = "host_status_updated", Info, Engine, ["old status", "new status", "status_info"], "the status of a host changes (warning for disconnected, insufficient and installing-pending-user-action, error for error)";
    HOST_STAGE_TIMED_OUT = "host_stage_timed_out", Warning, Engine, ["stage", "minutes"], "a stage takes too long and soft timeouts are on";
    HOST_ROLE_UPDATED = "host_role_updated", Info, Engine, ["suggested role"], "another role is suggested";
    HOST_BOOTSTRAP_SET = "host_bootstrap_set", Info, Engine, [], "a host is selected as bootstrap host";
    HOST_VALIDATION_FAILED = "host_validation_failed", Warning, Engine, ["validation id", "message"], "a host validation begins to fail";
    HOST_VALIDATION_FIXED = "host_validation_fixed", Info, Engine, ["validation id"], "a host validation passes again";
    HOST_PORTS_BLOCKED = "host_ports_blocked", Warning, Engine, ["address", "ports"], "packets from a host to ports of another one are dropped, as by a firewall (see docs/ports.md)";
    HOST_PORTS_REACHABLE = "host_ports_reachable", Info, Engine, [], "no port of another host is blocked any more";
    HOST_MEDIA_DISCONNECTED = "host_media_disconnected", Error, Engine, [], "a host loses its boot medium (once)";
    HOST_INSTALL_PROGRESS_UPDATED = "host_install_progress_updated", Info, Engine, ["stage", "info"], "a progress report is taken";
    HOST_INSTALLATION_STARTED = "host_installation_started", Info, Unused, [], "a hub starts the installation of a day-2 host; there is no hub here yet";
    HOST_INSTALLATION_CANCELLED = "host_installation_cancelled", Info, Engine, [], "a host is cancelled with its cluster";
    HOST_CANCEL_INSTALLATION_FAILED = "host_cancel_installation_failed", Error, Unused, ["error"], "a host cannot be cancelled; here its status is unchanged";
    HOST_INSTALLATION_RESET = "host_installation_reset", Info, Engine, [], "a host is reset";
    HOST_INSTALLATION_RESET_FAILED = "host_installation_reset_failed", Error, Engine, ["error"], "the reset of a day-2 host is refused";
    USER_REQUIRED_COMPLETE_INSTALLATION_RESET = "user_required_complete_installation_reset", Info, Unused, [], "the old resetting status times out; nothing enters it any more";
    HOST_SET_STATUS_FAILED = "host_set_status_failed", Error, Unused, ["error"], "a status cannot be written; here the whole change fails instead";
    HOST_RESET_FETCH_FAILED = "host_reset_fetch_failed", Error, Unused, [], "a host to be reset cannot be read; here the request fails instead";
    HOST_BIND_SUCCEEDED = "host_bind_succeeded", Info, Engine, ["cluster"], "a host is bound";
    HOST_BIND_FAILED = "host_bind_failed", Error, Engine, ["reason"], "binding is refused";
    HOST_UNBIND_SUCCEEDED = "host_unbind_succeeded", Info, Engine, [], "a host is unbound or reclaimed";
    HOST_UNBIND_FAILED = "host_unbind_failed", Error, Engine, ["reason"], "unbinding is refused";
    IMAGE_STATUS_UPDATED = "image_status_updated", Info, Engine, ["image", "result", "time", "size", "rate"], "the first result of an image check arrives";
    DISK_SPEED_SLOWER_THAN_SUPPORTED = "disk_speed_slower_than_supported", Warning, Engine, ["disk", "milliseconds"], "a disk is slower than its role requires";
    QUICK_DISK_FORMAT_PERFORMED = "quick_disk_format_performed", Info, Engine, ["disk"], "an installation begins that formats a bootable disk";
    QUICK_DISK_FORMAT_SKIPPED = "quick_disk_format_skipped", Info, Engine, ["disk"], "an installation begins that leaves a bootable disk alone, as asked";
    UPGRADE_AGENT_STARTED = "upgrade_agent_started", Info, Engine, ["agent image"], "an agent is asked to upgrade itself";
    UPGRADE_AGENT_FINISHED = "upgrade_agent_finished", Info, Engine, ["agent image"], "an agent has upgraded itself";
    UPGRADE_AGENT_FAILED = "upgrade_agent_failed", Error, Engine, ["agent image"], "an agent could not upgrade itself";
    HOST_DEREGISTERED = "host_deregistered", Info, Service, [], "a host is deleted";
    HOST_INSTALLER_ARGS_APPLIED = "host_installer_args_applied", Info, Service, [], "the user sets installer arguments";
    HOST_DISCOVERY_IGNITION_CONFIG_APPLIED = "host_discovery_ignition_config_applied", Info, Service, [], "the user overrides the Ignition of a host";
    HOST_APPROVED_UPDATED = "host_approved_updated", Info, Unused, ["approved"], "a hub approves a host; there is no hub here yet";
    HOST_LOGS_UPLOADED = "host_logs_uploaded", Info, Service, [], "logs of a host arrive";
    HOST_BOOT_LOGS_UPLOADED = "host_boot_logs_uploaded", Info, Unused, [], "boot logs of a host arrive; the API takes no such upload";
    REBOOTS_FOR_NODE = "reboots_for_node", Info, Client, ["node", "reboots"], "the controller counts reboots";
    HOST_REGISTRATION_SETTING_PROPERTIES_FAILED = "host_registration_setting_properties_failed", Error, Unused, [], "defined by the reference, never emitted here";

    CLUSTER_REGISTRATION_SUCCEEDED = "cluster_registration_succeeded", Info, Service, ["kind"], "a cluster is registered or imported";
    CLUSTER_STATUS_UPDATED = "cluster_status_updated", Info, Engine, ["new status", "status_info"], "the status of a cluster changes";
    CLUSTER_VALIDATION_FAILED = "cluster_validation_failed", Warning, Engine, ["validation id", "message"], "a cluster validation begins to fail";
    CLUSTER_VALIDATION_FIXED = "cluster_validation_fixed", Info, Engine, ["validation id"], "a cluster validation passes again";
    CLUSTER_PREPARE_INSTALLATION_STARTED = "cluster_prepare_installation_started", Info, Engine, [], "the files of a cluster are ready";
    PREPARE_INSTALLATION_FAILED = "prepare_installation_failed", Warning, Engine, ["error"], "the files of a cluster cannot be made";
    INSTALLATION_PREPARING_TIMED_OUT = "installation_preparing_timed_out", Warning, Engine, ["reason"], "preparation takes too long";
    VALIDATIONS_IGNORED = "validations_ignored", Info, Engine, [], "an installation starts with validations ignored";
    CLUSTER_INSTALLATION_FAILED = "cluster_installation_failed", Critical, Engine, ["reason"], "an installation fails";
    CLUSTER_INSTALLATION_COMPLETED = "cluster_installation_completed", Info, Engine, [], "a cluster is installed";
    CLUSTER_DEGRADED_OLM_OPERATORS_FAILED = "cluster_degraded_OLM_operators_failed", Warning, Engine, ["operators"], "a cluster is installed without some of its operators";
    CLUSTER_INSTALLATION_CANCELED = "cluster_installation_canceled", Info, Engine, [], "an installation is cancelled";
    CANCEL_INSTALLATION_FAILED = "cancel_installation_failed", Error, Engine, ["reason"], "there is nothing to cancel";
    CANCEL_INSTALL_START_FAILED = "cancel_install_start_failed", Error, Unused, [], "defined by the reference, never emitted here";
    CANCEL_INSTALL_COMMIT_FAILED = "cancel_install_commit_failed", Error, Unused, [], "defined by the reference, never emitted here";
    CLUSTER_INSTALLATION_RESET = "cluster_installation_reset", Info, Engine, [], "a cluster is reset";
    RESET_INSTALLATION_FAILED = "reset_installation_failed", Error, Engine, ["reason"], "there is nothing to reset";
    CLUSTER_FINALIZING_STAGE_UPDATED = "cluster_finalizing_stage_updated", Info, Engine, ["stage"], "the controller reports a finalizing stage";
    FINALIZING_STAGE_TIMED_OUT = "finalizing_stage_timed_out", Warning, Engine, ["stage", "minutes"], "a finalizing stage takes too long but the cluster may go on";
    CLUSTER_OPERATOR_STATUS = "cluster_operator_status", Info, Engine, ["operator", "status", "status_info"], "the controller reports an operator";
    CLUSTER_OPERATOR_REPORT = "cluster_operator_report", Info, Service, ["operators"], "an old controller lists failed operators";
    API_INGRESS_VIP_UPDATED = "api_ingress_vip_updated", Info, Engine, ["api vip", "ingress vip"], "a host leases virtual addresses";
    API_INGRESS_VIP_TIMED_OUT = "api_ingress_vip_timed_out", Warning, Engine, ["minutes", "network"], "no host leases virtual addresses in time";
    CLUSTER_LOGS_UPLOADED = "cluster_logs_uploaded", Info, Service, [], "logs of the controller arrive for the first time";
    CLUSTER_DEREGISTERED = "cluster_deregistered", Info, Service, [], "a cluster is deleted";
    CLUSTER_DEREGISTER_FAILED = "cluster_deregister_failed", Error, Service, ["error"], "a cluster cannot be deleted now";
    AFTER_INACTIVITY_CLUSTER_DEREGISTERED = "after_inactivity_cluster_deregistered", Info, Service, [], "a cluster that is not used is deleted";
    CLUSTER_DELETION_ANNOUNCED = "cluster_deletion_announced", Warning, Service, ["time left"], "an unused cluster will be deleted unless it is used";
    INACTIVE_CLUSTERS_DEREGISTERED = "inactive_clusters_deregistered", Info, Unused, [], "defined by the reference, never emitted here";
    CLUSTERS_PERMANENTLY_DELETED = "clusters_permanently_deleted", Info, Unused, [], "defined by the reference, never emitted here";
    INSTALL_CONFIG_APPLIED = "install_config_applied", Info, Service, [], "the user overrides the install-config";
    PROXY_SETTINGS_CHANGED = "proxy_settings_changed", Info, Service, [], "the user changes the proxy";

    INFRA_ENV_REGISTERED = "infra_env_registered", Info, Service, [], "an infra-env is registered";
    INFRA_ENV_REGISTRATION_FAILED = "infra_env_registration_failed", Error, Service, ["error"], "an infra-env cannot be registered";
    INFRA_ENV_DEREGISTERED = "infra_env_deregistered", Info, Service, [], "an infra-env is deleted";
    INFRA_ENV_DELETION_ANNOUNCED = "infra_env_deletion_announced", Warning, Service, ["time left"], "an unused infra-env will be deleted unless it is used";
    INFRA_ENV_DEREGISTER_FAILED = "infra_env_deregister_failed", Error, Service, ["error"], "an infra-env cannot be deleted now";
    IMAGE_INFO_UPDATED = "image_info_updated", Info, Service, ["details"], "what goes into the image changes";
    IGNITION_CONFIG_IMAGE_GENERATED = "ignition_config_image_generated", Info, Unused, [], "an image is generated; here images are generated while they are read";
    EXISTING_IMAGE_REUSED = "existing_image_reused", Info, Unused, [], "an image can be used again; here images are generated while they are read";
    GENERATE_IMAGE_FETCH_FAILED = "generate_image_fetch_failed", Error, Unused, [], "what an image is made of cannot be read; here images are generated while they are read";
    GENERATE_IMAGE_FORMAT_FAILED = "generate_image_format_failed", Error, Unused, [], "the Ignition of an image cannot be generated; here images are generated while they are read";
    GENERATE_MINIMAL_ISO_FAILED = "generate_minimal_iso_failed", Error, Unused, [], "a minimal image cannot be generated; here images are generated while they are read";
    UPLOAD_IMAGE_FAILED = "upload_image_failed", Error, Unused, [], "an image cannot be stored; here images are generated while they are read";
    EXPIRED_IMAGE_DELETED = "expired_image_deleted", Info, Unused, [], "defined by the reference, never emitted here";
}

/// The kind of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static EventKind> {
    EVENTS.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::{EVENTS, find};

    #[test]
    fn every_event_has_a_name_of_its_own_and_can_be_found() {
        for kind in EVENTS {
            let found = find(kind.name).expect(kind.name);
            assert!(std::ptr::eq(found, kind), "{} is listed twice", kind.name);
            assert!(!kind.when.ends_with('.') && !kind.when.is_empty());
        }
        assert!(find("sun_rose").is_none());
    }
}
