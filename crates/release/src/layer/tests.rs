use std::io::Write;

use super::*;

fn entries(bytes: &[u8], limit: u64) -> Result<Vec<(String, String)>, String> {
    let mut seen = Vec::new();
    read_layer(&mut &*bytes, limit, &mut |entry, content| {
        let mut text = String::new();
        content
            .read_to_string(&mut text)
            .map_err(|cause| LayerFault::Malformed(cause.to_string()))?;
        seen.push((entry.path.clone(), text));
        Ok(())
    })
    .map(|()| seen)
    .map_err(|fault| fault.to_string())
}

fn header(path: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    // Written by hand: the library refuses to write what attackers write.
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

fn raw(path: &str, kind: EntryType, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(path, kind, content.len() as u64).as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn archive(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = parts.concat();
    bytes.extend_from_slice(&[0; 1024]);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("packs");
    encoder.finish().expect("packs")
}

fn hello() -> Vec<u8> {
    archive(&[raw("./a/./b", EntryType::Regular, b"hello")])
}

#[test]
fn every_packing_is_read_whatever_the_manifest_calls_it() {
    let plain = hello();
    let expected = vec![("a/b".to_owned(), "hello".to_owned())];
    let mut twice = gzip(&plain[..700]);
    twice.extend(gzip(&plain[700..]));
    let zstd = zstd::encode_all(&*plain, 3).expect("packs");
    for packed in [plain.clone(), gzip(&plain), twice, zstd] {
        assert_eq!(entries(&packed, 1 << 20).as_ref(), Ok(&expected));
    }
}

#[test]
fn long_names_come_from_either_kind_of_extension() {
    let long = "x/".repeat(200) + "end";
    let pax = format!("path={long}\n");
    let pax = format!("{} {pax}", pax.len() + 4);
    assert_eq!(pax.len(), 413, "the length counts itself");
    let tar = archive(&[
        raw("pax", EntryType::XHeader, pax.as_bytes()),
        raw("short", EntryType::Regular, b"1"),
        raw(
            "gnu",
            EntryType::GNULongName,
            format!("{long}2\0").as_bytes(),
        ),
        raw("short", EntryType::Regular, b"2"),
        raw("short", EntryType::Regular, b"3"),
    ]);
    assert_eq!(
        entries(&tar, 1 << 20),
        Ok(vec![
            (long.clone(), "1".to_owned()),
            (long + "2", "2".to_owned()),
            ("short".to_owned(), "3".to_owned()),
        ])
    );
}

#[test]
fn names_that_lead_upwards_do_not_exist() {
    let tar = archive(&[
        raw("../up", EntryType::Regular, b"evil"),
        raw("a/../../up", EntryType::Regular, b"evil"),
        raw("/rooted", EntryType::Regular, b"fine"),
    ]);
    assert_eq!(
        entries(&tar, 1 << 20),
        Ok(vec![("rooted".to_owned(), "fine".to_owned())])
    );
}

#[test]
fn damage_and_attacks_end_with_a_reason() {
    let plain = hello();
    let packed = gzip(&plain);
    let mut flipped = packed.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0xff;
    let bomb = gzip(&archive(&[raw(
        "zeros",
        EntryType::Regular,
        &vec![0; 2 << 20],
    )]));
    let claims = |kind, size| header("x", kind, size).as_bytes().to_vec();
    for (bytes, why) in [
        (packed[..packed.len() / 2].to_vec(), "too early"),
        (plain[..600].to_vec(), "within an entry"),
        (plain[..100].to_vec(), "within a header"),
        (flipped, "cannot be unpacked"),
        (vec![b'x'; 512], "no tar archive"),
        (bomb, "unpacks to far more"),
        (
            claims(EntryType::Regular, u64::MAX - 100),
            "impossible size",
        ),
        (
            claims(EntryType::XHeader, 5 << 30),
            "extended header claims 5368709120",
        ),
        (
            claims(EntryType::GNULongName, 1 << 20),
            "extended header claims 1048576",
        ),
        (
            claims(EntryType::GNULongLink, 100),
            "within an extended header",
        ),
    ] {
        let error = entries(&bytes, 1 << 20).expect_err(why);
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn nothing_at_all_is_an_empty_layer() {
    assert_eq!(entries(b"", 10), Ok(vec![]));
    assert_eq!(entries(&[0; 1024], 2000), Ok(vec![]));
}
