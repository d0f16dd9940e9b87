//! Small facts kept beside a cluster: which validations it ignores, and what its web page
//! remembers.

use std::sync::Arc;

use muster_api::{contract::contract, wire};
use muster_model::{Cluster, ClusterId};

use crate::{App, Error, aggregate::Cause};

/// Stands for every validation that may be ignored.
const ALL: &str = "all";

/// A kind of validations: where its ids are listed and which of them always count.
struct Kind {
    member: &'static str,
    definition: &'static str,
    always: &'static [&'static str],
}

static OF_CLUSTER: Kind = Kind {
    member: "cluster-validation-ids",
    definition: "cluster-validation-id",
    always: &[
        "api-vips-defined",
        "ingress-vips-defined",
        "all-hosts-are-ready-to-install",
        "sufficient-masters-count",
        "pull-secret-set",
    ],
};

static OF_HOST: Kind = Kind {
    member: "host-validation-ids",
    definition: "host-validation-id",
    always: &[
        "connected",
        "has-inventory",
        "inventory-not-fully-truncated",
        "machine-cidr-defined",
        "hostname-unique",
        "hostname-valid",
    ],
};

/// Replaces both lists of ignored validations; one that is not given is emptied.
pub async fn ignore_validations(
    app: &Arc<App>,
    id: ClusterId,
    wanted: wire::IgnoredValidations,
    cause: &Cause,
) -> Result<wire::IgnoredValidations, Error> {
    let of_cluster = OF_CLUSTER.checked(wanted.cluster_validation_ids)?;
    let of_host = OF_HOST.checked(wanted.host_validation_ids)?;
    let (shown, _) = app
        .change_cluster(id, cause, |all| {
            let cluster = all.cluster_mut()?;
            if !cluster.status.accepts_changes() {
                return Err(Error::invalid(format!(
                    "cluster {} is {}; which validations are ignored can be changed before its \
                     installation only",
                    cluster.id, cluster.status
                )));
            }
            cluster.ignored_cluster_validations.clone_from(&of_cluster);
            cluster.ignored_host_validations.clone_from(&of_host);
            let shown = ignored(cluster);
            all.refresh(app, cause.now);
            Ok(shown)
        })
        .await?;
    Ok(shown)
}

/// Replaces what the web page remembers. The text means nothing to us.
pub async fn set_ui_settings(
    app: &Arc<App>,
    id: ClusterId,
    text: &str,
    cause: &Cause,
) -> Result<(), Error> {
    app.change_cluster(id, cause, |all| {
        text.clone_into(&mut all.cluster_mut()?.ui_settings);
        Ok(())
    })
    .await
    .map(drop)
}

/// The validations a cluster ignores.
pub fn ignored(cluster: &Cluster) -> wire::IgnoredValidations {
    wire::IgnoredValidations {
        cluster_validation_ids: cluster.ignored_cluster_validations.clone(),
        host_validation_ids: cluster.ignored_host_validations.clone(),
    }
}

impl Kind {
    /// The text to store: a JSON list of known ids, kept as it was sent. Empty text is none.
    fn checked(&self, text: Option<String>) -> Result<Option<String>, Error> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let member = self.member;
        let ids: Vec<String> = serde_json::from_str(&text).map_err(|cause| {
            Error::invalid(format!(
                "{member} must be a JSON list of validation ids in a string, such as \
                 \"[\\\"{}\\\"]\": {cause}",
                ALL
            ))
        })?;
        let is_all = |id: &String| id.eq_ignore_ascii_case(ALL);
        let known = contract().definitions().get(self.definition);
        let known = known.map_or(&[][..], |definition| &definition.choices);
        if let Some(id) = ids.iter().find(|id| !is_all(id) && !known.contains(id)) {
            return Err(Error::invalid(format!(
                "{member}: {id:?} is not a validation; use {ALL} or one of: {}",
                known.join(", ")
            )));
        }
        let fixed = ids.iter().find(|id| self.always.contains(&id.as_str()));
        match fixed {
            Some(id) if !ids.iter().any(is_all) => Err(Error::invalid(format!(
                "{member}: {id} cannot be ignored, the installation would fail without it; \
                 remove it from the list"
            ))),
            _ => Ok(Some(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_host(text: &str) -> Result<Option<String>, Error> {
        OF_HOST.checked(Some(text.to_owned()))
    }

    #[test]
    fn every_validation_that_always_counts_is_a_known_one() {
        for kind in [&OF_CLUSTER, &OF_HOST] {
            let known = &contract().definitions()[kind.definition].choices;
            assert!(
                kind.always
                    .iter()
                    .all(|id| known.iter().any(|one| one == id)),
                "{}",
                kind.member
            );
        }
    }

    #[test]
    fn lists_of_known_ids_are_kept_as_they_were_sent() {
        for text in [
            "[]",
            r#"["all"]"#,
            r#"["ALL"]"#,
            r#"[ "ntp-synced","has-min-memory" ]"#,
        ] {
            assert_eq!(of_host(text).unwrap().as_deref(), Some(text));
        }
        assert_eq!(of_host("").unwrap(), None);
        assert_eq!(OF_HOST.checked(None).unwrap(), None);
    }

    #[test]
    fn what_is_no_list_of_ids_is_refused() {
        for text in ["ntp-synced", "{}", "[1]", "\"all\"", r#"["no-such-check"]"#] {
            let failure = of_host(text).unwrap_err();
            assert!(matches!(failure, Error::Invalid(_)), "{text}");
            assert!(
                failure.to_string().contains("host-validation-ids"),
                "{}",
                failure
            );
        }
    }

    #[test]
    fn what_always_counts_can_only_hide_behind_all() {
        assert!(
            of_host(r#"["connected"]"#)
                .unwrap_err()
                .to_string()
                .contains("connected")
        );
        assert!(of_host(r#"["connected", "all"]"#).is_ok());
        assert!(
            OF_CLUSTER
                .checked(Some(r#"["pull-secret-set"]"#.into()))
                .is_err()
        );
    }
}
