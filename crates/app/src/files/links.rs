//! Links that open a file without further credentials.
//!
//! Files in S3 get a link into the bucket. Files in a folder get a link to our own download,
//! signed where callers must prove who they are; the reference has nothing for these. Two
//! downloads take no signed links, because the contract opens them by no key in an address:
//! credentials and manifests. For them a link exists only where everything is open.

use std::time::Duration;

use muster_api::{BASE_PATH, wire};
use muster_auth::{LinkTerms, Scope};
use muster_model::{ClusterId, Timestamp};
use muster_store::BlobPath;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::places;
use crate::{
    App, Error,
    link_places::place_of_address,
    logs,
    manifests::{self, Folder, ManifestName, Place, Shelf},
};

/// How long a link into a bucket works.
const BUCKET_LINK: Duration = Duration::from_secs(600);

/// A link to logs.
pub async fn link_to_logs(
    app: &App,
    id: ClusterId,
    wanted: &logs::Wanted,
    now: Timestamp,
) -> Result<wire::PresignedUrl, Error> {
    logs::require(app, id, wanted).await?;
    let own = format!("logs{}", wanted.query());
    own_link(
        app,
        id,
        &own,
        Opens::BySignature("V2DownloadClusterLogs"),
        now,
    )
}

/// A link to a manifest, named `folder/file`.
pub async fn link_to_manifest(
    app: &App,
    id: ClusterId,
    name: Option<&str>,
    now: Timestamp,
) -> Result<wire::PresignedUrl, Error> {
    let place = manifest_place(name)?;
    let cluster = app.cluster(id).await?;
    let found = Shelf::of(app, cluster.id).locate(&place).await?;
    let path = found.ok_or_else(|| manifests::missing(&place))?;
    let own = format!(
        "manifests/files?file_name={}&folder={}",
        escaped(place.name.as_str()),
        place.folder.as_str()
    );
    link(app, id, &path, &own, Opens::WhenAllIsOpen, now).await
}

/// A link to a generated file.
pub async fn link_to_generated(
    app: &App,
    id: ClusterId,
    name: &str,
    now: Timestamp,
) -> Result<wire::PresignedUrl, Error> {
    let cluster = app.cluster(id).await?;
    super::require_files(&cluster, name)?;
    let path = places::generated(id, name)?;
    if !app.blobs.exists(&path).await? {
        return Err(super::not_there(id, name));
    }
    let own = format!("downloads/files?file_name={}", escaped(name));
    let opens = Opens::BySignature("V2DownloadClusterFiles");
    link(app, id, &path, &own, opens, now).await
}

/// A link to a file that opens the cluster.
pub async fn link_to_credentials(
    app: &App,
    id: ClusterId,
    mut name: &str,
    now: Timestamp,
) -> Result<wire::PresignedUrl, Error> {
    let id = app.cluster(id).await?.id;
    let mut path = places::generated(id, name)?;
    if name == places::KUBECONFIG && !app.blobs.exists(&path).await? {
        name = places::KUBECONFIG_NOINGRESS;
        path = places::generated(id, name)?;
    }
    if !app.blobs.exists(&path).await? {
        return Err(super::not_there(id, name));
    }
    let own = format!("downloads/credentials?file_name={}", escaped(name));
    link(app, id, &path, &own, Opens::WhenAllIsOpen, now).await
}

/// What it takes to open one of our own downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opens {
    /// A key in the address, for this operation and file only.
    BySignature(&'static str),
    WhenAllIsOpen,
}

async fn link(
    app: &App,
    id: ClusterId,
    path: &BlobPath,
    own: &str,
    opens: Opens,
    now: Timestamp,
) -> Result<wire::PresignedUrl, Error> {
    match app.blobs.presign(path, BUCKET_LINK).await? {
        Some(url) => Ok(wire::PresignedUrl {
            url: Some(url.into()),
            expires_at: None,
        }),
        None => own_link(app, id, own, opens, now),
    }
}

fn own_link(
    app: &App,
    id: ClusterId,
    own: &str,
    opens: Opens,
    now: Timestamp,
) -> Result<wire::PresignedUrl, Error> {
    let base = app.config.server.base_url.as_str();
    let plain = format!("{base}{BASE_PATH}/v2/clusters/{id}/{own}");
    if app.auth.is_open() {
        return Ok(wire::PresignedUrl {
            url: Some(plain),
            expires_at: None,
        });
    }
    let refused = || {
        Error::invalid(format!(
            "files of this service lie in a folder, and no link opens this one without \
             credentials; download it with yours from {BASE_PATH}/v2/clusters/{id}/{own}"
        ))
    };
    let Opens::BySignature(operation) = opens else {
        return Err(refused());
    };
    let terms = LinkTerms {
        scope: Scope::Cluster(id),
        signing_key: None,
        opens: &place_of_address(operation, &plain),
    };
    let signed = app
        .auth
        .sign_file_url(&plain, &terms, now.unix_seconds())
        .map_err(|cause| Error::invalid(format!("no link can be made: {cause}")))?;
    if signed.url == plain {
        return Err(refused());
    }
    let expires_at = signed
        .expires_at
        .map(|end| Timestamp::from_unix_seconds(end).millis());
    Ok(wire::PresignedUrl {
        url: Some(signed.url),
        expires_at,
    })
}

/// `additional_name` is `folder/file`.
fn manifest_place(text: Option<&str>) -> Result<Place, Error> {
    let text = text.unwrap_or_default();
    let (folder, name) = text.split_once('/').ok_or_else(|| {
        Error::invalid(
            "additional_name must name the manifest as folder/file, such as manifests/a.yaml",
        )
    })?;
    let name = ManifestName::parse(name).map_err(|error| Error::invalid(error.to_string()))?;
    Ok(Place {
        folder: Folder::from_request(Some(folder))?,
        name,
    })
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_named_by_folder_and_file_and_cannot_lead_elsewhere() {
        let place = manifest_place(Some("openshift/a.yaml")).unwrap();
        assert_eq!(place.folder, Folder::Openshift);
        assert_eq!(place.name.as_str(), "a.yaml");
        for bad in [
            None,
            Some(""),
            Some("a.yaml"),
            Some("/etc/passwd"),
            Some("../manifests/a.yaml"),
            Some("manifests/../../a.yaml"),
            Some("manifests/"),
            Some("elsewhere/a.yaml"),
        ] {
            let failure = manifest_place(bad).unwrap_err();
            assert!(matches!(failure, Error::Invalid(_)), "{bad:?}");
        }
    }

    #[test]
    fn names_in_links_are_escaped() {
        assert_eq!(escaped("a&b=ä.yaml"), "a%26b%3D%C3%A4%2Eyaml");
    }
}
