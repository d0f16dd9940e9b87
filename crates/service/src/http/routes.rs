//! The one list of operations and their handlers.
//!
//! Who may call which, and what a request must look like, is in the contract
//! (`crates/api/contract`); here is only who does the work.

use std::{collections::HashMap, future::Future, pin::Pin, sync::OnceLock};

use muster_api::contract::Operation;

use super::{Call, Reply};
use crate::{handlers, http::Failure, service::Shared};

/// What a handler gives back.
pub type Answer = Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send>>;

/// A handler: the app and a checked request in, an answer out.
pub type Handler = fn(Shared, Call) -> Answer;

macro_rules! handlers {
    ($($operation:literal => $($path:ident)::+,)+) => {
        const HANDLERS: &[(&str, Handler)] = &[
            $(($operation, |app, call| Box::pin(handlers::$($path)::+(app, call))),)+
        ];
    };
}

handlers! {
    // Clusters
    "v2RegisterCluster" => clusters::create::register,
    "v2ImportCluster" => clusters::create::import,
    "v2RegisterDisconnectedCluster" => clusters::create::register_disconnected,
    "v2ListClusters" => clusters::read::list,
    "v2GetCluster" => clusters::read::get,
    "V2UpdateCluster" => clusters::update::update,
    "v2DeregisterCluster" => clusters::delete::deregister,
    "ListClusterHosts" => clusters::read::hosts,
    "GetClusterSupportedPlatforms" => clusters::read::supported_platforms,
    "V2GetClusterDefaultConfig" => clusters::read::default_config,
    "v2GetPreflightRequirements" => clusters::read::preflight_requirements,
    "v2InstallCluster" => clusters::actions::install,
    "V2CancelInstallation" => clusters::actions::cancel,
    "v2ResetCluster" => clusters::actions::reset,
    "TransformClusterToDay2" => clusters::actions::allow_add_hosts,
    "TransformClusterToAddingHosts" => clusters::actions::allow_add_hosts,
    "v2CompleteInstallation" => clusters::actions::complete_installation,
    "v2UpdateClusterFinalizingProgress" => clusters::actions::finalizing_progress,
    "v2UpdateClusterLogsProgress" => clusters::actions::logs_progress,
    "v2UploadClusterIngressCert" => clusters::actions::upload_ingress_cert,
    "v2GetClusterInstallConfig" => clusters::install_config::get,
    "v2UpdateClusterInstallConfig" => clusters::install_config::update,
    "v2GetIgnoredValidations" => clusters::settings::ignored_validations,
    "v2SetIgnoredValidations" => clusters::settings::set_ignored_validations,
    "V2GetClusterUISettings" => clusters::settings::ui_settings,
    "V2UpdateClusterUISettings" => clusters::settings::set_ui_settings,
    // Files of a cluster
    "V2DownloadClusterFiles" => files::download,
    "V2DownloadClusterCredentials" => files::download_credentials,
    "V2GetPresignedForClusterCredentials" => files::presign_credentials,
    "V2GetPresignedForClusterFiles" => files::presign,
    "V2GetCredentials" => files::credentials,
    "V2DownloadClusterLogs" => logs::download,
    "V2UploadLogs" => logs::upload,
    // Manifests
    "V2ListClusterManifests" => manifests::list,
    "V2CreateClusterManifest" => manifests::create,
    "V2UpdateClusterManifest" => manifests::update,
    "V2DeleteClusterManifest" => manifests::delete,
    "v2DownloadClusterManifest" => manifests::download,
    // Infra-envs
    "RegisterInfraEnv" => infra_envs::create::register,
    "ListInfraEnvs" => infra_envs::read::list,
    "GetInfraEnv" => infra_envs::read::get,
    "UpdateInfraEnv" => infra_envs::update::update,
    "DeregisterInfraEnv" => infra_envs::delete::deregister,
    "RegenerateInfraEnvSigningKey" => infra_envs::links::regenerate_signing_key,
    "GetInfraEnvDownloadURL" => infra_envs::links::image_url,
    "GetInfraEnvPresignedFileURL" => infra_envs::links::presigned_file,
    "v2DownloadInfraEnvFiles" => infra_envs::files::download,
    "DownloadMinimalInitrd" => infra_envs::files::minimal_initrd,
    // Hosts
    "v2RegisterHost" => hosts::register::register,
    "v2ListHosts" => hosts::read::list,
    "v2GetHost" => hosts::read::get,
    "v2UpdateHost" => hosts::update::update,
    "v2DeregisterHost" => hosts::register::deregister,
    "v2GetNextSteps" => hosts::steps::next,
    "v2PostStepReply" => hosts::steps::reply,
    "v2UpdateHostInstallProgress" => hosts::progress::update,
    "v2UpdateHostLogsProgress" => hosts::progress::logs,
    "BindHost" => hosts::actions::bind,
    "UnbindHost" => hosts::actions::unbind,
    "v2ResetHost" => hosts::actions::reset,
    "v2InstallHost" => hosts::actions::install,
    "v2ResetHostValidation" => hosts::actions::reset_validation,
    "v2UpdateHostInstallerArgs" => hosts::overrides::update_installer_args,
    "v2GetHostIgnition" => hosts::overrides::ignition,
    "v2UpdateHostIgnition" => hosts::overrides::update_ignition,
    "v2DownloadHostIgnition" => hosts::overrides::download_ignition,
    // Operators
    "V2ListSupportedOperators" => operators::list_supported,
    "V2ListOperatorProperties" => operators::properties,
    "V2ListBundles" => operators::list_bundles,
    "V2GetBundle" => operators::get_bundle,
    "V2ListOfClusterOperators" => operators::monitored,
    "v2ReportMonitoredOperatorStatus" => operators::report,
    // Versions, features, events, domains
    "v2ListComponentVersions" => versions::components,
    "v2ListSupportedOpenshiftVersions" => versions::openshift,
    "v2ListReleaseSources" => versions::release_sources,
    "GetSupportedFeatures" => features::supported,
    "GetDetailedSupportedFeatures" => features::detailed,
    "GetSupportedArchitectures" => features::architectures,
    "v2ListEvents" => events::list,
    "v2TriggerEvent" => events::trigger,
    "V2ListManagedDomains" => versions::domains,
}

/// The handler of an operation.
///
/// # Panics
/// Never in a tested build: a test checks that every operation of the contract has one.
pub fn handler(operation: &Operation) -> Handler {
    static BY_ID: OnceLock<HashMap<&'static str, Handler>> = OnceLock::new();
    let by_id = BY_ID.get_or_init(|| HANDLERS.iter().copied().collect());
    *by_id
        .get(operation.id.as_str())
        .expect("every operation of the contract has a handler: a test checks it")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_operation_of_the_contract_has_exactly_one_handler_and_no_handler_is_left_over() {
        let contract: BTreeSet<_> = muster_api::contract::contract()
            .operations()
            .iter()
            .map(|op| op.id.as_str())
            .collect();
        let handled: BTreeSet<_> = HANDLERS.iter().map(|(id, _)| *id).collect();
        assert_eq!(contract, handled);
        assert_eq!(HANDLERS.len(), handled.len());
    }
}
