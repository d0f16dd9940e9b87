//! How many hosts an infra-env may have, and how fast new ones may register.

use std::net::IpAddr;

use muster_model::InfraEnvId;

use crate::{App, Error, quotas::address::block_of, refusals::Refusal};

/// Agents retry after a minute anyway.
const RETRY_AFTER: u64 = 60;

impl App {
    /// Whether one more host may register in an infra-env from this address. Only for hosts that are not known yet:
    /// those that come back are never refused.
    ///
    /// Registrations that are under way at the same moment are not counted, so the quota may be
    /// exceeded by a few.
    ///
    /// # Errors
    /// `TooMany` if too many came in the last minute, `QuotaExceeded` if there are too many already.
    pub async fn admit_new_host(&self, id: InfraEnvId, peer: IpAddr) -> Result<(), Error> {
        let quotas = &self.config.quotas;
        if let Err(wait) = self.quotas.new_hosts_of_address.take(block_of(peer)) {
            self.metrics.refused(Refusal::HostRateOfAddress);
            let reason = format!(
                "more than {} new hosts a minute register from {peer} \
                 (quotas.new_hosts_per_minute_of_address); retry in {wait} s",
                quotas.new_hosts_per_minute_of_address
            );
            return Err(Error::TooMany {
                message: reason,
                retry_after: wait,
            });
        }
        if let Err(wait) = self.quotas.new_hosts.take(id) {
            self.metrics.refused(Refusal::HostRate);
            let reason = format!(
                "more than {} new hosts a minute register in infra-env {id} \
                 (quotas.new_hosts_per_minute); retry in {wait} s",
                quotas.new_hosts_per_minute
            );
            return Err(Error::TooMany {
                message: reason,
                retry_after: wait,
            });
        }
        if quotas.hosts_per_infra_env == 0 {
            return Ok(());
        }
        let hosts = self.store.count_hosts_of_infra_env(id).await;
        if hosts? < u64::from(quotas.hosts_per_infra_env) {
            return Ok(());
        }
        self.metrics.refused(Refusal::HostQuota);
        let reason = format!(
            "infra-env {id} has the {} hosts it may have (quotas.hosts_per_infra_env); delete \
             hosts that are not needed, use another infra-env or raise the quota",
            quotas.hosts_per_infra_env
        );
        Err(Error::QuotaExceeded {
            message: reason,
            retry_after: RETRY_AFTER,
        })
    }
}
