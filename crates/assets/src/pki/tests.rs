//! OpenSSL walks the whole PKI: chains, subjects, usages, names, lifetimes.
//!
//! The expectations are written down a second time here, in OpenSSL's words, so that a slip in the
//! table of rows does not go unnoticed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::Command;
use std::sync::LazyLock;

use super::rows::{BUNDLES, ROWS};
use super::*;

const SIGNER: &str = "Digital Signature, Key Encipherment, Certificate Sign";
const LEAF: &str = "Digital Signature, Key Encipherment";
const SERVER: &str = "TLS Web Server Authentication";
const CLIENT: &str = "TLS Web Client Authentication";
const BOTH: &str = "TLS Web Server Authentication, TLS Web Client Authentication";
const KUBERNETES: &str = "DNS:kubernetes, DNS:kubernetes.default, DNS:kubernetes.default.svc, \
     DNS:kubernetes.default.svc.cluster.local, DNS:openshift, DNS:openshift.default, \
     DNS:openshift.default.svc, DNS:openshift.default.svc.cluster.local, IP Address:172.30.0.1";

/// file, signer, subject, key usage, extended key usage, names, hours, certificates in the file
type Expected = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    i64,
    usize,
);

const DAY: i64 = 24;
const YEAR: i64 = 8760;
const DECADE: i64 = 87600;

#[rustfmt::skip]
const EXPECTED: &[Expected] = &[
    ("root-ca", "", "OU=openshift,CN=root-ca", SIGNER, "", "", DECADE, 1),
    ("admin-kubeconfig-signer", "", "OU=openshift,CN=admin-kubeconfig-signer", SIGNER, "", "", DECADE, 1),
    ("kubelet-bootstrap-kubeconfig-signer", "", "OU=openshift,CN=kubelet-bootstrap-kubeconfig-signer", SIGNER, "", "", DECADE, 1),
    ("kube-apiserver-localhost-signer", "", "OU=openshift,CN=kube-apiserver-localhost-signer", SIGNER, "", "", DECADE, 1),
    ("kube-apiserver-service-network-signer", "", "OU=openshift,CN=kube-apiserver-service-network-signer", SIGNER, "", "", DECADE, 1),
    ("kube-apiserver-lb-signer", "", "OU=openshift,CN=kube-apiserver-lb-signer", SIGNER, "", "", DECADE, 1),
    ("kube-apiserver-to-kubelet-signer", "", "OU=openshift,CN=kube-apiserver-to-kubelet-signer", SIGNER, "", "", YEAR, 1),
    ("kube-control-plane-signer", "", "OU=openshift,CN=kube-control-plane-signer", SIGNER, "", "", YEAR, 1),
    ("kubelet-signer", "", "OU=openshift,CN=kubelet-signer", SIGNER, "", "", DAY, 1),
    ("aggregator-signer", "", "OU=openshift,CN=aggregator-signer", SIGNER, "", "", DAY, 1),
    ("aggregator-ca", "", "OU=bootkube,CN=aggregator", SIGNER, "", "", DAY, 1),
    ("ironic/tls", "", "OU=openshift,CN=ironic", LEAF, SERVER, "DNS:api-int.c.example.org, IP Address:192.168.111.5, IP Address:FD00:0:0:0:0:0:0:5, IP Address:172.22.0.2", DAY, 1),
    ("admin-kubeconfig-client", "admin-kubeconfig-signer", "O=system:masters,CN=system:admin", LEAF, BOTH, "", DECADE, 1),
    ("kubelet-client", "kubelet-bootstrap-kubeconfig-signer", "O=system:serviceaccounts+O=system:serviceaccounts:openshift-machine-config-operator,CN=system:serviceaccount:openshift-machine-config-operator:node-bootstrapper", LEAF, CLIENT, "", DECADE, 1),
    ("kube-apiserver-localhost-server", "kube-apiserver-localhost-signer", "O=kube-master,CN=system:kube-apiserver", LEAF, SERVER, "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1", DAY, 2),
    ("kube-apiserver-service-network-server", "kube-apiserver-service-network-signer", "O=kube-master,CN=system:kube-apiserver", LEAF, SERVER, KUBERNETES, DAY, 2),
    ("kube-apiserver-lb-server", "kube-apiserver-lb-signer", "O=kube-master,CN=system:kube-apiserver", LEAF, SERVER, "DNS:api.c.example.org", DAY, 2),
    ("kube-apiserver-internal-lb-server", "kube-apiserver-lb-signer", "O=kube-master,CN=system:kube-apiserver", LEAF, SERVER, "DNS:api-int.c.example.org", DAY, 2),
    ("kube-apiserver-to-kubelet-client", "kube-apiserver-to-kubelet-signer", "O=kube-master,CN=system:kube-apiserver", LEAF, CLIENT, "", YEAR, 1),
    ("kube-control-plane-kube-controller-manager-client", "kube-control-plane-signer", "O=system:masters,CN=system:admin", LEAF, CLIENT, "", YEAR, 1),
    ("kube-control-plane-kube-scheduler-client", "kube-control-plane-signer", "O=system:masters,CN=system:admin", LEAF, CLIENT, "", YEAR, 1),
    ("aggregator-client", "aggregator-signer", "O=kube-master,CN=system:kube-apiserver-proxy", LEAF, CLIENT, "", DAY, 1),
    ("apiserver-proxy", "aggregator-ca", "O=kube-master,CN=system:kube-apiserver-proxy", LEAF, CLIENT, "", DAY, 1),
    ("machine-config-server", "root-ca", "CN=system:machine-config-server", "", SERVER, "DNS:api-int.c.example.org, DNS:192.168.111.5, DNS:fd00::5, IP Address:192.168.111.5, IP Address:FD00:0:0:0:0:0:0:5", DECADE, 1),
    ("internal-release-image", "root-ca", "CN=system:internal-release-image", "", SERVER, "DNS:localhost, DNS:api-int.c.example.org, DNS:192.168.111.5, DNS:fd00::5, IP Address:192.168.111.5, IP Address:FD00:0:0:0:0:0:0:5, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1", DECADE, 1),
    ("journal-gatewayd", "root-ca", "O=OpenShift Bootstrap,CN=journal-gatewayd", LEAF, BOTH, "", DECADE, 1),
];

