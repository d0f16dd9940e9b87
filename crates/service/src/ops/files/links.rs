//! Links that open a file without further credentials.
//!
//! Files in S3 get a link into the bucket. Files in a folder get a link to our own download,
//! signed where callers must prove who they are; the reference has nothing for these. Two
//! downloads take no signed links, because the contract opens them by no key in an address:
//! credentials and manifests. For them a link exists only where everything is open.

use std::time::Duration;

use http::StatusCode;
use muster_api::{BASE_PATH, error::Failure, wire};
use muster_auth::{LinkTerms, Scope};
use muster_model::{ClusterId, Timestamp};
use muster_store::BlobPath;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::places;
use crate::{
    app::{App, Shared, blob_failure},
    http::{Call, Reply, link_place::place_of_address},
    ops::{
        logs,
        manifests::{self, Folder, ManifestName, Place, Shelf},
    },
};

/// How long a link into a bucket works.
const BUCKET_LINK: Duration = Duration::from_secs(600);

/// `GET /v2/clusters/{cluster_id}/downloads/files-presigned`.
pub async fn presign(app: Shared, call: Call) -> Result<Reply, Failure> {
    let name = call.args.text("file_name").unwrap_or_default();
    let id = call.cluster_id();
    let link = match name {
        "logs" => {
            let wanted = logs::Wanted::from_link_args(&call.args)?;
            logs::require(&app, id, &wanted).await?;
            own_link(
                &app,
                id,
                &format!("logs{}", wanted.query()),
                Opens::BySignature("V2DownloadClusterLogs"),
                call.now,
            )?
        }
        "manifests" => {
            let place = manifest_place(call.args.text("additional_name"))?;
            let cluster = app.cluster(id).await?;
            let shelf = Shelf::of(&app, cluster.id);
            let path = shelf
                .locate(&place)
                .await?
                .ok_or_else(|| manifests::missing(&place))?;
            let own = format!(
                "manifests/files?file_name={}&folder={}",
                escaped(place.name.as_str()),
                place.folder.as_str()
            );
            link(&app, id, &path, &own, Opens::WhenAllIsOpen, call.now).await?
        }
        generated => {
            let cluster = app.cluster(id).await?;
            super::require_files(&cluster, generated)?;
            let path = places::generated(id, generated)?;
            if !app.blobs.exists(&path).await.map_err(blob_failure)? {
                return Err(super::not_there(id, generated));
            }
            let own = format!("downloads/files?file_name={}", escaped(generated));
            let opens = Opens::BySignature("V2DownloadClusterFiles");
            link(&app, id, &path, &own, opens, call.now).await?
        }
    };
    Reply::json(StatusCode::OK, &link)
}

/// `GET /v2/clusters/{cluster_id}/downloads/credentials-presigned`.
pub async fn presign_credentials(app: Shared, call: Call) -> Result<Reply, Failure> {
    let id = app.cluster(call.cluster_id()).await?.id;
    let mut name = call.args.text("file_name").unwrap_or_default();
    let mut path = places::generated(id, name)?;
    if name == places::KUBECONFIG && !app.blobs.exists(&path).await.map_err(blob_failure)? {
        name = places::KUBECONFIG_NOINGRESS;
        path = places::generated(id, name)?;
    }
    if !app.blobs.exists(&path).await.map_err(blob_failure)? {
        return Err(super::not_there(id, name));
    }
    let own = format!("downloads/credentials?file_name={}", escaped(name));
    let link = link(&app, id, &path, &own, Opens::WhenAllIsOpen, call.now).await?;
    Reply::json(StatusCode::OK, &link)
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
) -> Result<wire::PresignedUrl, Failure> {
    match app
        .blobs
        .presign(path, BUCKET_LINK)
        .await
        .map_err(blob_failure)?
    {
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
) -> Result<wire::PresignedUrl, Failure> {
    let base = app.config.server.base_url.as_str();
    let plain = format!("{base}{BASE_PATH}/v2/clusters/{id}/{own}");
    if app.auth.is_open() {
        return Ok(wire::PresignedUrl {
            url: Some(plain),
            expires_at: None,
        });
    }
    let refused = || {
        Failure::bad_request(format!(
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
        .map_err(|cause| Failure::bad_request(format!("no link can be made: {cause}")))?;
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
fn manifest_place(text: Option<&str>) -> Result<Place, Failure> {
    let text = text.unwrap_or_default();
    let (folder, name) = text.split_once('/').ok_or_else(|| {
        Failure::bad_request(
            "additional_name must name the manifest as folder/file, such as manifests/a.yaml",
        )
    })?;
    let name = ManifestName::parse(name).map_err(|failure| Failure::bad_request(failure.reason))?;
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
            assert_eq!(failure.status, StatusCode::BAD_REQUEST, "{bad:?}");
        }
    }

    #[test]
    fn names_in_links_are_escaped() {
        assert_eq!(escaped("a&b=ä.yaml"), "a%26b%3D%C3%A4%2Eyaml");
    }
}
