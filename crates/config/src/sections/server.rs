//! Where the service listens and what it calls itself.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::{minutes, section};
use crate::choice::choice;
use crate::kinds::BaseUrl;

choice! {
    /// Oldest TLS version that is spoken.
    pub enum TlsVersion {
        /// TLS 1.2 and newer.
        Tls12 = "VersionTLS12" | "1.2",
        /// TLS 1.3 only.
        Tls13 = "VersionTLS13" | "1.3",
    }
}

section! {
    /// Where the service listens and what it calls itself.
    pub struct Server at server {
        /// Address and port of the main listener.
        listen: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8090), env [];
        /// Serve the main listener without TLS.
        plain_http: bool = false, env [],
            else "true if server.base_url says http:// and neither a certificate nor server.http_listen_port is given";
        /// Additional plain-HTTP port, which serves only what network boot needs.
        http_listen_port: Option<u16> = None, env ["HTTP_LISTEN_PORT"];
        /// PEM file with the certificate chain; without it one is generated and signed by Muster's CA.
        tls_cert: Option<PathBuf> = None, env ["HTTPS_CERT_FILE"];
        /// PEM file with the private key of that certificate.
        tls_key: Option<PathBuf> = None, env ["HTTPS_KEY_FILE"];
        /// Further host names and addresses for the generated certificate.
        tls_names: Vec<String> = vec![], env [];
        /// Host names by which callers may reach a service in auth mode none, besides those of server.base_url, server.image_service_url and server.tls_names.
        allowed_hosts: Vec<String> = vec![], env [];
        /// Oldest TLS version that is accepted.
        tls_min_version: Option<TlsVersion> = None, env ["TLS_MIN_VERSION"];
        /// URL at which hosts and users reach the API.
        base_url: BaseUrl = BaseUrl::default(), env ["SERVICE_BASE_URL"],
            else "made of server.listen";
        /// URL at which hosts and users reach the boot images.
        image_service_url: BaseUrl = BaseUrl::default(), env ["IMAGE_SERVICE_BASE_URL"],
            else "server.base_url";
        /// CA bundle given to hosts, so that they trust the API.
        service_ca_cert: Option<PathBuf> = None, env ["SERVICE_CA_CERT_PATH"];
        /// Hosts do not verify the API's certificate.
        skip_cert_verification: bool = false, env ["SKIP_CERT_VERIFICATION"];
        /// Origins of web pages that may call the API (CORS).
        allowed_domains: Vec<String> = vec![], env ["ALLOWED_DOMAINS"];
        /// Refuse JSON bodies with members the API does not know.
        reject_unknown_fields: bool = true, env ["ENABLE_REJECT_UNKNOWN_FIELDS"];
        /// Largest JSON body that is read, in bytes; most operations have a smaller limit.
        max_body_bytes: u64 = 16 << 20, env [];
        /// Largest log archive or other upload that is read, in bytes.
        max_upload_bytes: u64 = 2 << 30, env [];
        /// Most bytes of JSON bodies in memory at a time; one address gets at most half of it.
        max_body_bytes_in_flight: u64 = 32 << 20, env [];
        /// Most uploads at a time; one address gets at most half of it.
        max_uploads: u32 = 8, env [];
        /// Most connections at a time; fewer if the system allows fewer open files.
        max_connections: u32 = 20_000, env [];
        /// Most connections of one address (of one /64 network with IPv6) at a time; 0 is a quarter of all.
        max_connections_per_address: u32 = 0, env [];
        /// The first request of a new connection must arrive within this time.
        first_request_timeout: Duration = Duration::from_secs(10), env [];
        /// A client must send its request headers within this time; idle HTTP/1 connections end after it, idle HTTP/2 ones after 10 minutes.
        header_timeout: Duration = Duration::from_secs(120), env [];
        /// A client that reads nothing of its response for this time is disconnected; a slow reader is not.
        stalled_timeout: Duration = minutes(5), env [];
        /// Time given to running requests when the service stops.
        shutdown_grace: Duration = Duration::from_secs(15), env [];
        /// End this long after every cluster is installed and its credentials were downloaded; by default never.
        stop_when_installed: Option<Duration> = None, env [];
        /// The service counts as dead when its driver made no round for this time.
        liveness_timeout: Duration = minutes(5), env ["LIVENESS_VALIDATION_TIMEOUT"];
    }
}

impl Server {
    /// Whether only this machine can reach the main listener.
    pub fn on_loopback_only(&self) -> bool {
        self.listen.ip().is_loopback()
    }

    /// Hosts of the URLs under which this service is known, without ports.
    pub fn url_hosts(&self) -> impl Iterator<Item = String> {
        [&self.base_url, &self.image_service_url]
            .into_iter()
            .filter_map(|url| url::Url::parse(url.as_str()).ok())
            .filter_map(|url| url.host_str().map(str::to_owned))
    }

    /// Whether a plain-HTTP listener exists, so that iPXE addresses can go without TLS.
    pub fn has_plain_listener(&self) -> bool {
        self.plain_http || self.http_listen_port.is_some()
    }
}