/// Keys for tests that are not about making them.
static MADE: LazyLock<KeyCache> = LazyLock::new(KeyCache::default);

/// Makes every key itself.
fn input() -> PkiInput {
    PkiInput {
        cluster_domain: "c.example.org".to_owned(),
        service_address: IpAddr::from([172, 30, 0, 1]),
        api_vips: vec!["192.168.111.5".parse().unwrap(), "fd00::5".parse().unwrap()],
        ironic: Some(vec!["172.22.0.2".parse().unwrap()]),
        internal_release_image: true,
        signer_bits: 2048,
        key_form: KeyForm::Pkcs8,
        created: "2026-08-20T10:00:00Z".parse().unwrap(),
        issued: "2026-08-20T10:00:00Z".parse().unwrap(),
        lifetimes: Lifetimes::USUAL,
        supplied: BTreeMap::new(),
        keys: KeyCache::default(),
    }
}

/// The same with keys that other tests may have made.
fn shared() -> PkiInput {
    PkiInput {
        keys: MADE.clone(),
        ..input()
    }
}

fn openssl(arguments: &[&str]) -> String {
    let output = Command::new("openssl")
        .args(arguments)
        .output()
        .expect("openssl is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The line after the one that starts with `heading`, or nothing.
fn after<'a>(text: &'a str, heading: &str) -> &'a str {
    let mut lines = text.lines().map(str::trim);
    lines
        .find(|line| line.starts_with(heading))
        .and(lines.next())
        .unwrap_or("")
}

