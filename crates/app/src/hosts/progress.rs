//! How far a host's installation and its log collection have come, as the host reports it.

use std::sync::Arc;

use muster_engine::progress::{self, StageReport};
use muster_model::{HostKey, LogsState};

use crate::{App, Error, aggregate::Cause, joining};

/// The host has reached a stage of its installation.
pub async fn report_stage(
    app: &Arc<App>,
    key: HostKey,
    report: &StageReport,
    cause: &Cause,
) -> Result<(), Error> {
    let (joins, _) = app
        .change_host_in_context(key, cause, |all| {
            let host = all.host(key)?;
            let joins = host.cluster.filter(|_| host.is_day2());
            if joins.is_some_and(|id| app.joining.is_current(id)) {
                all.host_mut(key)?.followed = true;
            }
            let result = {
                let view = if all.cluster.is_some() {
                    Some(all.view(&app.heartbeats)?)
                } else {
                    None
                };
                progress::report_host(all.host(key)?, view.as_ref(), report, cause.now)
            };
            all.settle_with(result)?;
            Ok(joins)
        })
        .await?;
    if let Some(cluster) = joins {
        joining::touch(app, cluster);
    }
    Ok(())
}

/// How far the collection of the host's logs has come.
pub async fn report_logs_state(
    app: &Arc<App>,
    key: HostKey,
    state: LogsState,
    cause: &Cause,
) -> Result<(), Error> {
    app.change_host(key, cause, |all| {
        let host = all.host_mut(key)?;
        host.logs_info = Some(state);
        if state == LogsState::Requested {
            host.logs_started_at = Some(cause.now);
        }
        Ok(())
    })
    .await
    .map(drop)
}
