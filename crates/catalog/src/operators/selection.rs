//! What a selection of operators pulls in, and which selections conflict.

use std::collections::BTreeSet;

use super::Operator;
use crate::{Feature, OpenshiftVersion};

/// A choice of operators, completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// What was asked for.
    pub chosen: BTreeSet<Operator>,
    /// What had to be added for it; marked `dependency_only` on the wire.
    pub added: BTreeSet<Operator>,
}

/// LVM and CNV cannot share a cluster of that version and size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "LVM and CNV do not work together on OpenShift {version}{}; {}",
    self.scope(),
    self.advice()
)]
pub struct StorageClash {
    version: String,
    single_node_would_do: bool,
}

impl StorageClash {
    fn scope(&self) -> &'static str {
        if self.single_node_would_do {
            " with several nodes"
        } else {
            ""
        }
    }

    fn advice(&self) -> &'static str {
        match self.single_node_would_do {
            true => "use a single node, version 4.15 or later, or drop one of the two",
            false => "use version 4.15 or later (single node: 4.12), or drop one of the two",
        }
    }
}

/// The operators that an operator cannot work without, directly.
pub const fn dependencies(operator: Operator, single_node: bool) -> &'static [Operator] {
    match operator {
        Operator::Odf => &[Operator::Lso],
        Operator::Mtv => &[Operator::Cnv],
        Operator::Osc | Operator::NvidiaGpu => &[Operator::NodeFeatureDiscovery],
        Operator::AmdGpu => &[Operator::Kmm, Operator::NodeFeatureDiscovery],
        Operator::OpenshiftAi if single_node => &[Operator::Lvm],
        Operator::OpenshiftLogging => &[Operator::Loki],
        Operator::ClusterObservability => &[Operator::OpenshiftLogging],
        Operator::SelfNodeRemediation | Operator::FenceAgentsRemediation => {
            &[Operator::NodeHealthcheck]
        }
        Operator::OpenshiftAi | Operator::Authorino | Operator::Cnv | Operator::Kmm => &[],
        Operator::KubeDescheduler | Operator::Loki | Operator::Lso | Operator::Lvm => &[],
        Operator::Mce | Operator::Metallb | Operator::Nmstate => &[],
        Operator::NodeFeatureDiscovery | Operator::NodeHealthcheck => &[],
        Operator::NodeMaintenance | Operator::Numaresources | Operator::Oadp => &[],
        Operator::Pipelines | Operator::Serverless | Operator::Servicemesh => &[],
    }
}

/// The same as features, as the support-level answer lists them.
///
/// That answer knows no cluster: it names LVM for OpenShift AI although only single nodes
/// pull it in.
pub fn feature_dependencies(operator: Operator) -> Vec<Feature> {
    let mut features: Vec<_> = dependencies(operator, true)
        .iter()
        .map(|needed| needed.feature())
        .collect();
    features.sort_unstable();
    features
}

/// Completes a choice with everything it depends on, directly or not.
pub fn complete(chosen: impl IntoIterator<Item = Operator>, single_node: bool) -> Selection {
    let chosen: BTreeSet<Operator> = chosen.into_iter().collect();
    let mut added = BTreeSet::new();
    let mut waiting: Vec<Operator> = chosen.iter().copied().collect();
    while let Some(operator) = waiting.pop() {
        for needed in dependencies(operator, single_node) {
            if !chosen.contains(needed) && added.insert(*needed) {
                waiting.push(*needed);
            }
        }
    }
    Selection { chosen, added }
}

impl Selection {
    /// Everything that will be installed, sorted by name.
    pub fn all(&self) -> BTreeSet<Operator> {
        self.chosen.union(&self.added).copied().collect()
    }

