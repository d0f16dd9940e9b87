//! The service as a pod of podman.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{
    Files, own_image,
    site_files::SiteFiles,
    yaml::{entries, quoted},
};

/// What to do with the files.
pub const NEXT: &str = "next: podman kube play DIR/muster.yml\n\
     or, started by systemd: copy both files to ~/.config/containers/systemd (root: \
     /etc/containers/systemd), then systemctl --user daemon-reload && systemctl --user start muster";

/// A pod for `podman kube play`, and a quadlet that lets systemd run it.
#[derive(Clone, Debug, Args)]
pub struct Podman {
    /// Name or address at which hosts reach this machine
    #[arg(long, value_name = "HOST")]
    address: String,
    /// Port of the service on this machine
    #[arg(long, value_name = "PORT", default_value_t = 8090)]
    port: u16,
    /// Image of the service [default: that of this release, as `podman load` names it]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Which product is installed: decides about pull secrets and public registries
    #[arg(long, value_enum, default_value_t = Product::Openshift)]
    product: Product,
    /// Who may call
    #[arg(long, value_enum, default_value_t = Auth::Users)]
    auth: Auth,
    /// Your own certificate chain (PEM), with --tls-key; without them one is made and renewed. The
    /// folder of these and other files is mounted
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// No TLS: for a proxy in front, or a network that is trusted
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key"])]
    plain_http: bool,
    /// A registries.conf with mirrors, for sites without internet, with --mirrors-ca
    #[arg(long, value_name = "FILE", requires = "mirrors_ca")]
    mirrors: Option<PathBuf>,
    /// Certificates of these mirrors (PEM)
    #[arg(long, value_name = "FILE", requires = "mirrors")]
    mirrors_ca: Option<PathBuf>,
    /// Keep nothing when the pod is removed
    #[arg(long)]
    ephemeral: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Product {
    Openshift,
    Okd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Auth {
    /// People log in; the first password is in the log
    Users,
    /// Everyone who reaches the port is administrator
    None,
}

impl Podman {
    /// The pod, and the unit that runs it.
    pub fn files(&self) -> anyhow::Result<Files> {
        let given = [
            &self.tls_cert,
            &self.tls_key,
            &self.mirrors,
            &self.mirrors_ca,
        ];
        let site = SiteFiles::of(given.into_iter().flatten())?;
        Ok(vec![
            ("muster.yml", self.pod(&site)),
            ("muster.kube", quadlet()),
        ])
    }

    fn variables(&self, site: &SiteFiles) -> Vec<(&'static str, String)> {
        let scheme = if self.plain_http { "http" } else { "https" };
        let host = if self.address.contains(':') {
            format!("[{}]", self.address)
        } else {
            self.address.clone()
        };
        let url = format!("{scheme}://{host}:{}", self.port);
        let auth = match self.auth {
            Auth::Users => "users",
            Auth::None => "none",
        };
        let mut variables = vec![
            ("SERVICE_BASE_URL", url.clone()),
            ("IMAGE_SERVICE_BASE_URL", url),
            ("AUTH_TYPE", auth.to_owned()),
        ];
        if self.product == Product::Okd {
            // With these no pull secret is needed for anything that OKD is installed from.
            let public = "quay.io,registry.ci.openshift.org";
            variables.push(("PUBLIC_CONTAINER_REGISTRIES", public.to_owned()));
            variables.push(("ENABLE_OKD_SUPPORT", "true".to_owned()));
        }
        if let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) {
            variables.push(("HTTPS_CERT_FILE", site.inside(cert)));
            variables.push(("HTTPS_KEY_FILE", site.inside(key)));
            // Hosts trust it even if no public authority signed it.
            variables.push(("SERVICE_CA_CERT_PATH", site.inside(cert)));
        }
        if let (Some(mirrors), Some(ca)) = (&self.mirrors, &self.mirrors_ca) {
            variables.push(("MUSTER_IMAGES_MIRRORS_FILE", site.inside(mirrors)));
            variables.push(("MUSTER_IMAGES_MIRRORS_CA_FILE", site.inside(ca)));
            variables.push(("MUSTER_IMAGES_FETCH", "never".to_owned()));
        }
        variables
    }

    fn pod(&self, site: &SiteFiles) -> String {
        let image = self.image.clone().unwrap_or_else(own_image);
        let (claim, data) = if self.ephemeral {
            (String::new(), "      emptyDir: {}\n")
        } else {
            (
                CLAIM.to_owned(),
                "      persistentVolumeClaim:\n        claimName: muster-data\n",
            )
        };
        format!(
            "# Made by `muster deploy podman`; start it with `podman kube play muster.yml`.\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: muster-config\ndata:\n{}---\n\
             {claim}{POD}{}  volumes:\n    - name: data\n{data}{}",
            entries(&self.variables(site), 2),
            site.mount(),
            site.volume(),
        )
        .replace("{annotations}", &site.annotation())
        .replace("{image}", &quoted(&image))
        .replace("{port}", &self.port.to_string())
    }
}

const CLAIM: &str = "apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: muster-data
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 60Gi
---
";

const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  name: muster
  labels:
    app: muster
{annotations}spec:
  restartPolicy: Always
  containers:
    - name: service
      image: {image}
      args: [serve]
      envFrom:
        - configMapRef:
            name: muster-config
      ports:
        - containerPort: 8090
          hostPort: {port}
      securityContext:
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: data
          mountPath: /data
";

fn quadlet() -> String {
    "# Made by `muster deploy podman`: systemd runs the pod of muster.yml.\n\
     [Unit]\nDescription=Muster\nWants=network-online.target\nAfter=network-online.target\n\n\
     [Kube]\nYaml=muster.yml\n\n[Install]\nWantedBy=default.target\n"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        podman: Podman,
    }

