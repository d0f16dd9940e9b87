//! Answers of the support-level API.
//!
//! A platform is either part of the question or part of the answer. With a platform asked for,
//! the six platform features are left out; without one, platform-managed networking is, since
//! nothing can be said about it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Feature, FeatureQuery, Reason, SupportLevel, architecture_level, incompatible_with,
    rules::level_of,
};
use crate::{Arch, Operator, Platform, VersionError, operators::selection};

/// Features and operators with everything known about their support.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Detailed {
    /// Features that are not operators, sorted by id.
    pub features: Vec<DetailedFeature>,
    /// Operators, sorted by feature id.
    pub operators: Vec<DetailedOperator>,
}

/// A feature with its level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DetailedFeature {
    /// The feature.
    #[serde(rename = "feature-support-level-id")]
    pub feature: Feature,
    /// How well it is supported.
    pub support_level: SupportLevel,
    /// Why it is unavailable; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What it cannot be combined with, sorted.
    pub incompatibilities: Vec<Feature>,
}

/// An operator with its level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DetailedOperator {
    /// The part shared with all features.
    #[serde(flatten)]
    pub feature: DetailedFeature,
    /// The operator.
    pub name: Operator,
    /// What it pulls in, sorted.
    pub dependencies: Vec<Feature>,
}

/// A question that has no meaningful answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The text is no version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The version does not exist for the architecture.
    #[error(
        "OpenShift {version} cannot be installed on {arch}; \
         choose another architecture or a later version"
    )]
    Arch {
        /// The version as asked for.
        version: String,
        /// The architecture asked for.
        arch: Arch,
    },
    /// The platform does not exist for version and architecture.
    #[error(
        "platform {platform} is not available for OpenShift {version} on {arch}; \
         choose another platform or a later version"
    )]
    Platform {
        /// The version as asked for.
        version: String,
        /// The architecture asked for.
        arch: Arch,
        /// The platform asked for.
        platform: Platform,
    },
}

/// The level of a single feature, whatever else the question leaves out.
pub fn level(feature: Feature, query: &FeatureQuery) -> SupportLevel {
    if arch_missing(query) {
        return SupportLevel::Unavailable;
    }
    level_of(feature, query).unwrap_or(SupportLevel::Unavailable)
}

/// The level of every listed feature. On an architecture that the version lacks, every feature
/// there is gets listed as unavailable.
pub fn supported_features(query: &FeatureQuery) -> BTreeMap<Feature, SupportLevel> {
    let all = arch_missing(query);
    let listed = Feature::ALL
        .iter()
        .filter(|feature| all || is_listed(**feature, query));
    listed
        .map(|feature| (*feature, level(*feature, query)))
        .collect()
}

/// Every listed feature with reason, incompatibilities and dependencies.
///
/// # Errors
/// As [`check`].
pub fn detailed(query: &FeatureQuery) -> Result<Detailed, QueryError> {
    check(query)?;
    let mut answer = Detailed {
        features: Vec::new(),
        operators: Vec::new(),
    };
    for feature in Feature::ALL
        .iter()
        .copied()
        .filter(|feature| is_listed(*feature, query))
    {
        let detail = detail(feature, query);
        match Operator::of_feature(feature) {
            None => answer.features.push(detail),
            Some(name) => {
                let dependencies = selection::feature_dependencies(name);
                answer.operators.push(DetailedOperator {
                    feature: detail,
                    name,
                    dependencies,
                });
            }
        }
    }
    Ok(answer)
}

/// Refuses questions about combinations that do not exist.
///
/// # Errors
/// When the version cannot be read, or lacks the architecture or the platform.
pub fn check(query: &FeatureQuery) -> Result<(), QueryError> {
    let version = query.version_text();
    if query.version().is_none() {
        version.parse::<crate::OpenshiftVersion>()?;
    }
    let (version, arch) = (version.to_owned(), query.arch());
    if arch_missing(query) {
        return Err(QueryError::Arch { version, arch });
    }
    match query.platform() {
        Some(platform) if level_of(platform.feature(query.external_name()), query).is_err() => {
            Err(QueryError::Platform {
                version,
                arch,
                platform,
            })
        }
        Some(_) | None => Ok(()),
    }
}

fn detail(feature: Feature, query: &FeatureQuery) -> DetailedFeature {
    let level = level_of(feature, query);
    let listed = |foe: &Feature| is_listed(*foe, query);
    DetailedFeature {
        feature,
        support_level: level.unwrap_or(SupportLevel::Unavailable),
        reason: level.err(),
        incompatibilities: incompatible_with(feature, query)
            .into_iter()
            .filter(listed)
            .collect(),
    }
}

fn is_listed(feature: Feature, query: &FeatureQuery) -> bool {
    match query.platform() {
        Some(_) => !feature.is_platform(),
        None => feature != Feature::PlatformManagedNetworking,
    }
}

fn arch_missing(query: &FeatureQuery) -> bool {
    architecture_level(query.arch(), query.version()) == SupportLevel::Unavailable
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
