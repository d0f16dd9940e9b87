//! Login sessions: who has one, and how they end.

use http::{HeaderMap, StatusCode, header};
use muster_auth::{Principal, Role, Users};
use muster_config::Field;
use muster_model::{Scheme, Timestamp};
use serde_json::json;

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

/// Answers `GET /auth/caller`: who the caller is to this service, and until when.
pub async fn caller(app: &Shared, headers: &HeaderMap) -> Reply {
    let found = recognise(app, &[Scheme::User], headers, "", Timestamp::now()).await;
    let caller = match found {
        Ok(caller) => caller,
        Err(failure) => return Reply::failure(&failure),
    };
    let role = role(caller.role);
    let ends = caller
        .login
        .map(|login| Timestamp::from_unix_seconds(login.expires_at).millis());
    let mode = app.config.auth.mode.show();
    let body = json!({"mode": mode, "name": caller.name, "role": role, "expires_at": ends});
    Reply::json_bytes(StatusCode::OK, body.to_string().into())
        .header(header::CACHE_CONTROL, "no-store")
}

/// Answers `GET /auth/users`: who can log in, with which role; for administrators.
pub async fn users(app: &Shared, headers: &HeaderMap) -> Reply {
    match administrator(app, headers, "users of the service").await {
        Err(failure) => Reply::failure(&failure),
        Ok(_) => {
            let users = app.auth.users().map(Users::list).unwrap_or_default();
            let entry = |(name, of)| json!({"name": name, "role": role(of)});
            let body: Vec<_> = users.into_iter().map(entry).collect();
            Reply::json_bytes(StatusCode::OK, json!(body).to_string().into())
                .header(header::CACHE_CONTROL, "no-store")
        }
    }
}

/// The caller, if it is an administrator; `what` is for administrators only.
pub async fn administrator(
    app: &Shared,
    headers: &HeaderMap,
    what: &str,
) -> Result<Principal, Failure> {
    let caller = recognise(app, &[Scheme::User], headers, "", Timestamp::now()).await?;
    if caller.role != Role::Admin {
        let message = format!("the {what} are for administrators");
        return Err(Failure::infra(StatusCode::FORBIDDEN, message));
    }
    Ok(caller)
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Admin => "admin",
        Role::User => "user",
        Role::ReadOnly => "read-only",
        Role::Agent => "agent",
    }
}
