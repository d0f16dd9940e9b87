//! Limits of watchers, so that no caller can use them all.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::StatusCode;
use muster_auth::{Principal, Role, Scope};
use muster_config::sections::Quotas;

use crate::http::Failure;

/// Seconds after which a refused watcher may ask again.
const RETRY_AFTER: u64 = 30;

/// Who takes a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// An administrator; in mode `none` that is everyone.
    Admin,
    /// A person who is no administrator.
    User(Cow<'static, str>),
    /// Everyone who has the token of one infra-env or cluster.
    Token(Scope),
}

impl Holder {
    pub fn of(caller: &Principal) -> Self {
        match (caller.scope(), caller.role) {
            (Some(scope), _) => Self::Token(scope),
            (None, Role::Admin) => Self::Admin,
            (None, Role::User | Role::ReadOnly | Role::Agent) => Self::User(caller.name.clone()),
        }
    }
}

/// All places, and who has them.
#[derive(Debug)]
pub struct Places {
    limits: Quotas,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken(HashMap<Holder, usize>);

impl Taken {
    fn sum(&self, counts: impl Fn(&Holder) -> bool) -> usize {
        let counted = self.0.iter().filter(|(holder, _)| counts(holder));
        counted.map(|(_, count)| count).sum()
    }

    fn of(&self, holder: &Holder) -> usize {
        self.0.get(holder).copied().unwrap_or(0)
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    // A poisoned lock still guards valid counts: every change to them is one step.
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    pub fn new(limits: &Quotas) -> Self {
        Self {
            limits: limits.clone(),
            taken: Arc::default(),
        }
    }

    /// A place for this caller.
    ///
    /// # Errors
    /// 429 if the caller has as many as one may have, 503 if there are no more for callers of
    /// its kind.
    pub fn take(&self, holder: Holder) -> Result<Place, Failure> {
        let limits = &self.limits;
        let mut taken = lock(&self.taken);
        let not_admin = || taken.sum(|other| *other != Holder::Admin);
        let tokens = || taken.sum(|other| matches!(other, Holder::Token(_)));
        let is_full = match &holder {
            Holder::Admin => false,
            Holder::User(_) => not_admin() >= size(limits.watchers_not_admin),
            Holder::Token(_) => {
                not_admin() >= size(limits.watchers_not_admin)
                    || tokens() >= size(limits.watchers_not_admin / 2)
            }
        };
        if is_full || taken.sum(|_| true) >= size(limits.watchers) {
            return Err(Failure::api(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many clients are watching; poll instead, or retry later (quotas.watchers)",
            )
            .retry_after(RETRY_AFTER));
        }
        let (own, setting) = match &holder {
            Holder::Admin => (limits.watchers, "watchers"),
            Holder::User(_) => (limits.watchers_per_user, "watchers_per_user"),
            Holder::Token(_) => (limits.watchers_per_token, "watchers_per_token"),
        };
        if taken.of(&holder) >= size(own) {
            return Err(Failure::api(
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    "{own} clients are watching with the same user or token (quotas.{setting}); \
                     close one, or poll instead"
                ),
            )
            .retry_after(RETRY_AFTER));
        }
        *taken.0.entry(holder.clone()).or_default() += 1;
        Ok(Place {
            holder,
            taken: Arc::clone(&self.taken),
        })
    }
}

fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// A place among the watchers, free again when dropped.
#[derive(Debug)]
pub struct Place {
    holder: Holder,
    taken: Arc<Mutex<Taken>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        match taken.of(&self.holder) {
            0 | 1 => taken.0.remove(&self.holder),
            more => taken.0.insert(self.holder.clone(), more - 1),
        };
    }
}

#[cfg(test)]
mod tests {
    use muster_model::InfraEnvId;
    use uuid::Uuid;

    use super::*;

    fn places() -> Places {
        Places::new(&Quotas {
            watchers: 20,
            watchers_not_admin: 16,
            watchers_per_user: 10,
            watchers_per_token: 3,
            ..Quotas::default()
        })
    }

    fn token(number: u128) -> Holder {
        Holder::Token(Scope::InfraEnv(InfraEnvId(Uuid::from_u128(number))))
    }

    fn take_all(places: &Places, holder: &Holder) -> (Vec<Place>, StatusCode) {
        let mut taken = Vec::new();
        loop {
            match places.take(holder.clone()) {
                Ok(place) => taken.push(place),
                Err(refused) => return (taken, refused.status),
            }
        }
    }

    #[test]
    fn tokens_and_users_leave_places_to_administrators() {
        let places = places();
        let (first, status) = take_all(&places, &token(1));
        assert_eq!((first.len(), status), (3, StatusCode::TOO_MANY_REQUESTS));
        let others: Vec<_> = (2..9)
            .flat_map(|n| take_all(&places, &token(n)).0)
            .collect();
        assert_eq!(
            first.len() + others.len(),
            8,
            "half of what is not for administrators"
        );
        let (users, status) = take_all(&places, &Holder::User("bob".into()));
        assert_eq!((users.len(), status), (8, StatusCode::SERVICE_UNAVAILABLE));
        let (admins, status) = take_all(&places, &Holder::Admin);
        assert_eq!((admins.len(), status), (4, StatusCode::SERVICE_UNAVAILABLE));
    }

    #[test]
    fn a_place_is_free_again_when_its_watcher_ends() {
        let places = places();
        drop(take_all(&places, &token(1)));
        assert!(lock(&places.taken).0.is_empty());
        assert_eq!(take_all(&places, &token(1)).0.len(), 3);
    }
}
