use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::*;

const CANARY: &str = "c4n4ry";

/// Everything that may carry a secret, each with the canary in it.
fn carriers() -> Vec<Value> {
    let data_url = format!("data:;base64,{}", STANDARD.encode("PASSWORD=c4n4ry"));
    vec![
        json!({"pull_secret": CANARY}),
        json!({"pullSecret": format!("{{\"auths\":{{\"r\":{{\"auth\":\"{CANARY}\"}}}}}}")}),
        json!({"auths": {"registry.example.com": {"auth": CANARY}}}),
        json!({"platform": {"vsphere": {"vcenters": [{"user": "u", "password": CANARY}]}}}),
        json!({"http_proxy": "http://ann:c4n4ry@proxy.example.com:3128/"}),
        json!({"httpsProxy": "https://c4n4ry@proxy.example.com"}),
        json!({"message": "asked http://ann:c4n4ry@proxy.example.com and failed"}),
        json!({"fencing_credentials": CANARY}),
        json!({"ignition_config_override": format!("{{\"x\":\"{CANARY}\"}}")}),
        json!({"passwd": {"users": [{"name": "core", "passwordHash": CANARY}]}}),
        json!({"line": "core:$6$c4n4ryc4n4ry$c4n4ryc4n4ry:19000"}),
        json!({"kind": "Secret", "data": {"a": CANARY}, "stringData": {"b": CANARY}}),
        json!({"kind": "List", "items": [{"kind": "Secret", "data": {"a": CANARY}}]}),
        json!({"path": "/etc/x", "mode": 0o600, "contents": {"source": "data:,c4n4ry"}}),
        json!({"path": "/etc/x", "mode": 0o644, "contents": {"source": data_url}}),
        json!({"contents": {"source": "data:,token=c4n4ry", "compression": "gzip"}}),
        json!({"contents": "[Service]\nEnvironment=DB_PASSWORD=c4n4ry\n"}),
        json!({"key": "-----BEGIN EC PRIVATE KEY-----\nc4n4ry\n-----END EC PRIVATE KEY-----\n"}),
        json!({"802.1x": {"identity": "me", "private-key-password": CANARY}}),
        json!({"wifi": {"psk": CANARY}}),
        json!({"url": "https://m.example.com/x?api_key=c4n4ry&file_name=a"}),
        json!({"cmdline": "rootfs=/bytoken/eyJhbGciOiJFUzI1NiJ9.c4n4ry.c4n4ry/x.img"}),
        json!([{"op": "add", "path": "/stringData/x", "value": CANARY}]),
        json!({"token": 1234567, "note": "password=c4n4ry"}),
    ]
}

/// The forms in which a value can arrive: plain, or as a text inside a value.
fn wrappings() -> [fn(Value) -> Value; 5] {
    [
        |value| value,
        |value| json!({"spec": {"items": [{"deep": value}]}}),
        |value| json!({"text": value.to_string()}),
        |value| json!({"config": serde_yaml_ng::to_string(&value).unwrap()}),
        |value| json!({"source": format!("data:;base64,{}", STANDARD.encode(value.to_string()))}),
    ]
}

#[test]
fn no_carrier_keeps_its_secret_however_deep_it_is_wrapped() {
    for carrier in carriers() {
        for outer in wrappings() {
            for inner in wrappings() {
                let mut value = outer(inner(carrier.clone()));
                let before = value.to_string();
                assert!(redact(&mut value), "{before}");
                let after = value.to_string();
                assert!(!after.contains(CANARY), "{before}\n{after}");
                let encoded = STANDARD.encode(CANARY);
                assert!(!after.contains(encoded.trim_end_matches('=')), "{after}");
                assert!(!redact(&mut value), "masked twice: {after}");
            }
        }
    }
}

#[test]
fn what_is_not_secret_is_unchanged() {
    let plain = json!({
        "name": "lab",
        "pull_secret_set": true,
        "ignition_endpoint_token_set": false,
        "http_proxy": "http://proxy.example.com:3128",
        "mail": "ann@example.com",
        "url": "https://example.com/a@b",
        "install_config_overrides": "{\"fips\":true, \"credentialsMode\":\"Manual\"}",
        "imagePullSecrets": [{"name": "registry"}],
        "env": [{"valueFrom": {"secretKeyRef": {"name": "db", "key": "x"}}}],
        "contents": {"source": "data:,server%20ntp.example.com%0A"},
        "validation": "Pull secret is set\nand valid",
        "password": "",
    });
    let mut value = plain.clone();
    assert!(!redact(&mut value), "{value}");
    assert_eq!(value, plain);
}

#[test]
fn overrides_keep_what_is_harmless_in_them() {
    let overrides = json!({"platform": {"vsphere": {"password": CANARY}}, "fips": true});
    let mut record = json!({"install_config_overrides": overrides.to_string()});
    assert!(redact(&mut record));
    let left = record["install_config_overrides"].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(left).unwrap(),
        json!({"platform": {"vsphere": {"password": MASK}}, "fips": true})
    );
}

#[test]
fn documents_that_cannot_be_read_are_masked_as_a_whole() {
    for name in DOCUMENTS {
        let mut record = json!({*name: "{\"a\": [c4n4ry"});
        assert!(redact(&mut record));
        assert_eq!(record[*name], MASK);
    }
}

#[test]
fn a_manifest_is_clean_or_loses_its_secrets() {
    let clean = b"kind: ConfigMap\nmetadata: {name: a}\ndata: {x: y}\n";
    assert_eq!(manifest(clean), None);
    let commented = b"# was http://ann:c4n4ry@proxy.example.com\nkind: ConfigMap\n";
    assert!(!manifest(commented).unwrap().contains(CANARY));
    let secret = b"kind: ConfigMap\n---\nkind: Secret\nstringData:\n  x: c4n4ry\n";
    let hidden = manifest(secret).unwrap();
    assert!(
        !hidden.contains(CANARY) && hidden.contains("ConfigMap"),
        "{hidden}"
    );
    for unreadable in [&b"a: [c4n4ry"[..], b"\xff c4n4ry"] {
        assert_eq!(manifest(unreadable).as_deref(), Some("***\n"));
    }
}

#[test]
fn a_body_is_json_or_text() {
    assert_eq!(body(b"{\"a\":1}\n"), None);
    assert_eq!(
        body(b"{\"password\":\"c4n4ry\"}").unwrap(),
        b"{\"password\":\"***\"}\n"
    );
    assert_eq!(body(b"token=c4n4ry").unwrap(), b"token=***");
    assert_eq!(body(b"\xff\xfe"), None);
}
