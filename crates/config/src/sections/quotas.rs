//! How much one caller may use of what all callers share.

use super::section;

section! {
    /// How much one caller may use of what all callers share.
    pub struct Quotas at quotas {
        /// Most hosts of one infra-env; further machines are refused and retry until there is space. 0 for no limit.
        hosts_per_infra_env: u32 = 5000, env [];
        /// Most hosts a minute that are new to one infra-env; machines that register again are not counted. 0 for no limit.
        new_hosts_per_minute: u32 = 2000, env [];
        /// Most hosts a minute that are new to any infra-env and register from one address (IPv6: one /64 network); behind a proxy or NAT all hosts share one. 0 for no limit.
        new_hosts_per_minute_of_address: u32 = 10_000, env [];
        /// Most events a minute that agents and controllers may post with one token. 0 for no limit.
        posted_events_per_minute: u32 = 2000, env [];
        /// Most events a minute that agents and controllers may post from one address with any tokens. 0 for no limit.
        posted_events_per_minute_of_address: u32 = 10_000, env [];
        /// Most events a minute that the service records of one host or cluster; excess events are dropped. 0 for no limit.
        recorded_events_per_minute: u32 = 600, env [];
        /// Space for the events of one infra-env, or of one cluster itself, in MiB; when it is full, posted events are refused and recorded ones dropped. 0 for no limit.
        events_mib: u32 = 256, env [];
        /// Space for the logs of one cluster and its hosts, in MiB. 0 for no limit.
        cluster_logs_mib: u32 = 64 << 10, env [];
        /// Uploads are refused when they would leave less than this free on the disk of the file store, in MiB.
        min_free_disk_mib: u32 = 512, env [];
        /// Most clients that watch at the same time.
        watchers: u32 = 1000, env [];
        /// Most of these that callers other than administrators can use.
        watchers_not_admin: u32 = 900, env [];
        /// Most watchers of one user.
        watchers_per_user: u32 = 200, env [];
        /// Most watchers with the token of one infra-env or cluster; all such tokens together get half of quotas.watchers_not_admin.
        watchers_per_token: u32 = 20, env [];
    }
}
