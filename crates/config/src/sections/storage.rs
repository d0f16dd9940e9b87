//! Where records and files are kept.

use std::time::Duration;

use muster_model::Secret;

use super::{minutes, section};
use crate::choice::choice;
use crate::kinds::DatabaseUrl;

choice! {
    /// What kind of place holds the files.
    pub enum StorageKind {
        /// A folder.
        Filesystem = "filesystem",
        /// A bucket of an S3 service.
        S3 = "s3",
    }
}

section! {
    /// Where records are kept.
    pub struct Database at database {
        /// Database to use.
        url: DatabaseUrl = DatabaseUrl::default(), env [],
            else "PostgreSQL if database.host is given, else an SQLite file in data_dir";
        /// Host of a PostgreSQL server, or a folder with its socket.
        host: String = String::new(), env ["DB_HOST"];
        /// Port of that server.
        port: u16 = 5432, env ["DB_PORT"];
        /// User name for that server.
        user: String = String::new(), env ["DB_USER"];
        /// Password for that server.
        password: Secret = Secret::default(), env ["DB_PASS"];
        /// Name of the database on that server.
        name: String = "installer".into(), env ["DB_NAME"];
        /// Key that encrypts the secrets in it, base64 of 32 bytes; the same for all replicas.
        sealing_key: Secret = Secret::default(), env [],
            else "the file keys/sealing.key in data_dir, made at first start";
        /// Most connections held open at once.
        max_connections: u32 = 16, env ["DB_MAX_OPEN_CONNECTIONS"];
        /// Most connections kept while idle.
        max_idle_connections: u32 = 16, env ["DB_MAX_IDLE_CONNECTIONS"];
        /// A connection is replaced after this time.
        connection_lifetime: Duration = minutes(30), env ["DB_CONNECTIONS_MAX_LIFETIME"];
        /// A statement that takes longer is logged as slow.
        slow_query_threshold: Duration = Duration::from_millis(200), env ["DB_SLOW_QUERY_THRESHOLD"];
    }
}

section! {
    /// Where files are kept.
    pub struct Storage at storage {
        /// Location of the files: file:///folder or s3://bucket.
        url: String = String::new(), env [],
            else "a bucket if storage.kind is s3, else the folder files in data_dir";
        /// Type of store.
        kind: Option<StorageKind> = None, env ["STORAGE"],
            else "s3 if storage.s3_bucket is given, else filesystem";
        /// Endpoint of the S3 service; empty for AWS.
        s3_endpoint: String = String::new(), env ["S3_ENDPOINT_URL"];
        /// Bucket.
        s3_bucket: String = String::new(), env ["S3_BUCKET"];
        /// Region of the bucket.
        s3_region: String = String::new(), env ["S3_REGION"];
        /// Id of the access key.
        s3_access_key_id: String = String::new(), env ["AWS_ACCESS_KEY_ID"];
        /// Secret access key.
        s3_secret_access_key: Secret = Secret::default(), env ["AWS_SECRET_ACCESS_KEY"];
        /// Create the bucket at start if it is missing.
        s3_create_bucket: bool = false, env ["CREATE_S3_BUCKET"];
        /// Warn when a file system with our data is fuller than this, in percent.
        usage_threshold: u16 = 80, env ["FILESYSTEM_USAGE_THRESHOLD"];
    }
}

impl Storage {
    /// The place of the files, with the credentials that the configuration gives for it. For the
    /// store alone: never shown or logged.
    #[must_use]
    pub fn address(&self) -> String {
        let Ok(mut url) = url::Url::parse(&self.url) else {
            return self.url.clone();
        };
        if url.scheme() == "s3" && url.username().is_empty() && !self.s3_access_key_id.is_empty() {
            url.query_pairs_mut()
                .append_pair("access_key_id", &self.s3_access_key_id)
                .append_pair("secret_access_key", self.s3_secret_access_key.reveal());
        }
        url.into()
    }
}