fn time_of(line: &str) -> Timestamp {
    let (_, date) = line.trim().split_once('=').unwrap();
    format!("{}Z", date.trim_end_matches('Z').replace(' ', "T"))
        .parse()
        .unwrap()
}

#[test]
fn openssl_agrees_with_the_sheet_on_every_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let pki = Pki::generate(&shared(), &Entropy::new([1; 32]), Scope::All).unwrap();
    let path = |name: &str| {
        let path = directory
            .path()
            .join(format!("{}.crt", name.replace('/', "-")));
        path.to_str().unwrap().to_owned()
    };
    for (name, issued) in pki.issued() {
        std::fs::write(path(name), &issued.file_pem).unwrap();
    }
    let names: Vec<_> = EXPECTED.iter().map(|row| row.0).collect();
    let made: Vec<_> = ROWS.iter().map(|row| row.name).collect();
    assert_eq!(names, made);

    for (name, signer, subject, usage, extended, hosts, hours, count) in EXPECTED {
        let file = path(name);
        let text = openssl(&[
            "x509",
            "-in",
            &file,
            "-noout",
            "-text",
            "-nameopt",
            "RFC2253,-dn_rev",
        ]);
        let said = openssl(&[
            "x509",
            "-in",
            &file,
            "-noout",
            "-subject",
            "-nameopt",
            "RFC2253,-dn_rev",
        ]);
        assert_eq!(said.trim(), format!("subject={subject}"), "{name}");
        assert_eq!(after(&text, "X509v3 Key Usage: critical"), *usage, "{name}");
        assert_eq!(
            after(&text, "X509v3 Extended Key Usage"),
            *extended,
            "{name}"
        );
        assert_eq!(
            after(&text, "X509v3 Subject Alternative Name"),
            *hosts,
            "{name}"
        );
        let authority = usage.contains("Certificate Sign");
        let constraint = if authority { "CA:TRUE" } else { "CA:FALSE" };
        assert_eq!(
            after(&text, "X509v3 Basic Constraints: critical"),
            constraint,
            "{name}"
        );
        let key_id = after(&text, "X509v3 Subject Key Identifier");
        assert!(!key_id.is_empty(), "{name}");
        assert!(
            text.contains("Signature Algorithm: sha256WithRSAEncryption"),
            "{name}"
        );
        assert!(text.contains("Public-Key: (2048 bit)"), "{name}");

        let dates = openssl(&[
            "x509", "-in", &file, "-noout", "-dates", "-dateopt", "iso_8601",
        ]);
        let mut dates = dates.lines();
        assert_eq!(time_of(dates.next().unwrap()), input().created, "{name}");
        let lifetime = SignedDuration::from_hours(*hours);
        assert_eq!(
            time_of(dates.next().unwrap()),
            input().created + lifetime,
            "{name}"
        );

        let trusted = if signer.is_empty() {
            &file
        } else {
            &path(signer)
        };
        let at = (input().created.as_second() + 60).to_string();
        openssl(&[
            "verify",
            "-attime",
            &at,
            "-x509_strict",
            "-partial_chain",
            "-CAfile",
            trusted,
            &file,
        ]);
        if !signer.is_empty() {
            let parent = openssl(&["x509", "-in", trusted, "-noout", "-text"]);
            let parent = after(&parent, "X509v3 Subject Key Identifier");
            assert_eq!(
                after(&text, "X509v3 Authority Key Identifier"),
                parent,
                "{name}"
            );
        } else {
            assert!(!text.contains("Authority Key Identifier"), "{name}");
        }
        let pem = std::fs::read_to_string(&file).unwrap();
        assert_eq!(pem.matches("BEGIN CERTIFICATE").count(), *count, "{name}");
    }
}

