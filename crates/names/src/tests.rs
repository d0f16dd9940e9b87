//! The resolver against a small test server, and against garbage.

use super::{message::*, *};

/// An answer with records as (owner, kind, data); names are not compressed.
fn built(question: &[u8], code: u8, records: &[(&str, u16, Vec<u8>)]) -> Vec<u8> {
    let end = question.len() - 11;
    let mut bytes = question[..end].to_vec();
    bytes[2] = 0x81;
    bytes[3] = 0x80 | code;
    bytes[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
    bytes[10..12].copy_from_slice(&[0, 0]);
    for (owner, kind, data) in records {
        bytes.extend(name(owner));
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1, 0, 0, 0, 60]);
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    }
    bytes
}

fn name(text: &str) -> Vec<u8> {
    let question = question(0, text, A).unwrap();
    question[12..question.len() - 15].to_vec()
}

#[test]
fn aliases_are_followed_to_their_end() {
    let asked = question(7, "api.c.example", A).unwrap();
    let bytes = built(
        &asked,
        0,
        &[
            ("api.c.example", 5, name("lb.example")),
            ("lb.example", 1, vec![192, 0, 2, 7]),
            ("other.example", 1, vec![192, 0, 2, 8]),
        ],
    );
    let answer = answer(&bytes, 7, "API.c.example", A).unwrap();
    let (addresses, end) = answer.follow("api.c.example");
    assert_eq!(addresses, ["192.0.2.7".parse::<IpAddr>().unwrap()]);
    assert_eq!(end, "lb.example");
}

#[test]
fn answers_to_other_questions_and_circles_are_no_answers() {
    let asked = question(7, "a.example", A).unwrap();
    let bytes = built(&asked, 0, &[]);
    assert!(answer(&bytes, 8, "a.example", A).is_none());
    assert!(answer(&bytes, 7, "b.example", A).is_none());
    assert!(answer(&bytes, 7, "a.example", AAAA).is_none());
    assert!(answer(&asked, 7, "a.example", A).is_none());
    let mut circle = bytes.clone();
    circle[12..14].copy_from_slice(&[0xc0, 12]);
    assert!(answer(&circle, 7, "a.example", A).is_none());
    for cut in 0..bytes.len() {
        let _ = answer(&bytes[..cut], 7, "a.example", A);
    }
}

#[test]
fn addresses_have_names_of_their_own() {
    assert_eq!(
        reverse("192.0.2.7".parse().unwrap()),
        "7.2.0.192.in-addr.arpa"
    );
    assert!(reverse("fd00::1".parse().unwrap()).starts_with("1.0.0.0."));
    assert!(question(1, "a..b", A).is_err());
}

/// What servers without an upstream answer about families they have no address of.
const REFUSED: u8 = 5;

/// Serves `a.example` over UDP, refuses IPv6 addresses of `lab.example`, truncates `long.example` there and sends it over
/// TCP, knows no other name.
async fn server() -> u16 {
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = udp.local_addr().unwrap().port();
    let tcp = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .unwrap();
    let reply = |question: &[u8], over_tcp: bool| {
        let kind =
            u16::from_be_bytes([question[question.len() - 15], question[question.len() - 14]]);
        let about = |text: &str| question[12..].starts_with(&name(text));
        let data = if kind == A {
            vec![192, 0, 2, 1]
        } else {
            vec![0; 16]
        };
        if about("a.example") && kind == A {
            built(question, 0, &[("a.example", A, data)])
        } else if about("a.example") {
            built(question, 0, &[])
        } else if about("lab.example") && kind == A {
            built(question, 0, &[("lab.example", A, data)])
        } else if about("lab.example") {
            built(question, REFUSED, &[])
        } else if about("long.example") {
            let mut bytes = built(question, 0, &[("long.example", kind, data)]);
            if !over_tcp {
                bytes[2] |= 2;
            }
            bytes
        } else {
            built(question, 3, &[])
        }
    };
    tokio::spawn(async move {
        let mut buffer = [0; 512];
        loop {
            let (length, from) = udp.recv_from(&mut buffer).await.unwrap();
            udp.send_to(b"rubbish", from).await.unwrap();
            udp.send_to(&reply(&buffer[..length], false), from)
                .await
                .unwrap();
        }
    });
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = tcp.accept().await.unwrap();
            let length = stream.read_u16().await.unwrap();
            let mut question = vec![0; usize::from(length)];
            stream.read_exact(&mut question).await.unwrap();
            let bytes = reply(&question, true);
            stream.write_u16(bytes.len() as u16).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
        }
    });
    port
}

fn resolver(port: u16) -> Resolver {
    Resolver {
        config: Config::parse("nameserver 127.0.0.1\nsearch example\noptions timeout:2"),
        hosts: config::hosts("192.0.2.99 known.example"),
        port,
    }
}

#[tokio::test]
async fn names_are_searched_found_over_tcp_if_long_and_missing_ones_are_no_error() {
    let resolver = resolver(server().await);
    let found = resolver.addresses("a").await.unwrap();
    assert_eq!(found.addresses, ["192.0.2.1".parse::<IpAddr>().unwrap()]);
    assert_eq!(found.canonical.as_deref(), Some("a.example."));
    assert_eq!(
        resolver
            .addresses("long.example.")
            .await
            .unwrap()
            .addresses
            .len(),
        2
    );
    assert_eq!(
        resolver.addresses("nothing.example").await.unwrap(),
        Meaning::default()
    );
    let lab = resolver.addresses("lab.example").await.unwrap();
    assert_eq!(lab.addresses, ["192.0.2.1".parse::<IpAddr>().unwrap()]);
    let known = resolver.addresses("known.example.").await.unwrap();
    assert_eq!(known.addresses, ["192.0.2.99".parse::<IpAddr>().unwrap()]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error() {
    let port = {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.local_addr().unwrap().port()
    };
    assert!(resolver(port).addresses("a.example").await.is_err());
}
