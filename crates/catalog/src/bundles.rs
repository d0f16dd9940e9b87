//! Bundles: operators that are selected together because they serve one purpose.

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use serde::Serialize;

use crate::{
    Feature, FeatureQuery, Operator, SupportLevel, UnknownName,
    features::{
        incompatible_with,
        listing::{self, QueryError},
    },
    names::named,
};

use Operator as O;

named! {
    /// The known bundles, in the order they are listed.
    pub enum BundleId: "bundle" {
        /// Everything for training and serving models.
        OpenshiftAi = "openshift-ai",
        /// Everything for running virtual machines.
        Virtualization = "virtualization",
    }
}

/// A bundle as offered to users; operators are sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bundle {
    /// Its id.
    pub id: BundleId,
    /// A word or two.
    pub title: &'static str,
    /// A sentence.
    pub description: &'static str,
    /// What always comes with it.
    pub operators: Vec<Operator>,
    /// What can be added to it.
    pub optional_operators: Vec<Operator>,
}

/// A bundle as chosen by a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSelection {
    /// The text of its id.
    pub id: String,
    /// Names of the optional operators that were picked.
    pub optional_operators: Vec<String>,
}

/// An operator of an expanded choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedOperator {
    /// The bundles it came with; empty when it was chosen by itself.
    pub source_bundles: BTreeSet<BundleId>,
}

/// A choice of bundles that cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// No such bundle or operator.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The operator is not one the bundle offers.
    #[error(
        "{operator} is not an optional operator of bundle {bundle}; it offers: {}",
        names(offered)
    )]
    NotOptional {
        /// The bundle.
        bundle: BundleId,
        /// The operator that was asked for.
        operator: Operator,
        /// What could be asked for.
        offered: &'static [Operator],
    },
}

const VIRTUALIZATION: &[Operator] = &[
    O::ClusterObservability,
    O::Cnv,
    O::FenceAgentsRemediation,
    O::KubeDescheduler,
    O::Loki,
    O::Metallb,
    O::Mtv,
    O::Nmstate,
    O::NodeHealthcheck,
    O::NodeMaintenance,
    O::Numaresources,
    O::Oadp,
    O::OpenshiftLogging,
];
const AI: &[Operator] = &[
    O::Authorino,
    O::Odf,
    O::OpenshiftAi,
    O::Pipelines,
    O::Serverless,
    O::Servicemesh,
];
const AI_SINGLE_NODE: &[Operator] = &[O::Lvm, O::OpenshiftAi];
const AI_OPTIONAL: &[Operator] = &[O::AmdGpu, O::NvidiaGpu];

impl BundleId {
    /// The bundle with all it can hold; a single node gets local storage instead of ODF.
    pub fn bundle(self, single_node: bool) -> Bundle {
        Bundle {
            id: self,
            title: self.title(),
            description: self.description(),
            operators: self.operators(single_node).to_vec(),
            optional_operators: self.optional_operators().to_vec(),
        }
    }

    /// What always comes with the bundle.
    pub const fn operators(self, single_node: bool) -> &'static [Operator] {
        match self {
            Self::Virtualization => VIRTUALIZATION,
            Self::OpenshiftAi if single_node => AI_SINGLE_NODE,
            Self::OpenshiftAi => AI,
        }
    }

    /// What can be added to the bundle.
    pub const fn optional_operators(self) -> &'static [Operator] {
        match self {
            Self::Virtualization => &[],
            Self::OpenshiftAi => AI_OPTIONAL,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Virtualization => "Virtualization",
            Self::OpenshiftAi => "OpenShift AI",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Virtualization => {
                "Virtual machines next to containers, with the network, backup, logging and \
                 node care that they need in daily use."
            }
            Self::OpenshiftAi => {
                "A workbench for machine learning: notebooks, pipelines, model serving and the \
                 storage below them, with GPU drivers on request."
            }
        }
    }
}

impl Bundle {
    /// Every bundle, unfiltered: what is listed when no version is given.
    pub fn all(single_node: bool) -> Vec<Self> {
        BundleId::ALL
            .iter()
            .map(|id| id.bundle(single_node))
            .collect()
    }

    /// The bundles that can be installed for a version, architecture and platform together
    /// with the given features.
    ///
    /// A bundle is offered only if all its fixed operators work; optional ones that do not are
    /// left out.
    ///
    /// # Errors
    /// When the version cannot be read, or lacks the architecture or the platform.
    pub fn available(query: &FeatureQuery, with: &[Feature]) -> Result<Vec<Self>, QueryError> {
        listing::check(query)?;
        let works = |operator: &Operator| {
            let feature = operator.feature();
            let foes = incompatible_with(feature, query);
            match listing::level(feature, query) {
                SupportLevel::Unavailable | SupportLevel::Unsupported => false,
                SupportLevel::Supported | SupportLevel::TechPreview | SupportLevel::DevPreview => {
                    !with.iter().any(|feature| foes.contains(feature))
                }
            }
        };
        let bundles = Self::all(with.contains(&Feature::Sno)).into_iter();
        Ok(bundles
            .filter_map(|bundle| bundle.reduced_to(works))
            .collect())
    }

    /// What is left of the bundle when only some operators work; nothing without a fixed one.
    fn reduced_to(mut self, works: impl Fn(&Operator) -> bool) -> Option<Self> {
        self.optional_operators.retain(&works);
        self.operators.iter().all(works).then_some(self)
    }
}

impl BundleSelection {
    /// Expands chosen bundles and operators into operators with their origin.
    ///
    /// An operator that is also chosen by itself belongs to no bundle. Dependencies are not
    /// added here, see [`crate::operators::selection::complete`].
    ///
    /// # Errors
    /// When a bundle or operator is unknown, or an optional operator belongs elsewhere.
    pub fn expand(
        bundles: &[Self],
        alone: &[Operator],
        single_node: bool,
    ) -> Result<BTreeMap<Operator, SelectedOperator>, BundleError> {
        let mut selected: BTreeMap<Operator, SelectedOperator> = BTreeMap::new();
        for chosen in bundles {
            let id = BundleId::from_str(&chosen.id)?;
            let mut operators = id.operators(single_node).to_vec();
            for name in &chosen.optional_operators {
                let operator = Operator::from_request(name)?;
                let offered = id.optional_operators();
                if !offered.contains(&operator) {
                    return Err(BundleError::NotOptional {
                        bundle: id,
                        operator,
                        offered,
                    });
                }
                operators.push(operator);
            }
            for operator in operators {
                selected
                    .entry(operator)
                    .or_default()
                    .source_bundles
                    .insert(id);
            }
        }
        for operator in alone {
            selected.insert(*operator, SelectedOperator::default());
        }
        Ok(selected)
    }
}

fn names(operators: &[Operator]) -> String {
    if operators.is_empty() {
        return "none".to_owned();
    }
    operators
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
#[path = "bundles_tests.rs"]
mod tests;