#[test]
fn a_certificate_of_another_signer_does_not_verify() {
    let directory = tempfile::tempdir().unwrap();
    let pki = Pki::generate(&shared(), &Entropy::new([1; 32]), Scope::Manifests).unwrap();
    let other = Pki::generate(&shared(), &Entropy::new([9; 32]), Scope::Manifests).unwrap();
    let write = |name: &str, pem: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path
    };
    let leaf = write("leaf", &pki.get("machine-config-server").unwrap().file_pem);
    let wrong = write("ca", &other.get("root-ca").unwrap().file_pem);
    let verify = Command::new("openssl")
        .args(["verify", "-no_check_time", "-CAfile"])
        .args([&wrong, &leaf])
        .output()
        .unwrap();
    assert!(!verify.status.success());
}

#[test]
fn openssl_reads_every_key_and_it_fits_its_certificate() {
    let directory = tempfile::tempdir().unwrap();
    for form in [KeyForm::Pkcs1, KeyForm::Pkcs8] {
        let input = PkiInput {
            key_form: form,
            ..shared()
        };
        let pki = Pki::generate(&input, &Entropy::new([1; 32]), Scope::All).unwrap();
        let file = |name: &str, content: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        };
        for (name, issued) in pki.issued() {
            let label = if form == KeyForm::Pkcs1 {
                "RSA PRIVATE KEY"
            } else {
                "PRIVATE KEY"
            };
            assert!(
                issued
                    .key_pem
                    .starts_with(&format!("-----BEGIN {label}-----")),
                "{name}"
            );
            let key = file("key", &issued.key_pem);
            let certificate = file("crt", &issued.certificate_pem);
            openssl(&["rsa", "-in", &key, "-check", "-noout"]);
            assert_eq!(
                openssl(&["pkey", "-in", &key, "-pubout"]),
                openssl(&["x509", "-in", &certificate, "-pubkey", "-noout"]),
                "{name}"
            );
        }
    }
}

#[test]
fn bundles_hold_their_members_in_order() {
    let pki = Pki::generate(&shared(), &Entropy::new([1; 32]), Scope::All).unwrap();
    let counts = [1, 1, 1, 1, 1, 3, 1, 4, 1, 1, 1, 5];
    for (bundle, count) in BUNDLES.iter().zip(counts) {
        let pem = pki.bundle(bundle.name).unwrap();
        assert_eq!(
            pem.matches("BEGIN CERTIFICATE").count(),
            count,
            "{}",
            bundle.name
        );
        let places: Vec<_> = bundle
            .members
            .iter()
            .map(|member| pem.find(&pki.get(member).unwrap().certificate_pem).unwrap())
            .collect();
        assert!(places.is_sorted(), "{}", bundle.name);
    }
}

#[test]
fn the_bootstrap_host_gets_the_files_of_the_sheet_and_no_root_key() {
    let pki = Pki::generate(&shared(), &Entropy::new([1; 32]), Scope::All).unwrap();
    let files = pki.bootstrap_files().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    // 8 signers and ironic, 13 leaves without the administrator's, the service account: pairs
    assert_eq!(files.len(), (8 + 1 + 13 + 1) * 2 + 12 + 1);
    assert!(paths.contains(&"tls/root-ca.crt") && !paths.contains(&"tls/root-ca.key"));
    assert!(
        !paths
            .iter()
            .any(|path| path.contains("admin-kubeconfig-signer"))
    );
    assert!(!paths.iter().any(|path| path.contains("bootstrap-ssh")));
    let root = files
        .iter()
        .find(|file| file.path == "tls/root-ca.crt")
        .unwrap();
    assert_eq!(root.mode, 0o644);
    assert!(
        files
            .iter()
            .filter(|file| file.path != root.path)
            .all(|file| file.mode == 0o600)
    );
    let public = files
        .iter()
        .find(|f| f.path == "tls/service-account.pub")
        .unwrap();
    assert!(public.text().starts_with("-----BEGIN RSA PUBLIC KEY-----"));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let files = |input: &PkiInput, seed| {
        let pki = Pki::generate(input, &Entropy::new([seed; 32]), Scope::All).unwrap();
        (pki.bootstrap_files().unwrap(), pki.bootstrap_ssh().unwrap())
    };
    let one = files(&input(), 1);
    assert_eq!(
        one,
        files(&shared(), 1),
        "made twice, here and for other tests"
    );
    let (one, two) = (one.0, files(&shared(), 9).0);
    assert!(
        one.iter()
            .zip(&two)
            .all(|(a, b)| a.path == b.path && a.content != b.content)
    );
}

