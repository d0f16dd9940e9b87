//! The configuration image, read by programs that are not ours: xorriso, blkid, jq, openssl, kubectl.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{MANIFEST, mode, muster, other, put_site, succeeded};

/// Everything that can be in an image.
const INSTALL_CONFIG: &str = r#"apiVersion: v1
baseDomain: example.com
metadata: {name: site1}
controlPlane: {name: master, replicas: 1}
compute: [{name: worker, replicas: 0}]
networking:
  machineNetwork: [{cidr: 192.168.10.0/24}, {cidr: 'fd00::/64'}]
  serviceNetwork: [172.30.0.0/16]
  clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
platform: {none: {}}
sshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpKaGdqZ2ZkZ2ZqZ2hqZmdoamZnaGpmZ2hqZmdoag== <core>
pullSecret: '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
proxy: {httpProxy: 'http://proxy.example.com:3128', noProxy: 'zz.example.com'}
imageDigestSources:
- {source: quay.io/a, mirrors: [registry.example.com/a]}
- {source: quay.io/b, mirrors: [registry.example.com/b], sourcePolicy: NeverContactSource}
additionalTrustBundlePolicy: Proxyonly
additionalTrustBundle: |
"#;

const SITE_CONFIG: &str = "hostname: node1
additionalNTPSources: [time.example.com]
releaseRegistry: registry.example.com:5000
cluster_id: 0f8b9d6e-6f0a-4c57-9d5c-6f1f0f3a2b11
nodeLabels: {rack: r7}
networkConfig:
  interfaces:
  - name: eno1
    type: ethernet
    state: up
    ipv4: {enabled: true, dhcp: false, address: [{ip: 192.168.10.5, prefix-length: 24}]}
    ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: 'fd00::5', prefix-length: 64}]}
";

/// Runs a script of other programs; what they print, without the last newline.
fn sh(at: &Path, script: &str) -> String {
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(at)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{script}: {said}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

fn jq(at: &Path, filter: &str) -> Value {
    let file = "out/cluster-configuration/manifest.json";
    let output = Command::new("jq")
        .args(["-c", filter, file])
        .current_dir(at)
        .output()
        .unwrap();
    assert!(output.status.success(), "{filter}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The paths of the image with their modes, by xorriso, and its content in `out`.
fn unpack(at: &Path) -> Vec<String> {
    let tree = other(
        at,
        "xorriso -indev imagebasedconfig.iso -find / -exec lsdl --",
    );
    let mut paths: Vec<String> = tree
        .lines()
        .filter_map(|line| {
            let (mode, path) = (line.split(' ').next()?, line.split('\'').nth(1)?);
            Some(format!("{path} {mode}"))
        })
        .collect();
    paths.sort_unstable();
    other(
        at,
        "xorriso -osirrox on -indev imagebasedconfig.iso -extract / out",
    );
    other(at, "chmod -R u+rwX out");
    paths
}

#[test]
fn other_programs_read_the_configuration_image_as_the_reference_describes_it() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put_site(at);
    other(
        at,
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout root.key -out root.pem -days 9 -subj /CN=root",
    );
    let bundle = fs::read_to_string(at.join("root.pem")).unwrap();
    let indented: String = bundle.lines().map(|line| format!("  {line}\n")).collect();
    let config = format!("{INSTALL_CONFIG}{indented}");
    fs::write(at.join("install-config.yaml"), &config).unwrap();
    fs::write(at.join("image-based-config.yaml"), SITE_CONFIG).unwrap();
    let said = succeeded(&muster(at, &["create", "config-image"]));
    assert!(said.contains("was not compared with a seed"), "{said}");
    files_are_written_and_used_up(at);
    layout(at);
    members(at, &bundle);
    kubeconfig(at);
    certificates(at);

    // The same directory makes the same keys again, and the same bytes.
    let first = fs::read(at.join("imagebasedconfig.iso")).unwrap();
    put_site(at);
    fs::write(at.join("install-config.yaml"), &config).unwrap();
    fs::write(at.join("image-based-config.yaml"), SITE_CONFIG).unwrap();
    succeeded(&muster(at, &["create", "config-image", "--offline"]));
    assert_eq!(fs::read(at.join("imagebasedconfig.iso")).unwrap(), first);
    let again = muster(at, &["create", "config-image"]);
    assert_eq!(again.status.code(), Some(1), "inputs are used up");
}

fn files_are_written_and_used_up(at: &Path) {
    for used in [
        "install-config.yaml",
        "image-based-config.yaml",
        "extra-manifests/a.yaml",
    ] {
        assert!(!at.join(used).exists(), "{used} is used up");
    }
    assert!(at.join("extra-manifests/notes.txt").exists());
    for (path, expected) in [
        ("imagebasedconfig.iso", 0o600),
        (".muster_image_based_state.json", 0o600),
        ("auth", 0o750),
        ("auth/kubeconfig", 0o640),
        ("auth/kubeadmin-password", 0o640),
    ] {
        assert_eq!(mode(&at.join(path)), expected, "{path}");
    }
}

fn layout(at: &Path) {
    let about = other(at, "isoinfo -d -i imagebasedconfig.iso");
    for words in [
        "Volume id: cluster-config\n",
        "Logical block size is: 2048",
        "Rock Ridge signatures version 1",
        "NO Joliet",
    ] {
        assert!(about.contains(words), "{words}: {about}");
    }
    assert!(
        !about.contains("El Torito VD"),
        "it cannot be booted: {about}"
    );
    // As lsblk sees it on the node.
    let label = sh(
        at,
        "/usr/sbin/blkid -p -s LABEL -s TYPE -o value imagebasedconfig.iso",
    );
    assert_eq!(label, "cluster-config\niso9660");
    assert_eq!(
        unpack(at),
        [
            "/ dr-xr-xr-x",
            "/cluster-configuration dr-xr-xr-x",
            "/cluster-configuration/manifest.json -r--r--r--",
            "/cluster-configuration/manifests dr-xr-xr-x",
            "/cluster-configuration/manifests/image-digest-mirror-set.json -r--r--r--",
            "/extra-manifests dr-xr-xr-x",
            "/extra-manifests/a.yaml -r--r--r--",
        ]
    );
    let manifest = fs::read_to_string(at.join("out/extra-manifests/a.yaml")).unwrap();
    assert_eq!(manifest, MANIFEST);
    let set = "out/cluster-configuration/manifests/image-digest-mirror-set.json";
    let set: Value = serde_json::from_str(&sh(at, &format!("jq -c 'del(.status)' {set}"))).unwrap();
    assert_eq!(
        set,
        json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ImageDigestMirrorSet",
            "metadata": { "name": "image-digest-mirror" },
            "spec": { "imageDigestMirrors": [
                { "source": "quay.io/a", "mirrors": ["registry.example.com/a"] },
                {
                    "source": "quay.io/b",
                    "mirrors": ["registry.example.com/b"],
                    "mirrorSourcePolicy": "NeverContactSource",
                },
            ] },
        })
    );
}

