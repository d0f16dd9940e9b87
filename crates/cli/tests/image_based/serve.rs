//! Configuration images over HTTP, asked for as management controllers and attackers do.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::symlink,
    path::Path,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::other;

/// The server, and where it listens.
fn serve(folder: &Path, more: &[&str]) -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args([
            "image-based",
            "serve",
            "--dir",
            "out",
            "--listen",
            "127.0.0.1:0",
        ])
        .args(more)
        .current_dir(folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let host = line.split("://").nth(1).unwrap().split('/').next();
    let host = host.unwrap().to_owned();
    (server, host)
}

fn stop(folder: &Path, mut server: Child) {
    other(folder, &format!("kill -TERM {}", server.id()));
    assert!(server.wait().unwrap().success(), "it ends in good order");
}

fn put(folder: &Path) -> Vec<u8> {
    let image: Vec<u8> = (0..700_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    fs::create_dir_all(folder.join("out/one/auth")).unwrap();
    fs::write(folder.join("out/one/imagebasedconfig.iso"), &image).unwrap();
    fs::write(folder.join("out/one/auth/kubeconfig"), "secret-word").unwrap();
    fs::write(folder.join("out/one/.state.iso"), "secret-word").unwrap();
    fs::write(folder.join("outside.iso"), "secret-word").unwrap();
    symlink("../../outside.iso", folder.join("out/one/link.iso")).unwrap();
    fs::create_dir(folder.join("out/one/folder.iso")).unwrap();
    image
}

const IMAGE: &str = "/images/one/imagebasedconfig.iso";

#[test]
fn machines_of_a_factory_report_and_are_counted() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put(at);
    let (server, host) = serve(at, &[]);
    let ask = |method: &str, path: &str, body: &str| {
        let mut stream = TcpStream::connect(&host).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        // A request that is too long may be cut off before it is read to its end.
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    let report = |serial: &str, state: &str| {
        let body = format!(
            r#"{{"machine":{{"serial":"{serial}"}},"event":{{"state":"{state}"}},"message":"m"}}"#
        );
        ask("POST", "/progress", &body)
    };
    assert!(report("SN-7", "started").starts_with("HTTP/1.1 204"));
    assert!(report("SN-7", "complete").starts_with("HTTP/1.1 204"));
    assert!(report("SN-8", "failed").starts_with("HTTP/1.1 204"));
    assert!(ask("POST", "/progress", "nonsense").starts_with("HTTP/1.1 400"));
    let long = "x".repeat(70_000);
    let _ = ask("POST", "/progress", &long);
    assert!(ask("POST", "/images/one/imagebasedconfig.iso", "{}").starts_with("HTTP/1.1 405"));
    let _ = ask("HEAD", IMAGE, "");
    let page = ask("GET", "/metrics", "");
    for line in [
        "muster_image_based_machines{state=\"complete\"} 1",
        "muster_image_based_machines{state=\"failed\"} 1",
        "muster_image_based_reports_refused_total 2",
        "muster_image_based_images_served_total 1",
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    assert!(!page.contains("SN-"), "machines are not named: {page}");
    let list = ask("GET", "/progress", "");
    assert!(list.contains(r#""serial":"SN-8""#), "{list}");
    stop(at, server);
}

#[test]
fn images_are_served_with_ranges_and_nothing_else_is() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let image = put(at);
    let (server, host) = serve(at, &[]);
    let ask = |method: &str, path: &str, more: &str| {
        let mut stream = TcpStream::connect(&host).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: a\r\n{more}Connection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let cut = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let cut = cut.unwrap();
        let head = String::from_utf8_lossy(&answer[..cut]).to_lowercase();
        (head, answer[cut + 4..].to_vec())
    };
    let (head, body) = ask("GET", IMAGE, "");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(head.contains("accept-ranges: bytes"), "{head}");
    assert!(body == image, "{} bytes", body.len());
    let (head, body) = ask("HEAD", IMAGE, "");
    assert!(
        head.starts_with("http/1.1 200") && body.is_empty(),
        "{head}"
    );
    assert!(head.contains("content-length: 700000"), "{head}");
    let (head, body) = ask("HEAD", IMAGE, "Range: bytes=0-9\r\n");
    assert!(
        head.starts_with("http/1.1 206") && body.is_empty(),
        "{head}"
    );
    for (range, start, end) in [
        ("32768-32773", 32_768, 32_774),
        ("699999-", 699_999, 700_000),
        ("-5", 699_995, 700_000),
        ("262143-262144", 262_143, 262_145),
        ("10-999999999", 10, 700_000),
    ] {
        let (head, body) = ask("GET", IMAGE, &format!("Range: bytes={range}\r\n"));
        assert!(head.starts_with("http/1.1 206"), "{range}: {head}");
        let shown = format!("content-range: bytes {start}-{}/700000", end - 1);
        assert!(head.contains(&shown), "{range}: {head}");
        assert!(body == image[start..end], "{range}: {} bytes", body.len());
    }
    // An image that was replaced meanwhile is sent whole, not as the rest of the one before.
    let (head, _) = ask("HEAD", IMAGE, "");
    let tag = head.split("etag: ").nth(1).unwrap().lines().next().unwrap();
    assert!(head.contains("last-modified: "), "{head}");
    let part = "Range: bytes=9-18\r\n";
    let (same, _) = ask("GET", IMAGE, &format!("{part}If-Range: {tag}\r\n"));
    assert!(same.starts_with("http/1.1 206"), "{same}");
    let (known, body) = ask("GET", IMAGE, &format!("If-None-Match: {tag}\r\n"));
    assert!(
        known.starts_with("http/1.1 304") && body.is_empty(),
        "{known}"
    );
    let at_image = at.join("out/one/imagebasedconfig.iso");
    fs::write(at_image, &image[..699_999]).unwrap();
    let (other, body) = ask("GET", IMAGE, &format!("{part}If-Range: {tag}\r\n"));
    assert!(other.starts_with("http/1.1 200"), "{other}");
    assert!(body == image[..699_999], "{} bytes", body.len());
    fs::write(at.join("out/one/imagebasedconfig.iso"), &image).unwrap();
    let (head, body) = ask("GET", IMAGE, "Range: bytes=700000-\r\n");
    assert!(
        head.starts_with("http/1.1 416") && body.is_empty(),
        "{head}"
    );
    assert!(head.contains("content-range: bytes */700000"), "{head}");
    for path in [
        "/",
        "/images/",
        "/images/one",
        "/images/one/",
        "/images/one/auth/kubeconfig",
        "/images/one/.state.iso",
        "/images/one/link.iso",
        "/images/one/folder.iso",
        "/images/../outside.iso",
        "/images/one/../../outside.iso",
        "/images/%2e%2e/outside.iso",
        "/images/one/..%2f..%2foutside.iso",
        "/images//one/imagebasedconfig.iso",
        "/images/two/imagebasedconfig.iso",
        "/one/imagebasedconfig.iso",
    ] {
        let (head, body) = ask("GET", path, "");
        assert!(
            head.starts_with("http/1.1 404") && body.is_empty(),
            "{path}: {head}"
        );
    }
    for method in ["POST", "PUT", "DELETE"] {
        let (head, _) = ask(method, IMAGE, "Content-Length: 0\r\n");
        assert!(head.starts_with("http/1.1 405"), "{method}: {head}");
    }
    stop(at, server);
}

#[test]
fn images_can_be_served_with_a_certificate() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let image = put(at);
    other(
        at,
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 \
         -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1",
    );
    let (server, host) = serve(at, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    other(
        at,
        &format!("curl -sf --cacert cert.pem -o got.iso https://{host}{IMAGE}"),
    );
    assert!(fs::read(at.join("got.iso")).unwrap() == image);
    let plain = Command::new("curl")
        .args(["-sf", &format!("http://{host}{IMAGE}")])
        .output()
        .unwrap();
    assert!(!plain.status.success(), "not without TLS");
    stop(at, server);
}
