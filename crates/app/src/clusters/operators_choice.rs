//! From the operators and bundles a user names to the list of operators that are watched.

use std::collections::BTreeMap;

use muster_api::wire;
use muster_catalog::{BuiltinOperator, BundleSelection, Operator, operators::selection};
use muster_model::{Cluster, MonitoredOperator, OpenshiftVersion};

use crate::Invalid;

const BUILTIN: &str = "builtin";
const OLM: &str = "olm";

/// What a request names; a list left out in both members leaves the operators alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Named<'a> {
    /// Single operators.
    pub operators: Option<&'a [wire::OperatorCreateParams]>,
    /// Bundles.
    pub bundles: Option<&'a [wire::BundleCreateParams]>,
}

impl Named<'_> {
    /// The request says nothing about operators.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.operators.is_none() && self.bundles.is_none()
    }
}

/// The parts of the platform that are always watched.
#[must_use]
pub fn builtins(check_cluster_version: bool) -> Vec<MonitoredOperator> {
    BuiltinOperator::ALL
        .iter()
        .filter(|builtin| match builtin {
            BuiltinOperator::Console => true,
            BuiltinOperator::Cvo => check_cluster_version,
        })
        .map(|builtin| watched(builtin.as_str(), BUILTIN, builtin.timeout_seconds()))
        .collect()
}

/// The operators that a request names, with all they depend on, sorted by name.
pub fn choose(
    named: Named<'_>,
    version: &OpenshiftVersion,
    single_node: bool,
) -> Result<Vec<MonitoredOperator>, Invalid> {
    let mut properties: BTreeMap<Operator, Option<String>> = BTreeMap::new();
    for (index, wanted) in named.operators.unwrap_or_default().iter().enumerate() {
        let name = wanted.name.as_deref().unwrap_or_default();
        let operator = Operator::from_request(name)
            .map_err(|unknown| format!("olm_operators[{index}].name: {unknown}"))?;
        let given = wanted.properties.clone().filter(|text| !text.is_empty());
        properties.entry(operator).or_insert(given);
    }
    let bundles: Vec<BundleSelection> = named
        .bundles
        .unwrap_or_default()
        .iter()
        .map(|bundle| BundleSelection {
            id: bundle.id.clone().unwrap_or_default(),
            optional_operators: bundle.optional_operators.clone().unwrap_or_default(),
        })
        .collect();
    let alone: Vec<Operator> = properties.keys().copied().collect();
    let chosen = BundleSelection::expand(&bundles, &alone, single_node)
        .map_err(|fault| format!("operator_bundles: {fault}"))?;
    let selection = selection::complete(chosen.keys().copied(), single_node);
    selection
        .check_clash(version, single_node)
        .map_err(|clash| format!("olm_operators: {clash}"))?;
    let list = selection.all().into_iter().map(|operator| {
        let sources = chosen
            .get(&operator)
            .map(|origin| &origin.source_bundles)
            .filter(|sources| !sources.is_empty());
        MonitoredOperator {
            namespace: Some(operator.namespace().to_owned()),
            subscription_name: Some(operator.subscription(version).to_owned()),
            properties: properties.get(&operator).cloned().flatten(),
            source_bundles: sources
                .map(|sources| sources.iter().map(ToString::to_string).collect()),
            dependency_only: selection.added.contains(&operator),
            ..watched(operator.as_str(), OLM, operator.timeout_seconds())
        }
    });
    Ok(list.collect())
}

/// Puts chosen operators in the place of those that were there; what the cluster reported about
/// one that stays is kept. Says whether anything changed.
pub fn replace(cluster: &mut Cluster, mut chosen: Vec<MonitoredOperator>) -> bool {
    let present = cluster.monitored_operators.clone().unwrap_or_default();
    for operator in &mut chosen {
        if let Some(known) = present.iter().find(|known| known.name == operator.name) {
            operator.version.clone_from(&known.version);
            operator.status.clone_from(&known.status);
            operator.status_info.clone_from(&known.status_info);
            operator.status_updated_at = known.status_updated_at;
        }
    }
    let list: Vec<MonitoredOperator> = present
        .iter()
        .filter(|one| one.operator_type == BUILTIN)
        .cloned()
        .chain(chosen)
        .collect();
    let changed = list != present;
    if changed {
        cluster.monitored_operators = Some(list);
    }
    changed
}

/// The OLM operators of a cluster.
pub fn of_cluster(cluster: &Cluster) -> impl Iterator<Item = Operator> {
    muster_engine::operators::chosen(cluster)
}

