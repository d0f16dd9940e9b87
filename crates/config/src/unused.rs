//! Variables of the reference that mean nothing here.
//!
//! Deployments made for the reference may set them; they are accepted so that nothing has to
//! be edited, and named at start so that it is clear they have no effect.

/// Groups of accepted variables without effect, each with the reason.
pub const WITHOUT_EFFECT: &[(&str, &[&str])] = &[
    (
        "changes are driven by events, there is no polling to tune",
        &[
            "CLUSTER_MONITOR_INTERVAL",
            "HOST_MONITOR_INTERVAL",
            "CLUSTER_MONITOR_BATCH_SIZE",
            "HOST_MONITOR_BATCH_SIZE",
            "CLUSTER_MONITOR_CYCLE_DEADLINE",
            "CLUSTER_MONITOR_PER_CLUSTER_DEADLINE",
            "CLUSTER_MONITOR_BLACKLIST_DURATION",
            "HOST_MONITOR_PER_HOST_TIMEOUT",
            "SLOW_CLUSTER_MONITOR_LOG_THRESHOLD",
            "SLOW_HOST_MONITOR_LOG_THRESHOLD",
        ],
    ),
    (
        "replicas share the database and need no leader",
        &[
            "DEPLOY_TARGET",
            "LEADER_LEASE_DURATION",
            "LEADER_RETRY_INTERVAL",
            "LEADER_RENEW_DEADLINE",
            "NAMESPACE",
            "POD_NAME",
        ],
    ),
    (
        "the hosted offering only: accounts, single sign-on, release feeds",
        &[
            "ADMIN_USERS",
            "JWKS_CERT",
            "JWKS_URL",
            "ENABLE_ORG_TENANCY",
            "ENABLE_ORG_BASED_FEATURE_GATES",
            "OCM_BASE_URL",
            "OCM_SELF_TOKEN",
            "OCM_SERVICE_CLIENT_ID",
            "OCM_SERVICE_CLIENT_SECRET",
            "OCM_TOKEN_URL",
            "ACKNOWLEDGE_DEPRECATED_OCM_SELF_TOKEN",
            "RELEASE_SOURCES",
            "OPENSHIFT_RELEASE_SYNCER_INTERVAL",
            "RED_HAT_PRODUCT_LIFE_CYCLE_DATA_API_BASE_URL",
        ],
    ),
    (
        "nothing is sent to third parties: no event stream, no telemetry",
        &[
            "ENABLE_EVENT_STREAMING",
            "KAFKA_BOOTSTRAP_SERVER",
            "KAFKA_EVENT_STREAM_TOPIC",
            "KAFKA_CLIENT_ID",
            "KAFKA_CLIENT_SECRET",
            "KAFKA_SASL_MECHANISM",
            "CLUSTER_EVENTS_UPLOADER_INTERVAL",
            "ENABLE_DATA_COLLECTION",
            "DATA_UPLOAD_ENDPOINT",
            "DEPLOYMENT_TYPE",
            "DEPLOYMENT_VERSION",
        ],
    ),
    (
        "the operator has its own settings",
        &[
            "ENABLE_KUBE_API",
            "ALLOW_CONVERGED_FLOW",
            "ENABLE_METAL3",
            "PAUSE_PROVISIONED_BMHS",
            "BMAC_MAX_CONCURRENT_RECONCILES",
            "APPROVE_CSRS_REQUEUE_DURATION",
            "IRONIC_AGENT_IMAGE",
            "IRONIC_AGENT_IMAGE_ARM",
        ],
    ),
    (
        "it is not configurable here",
        &[
            "SERVE_HTTPS",
            "TLS_CIPHER_SUITES",
            "S3_USE_SSL",
            "ENABLE_XATTR_FALLBACK",
            "DB_LOG_SLOW_QUERIES",
            "DB_SLOW_QUERY_SCOPES",
            "DB_SLOW_QUERY_HTTP_ROUTES",
            "IMAGE_EXPIRATION_INTERVAL",
            "INSTALLER_CACHE_CAPACITY",
            "INSTALLER_CACHE_MAX_RELEASE_SIZE",
            "INSTALLER_CACHE_RELEASE_FETCH_RETRY_INTERVAL",
            "ISO_WORKSPACE_BASE_DIR",
            "CNV_MODE",
        ],
    ),
    (
        "images are served by the same process, which needs no address of the other one",
        &[
            "ASSISTED_SERVICE_HOST",
            "ASSISTED_SERVICE_SCHEME",
            "LISTEN_PORT",
        ],
    ),
];

/// Settings that are read and checked but that no part of this version acts on yet; a trailing
/// dot means the whole section. Setting one is answered with a warning. A change that begins to
/// use a setting takes it off this list.
pub const NOT_YET: &[&str] = &[
    "cluster.max_time_difference_minutes",
    "images.install_redhat_ca",
    "storage.s3_create_bucket",
    "timeouts.reset_cluster",
];

/// Whether nothing acts on the setting yet.
pub fn is_idle(key: &str) -> bool {
    let listed = |entry: &str| match entry.strip_suffix('.') {
        Some(section) => key.split('.').next() == Some(section),
        None => entry == key,
    };
    NOT_YET.iter().any(|entry| listed(entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::settings;

    #[test]
    fn every_idle_setting_exists() {
        for entry in NOT_YET {
            let known = settings().any(|setting| {
                setting.key == *entry || (entry.ends_with('.') && setting.key.starts_with(entry))
            });
            assert!(known, "{entry} is no setting");
        }
        assert!(is_idle("timeouts.reset_cluster") && !is_idle("operators.odf_min_disks"));
    }
}
