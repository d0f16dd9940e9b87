//! The authenticated caller, and what it may access.

use std::borrow::Cow;

use muster_model::{ClusterId, HostId, HostKey, InfraEnvId, Scheme};

use crate::credentials::Denied;
use crate::link_terms::LinkLimits;

/// What kind of caller it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// May do everything.
    Admin,
    /// May work with clusters.
    User,
    /// May look.
    ReadOnly,
    /// A machine, a controller or the holder of a signed link.
    Agent,
}

/// The one thing a token was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// An infra-env and the hosts in it.
    InfraEnv(InfraEnvId),
    /// A cluster and its hosts.
    Cluster(ClusterId),
    /// One machine, and the cluster it is bound to at the moment.
    Host {
        /// The machine.
        key: HostKey,
        /// The time of its registration; a later one ends the token.
        registration: i64,
    },
}

/// The login a caller's token came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Its number.
    pub id: String,
    /// When it ends by itself, in seconds since 1970.
    pub expires_at: i64,
}

/// Who is calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Name that is recorded as owner of what the caller makes.
    pub name: Cow<'static, str>,
    /// What kind of caller it is.
    pub role: Role,
    /// The scheme by which it was recognised.
    pub scheme: Scheme,
    /// The login, if the caller is a person. The service must refuse one that was ended
    /// ([`Denied::logged_out`]).
    pub login: Option<Login>,
    pub(crate) scope: Option<Scope>,
    pub(crate) bound: bool,
    pub(crate) generation: i64,
    pub(crate) link: LinkLimits,
}

impl Principal {
    pub(crate) fn unbound(name: impl Into<Cow<'static, str>>, role: Role, scheme: Scheme) -> Self {
        Self {
            name: name.into(),
            role,
            scheme,
            login: None,
            scope: None,
            bound: false,
            generation: 0,
            link: LinkLimits::default(),
        }
    }

    /// What the caller's token was made for, if it was made for one thing.
    pub fn scope(&self) -> Option<Scope> {
        self.scope
    }

    /// Whether the caller is the holder of a signed link that is limited to some places.
    pub fn is_link(&self) -> bool {
        self.link.opens.is_some()
    }

    /// Whether the caller sees everything: an administrator, or a token of the reference's
    /// `local` mode while scopes are not enforced.
    pub fn is_admin(&self) -> bool {
        match self.scope {
            Some(_) => !self.bound,
            None => self.role == Role::Admin,
        }
    }
}

/// Refuses the token of an image that was replaced. Tokens of single machines and signed links
/// end in ways of their own.
///
/// # Errors
/// 401.
pub fn check_generation(caller: &Principal, current: i64) -> Result<(), Denied> {
    let is_of_image =
        caller.scheme == Scheme::Agent && matches!(caller.scope, Some(Scope::InfraEnv(_)));
    if is_of_image && caller.generation != current {
        return Err(Denied::refused(
            "the token of this image was replaced; boot a newly downloaded image",
        ));
    }
    Ok(())
}

/// Whether an operation admits callers that may only look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOnly {
    /// It shows nothing secret.
    Admitted,
    /// It hands out credentials, or changes something.
    Refused,
}

/// Refuses callers that may only look, unless the request only looks and the operation agrees.
///
/// # Errors
/// 403.
pub fn check_role(caller: &Principal, method: &str, read_only: ReadOnly) -> Result<(), Denied> {
    let looks = matches!(method, "GET" | "HEAD" | "OPTIONS");
    match caller.role {
        Role::Admin | Role::User | Role::Agent => Ok(()),
        Role::ReadOnly if looks && read_only == ReadOnly::Admitted => Ok(()),
        Role::ReadOnly => Err(Denied::new(
            403,
            format!("`{}` is read-only; this needs role user", caller.name),
        )),
    }
}

