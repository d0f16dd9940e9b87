//! Changing one infra-env: load, decide, store, and again if another request was faster.

use muster_model::{Event, EventScope, InfraEnv, InfraEnvId, Severity, Timestamp};
use muster_store::{Changes, StoreError};

use super::files::Content;
use crate::{App, Error, Missing, aggregate::Cause};

/// How often a decision is repeated when others keep winning the race.
const MAX_ATTEMPTS: usize = 20;

/// Changes an infra-env: `decide` edits it and adds events; nothing is stored if it did neither.
pub async fn change_infra_env<T>(
    app: &App,
    id: InfraEnvId,
    cause: &Cause,
    mut decide: impl FnMut(&mut InfraEnv, &mut Vec<Event>) -> Result<T, Error>,
) -> Result<(T, InfraEnv), Error> {
    for _ in 0..MAX_ATTEMPTS {
        let seen = app.infra_env(id).await?;
        let mut wanted = seen.value.as_ref().clone();
        let mut events = Vec::new();
        let answer = decide(&mut wanted, &mut events)?;
        let mut changes = Changes::new();
        if wanted != *seen {
            wanted.updated_at = cause.now;
            changes.update_infra_env(&seen, wanted.clone());
        }
        changes.events(signed(events, cause));
        if changes.is_empty() {
            return Ok((answer, wanted));
        }
        match app.commit(changes).await {
            Ok(()) => return Ok((answer, wanted)),
            Err(StoreError::Conflict { .. }) => {}
            Err(StoreError::Missing { .. }) => return Err(Missing::InfraEnv(id).into()),
            Err(other) => return Err(other.into()),
        }
    }
    Err(Error::conflict(
        "too many concurrent changes of this infra-env; retry in a moment",
    ))
}

/// The events with the request that caused them.
pub fn signed(events: Vec<Event>, cause: &Cause) -> impl Iterator<Item = Event> {
    events.into_iter().map(|mut event| {
        event.request_id.clone_from(&cause.request_id);
        event
    })
}

/// Something that happened to an infra-env itself.
pub fn event(name: &str, severity: Severity, id: InfraEnvId, at: Timestamp, text: String) -> Event {
    let scope = EventScope {
        infra_env: Some(id),
        ..EventScope::default()
    };
    Event::new(name, severity, scope, at, text)
}

/// The image can be had under a new address; belongs into the history of a bound cluster too.
/// `content` names what is in it.
pub fn image_info_updated(infra_env: &InfraEnv, at: Timestamp, content: &Content) -> Event {
    let scope = EventScope {
        infra_env: Some(infra_env.id),
        cluster: infra_env.cluster,
        host: None,
    };
    let state = match content.missing() {
        None => "is ready for download".to_owned(),
        Some(why) => format!("cannot be downloaded yet: {why}"),
    };
    let message = format!(
        "the {} of infra-env {} ({}, {}) {state}; {content}",
        infra_env.image_type,
        infra_env.name,
        infra_env.openshift_version,
        infra_env.cpu_architecture
    );
    Event::new("image_info_updated", Severity::Info, scope, at, message)
}
