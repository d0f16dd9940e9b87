//! The status of a cluster's operators.

use std::sync::Arc;

use muster_engine::operators::{self, OperatorReport};
use muster_model::ClusterId;

use super::{App, Error, aggregate::Cause};

/// Takes the report of the controller about one operator.
pub async fn report(
    app: &Arc<App>,
    id: ClusterId,
    report: &OperatorReport,
    cause: &Cause,
) -> Result<(), Error> {
    if report.name.is_empty() {
        app.cluster(id).await?;
        return Err(Error::invalid(
            "name is empty; say which operator the report is about",
        ));
    }
    app.change_cluster(id, cause, |all| {
        let result = operators::report(&all.view(&app.heartbeats)?, report, cause.now);
        all.settle_with(result)
    })
    .await
    .map(drop)
}
