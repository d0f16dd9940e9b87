//! Registering infra-envs.

use muster_api::wire;
use muster_catalog::PUBLIC_PULL_SECRET;
use muster_config::sections::IsoType;
use muster_model::{
    Arch, ArchName, Cluster, ClusterId, ImageType, InfraEnv, InfraEnvId, OpenshiftVersion, Product,
    Severity,
};
use muster_store::{Changes, StoreError};
use uuid::Uuid;

use super::{
    blank::{self, Identity},
    change::{event, image_info_updated, signed},
    files::{Content, content},
    links::{self, renew_image_link},
    settings::{Rules, apply},
};
use crate::{App, Error, Invalid, Shared, aggregate::Cause, clusters::features_in_use, fields};

/// Registers an infra-env. A refusal becomes an event too, under the id it would have got.
pub async fn register(
    app: &Shared,
    given: wire::InfraEnvCreateParams,
    user: &str,
    cause: &Cause,
) -> Result<InfraEnv, Error> {
    let id = InfraEnvId(app.config.cluster.infra_env_id.unwrap_or_else(Uuid::new_v4));
    let (infra_env, content) = match prepare(app, id, given, user, cause).await {
        Ok(made) => made,
        Err(refusal) => {
            record_refusal(app, id, &refusal, cause).await?;
            return Err(refusal);
        }
    };
    let mut changes = Changes::new();
    let text = format!("infra-env {} was registered", infra_env.name);
    let mut events = vec![event(
        "infra_env_registered",
        Severity::Info,
        id,
        cause.now,
        text,
    )];
    if infra_env.download_url.is_some() {
        events.push(image_info_updated(&infra_env, cause.now, &content));
    }
    changes
        .insert_infra_env(infra_env.clone())
        .events(signed(events, cause));
    if let Some(cluster) = infra_env.cluster {
        changes.require_live_cluster(cluster);
    }
    match app.commit(changes).await {
        Ok(()) => {
            links::image_is_needed(app, &infra_env);
            Ok(infra_env)
        }
        Err(StoreError::Missing { what }) => Err(Error::not_found(format!("{what} was not found"))),
        Err(StoreError::Conflict { .. }) => Err(Error::conflict(format!(
            "infra-env {id} exists already, and the configuration gives this id to every new one \
             (cluster.infra_env_id); delete it first"
        ))),
        Err(other) => Err(other.into()),
    }
}

async fn record_refusal(
    app: &App,
    id: InfraEnvId,
    refusal: &Error,
    cause: &Cause,
) -> Result<(), Error> {
    let text = format!("an infra-env was not registered: {}", refusal);
    let failed = event(
        "infra_env_registration_failed",
        Severity::Error,
        id,
        cause.now,
        text,
    );
    let mut changes = Changes::new();
    changes.events(signed(vec![failed], cause));
    Ok(app.commit(changes).await?)
}

async fn prepare(
    app: &App,
    id: InfraEnvId,
    given: wire::InfraEnvCreateParams,
    user: &str,
    cause: &Cause,
) -> Result<(InfraEnv, Content), Error> {
    let cluster = match given.cluster_id.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => {
            let id: ClusterId = text
                .parse()
                .map_err(|_| Error::invalid(format!("cluster_id {text:?} is not a UUID")))?;
            Some(app.cluster(id).await?)
        }
        None => None,
    };
    let rules = Rules {
        config: &app.config,
        catalog: &app.catalog,
    };
    let mut infra_env = fresh(id, given, cluster.as_deref(), rules, user, cause)?;
    let content = content(app, &infra_env)?;
    renew_image_link(app, &mut infra_env, cause.now)?;
    Ok((infra_env, content))
}