/// Refuses tokens that were made for another infra-env or cluster than the path names.
///
/// Paths that name neither pass. `related` answers whether the hosts of an infra-env belong to a
/// cluster (for the token of one machine: whether that machine does): agents ask for their cluster,
/// and a controller reports on its hosts. Holders of
/// signed links get no such leave: a link is for exactly one thing.
///
/// # Errors
/// 404, as if the thing did not exist.
pub fn check_scope(
    caller: &Principal,
    infra_env: Option<InfraEnvId>,
    host: Option<HostId>,
    cluster: Option<ClusterId>,
    related: impl Fn(InfraEnvId, ClusterId) -> bool,
) -> Result<(), Denied> {
    let Some(scope) = caller.scope.filter(|_| caller.bound) else {
        return Ok(());
    };
    let related =
        |infra_env, cluster| matches!(caller.scheme, Scheme::Agent) && related(infra_env, cluster);
    let mine = match scope {
        Scope::InfraEnv(own) => {
            infra_env.is_none_or(|asked| asked == own)
                && cluster.is_none_or(|asked| related(own, asked))
        }
        Scope::Cluster(own) => {
            cluster.is_none_or(|asked| asked == own)
                && infra_env.is_none_or(|asked| related(asked, own))
        }
        Scope::Host { key, .. } => {
            infra_env.is_none_or(|asked| asked == key.infra_env)
                && host.is_none_or(|asked| asked == key.host)
                && cluster.is_none_or(|asked| related(key.infra_env, asked))
        }
    };
    if mine {
        Ok(())
    } else {
        Err(Denied::not_found())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn infra_env(n: u128) -> InfraEnvId {
        Uuid::from_u128(n).into()
    }

    fn cluster(n: u128) -> ClusterId {
        Uuid::from_u128(n).into()
    }

    fn bound(scheme: Scheme, scope: Scope) -> Principal {
        Principal {
            scope: Some(scope),
            bound: true,
            generation: 0,
            link: LinkLimits::default(),
            ..Principal::unbound("x", Role::Agent, scheme)
        }
    }

    /// Infra-env 1 feeds cluster 1, nothing else is related.
    fn feeds(infra_env_id: InfraEnvId, cluster_id: ClusterId) -> bool {
        infra_env_id == infra_env(1) && cluster_id == cluster(1)
    }

    #[test]
    fn a_token_opens_its_own_thing_and_what_belongs_to_it() {
        let of_infra_env = |scheme| bound(scheme, Scope::InfraEnv(infra_env(1)));
        let of_cluster = |scheme| bound(scheme, Scope::Cluster(cluster(1)));
        let (one, two) = (Some(infra_env(1)), Some(infra_env(2)));
        let (c1, c2) = (Some(cluster(1)), Some(cluster(2)));
        for (row, caller, infra_env, cluster, passes) in [
            (1, of_infra_env(Scheme::Agent), one, None, true),
            (2, of_infra_env(Scheme::Agent), two, None, false),
            (3, of_infra_env(Scheme::Agent), None, c1, true),
            (4, of_infra_env(Scheme::Agent), None, c2, false),
            (5, of_infra_env(Scheme::Agent), None, None, true),
            (6, of_infra_env(Scheme::Agent), two, c1, false),
            (7, of_infra_env(Scheme::Url), one, None, true),
            (8, of_infra_env(Scheme::Url), two, None, false),
            (9, of_infra_env(Scheme::Url), None, c1, false),
            (10, of_cluster(Scheme::Agent), None, c1, true),
            (11, of_cluster(Scheme::Agent), None, c2, false),
            (12, of_cluster(Scheme::Agent), one, None, true),
            (13, of_cluster(Scheme::Agent), two, None, false),
            (14, of_cluster(Scheme::Url), one, None, false),
        ] {
            let answer = check_scope(&caller, infra_env, None, cluster, feeds);
            assert_eq!(answer.is_ok(), passes, "row {row}");
            if let Err(denied) = answer {
                assert_eq!(denied.status, 404, "row {row}");
            }
        }
    }

    #[test]
    fn the_token_of_a_machine_opens_no_other_machine() {
        let host = |n: u128| HostId(Uuid::from_u128(n));
        let key = HostKey {
            infra_env: infra_env(1),
            host: host(1),
        };
        let scope = Scope::Host {
            key,
            registration: 7,
        };
        let caller = bound(Scheme::Agent, scope);
        let one = Some(infra_env(1));
        for (row, infra_env, host, cluster, passes) in [
            (1, one, Some(host(1)), None, true),
            (2, one, Some(host(2)), None, false),
            (3, Some(infra_env(2)), Some(host(1)), None, false),
            (4, None, None, Some(cluster(1)), true),
            (5, None, None, Some(cluster(2)), false),
            (6, one, None, None, true),
        ] {
            let answer = check_scope(&caller, infra_env, host, cluster, feeds);
            assert_eq!(answer.is_ok(), passes, "row {row}");
        }
    }

    #[test]
    fn people_and_unbound_tokens_go_everywhere() {
        let person = Principal::unbound("ann", Role::User, Scheme::User);
        let mut loose = bound(Scheme::Agent, Scope::InfraEnv(infra_env(1)));
        loose.bound = false;
        for caller in [person, loose] {
            assert_eq!(
                check_scope(&caller, Some(infra_env(2)), None, Some(cluster(2)), feeds),
                Ok(())
            );
        }
    }

    #[test]
    fn who_may_only_look_changes_nothing_and_sees_no_credentials() {
        let caller = Principal::unbound("eve", Role::ReadOnly, Scheme::User);
        assert_eq!(check_role(&caller, "GET", ReadOnly::Admitted), Ok(()));
        for (method, read_only) in [
            ("POST", ReadOnly::Admitted),
            ("DELETE", ReadOnly::Admitted),
            ("GET", ReadOnly::Refused),
        ] {
            let denied = check_role(&caller, method, read_only).unwrap_err();
            assert_eq!(denied.status, 403, "{method}");
        }
    }

    #[test]
    fn only_unbound_callers_are_administrators() {
        assert!(Principal::unbound("ann", Role::Admin, Scheme::User).is_admin());
        assert!(!Principal::unbound("bob", Role::User, Scheme::User).is_admin());
        assert!(!bound(Scheme::Agent, Scope::Cluster(cluster(1))).is_admin());
    }
}
