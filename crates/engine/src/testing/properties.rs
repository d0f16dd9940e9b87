//! Claims about every fleet, not only the good ones: refresh never panics, and what it decides
//! is at rest.

use muster_catalog::Operator;
use muster_model::{
    ClusterKind, ClusterStatus, HostKind, HostRole, HostStage, HostStatus, LogsState, Timestamp,
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
};

use super::{Fleet, START, agent, key, operator, vip};
use crate::{
    ClusterView, Environment, HostView, StepType, refresh, refresh_unbound,
    registration::{NewHost, register},
    replies::{StepReply, apply},
    rules::cluster::EDITABLE,
    steps,
};

/// A text that may be there, empty, broken or plausible.
fn text(plausible: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        2 => Just(None),
        1 => "\\PC{0,12}".prop_map(Some),
        4 => select(plausible).prop_map(|text| Some(text.to_owned())),
    ]
}

/// Moments around the start, up to two days away.
fn moment() -> impl Strategy<Value = Timestamp> {
    (-172_800_i64..172_800).prop_map(|seconds| Timestamp(START.0 + seconds * 1_000_000))
}

#[derive(Clone, Debug)]
struct Oddity {
    status: HostStatus,
    role: HostRole,
    suggested: HostRole,
    stage: Option<HostStage>,
    bootstrap: bool,
    day2: bool,
    media: bool,
    bound: bool,
    good_inventory: bool,
    inventory: Option<String>,
    images: Option<String>,
    disks: Option<String>,
    ntp: Option<String>,
    connectivity: Option<String>,
    free: Option<String>,
    logs: Option<LogsState>,
    times: (Timestamp, Timestamp, Option<Timestamp>, Timestamp),
    clock: Option<i64>,
}