/// The record, without its address.
fn fresh(
    id: InfraEnvId,
    mut given: wire::InfraEnvCreateParams,
    cluster: Option<&Cluster>,
    rules: Rules<'_>,
    user: &str,
    cause: &Cause,
) -> Result<InfraEnv, Error> {
    let arch = given
        .cpu_architecture
        .as_deref()
        .filter(|text| !text.is_empty());
    let arch: Arch = arch
        .map_or(Ok(Arch::X86_64), str::parse)
        .map_err(|cause| Error::invalid(format!("cpu_architecture: {cause}")))?;
    if let Some(cluster) = cluster {
        check_cluster(cluster, arch, rules)?;
    }
    let version = given.openshift_version.clone().unwrap_or_default();
    let is_chosen = !version.is_empty();
    let version = match (version.is_empty(), cluster) {
        (true, Some(cluster)) => cluster.openshift_version.clone(),
        (_, _) => version,
    };
    let is_public = is_okd(&version);
    if given.pull_secret.as_deref().is_none_or(str::is_empty) && is_public {
        given.pull_secret = Some(PUBLIC_PULL_SECRET.to_owned());
    }
    let secret = given.pull_secret.as_deref().unwrap_or_default();
    let secret = fields::pull_secret::or_configured(secret, rules.config)?.into_owned();
    given.pull_secret = Some(secret);
    if given.pull_secret.as_deref().is_none_or(str::is_empty) {
        return Err(Error::invalid(
            "pull_secret is empty; hosts need it to pull images, paste the whole file",
        ));
    }
    let identity = Identity {
        id,
        name: given.name.as_deref().unwrap_or_default(),
        cluster: cluster.map(|cluster| cluster.id),
        arch,
        user_name: user,
    };
    let mut infra_env = blank::infra_env(&identity, default_image_type(arch, rules), cause.now);
    let image = match rules.os_image(&version, &arch.into()) {
        // A cluster may have a version without an image, such as one that was imported.
        Err(_) if !is_chosen => rules.os_image("", &arch.into())?,
        found => found?,
    };
    infra_env.openshift_version =
        image.map_or(version, |image| image.openshift_version.to_string());
    let default_ntp = &rules.config.cluster.ntp_default_server;
    if given.additional_ntp_sources.is_none() && given.ntp_sources.is_none() {
        infra_env.ntp.additional = Some(default_ntp.clone()).filter(|list| !list.is_empty());
    }
    apply(&mut infra_env, &settings_of(given), rules)?;
    if let Some(cluster) = cluster {
        features_in_use::check(cluster, &[], [&infra_env])?;
    }
    Ok(infra_env)
}

/// Whether a version is one of OKD, whose images are public.
fn is_okd(version: &str) -> bool {
    let version: Result<OpenshiftVersion, _> = version.parse();
    version.is_ok_and(|version| version.product() == Product::Okd)
}

/// IBM Z has no minimal images.
fn default_image_type(arch: Arch, rules: Rules<'_>) -> ImageType {
    match (arch, rules.config.images.iso_type) {
        (Arch::S390x, _) | (_, IsoType::Full) => ImageType::FullIso,
        (_, IsoType::Minimal) => ImageType::MinimalIso,
    }
}

/// Whether hosts of this architecture can join the cluster.
fn check_cluster(cluster: &Cluster, arch: Arch, rules: Rules<'_>) -> Result<(), Invalid> {
    // Imported clusters do not say what they run on.
    let own = cluster.cpu_architecture.as_ref().map(ArchName::as_str);
    let Some(own) = own.filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let own: Arch = own
        .parse()
        .map_err(|cause| format!("cluster {}: {cause}", cluster.id))?;
    if own == arch {
        return Ok(());
    }
    if own != Arch::Multi {
        return Err(format!(
            "cpu_architecture {arch} does not fit cluster {}, which runs on {own}",
            cluster.name
        )
        .into());
    }
    let version: OpenshiftVersion = cluster
        .openshift_version
        .parse()
        .map_err(|cause| format!("cluster {}: {cause}", cluster.id))?;
    if !rules.catalog.releases.has_arch(&version, arch) {
        return Err(format!(
            "no release {} for {arch} is known, so hosts of that architecture cannot join cluster {}",
            version.short(),
            cluster.name
        ).into());
    }
    if arch == Arch::S390x && cluster.user_managed_networking != Some(true) {
        return Err(format!(
            "s390x hosts can join cluster {} only with user_managed_networking",
            cluster.name
        )
        .into());
    }
    Ok(())
}

/// The part of a registration that can be changed later; the version is settled already.
fn settings_of(given: wire::InfraEnvCreateParams) -> wire::InfraEnvUpdateParams {
    wire::InfraEnvUpdateParams {
        additional_ntp_sources: given.additional_ntp_sources,
        additional_trust_bundle: given.additional_trust_bundle,
        ignition_config_override: given.ignition_config_override,
        image_type: given.image_type,
        kernel_arguments: given.kernel_arguments,
        network_discovery_delay_seconds: given.network_discovery_delay_seconds,
        ntp_sources: given.ntp_sources,
        openshift_version: None,
        proxy: given.proxy,
        pull_secret: given.pull_secret,
        rendezvous_ip: given.rendezvous_ip,
        ssh_authorized_key: given.ssh_authorized_key,
        static_network_config: given.static_network_config,
    }
}

