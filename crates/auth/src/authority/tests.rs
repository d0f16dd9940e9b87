//! First start, restart, renewal, damage, and a real handshake.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use rustls::{ClientConfig, ClientConnection, ServerConnection};
use tempfile::TempDir;

use super::*;

const NOW: i64 = 1_800_000_000;

fn open(folder: &TempDir, now: i64) -> Result<Authority, AuthorityError> {
    Authority::open(folder.path(), Some("node-1.example.com"), &[], now)
}

#[test]
fn the_first_start_makes_four_files_and_keeps_the_keys_private() {
    let folder = tempfile::tempdir().unwrap();
    open(&folder, NOW).unwrap();
    for name in ["ca.key", "server.key"] {
        let mode = fs::metadata(folder.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn a_restart_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(&folder, NOW).unwrap();
    let second = open(&folder, NOW + 300 * DAY).unwrap();
    assert_eq!(first.ca_pem, second.ca_pem);
    assert_eq!(first.server.chain_pem, second.server.chain_pem);
}

#[test]
fn the_server_certificate_is_renewed_before_it_ends_and_the_ca_stays() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(&folder, NOW).unwrap();
    let later = open(&folder, NOW + 370 * DAY).unwrap();
    assert_eq!(first.ca_pem, later.ca_pem);
    assert_ne!(first.server.chain_pem, later.server.chain_pem);
}

#[test]
fn a_key_that_is_gone_is_replaced_with_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(&folder, NOW).unwrap();
    fs::remove_file(folder.path().join("server.key")).unwrap();
    let second = open(&folder, NOW).unwrap();
    assert_eq!(first.ca_pem, second.ca_pem);
    assert_ne!(first.server.key_pem, second.server.key_pem);
    assert_ne!(first.server.chain_pem, second.server.chain_pem);
    second.server.server_config(OldestTls::default()).unwrap();
}

#[test]
fn a_new_name_leads_to_a_new_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(&folder, NOW).unwrap();
    let extra = ["192.0.2.7".to_string(), "*.apps.example.com".to_string()];
    let more = Authority::open(folder.path(), None, &extra, NOW).unwrap();
    assert_ne!(first.server.chain_pem, more.server.chain_pem);
    let again = Authority::open(folder.path(), None, &extra, NOW).unwrap();
    assert_eq!(
        more.server.chain_pem, again.server.chain_pem,
        "nothing is missing any more"
    );
}

#[test]
fn a_name_that_is_none_is_refused_but_an_odd_host_name_only_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let bad = Authority::open(folder.path(), None, &["a b".into()], NOW).unwrap_err();
    assert!(matches!(bad, AuthorityError::BadName(name) if name == "a b"));
    Authority::open(folder.path(), Some("not a name!"), &[], NOW).unwrap();
}

#[test]
fn damaged_files_are_named_and_left_alone() {
    for name in ["ca.crt", "server.crt", "server.key"] {
        let folder = tempfile::tempdir().unwrap();
        open(&folder, NOW).unwrap();
        let path = folder.path().join(name);
        fs::write(&path, "half of it").unwrap();
        let error = open(&folder, NOW).unwrap_err();
        assert!(error.to_string().contains(name), "{name}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "half of it");
    }
}

#[test]
fn a_damaged_ca_key_is_noticed_when_it_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    open(&folder, NOW).unwrap();
    fs::write(folder.path().join("ca.key"), "half of it").unwrap();
    open(&folder, NOW).unwrap();
    let error = open(&folder, NOW + 370 * DAY).unwrap_err();
    assert!(error.to_string().contains("ca.key"), "{error}");
}

#[test]
fn a_foreign_ca_certificate_is_refused() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    open(&ours, NOW).unwrap();
    open(&theirs, NOW).unwrap();
    fs::copy(theirs.path().join("ca.crt"), ours.path().join("ca.crt")).unwrap();
    assert!(matches!(
        open(&ours, NOW),
        Err(AuthorityError::ForeignCa { .. })
    ));
}

#[test]
fn an_interrupted_first_start_is_finished_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    open(&folder, NOW).unwrap();
    for name in ["ca.crt", "server.crt"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    open(&folder, NOW).unwrap();
}

#[test]
fn certificate_and_key_of_two_pairs_cannot_be_served() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    open(&one, NOW).unwrap();
    open(&two, NOW).unwrap();
    let mixed = TlsFiles::read(
        &one.path().join("server.crt"),
        &two.path().join("server.key"),
    )
    .unwrap();
    assert!(matches!(
        mixed.server_config(OldestTls::Tls12),
        Err(AuthorityError::Unusable(_))
    ));
}

/// Runs both ends in memory until the handshake is over, then sends one message.
fn shake_hands(ca_pem: &str, server: ServerConfig, name: &str) -> Result<Vec<u8>, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap())
        .unwrap();
    let mut client = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from(name.to_string()).unwrap();
    let mut client = ClientConnection::new(Arc::new(client), name)?;
    let mut server = ServerConnection::new(Arc::new(server))?;
    client.writer().write_all(b"hello").unwrap();
    while client.is_handshaking() || server.is_handshaking() || client.wants_write() {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut wire.as_slice()).unwrap();
        server.process_new_packets()?;
        let mut wire = Vec::new();
        server.write_tls(&mut wire).unwrap();
        client.read_tls(&mut wire.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    assert_eq!(server.alpn_protocol(), Some(&b"h2"[..]));
    let mut heard = [0; 5];
    server.reader().read_exact(&mut heard).unwrap();
    Ok(heard.to_vec())
}

#[test]
fn a_client_that_trusts_our_ca_can_talk_to_us_by_every_name_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    // The client in this test reads the real clock.
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let ours = open(&folder, now.as_secs().cast_signed()).unwrap();
    for oldest in [OldestTls::Tls12, OldestTls::Tls13] {
        for name in ["localhost", "127.0.0.1", "::1", "node-1.example.com"] {
            let config = ours.server.server_config(oldest).unwrap();
            assert_eq!(
                shake_hands(&ours.ca_pem, config, name).unwrap(),
                b"hello",
                "{name}"
            );
        }
    }
    let config = ours.server.server_config(OldestTls::Tls12).unwrap();
    assert!(shake_hands(&ours.ca_pem, config, "other.example.com").is_err());
}