/// Every member, in its place, with its value.
fn members(at: &Path, bundle: &str) {
    assert_eq!(
        jq(at, "keys_unsorted | join(\" \")"),
        "additionalTrustBundle api_version base_domain cluster_id cluster_name chrony_config hostname \
         infra_id kubeadmin_password_hash KubeconfigCryptoRetention machine_network machine_networks \
         raw_nm_state_config release_registry ssh_key proxy pull_secret node_labels"
    );
    let shape = "[.KubeconfigCryptoRetention | paths(strings) | join(\".\")]";
    assert_eq!(
        jq(at, shape),
        json!([
            "KubeAPICrypto.ServingCrypto.localhost_signer_private_key",
            "KubeAPICrypto.ServingCrypto.service_network_signer_private_key",
            "KubeAPICrypto.ServingCrypto.loadbalancer_external_signer_private_key",
            "KubeAPICrypto.ClientAuthCrypto.admin_ca_certificate",
            "IngresssCrypto.ingress_ca",
            "IngresssCrypto.ingress_certificate_cn",
        ])
    );
    let mut plain = jq(at, "del(.KubeconfigCryptoRetention)");
    let infra_id = plain["infra_id"].take();
    let infra_id = infra_id.as_str().unwrap();
    let (name, random) = infra_id.rsplit_once('-').unwrap();
    let is_safe = |c| "bcdfghjklmnpqrstvwxz2456789".contains(c);
    assert!(name == "site1" && random.len() == 5 && random.chars().all(is_safe));
    let hash = plain["kubeadmin_password_hash"].take();
    let password = fs::read_to_string(at.join("auth/kubeadmin-password")).unwrap();
    let groups: Vec<usize> = password.split('-').map(str::len).collect();
    assert_eq!(groups, [5, 5, 5, 5]);
    let hash = hash.as_str().unwrap();
    assert!(hash.starts_with("$2a$10$"), "{hash}");
    let again = Command::new("perl")
        .args(["-e", "print crypt($ARGV[0], $ARGV[1])", &password, hash])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&again.stdout),
        hash,
        "the hash is of the password"
    );
    let network = plain["raw_nm_state_config"].take();
    fs::write(at.join("network.yaml"), network.as_str().unwrap()).unwrap();
    let network: Value = serde_yaml_ng::from_str(network.as_str().unwrap()).unwrap();
    assert_eq!(
        network["interfaces"][0]["ipv6"]["address"][0]["ip"],
        "fd00::5"
    );
    assert_eq!(
        plain,
        json!({
            "additionalTrustBundle": {
                "userCaBundle": bundle,
                "proxyConfigmapName": "user-ca-bundle",
                "proxyConfigmapBundle": bundle,
            },
            "api_version": 1,
            "base_domain": "example.com",
            "cluster_id": "0f8b9d6e-6f0a-4c57-9d5c-6f1f0f3a2b11",
            "cluster_name": "site1",
            "chrony_config": "\npool 0.rhel.pool.ntp.org iburst\ndriftfile /var/lib/chrony/drift\n\
                              makestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n\
                              server time.example.com iburst",
            "hostname": "node1",
            "infra_id": null,
            "kubeadmin_password_hash": null,
            "machine_network": "192.168.10.0/24",
            "machine_networks": ["192.168.10.0/24", "fd00::/64"],
            "raw_nm_state_config": null,
            "release_registry": "registry.example.com:5000",
            "ssh_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpKaGdqZ2ZkZ2ZqZ2hqZmdoamZnaGpmZ2hqZmdoag== <core>",
            "proxy": {
                "httpProxy": "http://proxy.example.com:3128",
                "noProxy": ".cluster.local,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,192.168.10.0/24,\
                            api-int.site1.example.com,fd00::/64,localhost,zz.example.com",
            },
            "pull_secret": r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}"#,
            "node_labels": { "rack": "r7" },
        })
    );
    // Compact, with the escapes of the reference, which jq does not write.
    let raw = fs::read_to_string(at.join("out/cluster-configuration/manifest.json")).unwrap();
    assert!(
        raw.contains(r"\u003ccore\u003e") && !raw.contains(['<', '\n']),
        "{raw}"
    );
    assert!(raw.starts_with(r#"{"additionalTrustBundle":{"userCaBundle":""#));
}

/// The kubeconfig as its client reads it; its certificates and key become files.
fn kubeconfig(at: &Path) {
    let view = sh(
        at,
        "kubectl --kubeconfig auth/kubeconfig config view --raw -o json",
    );
    let view: Value = serde_json::from_str(&view).unwrap();
    let (cluster, user) = (&view["clusters"][0], &view["users"][0]);
    assert_eq!(cluster["name"], "site1");
    assert_eq!(
        cluster["cluster"]["server"],
        "https://api.site1.example.com:6443"
    );
    assert_eq!(user["name"], "admin");
    assert_eq!(view["contexts"][0]["name"], "admin");
    let context = &view["contexts"][0]["context"];
    assert_eq!(
        (&context["cluster"], &context["user"]),
        (&json!("site1"), &json!("admin"))
    );
    assert_eq!(view["current-context"], "admin");
    for list in ["clusters", "users", "contexts"] {
        assert_eq!(view[list].as_array().unwrap().len(), 1, "{list}");
    }
    for (data, file) in [
        (
            &cluster["cluster"]["certificate-authority-data"],
            "bundle.pem",
        ),
        (&user["user"]["client-certificate-data"], "client.pem"),
        (&user["user"]["client-key-data"], "client.key"),
    ] {
        fs::write(at.join("b64"), data.as_str().unwrap()).unwrap();
        sh(at, &format!("base64 -d b64 > {file}"));
    }
}

/// An authority: where its key is, what it is called, how long it lives.
struct Authority {
    member: &'static str,
    name: String,
    days: i64,
}

fn certificates(at: &Path) {
    let serving = "KubeAPICrypto.ServingCrypto";
    let cn = jq(
        at,
        ".KubeconfigCryptoRetention.IngresssCrypto.ingress_certificate_cn",
    );
    let cn = cn.as_str().unwrap().to_owned();
    let of = |member: &'static str, name: &str, days| Authority {
        member,
        name: name.to_owned(),
        days,
    };
    let authorities = [
        of(
            "localhost_signer_private_key",
            "/OU=openshift/CN=kube-apiserver-localhost-signer",
            3650,
        ),
        of(
            "service_network_signer_private_key",
            "/OU=openshift/CN=kube-apiserver-service-network-signer",
            3650,
        ),
        of(
            "loadbalancer_external_signer_private_key",
            "/OU=openshift/CN=kube-apiserver-lb-signer",
            3650,
        ),
        of("ingress_ca", &format!("/CN={cn}"), 730),
    ];
    // The bundle holds these four, in this order.
    sh(
        at,
        "csplit -z -s -f authority- -n 1 bundle.pem '/BEGIN CERTIFICATE/' '{*}'; test ! -e authority-4",
    );
    sh(
        at,
        "openssl req -new -key client.key -subj /CN=api.site1.example.com -out leaf.csr",
    );
    let born = sh(at, "jq -r .created .muster_image_based_state.json");
    for (number, authority) in authorities.iter().enumerate() {
        let Authority { member, name, days } = authority;
        let file = format!("authority-{number}");
        let place = match *member {
            "ingress_ca" => "IngresssCrypto".to_owned(),
            _ => serving.to_owned(),
        };
        let key = jq(at, &format!(".KubeconfigCryptoRetention.{place}.{member}"));
        fs::write(at.join("ca.key"), key.as_str().unwrap()).unwrap();
        // PKCS#8, sound, and the key of the certificate that users trust.
        assert!(
            key.as_str()
                .unwrap()
                .starts_with("-----BEGIN PRIVATE KEY-----\n")
        );
        let about = sh(at, "openssl pkey -in ca.key -noout -check -text");
        assert!(
            about.contains("Key is valid") && about.contains("2048 bit"),
            "{about}"
        );
        assert_eq!(
            sh(at, "openssl pkey -in ca.key -pubout"),
            sh(at, &format!("openssl x509 -in {file} -noout -pubkey")),
            "{name}"
        );
        is_authority(at, &file, name, *days, &born);
        // What the node does: it makes the authority again with this key and this name, and what
        // that one signs must be trusted by the kubeconfig that was made here.
        sh(
            at,
            &format!(
                "openssl req -x509 -key ca.key -subj '{name}' -days 9 -out ca.pem
                 openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -set_serial 5 -days 9 -out leaf.pem
                 openssl verify -CAfile bundle.pem leaf.pem"
            ),
        );
    }
    assert_eq!(
        cn,
        format!(
            "ingress-operator@{}",
            sh(at, &format!("date -d {born} +%s"))
        )
    );

    let admin = jq(
        at,
        ".KubeconfigCryptoRetention.KubeAPICrypto.ClientAuthCrypto.admin_ca_certificate",
    );
    fs::write(at.join("admin-ca.pem"), admin.as_str().unwrap()).unwrap();
    is_authority(
        at,
        "admin-ca.pem",
        "/OU=openshift/CN=admin-kubeconfig-signer",
        3650,
        &born,
    );
    sh(
        at,
        "openssl verify -purpose sslclient -CAfile admin-ca.pem client.pem",
    );
    assert_eq!(
        sh(at, "openssl pkey -in client.key -pubout"),
        sh(at, "openssl x509 -in client.pem -noout -pubkey")
    );
    let client = sh(
        at,
        "openssl x509 -in client.pem -noout -text -nameopt compat",
    );
    let client = client.replace(" = ", "=");
    for words in [
        "Version: 3 (0x2)",
        "Subject: O=system:masters, CN=system:admin",
        "Public-Key: (2048 bit)",
        "Digital Signature, Key Encipherment\n",
        "TLS Web Server Authentication, TLS Web Client Authentication",
        "CA:FALSE",
    ] {
        assert!(client.contains(words), "{words}: {client}");
    }
    lives(at, "client.pem", 3650, &born);
    let certificates = sh(at, "grep -c BEGIN client.pem");
    assert_eq!(certificates, "1", "without its signer");
}

