//! Ending what was granted: logins.

use http::{HeaderMap, StatusCode};
use muster_model::{Scheme, Timestamp};

use super::{Reply, admission::recognise};
use crate::{http::Failure, service::Shared};

/// Answers `POST /auth/logout`: the token that comes with it is good for nothing afterwards, on no
/// replica.
pub async fn log_out(app: &Shared, headers: &HeaderMap) -> Reply {
    match ended(app, headers).await {
        Ok(()) => Reply::empty(StatusCode::NO_CONTENT),
        Err(failure) => Reply::failure(&failure),
    }
}

async fn ended(app: &Shared, headers: &HeaderMap) -> Result<(), Failure> {
    let now = Timestamp::now();
    let caller = recognise(app, &[Scheme::User], headers, "", now).await?;
    let Some(login) = caller.login else {
        return Err(Failure::infra(
            StatusCode::NOT_FOUND,
            "there are no logins in this auth mode",
        ));
    };
    app.store
        .end_session(&login.id, login.expires_at, now.unix_seconds())
        .await?;
    Ok(())
}
