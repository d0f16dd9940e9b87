//! Kubeconfigs: user, server, and the CA to trust.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use crate::pki::{Pki, site::SitePki};
use muster_documents::yaml;

/// One kubeconfig, a row each.
#[derive(Clone, Copy, Debug)]
pub struct Kubeconfig {
    /// Path on the bootstrap host or in the directory of assets.
    pub path: &'static str,
    /// Name of user and context.
    pub user: &'static str,
    /// Where the API is.
    pub server: Server,
    /// Bundle it trusts.
    pub trusted: &'static str,
    /// Certificate it shows.
    pub client: &'static str,
}

/// Where the API is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// `api.<cluster domain>`, from outside.
    Api,
    /// `api-int.<cluster domain>`, from nodes.
    ApiInt,
    /// The machine itself.
    Localhost,
}

const COMPLETE: &str = "kube-apiserver-complete-server-ca-bundle";

/// For the person who installs.
pub const ADMIN: Kubeconfig = Kubeconfig {
    path: "auth/kubeconfig",
    user: "admin",
    server: Server::Api,
    trusted: COMPLETE,
    client: "admin-kubeconfig-client",
};

/// For programs on the bootstrap host. The first has the same path as the person's and another
/// server.
pub const ON_BOOTSTRAP: &[Kubeconfig] = &[
    Kubeconfig {
        server: Server::ApiInt,
        ..ADMIN
    },
    Kubeconfig {
        path: "auth/kubeconfig-kubelet",
        user: "kubelet",
        server: Server::ApiInt,
        trusted: COMPLETE,
        client: "kubelet-client",
    },
    Kubeconfig {
        path: "auth/kubeconfig-loopback",
        user: "loopback",
        server: Server::Localhost,
        trusted: "kube-apiserver-localhost-ca-bundle",
        client: "admin-kubeconfig-client",
    },
];

impl Kubeconfig {
    /// The file's text; nothing if the certificates were not made.
    #[must_use]
    pub fn render(&self, cluster: &str, domain: &str, pki: &Pki) -> Option<String> {
        let trusted = pki.bundle(self.trusted)?;
        let client = pki.get(self.client)?;
        let server = match self.server {
            Server::Api => format!("https://api.{domain}:6443"),
            Server::ApiInt => format!("https://api-int.{domain}:6443"),
            Server::Localhost => "https://localhost:6443".to_owned(),
        };
        let login = (client.file_pem.as_str(), client.key_pem.as_str());
        Some(text(cluster, self.user, &server, &trusted, login))
    }
}

/// The administrator's kubeconfig of a site that a node is restored for.
#[must_use]
pub fn of_site(cluster: &str, domain: &str, pki: &SitePki) -> String {
    let server = format!("https://api.{domain}:6443");
    let login = (
        pki.admin.certificate_pem.as_str(),
        pki.admin.key_pem.as_str(),
    );
    text(cluster, ADMIN.user, &server, &pki.trusted(), login)
}

/// One cluster, one user, one context; the log-in is a certificate and its key.
fn text(
    cluster: &str,
    user: &str,
    server: &str,
    trusted: &str,
    (certificate, key): (&str, &str),
) -> String {
    yaml::text(&json!({
        "clusters": [{
            "name": cluster,
            "cluster": {
                "server": server,
                "certificate-authority-data": STANDARD.encode(trusted),
            },
        }],
        "contexts": [{
            "name": user,
            "context": { "cluster": cluster, "user": user },
        }],
        "current-context": user,
        "users": [{
            "name": user,
            "user": {
                "client-certificate-data": STANDARD.encode(certificate),
                "client-key-data": STANDARD.encode(key),
            },
        }],
    }))
}