    fn pod(words: &str) -> String {
        let line = Line::parse_from(["podman"].into_iter().chain(words.split_whitespace()));
        let files = line.podman.files().unwrap();
        assert_eq!(files[0].0, "muster.yml");
        files[0].1.clone()
    }

    /// The files in `deploy/podman`, and the options that make them.
    const KEPT: &[(&str, &str)] = &[
        ("muster.yml", "--address muster.example.com"),
        (
            "muster-okd.yml",
            "--address muster.example.com --product okd",
        ),
        (
            "muster-ephemeral.yml",
            "--address muster.example.com --ephemeral",
        ),
        (
            "muster-tls.yml",
            "--address muster.example.com --tls-cert /etc/muster/site/tls.crt --tls-key /etc/muster/site/tls.key",
        ),
        (
            "muster-disconnected.yml",
            "--address muster.example.com --mirrors /etc/muster/site/registries.conf --mirrors-ca /etc/muster/site/mirrors.pem",
        ),
        (
            "muster-no-login.yml",
            "--address muster.example.com --auth none --plain-http",
        ),
    ];

    #[test]
    fn the_files_in_deploy_are_current() {
        for (name, words) in KEPT {
            crate::deploy::tests::is_current(&format!("podman/{name}"), &pod(words));
        }
        crate::deploy::tests::is_current("podman/muster.kube", &quadlet());
    }

    #[test]
    fn every_document_is_yaml_and_of_its_kind() {
        for (name, words) in KEPT {
            let kinds: Vec<String> = pod(words)
                .split("---\n")
                .map(|text| {
                    let document: serde_json::Value = serde_yaml_ng::from_str(text).expect(name);
                    document["kind"].as_str().expect(name).to_owned()
                })
                .collect();
            let last = kinds.last().map(String::as_str);
            assert_eq!(
                (kinds[0].as_str(), last),
                ("ConfigMap", Some("Pod")),
                "{name}"
            );
        }
    }

    #[test]
    fn files_of_the_site_are_in_one_folder_that_podman_labels() {
        let all = pod(
            "--address m.example.com --tls-cert /srv/site/a.crt --tls-key /srv/site/a.key \
                       --mirrors /srv/site/r.conf --mirrors-ca /srv/site/r.pem",
        );
        for line in [
            "  HTTPS_KEY_FILE: \"/etc/muster/site/a.key\"\n",
            "  MUSTER_IMAGES_MIRRORS_FILE: \"/etc/muster/site/r.conf\"\n",
            "  annotations:\n    bind-mount-options: \"/srv/site:z\"\n",
            "        - name: site\n          mountPath: /etc/muster/site\n          readOnly: true\n",
            "    - name: site\n      hostPath:\n        path: \"/srv/site\"\n        type: Directory\n",
        ] {
            assert!(all.contains(line), "{line} in\n{all}");
        }
        assert!(!pod("--address m.example.com").contains("annotations"));
    }

    #[test]
    fn ipv6_addresses_get_brackets() {
        assert!(pod("--address fd00::7").contains("\"https://[fd00::7]:8090\""));
    }
}
