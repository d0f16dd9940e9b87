//! Hostile agents: random texts, random JSON and mutilated good answers to every step never
//! panic, and leave a record whose texts can all be read again.

use muster_model::{Host, HostStatus};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;
use crate::{
    agent_json::{self, Stored},
    inventory::Inventory,
    reports::{self, ApiVipReply, Connectivity, FreeNetwork, NtpSource, Resolutions, TangReply},
    testing::{Fleet, key},
};

/// A good answer to each kind of step.
fn good(step: StepType) -> Value {
    use StepType::*;
    match step {
        Inventory => json!({
            "hostname": "a", "cpu": { "count": 4, "architecture": "x86_64", "flags": ["vmx"] },
            "memory": { "physical_bytes": 1_i64 << 34 }, "boot": { "device_type": "ephemeral" },
            "disks": [{ "name": "sda", "size_bytes": 120_000_000_000_i64, "drive_type": "SSD", "bootable": true,
                "installation_eligibility": { "eligible": true, "not_eligible_reasons": ["x"] } }],
            "interfaces": [{ "name": "eth0", "type": "physical", "mac_address": "52:54:00:00:00:01",
                "ipv4_addresses": ["192.0.2.11/24"], "ipv6_addresses": ["fd00::1/64"] }],
            "routes": [{ "destination": "0.0.0.0", "gateway": "192.0.2.1", "family": 2 }],
            "system_vendor": { "manufacturer": "Acme" }, "truncation": { "type": "partial" },
        }),
        ConnectivityCheck => {
            json!({ "remote_hosts": [{ "host_id": "00000000-0000-0000-0000-000000000002",
            "l2_connectivity": [{ "remote_ip_address": "192.0.2.12", "successful": true }],
            "l3_connectivity": [{ "average_rtt_ms": 0.4, "packet_loss_percentage": 1.5 }], "mtu_report": null }] })
        }
        FreeNetworkAddresses => {
            json!([{ "network": "192.0.2.0/24", "free_addresses": ["192.0.2.9"] }])
        }
        DhcpLeaseAllocate => {
            json!({ "api_vip_address": "192.0.2.100", "ingress_vip_address": "192.0.2.101",
            "api_vip_lease": "lease { x y; }", "ingress_vip_lease": "" })
        }
        ApiVipConnectivityCheck => json!({ "is_success": true, "url": "http://x/",
            "ignition": "{\"ignition\":{\"version\":\"3.2.0\"},\"storage\":{\"luks\":[{\"clevis\":{\"tang\":[{\"url\":\"http://t\"}]}}]}}" }),
        TangConnectivityCheck => {
            json!({ "is_success": true, "tang_server_response": [{ "payload": "x" }] })
        }
        NtpSynchronizer => {
            json!({ "ntp_sources": [{ "source_name": "a", "source_state": "synced" }] })
        }
        InstallationDiskSpeedCheck => json!({ "path": "/dev/sda", "io_sync_duration": 12 }),
        ContainerImageAvailability => {
            json!({ "images": [{ "name": "a", "result": "success", "size_bytes": 4.1e8,
            "time": 1.5, "download_rate": 33.4 }] })
        }
        DomainResolution => json!({ "resolutions": [{ "domain_name": "api.x", "cnames": null,
            "ipv4_addresses": ["192.0.2.200"], "ipv6_addresses": [] }] }),
        VerifyVips => {
            json!([{ "vip": "192.0.2.200", "vip_type": "api", "verification": "failed" }])
        }
        UpgradeAgent => json!({ "agent_image": "agent:2", "result": "success" }),
        Execute
        | Install
        | StopInstallation
        | LogsGather
        | NextStepRunner
        | DownloadBootArtifacts
        | RebootForReclaim => json!({}),
    }
}

/// JSON of any shape, with the numbers and texts that break things.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(
            &[
                "",
                "\0",
                "::1/200",
                "999.0.0.1/24",
                "/dev/sda",
                "success",
                "api",
                "\u{202e}"
            ][..]
        )
        .prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let names = select(
            &[
                "disks",
                "images",
                "name",
                "path",
                "vip",
                "interfaces",
                "storage",
                "x",
            ][..],
        );
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((names, inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

/// Puts `graft` somewhere into `tree`; `at` decides where.
fn mutilate(tree: &mut Value, at: &mut usize, graft: &Value) {
    if *at == 0 {
        *tree = graft.clone();
        *at = usize::MAX;
        return;
    }
    *at = at.saturating_sub(1);
    match tree {
        Value::Array(items) => items.iter_mut().for_each(|item| {
            if *at < 1000 {
                mutilate(item, at, graft);
            }
        }),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, field)| {
            if *at < 1000 {
                mutilate(field, at, graft);
            }
        }),
        _ => {}
    }
}

