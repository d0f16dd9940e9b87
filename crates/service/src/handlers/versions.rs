//! What is installed here and what can be installed: component and OpenShift versions.

use http::StatusCode;
use muster_api::wire;
use muster_catalog::VersionFilter;

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET /v2/component-versions`.
pub async fn components(app: Shared, _call: Call) -> Result<Reply, Failure> {
    let images = &app.config.images;
    let own = if images.self_version == "Unknown" {
        concat!("muster ", env!("CARGO_PKG_VERSION"))
    } else {
        &images.self_version
    };
    let versions = [
        ("assisted-installer-service", own),
        ("discovery-agent", brought_along(&images.agent)),
        ("assisted-installer", brought_along(&images.installer)),
        (
            "assisted-installer-controller",
            brought_along(&images.controller),
        ),
    ];
    let answer = wire::ListVersions {
        versions: Some(
            versions
                .into_iter()
                .map(|(name, version)| (name.to_owned(), version.to_owned()))
                .collect(),
        ),
        release_tag: (!images.release_tag.is_empty()).then(|| images.release_tag.clone()),
    };
    Reply::json(StatusCode::OK, &answer)
}

/// `GET /v2/openshift-versions`.
pub async fn openshift(app: Shared, call: Call) -> Result<Reply, Failure> {
    let filter = VersionFilter {
        version: call
            .args
            .text("version")
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        only_latest: call.args.flag("only_latest"),
    };
    let os_images = app.config.images.enabled.then_some(&app.catalog.os_images);
    Reply::json(
        StatusCode::OK,
        &app.catalog.releases.openshift_versions(os_images, &filter),
    )
}

/// `GET /v2/release-sources`: a matter of the hosted service, so there are none.
pub async fn release_sources(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Reply::json(StatusCode::OK, &Vec::<wire::ReleaseSource>::new())
}

/// `GET /v2/domains`: DNS domains the service manages.
pub async fn domains(app: Shared, _call: Call) -> Result<Reply, Failure> {
    let domains: Vec<wire::ManagedDomain> = app
        .config
        .cluster
        .base_dns_domains
        .iter()
        .map(|(domain, zone)| wire::ManagedDomain {
            domain: Some(domain.clone()),
            provider: zone
                .rsplit_once('/')
                .map(|(_, provider)| provider.to_owned()),
        })
        .collect();
    Reply::json(StatusCode::OK, &domains)
}

/// Without an image it is the program that boot images carry.
fn brought_along(image: &str) -> &str {
    match image.is_empty() {
        true => concat!("muster-agent ", env!("CARGO_PKG_VERSION")),
        false => image,
    }
}