fn watched(name: &str, operator_type: &str, timeout_seconds: u32) -> MonitoredOperator {
    MonitoredOperator {
        name: name.to_owned(),
        operator_type: operator_type.to_owned(),
        namespace: None,
        subscription_name: None,
        properties: None,
        timeout_seconds: i64::from(timeout_seconds),
        source_bundles: None,
        dependency_only: false,
        version: None,
        status: None,
        status_info: None,
        status_updated_at: None,
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, ClusterStatus, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn operator(name: &str, properties: Option<&str>) -> wire::OperatorCreateParams {
        wire::OperatorCreateParams {
            name: Some(name.into()),
            properties: properties.map(str::to_owned),
        }
    }

    fn bundle(id: &str, optional: &[&str]) -> wire::BundleCreateParams {
        let optional_operators = Some(optional.iter().map(ToString::to_string).collect());
        wire::BundleCreateParams {
            id: Some(id.into()),
            optional_operators,
        }
    }

    fn choose_on(
        version: &str,
        operators: &[wire::OperatorCreateParams],
        bundles: &[wire::BundleCreateParams],
    ) -> Result<Vec<MonitoredOperator>, Invalid> {
        let named = Named {
            operators: Some(operators),
            bundles: Some(bundles),
        };
        choose(named, &version.parse().unwrap(), false)
    }

    #[test]
    fn dependencies_are_added_and_marked_and_old_names_translated() {
        let list = choose_on(
            "4.16.68",
            &[operator("ocs", Some("{}")), operator("odf", None)],
            &[],
        )
        .unwrap();
        let seen: Vec<_> = list
            .iter()
            .map(|one| {
                (
                    one.name.as_str(),
                    one.dependency_only,
                    one.properties.as_deref(),
                )
            })
            .collect();
        assert_eq!(seen, [("lso", true, None), ("odf", false, Some("{}"))]);
        assert_eq!(list[0].timeout_seconds, 4200);
        assert_eq!(list[1].source_bundles, None);
    }

    #[test]
    fn bundles_are_remembered_unless_the_operator_was_named_by_itself() {
        let list = choose_on(
            "4.18.1",
            &[operator("odf", Some("{}"))],
            &[bundle("openshift-ai", &["nvidia-gpu"])],
        )
        .unwrap();
        let sources = |name: &str| {
            list.iter()
                .find(|one| one.name == name)
                .unwrap()
                .source_bundles
                .clone()
        };
        assert_eq!(
            sources("openshift-ai"),
            Some(vec!["openshift-ai".to_owned()])
        );
        assert_eq!(sources("nvidia-gpu"), Some(vec!["openshift-ai".to_owned()]));
        assert_eq!(sources("odf"), None);
    }

    #[test]
    fn unknown_names_are_refused_with_their_place() {
        assert!(
            choose_on("4.16", &[operator("nope", None)], &[])
                .unwrap_err()
                .starts_with("olm_operators[0].name")
        );
        assert!(choose_on("4.16", &[wire::OperatorCreateParams::default()], &[]).is_err());
        assert!(
            choose_on("4.16", &[], &[bundle("nope", &[])])
                .unwrap_err()
                .starts_with("operator_bundles")
        );
        assert!(choose_on("4.16", &[], &[bundle("openshift-ai", &["lvm"])]).is_err());
        assert!(
            choose_on(
                "4.14.71",
                &[operator("lvm", None), operator("cnv", None)],
                &[]
            )
            .is_err()
        );
    }

    #[test]
    fn a_replacement_keeps_the_built_in_ones_and_what_was_reported() {
        let id = ClusterId(Uuid::nil());
        let mut cluster = Cluster::blank(
            id,
            ClusterKind::Cluster,
            "c",
            ClusterStatus::Insufficient,
            "admin",
            Timestamp(0),
        );
        cluster.monitored_operators = Some(builtins(false));
        let lso = || choose_on("4.16", &[operator("lso", None)], &[]).unwrap();
        assert!(replace(&mut cluster, lso()));
        cluster.monitored_operators.as_mut().unwrap()[1].status = Some("available".into());
        assert!(
            !replace(&mut cluster, lso()),
            "the same choice changes nothing"
        );
        let names: Vec<_> = cluster
            .monitored_operators
            .iter()
            .flatten()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(names, ["console", "lso"]);
        assert_eq!(of_cluster(&cluster).collect::<Vec<_>>(), [Operator::Lso]);
        assert!(replace(&mut cluster, Vec::new()));
        assert_eq!(cluster.monitored_operators.map(|list| list.len()), Some(1));
        assert_eq!(builtins(true).len(), 2);
    }
}