fn any_output(step: StepType) -> impl Strategy<Value = String> {
    let whole = good(step);
    let cut = whole.to_string();
    prop_oneof![
        1 => "\\PC{0,60}",
        1 => vec(any::<u8>(), 0..60).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        2 => any_json().prop_map(|json| json.to_string()),
        6 => (0_usize..24, any_json()).prop_map(move |(mut at, graft)| {
            let mut tree = whole.clone();
            mutilate(&mut tree, &mut at, &graft);
            tree.to_string()
        }),
        1 => (0..=cut.len()).prop_map(move |end| cut.get(..end).unwrap_or_default().to_owned()),
        1 => select(&["[", "{\"a\":", "[[{\"disks\":["][..]).prop_map(|text| text.repeat(20_000)),
    ]
}

fn any_reply() -> impl Strategy<Value = StepReply> {
    let exit_code = prop_oneof![
        5 => Just(0_i64),
        1 => select(&[-1, 1, 2, 124, 125, 255, 256, i64::MIN, i64::MAX][..]),
    ];
    (select(StepType::ALL), exit_code, "[\\x00-\\x7f]{0,30}").prop_flat_map(
        |(step_type, exit_code, error)| {
            any_output(step_type).prop_map(move |output| StepReply {
                step_type,
                exit_code,
                output,
                error: error.clone(),
            })
        },
    )
}

/// Every stored text says what it should; `None` names the one that does not.
fn is_sound(host: &Host) -> Result<(), &'static str> {
    fn readable<T: serde::de::DeserializeOwned>(text: Option<&str>) -> bool {
        !matches!(agent_json::stored::<T>(text), Stored::Broken)
    }
    let kept = &host.reports;
    let checks = [
        ("inventory", !matches!(Inventory::of(host), Stored::Broken)),
        (
            "connectivity",
            readable::<Connectivity>(kept.connectivity.as_deref()),
        ),
        (
            "api_vip",
            readable::<ApiVipReply>(kept.api_vip_connectivity.as_deref()),
        ),
        (
            "free_addresses",
            readable::<Vec<FreeNetwork>>(kept.free_addresses.as_deref()),
        ),
        (
            "ntp_sources",
            readable::<Vec<NtpSource>>(kept.ntp_sources.as_deref()),
        ),
        (
            "resolutions",
            readable::<Resolutions>(kept.domain_name_resolutions.as_deref()),
        ),
        ("disks", !matches!(reports::disks_of(host), Stored::Broken)),
        (
            "images",
            !matches!(reports::images_of(host), Stored::Broken),
        ),
    ];
    match checks.iter().find(|(_, sound)| !sound) {
        Some((name, _)) => Err(name),
        None => Ok(()),
    }
}

#[test]
fn good_answers_are_good() {
    let fleet = Fleet::ready(3, 3);
    for step in StepType::ALL {
        let reply = StepReply {
            step_type: *step,
            exit_code: 0,
            output: good(*step).to_string(),
            error: "a warning".into(),
        };
        let around = Environment {
            cluster: Some(&fleet.cluster),
            peers: &[],
            infra_env: None,
        };
        let taken = apply(fleet.host(1), &around, &reply, &fleet.settings, fleet.now);
        let refused = matches!(
            step,
            StepType::DownloadBootArtifacts | StepType::DhcpLeaseAllocate
        );
        assert_eq!(taken.is_err(), refused, "{step}: {taken:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn whatever_an_agent_answers_the_record_stays_readable(
        replies in vec(any_reply(), 1..4),
        status in select(HostStatus::ALL),
    ) {
        let mut fleet = fresh();
        fleet.hosts[0].status = status;
        for reply in &replies {
            let around = Environment { cluster: Some(&fleet.cluster), peers: &[], infra_env: None };
            match apply(fleet.host(1), &around, reply, &fleet.settings, fleet.now) {
                Ok(decision) => {
                    for event in &decision.events {
                        prop_assert!(!event.message.contains('\0'), "{}", event.message);
                    }
                    fleet.store(decision);
                }
                Err(bad) => {
                    prop_assert!(reply.exit_code == 0, "{bad}");
                    prop_assert!(bad.to_string().len() < 2000);
                }
            }
            let host = fleet.host(1);
            prop_assert_eq!(is_sound(host), Ok(()), "{:?} {}", reply, reply.output);
            prop_assert!(!host.status_info.contains('\0'));
            if let Some(text) = host.reports.tang_connectivity.as_deref() {
                let readable = !matches!(agent_json::stored::<TangReply>(Some(text)), Stored::Broken);
                prop_assert!(readable || replies.iter().any(|reply| reply.exit_code != 0));
            }
            let written = serde_json::to_string(host).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Host>(&written).unwrap(), host);
        }
        prop_assert_eq!(fleet.host(1).key(), key(1));
    }
}

/// A ready fleet, made once: settling it takes longer than any reply.
fn fresh() -> Fleet {
    static READY: std::sync::LazyLock<Fleet> = std::sync::LazyLock::new(|| Fleet::ready(3, 3));
    READY.clone()
}