fn is_authority(at: &Path, file: &str, name: &str, days: i64, born: &str) {
    let text = sh(
        at,
        &format!("openssl x509 -in {file} -noout -text -nameopt compat"),
    );
    let text = text.replace(" = ", "=");
    let subject = name[1..].replace('/', ", ");
    for words in [
        "Version: 3 (0x2)",
        &format!("Subject: {subject}\n"),
        &format!("Issuer: {subject}\n"),
        "Public-Key: (2048 bit)",
        "X509v3 Basic Constraints: critical\n                CA:TRUE\n",
        "Digital Signature, Key Encipherment, Certificate Sign\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    lives(at, file, days, born);
    // RFC 5280, method 1: the hash of the bits of the key, which begin behind 24 bytes.
    let bits = format!(
        "openssl x509 -in {file} -noout -pubkey | openssl pkey -pubin -outform DER | tail -c +25 | sha1sum"
    );
    let id = sh(at, &bits);
    let shown = sh(
        at,
        &format!("openssl x509 -in {file} -noout -ext subjectKeyIdentifier"),
    );
    let shown = shown.lines().last().unwrap().replace([':', ' '], "");
    assert_eq!(shown.to_lowercase(), id.split(' ').next().unwrap());
    // Clients compare names byte by byte with those the node writes, and Go writes them like this.
    let strings = sh(
        at,
        &format!("openssl asn1parse -in {file} | grep -E 'openshift|signer|operator@'"),
    );
    for line in strings.lines() {
        let kind = match line.contains('@') {
            true => "UTF8STRING",
            false => "PRINTABLESTRING",
        };
        assert!(line.contains(kind), "{strings}");
    }
    let serial = sh(at, &format!("openssl x509 -in {file} -noout -serial"));
    let serial = serial.split('=').nth(1).unwrap();
    let number = i64::from_str_radix(serial, 16);
    assert!(
        number.is_ok_and(|number| number > 0),
        "{serial} is positive and below 2^63"
    );
}

/// It begins with the site, and ends to the second.
fn lives(at: &Path, file: &str, days: i64, born: &str) {
    let seconds = |what: &str| {
        let date = sh(at, &format!("openssl x509 -in {file} -noout -{what}"));
        let date = date.split('=').nth(1).unwrap();
        let second = sh(at, &format!("date -d '{date}' +%s"));
        second.parse::<i64>().unwrap()
    };
    let start = sh(at, &format!("date -d {born} +%s"));
    assert_eq!(seconds("startdate").to_string(), start, "{file}");
    assert_eq!(
        seconds("enddate") - seconds("startdate"),
        days * 86_400,
        "{file}"
    );
}

#[test]
fn an_image_with_nothing_but_what_is_needed_has_its_empty_directories() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let plain: String = crate::INSTALL_CONFIG
        .lines()
        .filter(|line| !line.starts_with("imageDigestSources"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(at.join("install-config.yaml"), plain).unwrap();
    fs::write(at.join("image-based-config.yaml"), "apiVersion: v1beta1\n").unwrap();
    // Certificates and a hash that were made elsewhere are used as they are.
    fs::create_dir(at.join("tls")).unwrap();
    let hash = "$2a$10$abcdefghijklmnopqrstuuIJ5ZHRFqVyKQbDd2x1kW2cMrhCVm5bu";
    fs::write(at.join("tls/kubeadmin-password.hash"), hash).unwrap();
    other(
        at,
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout tls/kube-apiserver-lb-signer.key \
         -out tls/kube-apiserver-lb-signer.crt -days 3650 -subj /OU=openshift/CN=kube-apiserver-lb-signer \
         -addext keyUsage=digitalSignature,keyEncipherment,keyCertSign",
    );
    let made = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["image-based", "create", "config-image", "--offline"])
        .env("OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS", "true")
        .current_dir(at)
        .output()
        .unwrap();
    succeeded(&made);
    assert_eq!(
        unpack(at),
        [
            "/ dr-xr-xr-x",
            "/cluster-configuration dr-xr-xr-x",
            "/cluster-configuration/manifest.json -r--r--r--",
            "/cluster-configuration/manifests dr-xr-xr-x",
            "/extra-manifests dr-xr-xr-x",
        ]
    );
    assert!(at.join("out/cluster-configuration/manifests").is_dir());
    assert_eq!(
        jq(at, "keys_unsorted | join(\" \")"),
        "additionalTrustBundle api_version base_domain cluster_id cluster_name infra_id \
         kubeadmin_password_hash KubeconfigCryptoRetention machine_network machine_networks pull_secret"
    );
    assert_eq!(
        jq(at, ".additionalTrustBundle"),
        json!({ "userCaBundle": "", "proxyConfigmapName": "", "proxyConfigmapBundle": "" })
    );
    let id = jq(at, ".cluster_id");
    let id: uuid::Uuid = id.as_str().unwrap().parse().unwrap();
    assert_eq!(id.get_version_num(), 4);
    assert_eq!(jq(at, ".kubeadmin_password_hash"), hash);
    assert_eq!(
        fs::read_to_string(at.join("auth/kubeadmin-password")).unwrap(),
        ""
    );
    let key = ".KubeconfigCryptoRetention.KubeAPICrypto.ServingCrypto.loadbalancer_external_signer_private_key";
    let key = jq(at, key);
    let given = fs::read_to_string(at.join("tls/kube-apiserver-lb-signer.key")).unwrap();
    assert_eq!(key.as_str().unwrap().trim(), given.trim());
    kubeconfig(at);
    let own = fs::read_to_string(at.join("tls/kube-apiserver-lb-signer.crt")).unwrap();
    let bundle = fs::read_to_string(at.join("bundle.pem")).unwrap();
    assert!(
        bundle.contains(own.trim()),
        "users trust the certificate that was handed in"
    );
}