    /// Refuses LVM next to CNV where the two storage classes get in each other's way.
    ///
    /// # Errors
    /// When both are in, before 4.12, or before 4.15 with several nodes.
    pub fn check_clash(
        &self,
        version: &OpenshiftVersion,
        single_node: bool,
    ) -> Result<(), StorageClash> {
        let all = self.all();
        let both = all.contains(&Operator::Lvm) && all.contains(&Operator::Cnv);
        let single_node_would_do = version.at_least(4, 12);
        let fine = version.at_least(4, 15) || (single_node && single_node_would_do);
        if !both || fine {
            return Ok(());
        }
        Err(StorageClash {
            version: version.to_string(),
            single_node_would_do,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::subsequence, test_runner::TestRunner};

    use super::*;

    fn added(chosen: &[Operator], single_node: bool) -> Vec<&'static str> {
        let selection = complete(chosen.iter().copied(), single_node);
        selection.added.into_iter().map(Operator::as_str).collect()
    }

    #[test]
    fn a_choice_is_completed_through_all_levels() {
        use Operator::{
            AmdGpu, ClusterObservability, FenceAgentsRemediation, Mtv, Odf, OpenshiftAi,
        };
        for (chosen, single_node, expected) in [
            (vec![Odf], false, vec!["lso"]),
            (vec![Odf, Operator::Lso], false, vec![]),
            (
                vec![ClusterObservability],
                false,
                vec!["loki", "openshift-logging"],
            ),
            (vec![AmdGpu], false, vec!["kmm", "node-feature-discovery"]),
            (vec![Mtv], false, vec!["cnv"]),
            (vec![OpenshiftAi], false, vec![]),
            (vec![OpenshiftAi], true, vec!["lvm"]),
            (
                vec![FenceAgentsRemediation],
                false,
                vec!["node-healthcheck"],
            ),
            (vec![], false, vec![]),
        ] {
            assert_eq!(
                added(&chosen, single_node),
                expected,
                "{chosen:?} sno={single_node}"
            );
        }
    }

    #[test]
    fn a_completed_choice_lacks_nothing_and_completing_it_again_adds_nothing() {
        let mut runner = TestRunner::default();
        let choices = (
            subsequence(Operator::ALL, 0..=Operator::ALL.len()),
            any::<bool>(),
        );
        let outcome = runner.run(&choices, |(chosen, single_node)| {
            let selection = complete(chosen.iter().copied(), single_node);
            let all = selection.all();
            for operator in &all {
                for needed in dependencies(*operator, single_node) {
                    prop_assert!(all.contains(needed), "{operator} lacks {needed}");
                }
            }
            prop_assert!(selection.chosen.is_disjoint(&selection.added));
            prop_assert_eq!(&selection.chosen, &chosen.iter().copied().collect());
            let again = complete(all.iter().copied(), single_node);
            prop_assert!(again.added.is_empty());
            // Nothing is added that no chosen operator leads to.
            for operator in &selection.added {
                let wanted_by =
                    |other: &Operator| dependencies(*other, single_node).contains(operator);
                prop_assert!(all.iter().any(wanted_by), "{operator} came from nowhere");
            }
            Ok(())
        });
        assert_eq!(outcome, Ok(()));
    }

    #[test]
    fn no_operator_depends_on_itself_through_others() {
        for operator in Operator::ALL {
            let first = dependencies(*operator, true).iter().copied();
            assert!(
                !complete(first, true).all().contains(operator),
                "{operator}"
            );
        }
    }

    #[test]
    fn the_feature_list_of_openshift_ai_always_names_lvm() {
        assert_eq!(feature_dependencies(Operator::OpenshiftAi), [Feature::Lvm]);
        assert_eq!(
            feature_dependencies(Operator::AmdGpu),
            [Feature::Kmm, Feature::NodeFeatureDiscovery]
        );
        assert!(feature_dependencies(Operator::Mce).is_empty());
    }

    #[test]
    fn lvm_and_cnv_share_a_cluster_from_4_15_or_on_single_nodes_from_4_12() {
        let both = complete([Operator::Lvm, Operator::Mtv], false);
        for (version, single_node, fine) in [
            ("4.11.59", true, false),
            ("4.12.0", true, true),
            ("4.14.71", true, true),
            ("4.14.71", false, false),
            ("4.15.0-rc.1", false, true),
            ("4.16", false, true),
        ] {
            let result = both.check_clash(&version.parse().unwrap(), single_node);
            assert_eq!(result.is_ok(), fine, "{version} sno={single_node}");
        }
        let alone = complete([Operator::Lvm], true);
        assert!(alone.check_clash(&"4.11".parse().unwrap(), true).is_ok());
        let error = both
            .check_clash(&"4.14".parse().unwrap(), false)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("4.14 with several nodes; use a single node"),
            "{error}"
        );
    }
}