#[test]
fn manifests_cost_two_keys_and_get_the_same_root() {
    let all = Pki::generate(&shared(), &Entropy::new([1; 32]), Scope::All).unwrap();
    let few = Pki::generate(&input(), &Entropy::new([1; 32]), Scope::Manifests).unwrap();
    assert_eq!(few.issued().count(), 3);
    for (name, issued) in few.issued() {
        assert_eq!(issued.file_pem, all.get(name).unwrap().file_pem);
    }
}

#[test]
fn ssh_keygen_reads_the_bootstrap_key() {
    let pki = Pki::generate(&shared(), &Entropy::new([1; 32]), Scope::All).unwrap();
    let line = pki.bootstrap_ssh().unwrap();
    assert!(
        line.starts_with("ssh-rsa AAAAB3NzaC1yc2E") && line.ends_with('\n'),
        "{line}"
    );
}

#[test]
fn signers_handed_in_sign_the_leaves() {
    let early = Pki::generate(&shared(), &Entropy::new([9; 32]), Scope::All).unwrap();
    let mut later = shared();
    later.issued += SignedDuration::from_hours(5);
    for name in supplied::ACCEPTED {
        let issued = early.get(name).unwrap();
        later.supplied.insert(
            (*name).to_owned(),
            Supplied {
                certificate_pem: issued.certificate_pem.clone(),
                key_pem: issued.key_pem.clone(),
            },
        );
    }
    let pki = Pki::generate(&later, &Entropy::new([1; 32]), Scope::All).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, pem: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let ca = write(
        "ca",
        &early
            .get("kube-apiserver-lb-signer")
            .unwrap()
            .certificate_pem,
    );
    let leaf = pki.get("kube-apiserver-lb-server").unwrap();
    assert_eq!(leaf.not_before, input().created);
    let at = (later.issued.as_second() + 60).to_string();
    openssl(&[
        "verify",
        "-attime",
        &at,
        "-x509_strict",
        "-CAfile",
        &ca,
        &write("leaf", &leaf.file_pem),
    ]);
    assert_eq!(
        pki.get("admin-kubeconfig-client").unwrap().certificate_pem,
        early
            .get("admin-kubeconfig-client")
            .unwrap()
            .certificate_pem
    );
}

#[test]
fn a_signer_handed_in_must_fit_its_key_and_its_place() {
    let early = Pki::generate(&shared(), &Entropy::new([9; 32]), Scope::All).unwrap();
    let refuse = |row: &str, certificate: &str, key: &str| {
        let mut input = shared();
        input.supplied.insert(
            row.to_owned(),
            Supplied {
                certificate_pem: early
                    .get(certificate)
                    .map_or("?".to_owned(), |i| i.file_pem.clone()),
                key_pem: early.get(key).unwrap().key_pem.clone(),
            },
        );
        Pki::generate(&input, &Entropy::new([1; 32]), Scope::All)
            .unwrap_err()
            .to_string()
    };
    let signer = "kube-apiserver-lb-signer";
    assert!(refuse(signer, signer, "root-ca").contains("public key"));
    assert!(refuse(signer, "kubelet-client", "kubelet-client").contains("CA:TRUE"));
    assert!(refuse("kubelet-client", "kubelet-client", "kubelet-client").contains("only admin"));
    assert!(refuse(signer, "?", signer).contains("PEM"));
}