#[cfg(test)]
mod tests {
    use muster_config::Config;
    use muster_model::{ClusterKind, ClusterStatus, Timestamp};

    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn hosts_join_clusters_of_their_own_or_of_many_architectures() {
        let config = Config::default();
        let catalog = Catalog::from_config(&config).unwrap();
        let rules = Rules {
            config: &config,
            catalog: &catalog,
        };
        let table = [
            (Some("x86_64"), Arch::X86_64, true),
            (Some("x86_64"), Arch::Arm64, false),
            (Some("aarch64"), Arch::Arm64, true),
            (None, Arch::Arm64, true),
            (Some("multi"), Arch::Arm64, true),
            (Some("multi"), Arch::S390x, false),
        ];
        for (own, arch, joins) in table {
            let id = ClusterId(Uuid::nil());
            let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Insufficient);
            let mut cluster = Cluster::blank(id, kind, "c", status, "admin", Timestamp(0));
            cluster.cpu_architecture = own.map(ArchName::from);
            cluster.openshift_version = "4.16.0-multi".to_owned();
            let answer = check_cluster(&cluster, arch, rules);
            assert_eq!(answer.is_ok(), joins, "{own:?} {arch}: {answer:?}");
        }
    }

    #[test]
    fn operators_of_the_cluster_must_exist_on_the_architecture_of_its_hosts() {
        let config = Config::default();
        let catalog = Catalog::from_config(&config).unwrap();
        let rules = Rules {
            config: &config,
            catalog: &catalog,
        };
        let id = ClusterId(Uuid::nil());
        let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Insufficient);
        let mut cluster = Cluster::blank(id, kind, "c", status, "admin", Timestamp(0));
        cluster.cpu_architecture = Some(Arch::Multi.into());
        cluster.openshift_version = "4.16.0-multi".to_owned();
        cluster.control_plane_count = Some(3);
        cluster.user_managed_networking = Some(true);
        let given = wire::InfraEnvCreateParams {
            name: Some("z".into()),
            cpu_architecture: Some("s390x".into()),
            pull_secret: Some(r#"{"auths":{"quay.io":{"auth":"YTpi"}}}"#.into()),
            ..Default::default()
        };
        let cause = Cause {
            now: Timestamp(0),
            request_id: None,
        };
        let made = |cluster: &Cluster| {
            let id = InfraEnvId(Uuid::nil());
            fresh(id, given.clone(), Some(cluster), rules, "admin", &cause)
        };
        made(&cluster).unwrap();
        let operator: muster_model::MonitoredOperator = serde_json::from_value(serde_json::json!({
            "name": "cnv", "operator_type": "olm", "timeout_seconds": 1, "dependency_only": false,
        }))
        .unwrap();
        cluster.monitored_operators = Some(vec![operator]);
        let refusal = made(&cluster).unwrap_err();
        assert!(refusal.to_string().contains("CNV"), "{refusal}");
    }

    #[test]
    fn without_a_version_hosts_boot_the_release_of_their_cluster() {
        let config = Config::default();
        let catalog = Catalog::from_config(&config).unwrap();
        let rules = Rules {
            config: &config,
            catalog: &catalog,
        };
        let cause = Cause {
            now: Timestamp(0),
            request_id: None,
        };
        let made = |version: Option<&str>, secret: &str| {
            let cluster = version.map(|version| {
                let id = ClusterId(Uuid::nil());
                let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Insufficient);
                let mut cluster = Cluster::blank(id, kind, "c", status, "admin", Timestamp(0));
                cluster.openshift_version = version.to_owned();
                cluster.cpu_architecture = Some(Arch::X86_64.into());
                cluster.control_plane_count = Some(3);
                cluster
            });
            let given = wire::InfraEnvCreateParams {
                name: Some("e".into()),
                pull_secret: Some(secret.to_owned()),
                ..Default::default()
            };
            let id = InfraEnvId(Uuid::nil());
            fresh(id, given, cluster.as_ref(), rules, "admin", &cause)
        };
        let secret = r#"{"auths":{"quay.io":{"auth":"YTpi"}}}"#;
        let booted = |version| made(version, secret).unwrap().openshift_version;
        assert_eq!(booted(Some("4.20.33")), "4.20");
        assert_eq!(
            booted(Some("4.12.1")),
            "4.22",
            "no image: the recommended one"
        );
        assert_eq!(booted(None), "4.22", "never a pre-release");
        let okd = made(Some("4.20.0-okd-scos.13"), "").unwrap();
        assert_eq!(okd.openshift_version, "4.20.0-okd-scos.13");
        assert_eq!(okd.pull_secret.reveal(), PUBLIC_PULL_SECRET);
        assert!(made(Some("4.20.33"), "").is_err());
    }

    #[test]
    fn ibm_z_gets_full_images_whatever_the_default_is() {
        let mut config = Config::default();
        config.images.iso_type = IsoType::Minimal;
        let catalog = Catalog::from_config(&config).unwrap();
        let rules = Rules {
            config: &config,
            catalog: &catalog,
        };
        assert_eq!(
            default_image_type(Arch::X86_64, rules),
            ImageType::MinimalIso
        );
        assert_eq!(default_image_type(Arch::S390x, rules), ImageType::FullIso);
    }
}
