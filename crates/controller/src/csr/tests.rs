use rcgen::{CertificateParams, DnType, KeyPair, SanType};

use super::*;
use crate::hosts::tests::host;

fn pem(common_name: &str, organizations: &[&str], names: &[&str]) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    for organization in organizations {
        params
            .distinguished_name
            .push(DnType::OrganizationName, *organization);
    }
    for name in names {
        params.subject_alt_names.push(match name.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) if name.contains("://") => SanType::URI((*name).try_into().unwrap()),
            Err(_) => SanType::DnsName((*name).try_into().unwrap()),
        });
    }
    let key = KeyPair::generate().unwrap();
    let request = params.serialize_request(&key).unwrap();
    STANDARD.encode(request.pem().unwrap())
}

fn client(name: &str) -> Value {
    json!({"spec": {
        "signerName": CLIENT,
        "username": BOOTSTRAPPER,
        "groups": ["system:serviceaccounts"],
        "usages": ["digital signature", "client auth"],
        "request": pem(&format!("system:node:{name}"), &[NODES], &[]),
    }})
}

fn serving(name: &str, names: &[&str]) -> Value {
    let user = format!("system:node:{name}");
    json!({"spec": {
        "signerName": SERVING,
        "username": user,
        "groups": [NODES, "system:authenticated"],
        "usages": ["digital signature", "key encipherment", "server auth"],
        "request": pem(&user, &[NODES], names),
    }})
}

fn decided(request: &Value) -> Answer {
    let hosts = [host(1, "a", "master", ""), host(2, "b", "worker", "")];
    answer(request, &hosts, &BTreeSet::from(["b".to_owned()]))
}

fn left(request: &Value) -> String {
    match decided(request) {
        Answer::Leave(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn kubelets_of_known_hosts_are_approved() {
    let approved = Answer::Approve("a".to_owned());
    assert_eq!(decided(&client("a")), approved);
    assert_eq!(decided(&serving("a", &["a", "10.0.0.1"])), approved);
    assert_eq!(decided(&serving("a", &["fd00::1"])), approved);
    let full = "a.c.example.org";
    assert_eq!(
        decided(&client(full)),
        Answer::Approve(full.to_owned()),
        "the name may be completed by the cluster's domain"
    );
}

#[test]
fn nothing_else_is_approved() {
    assert!(left(&client("stranger")).contains("no host"));
    assert!(left(&client("b")).contains("exists already"));
    assert!(left(&serving("a", &["a", "10.0.0.2"])).contains("not an address"));
    assert!(left(&serving("a", &["b"])).contains("not a name"));
    assert!(left(&serving("a", &["a", "api.c.example.org"])).contains("not a name"));
    assert!(left(&serving("a", &["spiffe://a"])).contains("no names like"));
    assert!(left(&serving("a", &[])).contains("needs names"));

    let mut other = client("a");
    other["spec"]["username"] = json!("system:serviceaccount:default:builder");
    assert!(left(&other).contains("may not ask"));
    let mut other = serving("a", &["a"]);
    other["spec"]["username"] = json!("system:node:b");
    assert!(left(&other).contains("asks for node"));
    let mut other = serving("a", &["a"]);
    other["spec"]["groups"] = json!(["system:authenticated"]);
    assert!(left(&other).contains("asks for node"));
}

#[test]
fn the_content_of_the_request_counts_not_its_label() {
    let with = |request: String| {
        let mut object = client("a");
        object["spec"]["request"] = json!(request);
        object
    };
    assert!(left(&with(pem("system:node:a", &["system:masters"], &[]))).contains("groups"));
    let both = pem("system:node:a", &[NODES, "system:masters"], &[]);
    assert!(left(&with(both)).contains("groups"));
    assert!(left(&with(pem("system:admin", &[NODES], &[]))).contains("not a node"));
    let named = pem("system:node:a", &[NODES], &["a"]);
    assert!(left(&with(named)).contains("no alternative names"));
    assert!(left(&with("?".to_owned())).contains("no certificate"));
    assert!(left(&with(STANDARD.encode("text"))).contains("no certificate"));
    let twice = STANDARD
        .decode(pem("system:node:a", &[NODES], &[]))
        .unwrap();
    let twice = STANDARD.encode([twice.clone(), twice].concat());
    assert!(left(&with(twice)).contains("no certificate"));
    let mut usages = client("a");
    usages["spec"]["usages"] = json!(["client auth", "cert sign"]);
    assert!(left(&usages).contains("usages"));
}

#[test]
fn what_is_answered_or_for_other_signers_is_skipped() {
    let mut other = client("stranger");
    other["spec"]["signerName"] = json!("kubernetes.io/kube-apiserver-client");
    assert_eq!(decided(&other), Answer::Skip);
    for kind in ["Approved", "Denied", "Failed"] {
        let mut answered = client("a");
        answered["status"] = json!({"conditions": [{"type": kind, "status": "True"}]});
        assert_eq!(decided(&answered), Answer::Skip);
    }
}

#[test]
fn an_approval_is_added_to_what_is_there() {
    let mut request = client("a");
    approve(&mut request, "2026-01-01T00:00:00Z");
    assert_eq!(
        text(&request, "/status/conditions/0/reason"),
        "NodeCSRApprove"
    );
    approve(&mut request, "2026-01-01T00:00:00Z");
    assert_eq!(items(&request, "/status/conditions").count(), 2);
}
