//! Parses the address of a blob store.

use std::{sync::Arc, time::Duration};

use object_store::{
    BackoffConfig, ClientOptions, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    local::LocalFileSystem,
    path::Path as StorePath,
};
use percent_encoding::percent_decode_str;
use url::Url;

use super::{BlobError, BlobPath, Blobs, Place, files::Folder};

/// Longest wait for a connection to the service.
const CONNECT: Duration = Duration::from_secs(5);
/// A request that fails for a passing reason is repeated this often, and not beyond this time.
const RETRIES: usize = 5;
const RETRY_FOR: Duration = Duration::from_secs(30);

pub(super) async fn open(address: &str) -> Result<Blobs, BlobError> {
    let url = Url::parse(address).map_err(|error| bad(error.to_string()))?;
    match url.scheme() {
        "file" => open_folder(&url).await,
        "s3" => open_bucket(&url),
        other => Err(bad(format!("unknown scheme {other:?}"))),
    }
}

fn bad(reason: impl Into<String>) -> BlobError {
    BlobError::Address {
        reason: reason.into(),
    }
}

async fn open_folder(url: &Url) -> Result<Blobs, BlobError> {
    if url.query().is_some() {
        return Err(bad("a file address takes no parameters"));
    }
    let path = url
        .to_file_path()
        .map_err(|()| bad("a file address is file:// and an absolute path"))?;
    let unusable = |source| BlobError::Unavailable {
        action: "open the folder",
        path: path.display().to_string(),
        source,
    };
    let folder = Folder::open(&path)
        .await
        .map_err(|error| unusable(error.into()))?;
    let objects =
        LocalFileSystem::new_with_prefix(&path).map_err(|error| unusable(error.into()))?;
    Ok(Blobs {
        objects: Arc::new(objects),
        folder: StorePath::default(),
        place: Place::Files(folder),
        refused: Arc::default(),
    })
}

fn open_bucket(url: &Url) -> Result<Blobs, BlobError> {
    let bucket = url.host_str().ok_or_else(|| bad("it names no bucket"))?;
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_retry(RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: RETRIES,
            retry_timeout: RETRY_FOR,
        });
    // A download may take long; silence is watched piece by piece instead.
    let mut client = ClientOptions::new()
        .with_connect_timeout(CONNECT)
        .with_timeout_disabled()
        .with_allow_http(env_allows_http());
    if !url.username().is_empty() {
        builder = builder.with_access_key_id(decoded(url.username())?);
    }
    if let Some(secret) = url.password() {
        builder = builder.with_secret_access_key(decoded(secret)?);
    }
    for (key, value) in url.query_pairs() {
        builder = match key.as_ref() {
            "endpoint" => builder.with_endpoint(value),
            "region" => builder.with_region(value),
            "access_key_id" => builder.with_access_key_id(value),
            "secret_access_key" => builder.with_secret_access_key(value),
            "session_token" => builder.with_token(value),
            "allow_http" => {
                client = client.with_allow_http(truth(&key, &value)?);
                builder
            }
            "virtual_hosted" => builder.with_config(
                AmazonS3ConfigKey::VirtualHostedStyleRequest,
                truth(&key, &value)?.to_string(),
            ),
            other => return Err(bad(format!("unknown parameter {other:?}"))),
        };
    }
    let built = builder.with_client_options(client).build();
    let bucket = Arc::new(built.map_err(|error| bad(error.to_string()))?);
    Ok(Blobs {
        objects: bucket.clone(),
        folder: prefix(url)?,
        place: Place::S3(bucket),
        refused: Arc::default(),
    })
}

/// The environment's own way of saying `allow_http`, which goes with its `AWS_ENDPOINT`.
fn env_allows_http() -> bool {
    std::env::var("AWS_ALLOW_HTTP").is_ok_and(|value| value == "true" || value == "1")
}

/// The folder in the bucket, if the address names one.
fn prefix(url: &Url) -> Result<StorePath, BlobError> {
    let names = url.path().split('/').filter(|name| !name.is_empty());
    let names = names.map(decoded).collect::<Result<Vec<String>, _>>()?;
    if names.is_empty() {
        return Ok(StorePath::default());
    }
    let path = BlobPath::new(names).map_err(|error| bad(error.to_string()))?;
    Ok(path.below(&StorePath::default()))
}

fn decoded(text: &str) -> Result<String, BlobError> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(Into::into).map_err(|_| bad("it is not UTF-8"))
}

fn truth(key: &str, value: &str) -> Result<bool, BlobError> {
    value
        .parse()
        .map_err(|_| bad(format!("{key} must be true or false, not {value:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_that_cannot_work_are_refused_with_the_reason() {
        for (address, reason) in [
            ("blobs", "relative URL"),
            ("http://host/x", "unknown scheme"),
            ("file://host/x", "absolute path"),
            ("file:///tmp/x?y=1", "no parameters"),
            ("s3:///x", "names no bucket"),
            ("s3://bucket?colour=red", "unknown parameter"),
            ("s3://bucket?allow_http=perhaps", "true or false"),
            ("s3://bucket/%2e%2e%2f?region=x", "slash"),
        ] {
            let error = open(address).await.expect_err(address).to_string();
            assert!(error.contains(reason), "{address}: {error}");
        }
    }

    #[tokio::test]
    async fn credentials_of_a_bucket_show_up_in_signed_links_only() {
        let address = "s3://AKIDEXAMPLE:hush%2Fhush@bucket/some%20folder\
                       ?endpoint=http://127.0.0.1:9&region=eu-north-1&allow_http=true";
        let blobs = open(address).await.expect("valid");
        let shown = format!("{blobs:?}");
        assert!(
            !shown.contains("hush") && !shown.contains("AKID"),
            "{shown}"
        );
        let path = BlobPath::new(["a", "b c"]).expect("valid");
        let link = blobs.presign(&path, Duration::from_secs(60)).await;
        let link = link.expect("signs without network").expect("s3 signs");
        assert_eq!(link.path(), "/bucket/some%20folder/a/b%20c");
        assert!(!link.as_str().contains("hush"), "{link}");
        assert!(link.as_str().contains("X-Amz-Signature="), "{link}");
    }
}