fn oddity() -> impl Strategy<Value = Oddity> {
    let flags = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let state = (
        select(HostStatus::ALL),
        select(HostRole::ALL),
        select(HostRole::ALL),
        option::of(select(HostStage::ALL)),
        option::of(select(LogsState::ALL)),
    );
    let reports = (
        text(&[
            "{}",
            r#"{"hostname":"x","disks":[{}],"interfaces":[{"ipv4_addresses":["10.0.0.1/8","x"]}],"truncation":{"type":"full"}}"#,
        ]),
        text(&[
            "{}",
            r#"{"a":{"result":"failure"}}"#,
            r#"{"a":{"result":"success"}}"#,
        ]),
        text(&[
            "{}",
            r#"{"/dev/sda":{"disk_speed":{"tested":true,"exit_code":1}}}"#,
        ]),
        text(&["[]", r#"[{"source_state":"synced"}]"#]),
        text(&[
            "{}",
            r#"{"remote_hosts":[{"host_id":"00000000-0000-0000-0000-000000000001","l2_connectivity":[{"successful":true,"remote_ip_address":"192.0.2.11"}]}]}"#,
        ]),
        text(&[
            "[]",
            r#"[{"network":"192.0.2.0/24","free_addresses":["192.0.2.200"]}]"#,
        ]),
    );
    let times = (moment(), moment(), option::of(moment()), moment());
    (flags, state, reports, times, option::of(any::<i64>())).prop_map(
        |(flags, state, reports, times, clock)| Oddity {
            status: state.0,
            role: state.1,
            suggested: state.2,
            stage: state.3,
            bootstrap: flags.0,
            day2: flags.1,
            media: flags.2,
            bound: flags.3,
            good_inventory: flags.4,
            inventory: reports.0,
            images: reports.1,
            disks: reports.2,
            ntp: reports.3,
            connectivity: reports.4,
            free: reports.5,
            logs: state.4,
            times,
            clock,
        },
    )
}

fn any_fleet() -> impl Strategy<Value = Fleet> {
    let cluster = (
        select(ClusterStatus::ALL),
        select(ClusterKind::ALL),
        option::of(0_i64..6),
        option::of(any::<bool>()),
        option::of(any::<bool>()),
        text(&["not_started", "success", "failed"]),
        option::of(moment()),
        moment(),
        any::<bool>(),
        subsequence(Operator::ALL, 0..=Operator::ALL.len()),
    );
    let networks = (
        text(&["10.0.0.0/8", "::/0", "fd01::/48"]),
        text(&["192.0.2.0/24", "fe80::/10"]),
        any::<i64>(),
    );
    (cluster, networks, vec(oddity(), 0..6)).prop_map(|(cluster, networks, oddities)| {
        let mut fleet = Fleet::new(3, oddities.len() as u128);
        fleet.boot_all();
        for (index, odd) in oddities.into_iter().enumerate() {
            distort(&mut fleet, index, odd);
        }
        let c = &mut fleet.cluster;
        (c.status, c.kind, c.control_plane_count) = (cluster.0, cluster.1, cluster.2);
        (c.user_managed_networking, c.vip_dhcp_allocation) = (cluster.3, cluster.4);
        c.preparation.status = cluster.5;
        c.install_started_at = cluster.6;
        c.status_updated_at = cluster.7;
        c.kubeconfig_uploaded = cluster.8;
        c.monitored_operators = Some(
            cluster
                .9
                .iter()
                .map(|chosen| operator(chosen.as_str(), "olm"))
                .collect(),
        );
        if let Some(range) = networks.0 {
            c.networks.cluster = Some(vec![muster_model::ClusterNetwork {
                cidr: range,
                host_prefix: networks.2,
            }]);
        }
        c.networks.machine = networks.1.map(|range| vec![range]);
        if networks.2 % 3 == 0 {
            c.api_vips = Some(vec![vip("::1"), vip("255.255.255.255")]);
        }
        fleet
    })
}

fn distort(fleet: &mut Fleet, index: usize, odd: Oddity) {
    let good = agent::inventory(&fleet.machines[index]).to_string();
    let host = &mut fleet.hosts[index];
    (host.status, host.role, host.suggested_role) = (odd.status, odd.role, odd.suggested);
    host.progress.stage = odd.stage;
    host.progress.stage_updated_at = odd.times.2;
    host.bootstrap = odd.bootstrap;
    if odd.day2 {
        host.kind = HostKind::AddToExistingClusterHost;
    }
    host.media_connected = odd.media;
    let inventory = if odd.good_inventory {
        Some(good)
    } else {
        odd.inventory
    };
    host.reports.inventory = inventory.map(Into::into);
    host.reports.images_status = odd.images.map(Into::into);
    host.reports.disks_info = odd.disks.map(Into::into);
    host.reports.ntp_sources = odd.ntp.map(Into::into);
    host.reports.connectivity = odd.connectivity.map(Into::into);
    host.reports.free_addresses = odd.free.map(Into::into);
    host.installation_disk_path = Some("/dev/sda".into());
    host.logs_info = odd.logs;
    (host.status_updated_at, host.checked_in_at) = (odd.times.0, odd.times.1);
    host.agent_clock = odd.clock;
    fleet.last_seen[index] = odd.times.3;
    if !odd.bound {
        fleet.hosts[index].cluster = None;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn refreshing_any_fleet_settles_it_and_a_second_refresh_changes_nothing(fleet in any_fleet()) {
        let mut fleet = fleet;
        let now = fleet.now;
        let first = refresh(&fleet.view(), &fleet.settings, now);
        prop_assert!(first.wake_at.is_none_or(|at| at > now));
        fleet.store(first);
        let second = refresh(&fleet.view(), &fleet.settings, now);
        prop_assert!(second.changes_nothing(), "{:?}", (second.moves, second.events));
    }

    #[test]
    fn an_ignored_validation_never_gates(fleet in any_fleet()) {
        let mut fleet = fleet;
        fleet.cluster.ignored_host_validations = Some(r#"["all"]"#.into());
        fleet.cluster.ignored_cluster_validations = Some(r#"["all"]"#.into());
        fleet.refresh();
        let fails = |text: Option<&str>, never: &[&str]| {
            let stored = |id: &&str| super::find(text.unwrap_or("{}"), id);
            never.iter().filter_map(stored).any(|(status, _)| status != "success")
        };
        for view in fleet.view().hosts {
            let host = view.host;
            if matches!(host.status, HostStatus::Insufficient | HostStatus::PendingForInput) {
                prop_assert!(
                    fails(host.validations_info.as_deref(), crate::HOST_CHECKS_NEVER_IGNORED),
                    "{} {:?}", host.status_info, host.validations_info
                );
            }
        }
        let cluster = &fleet.cluster;
        if EDITABLE.contains(&cluster.status) && cluster.status != ClusterStatus::Ready {
            prop_assert!(
                fails(cluster.validations_info.as_deref(), crate::CLUSTER_CHECKS_NEVER_IGNORED),
                "{:?}", cluster.validations_info
            );
        }
    }

    #[test]
    fn refreshing_any_pool_host_settles_it(fleet in any_fleet()) {
        for (host, last_seen) in fleet.hosts.iter().zip(&fleet.last_seen) {
            let first = refresh_unbound(&HostView { host, last_seen: *last_seen }, None, &fleet.settings, fleet.now);
            let after = first.hosts.first().unwrap_or(host);
            let again = refresh_unbound(&HostView { host: after, last_seen: *last_seen }, None, &fleet.settings, fleet.now);
            prop_assert!(again.changes_nothing(), "{:?}", again.events);
        }
    }

    #[test]
    fn the_order_of_hosts_in_the_view_changes_no_status(fleet in any_fleet()) {
        let view = fleet.view();
        let mut turned = view.hosts.clone();
        turned.reverse();
        let turned = ClusterView { cluster: view.cluster, hosts: turned };
        let (a, b) = (refresh(&view, &fleet.settings, fleet.now), refresh(&turned, &fleet.settings, fleet.now));
        let status = |d: &crate::Decision| d.cluster.as_ref().map(|c| c.status);
        prop_assert_eq!(status(&a), status(&b));
        for host in &a.hosts {
            prop_assert_eq!(Some(host.status), b.host(host.key()).map(|h| h.status));
        }
    }

    #[test]
    fn any_reply_is_taken_or_refused_without_panic(
        fleet in any_fleet(),
        step_type in select(StepType::ALL),
        exit_code in prop_oneof![Just(0_i64), Just(256), Just(125), any::<i64>()],
        output in prop_oneof![
            "\\PC{0,40}",
            Just(r#"{"images":[{"name":"a","size_bytes":1e308}],"path":"/dev/sda","io_sync_duration":-9223372036854775808}"#.to_owned()),
            Just(r#"[{"vip":"x","vip_type":"api","verification":"succeeded"}]"#.to_owned()),
            Just(r#"{"disks":[{"size_bytes":-1}],"interfaces":null,"cpu":{"count":-4},"memory":{"physical_bytes":-9}}"#.to_owned()),
            Just("[".repeat(5000)),
        ],
    ) {
        let view = fleet.view();
        let around = Environment { cluster: Some(&fleet.cluster), peers: &view.hosts, infra_env: None };
        for host in &fleet.hosts {
            let reply = StepReply { step_type, exit_code, output: output.clone(), error: String::new() };
            if let Err(bad) = apply(host, &around, &reply, &fleet.settings, fleet.now) {
                prop_assert!(exit_code == 0 && !bad.to_string().is_empty());
            }
        }
    }

    #[test]
    fn any_host_can_ask_for_steps_and_say_hello(fleet in any_fleet()) {
        let view = fleet.view();
        let around = Environment { cluster: Some(&fleet.cluster), peers: &view.hosts, infra_env: None };
        for host in &fleet.hosts {
            let next = steps::next(host, &around, &fleet.settings);
            prop_assert!(next.exit || next.interval.as_secs() > 0);
            let new = NewHost { key: host.key(), cluster: Some(&fleet.cluster), agent_version: None, user_name: "" };
            if let Err(refusal) = register(Some(host), &new, fleet.now) {
                prop_assert_eq!(refusal.events[0].name.as_str(), "host_registration_failed");
            }
        }
        let stranger = NewHost { key: key(99), cluster: None, agent_version: None, user_name: "" };
        let welcome = register(None, &stranger, fleet.now).is_ok();
        prop_assert!(welcome);
    }
}
