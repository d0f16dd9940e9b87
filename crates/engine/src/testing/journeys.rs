//! Random lives: whatever people, agents, controllers and time do, in any order, some things
//! never happen.

use std::time::Duration;

use muster_model::{ClusterKind, ClusterStatus, FinalizingStage, HostStage, HostStatus, Timestamp};
use proptest::{collection::vec, prelude::*, sample::select};

use super::{Fleet, key, requests::pool};
use crate::{
    StepType,
    binding::{self, Release},
    cancel, install,
    operators::{self, OperatorReport},
    progress::{self, StageReport},
    refresh, refresh_unbound,
    replies::StepReply,
    reset,
};

/// Something that happens. Numbers are machines, taken modulo their count.
#[derive(Clone, Debug)]
enum Act {
    Boot(u128),
    Poll,
    Pass(u64),
    Advance(u128),
    AdvanceAll,
    Report(u128, HostStage, &'static str),
    Install,
    InstallHost(u128),
    Cancel,
    Reset,
    ResetHost(u128),
    Bind(u128),
    Unbind(u128),
    Release(u128, Release),
    FallSilent(u128),
    Wake(u128),
    Reply(u128, StepType, i64),
    FilesFail,
    Operators(&'static str),
    Finalize(FinalizingStage),
    Kubeconfig,
    AllowAddHosts,
}

fn act() -> impl Strategy<Value = Act> {
    let n = || 1_u128..8;
    prop_oneof![
        1 => n().prop_map(Act::Boot),
        8 => Just(Act::Poll),
        3 => (1_u64..90).prop_map(Act::Pass),
        1 => (90_u64..400).prop_map(Act::Pass),
        6 => n().prop_map(Act::Advance),
        6 => Just(Act::AdvanceAll),
        2 => (n(), select(HostStage::ALL), select(vec!["", "50%"])).prop_map(|(n, s, i)| Act::Report(n, s, i)),
        5 => Just(Act::Install),
        1 => n().prop_map(Act::InstallHost),
        1 => Just(Act::Cancel),
        1 => Just(Act::Reset),
        1 => n().prop_map(Act::ResetHost),
        1 => n().prop_map(Act::Bind),
        1 => n().prop_map(Act::Unbind),
        1 => (n(), select(vec![Release::ByHand, Release::Reclaim])).prop_map(|(n, how)| Act::Release(n, how)),
        1 => n().prop_map(Act::FallSilent),
        2 => n().prop_map(Act::Wake),
        1 => (n(), select(StepType::ALL), select(vec![1_i64, 2, 125, 256])).prop_map(|(n, s, c)| Act::Reply(n, s, c)),
        1 => Just(Act::FilesFail),
        3 => select(vec!["available", "failed", "progressing"]).prop_map(Act::Operators),
        2 => select(FinalizingStage::ALL).prop_map(Act::Finalize),
        3 => Just(Act::Kubeconfig),
        1 => Just(Act::AllowAddHosts),
    ]
}

/// How far a fleet has come when its journey begins.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Unknown,
    Discovered,
    Installing,
    Finalizing,
}

/// A machine per control plane at least: two of them need an arbiter, one allows no workers.
fn machines(planes: i64, spare: u128) -> u128 {
    match planes {
        1 => 1,
        2 => 3 + spare,
        more => more as u128 + spare,
    }
}

/// Clusters of one to five control planes at any time of their life.
fn start() -> impl Strategy<Value = Fleet> {
    let phase = select(vec![
        Phase::Unknown,
        Phase::Discovered,
        Phase::Installing,
        Phase::Installing,
        Phase::Finalizing,
    ]);
    let planes = select(vec![1_i64, 2, 3, 3, 4, 5]);
    (planes, 0_u128..3, phase, any::<bool>()).prop_map(|(planes, spare, phase, soft)| {
        let mut fleet = match phase {
            Phase::Unknown => Fleet::new(planes, planes.unsigned_abs().into()),
            Phase::Discovered | Phase::Installing | Phase::Finalizing => {
                Fleet::ready(planes, machines(planes, spare))
            }
        };
        match phase {
            Phase::Unknown | Phase::Discovered => {}
            Phase::Installing => fleet.start(),
            Phase::Finalizing => {
                fleet.start();
                fleet.install_all();
            }
        }
        fleet.settings.soft_timeouts = soft;
        fleet
    })
}

/// Does it; a refusal is as good as a grant.
fn perform(fleet: &mut Fleet, act: &Act) {
    let machines = fleet.machines.len() as u128;
    let at = |n: u128| (n - 1) % machines + 1;
    let known = |fleet: &Fleet, n: u128| fleet.hosts.iter().any(|host| host.key() == key(at(n)));
    let now = fleet.now;
    match act {
        Act::Boot(n) => {
            let _ = fleet.boot(at(*n));
        }
        Act::Poll => fleet.poll_all(),
        Act::Pass(minutes) => fleet.skip(Duration::from_secs(minutes * 60)),
        Act::AdvanceAll => (1..=machines).for_each(|n| advance(fleet, n)),
        Act::Advance(n) => advance(fleet, at(*n)),
        Act::Report(n, stage, info) if known(fleet, *n) => report(fleet, at(*n), *stage, info),
        Act::Install => {
            let decision = install::start(&fleet.view(), &fleet.settings, now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::InstallHost(n) => {
            let decision = install::start_host(&fleet.view(), key(at(*n)), &fleet.settings, now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::Cancel => {
            let decision = cancel::cancel(&fleet.view(), now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::Reset => {
            let decision = reset::reset(&fleet.view(), now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::ResetHost(n) => {
            let decision = reset::reset_host(&fleet.view(), key(at(*n)), now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::Bind(n) if known(fleet, *n) => {
            let cluster = fleet.cluster.clone();
            let decision = binding::bind(fleet.host(at(*n)), cluster.id, Some(&cluster), now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::Unbind(n) if known(fleet, *n) => {
            let decision = binding::unbind(fleet.host(at(*n)), false, now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::Release(n, how) if known(fleet, *n) => {
            let decision = binding::release(fleet.host(at(*n)), *how, now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::FallSilent(n) => set_alive(fleet, at(*n), false),
        Act::Wake(n) => set_alive(fleet, at(*n), true),
        Act::Reply(n, step_type, exit_code) if known(fleet, *n) => {
            let reply = StepReply {
                step_type: *step_type,
                exit_code: *exit_code,
                output: String::new(),
                error: "broken".into(),
            };
            fleet.reply(fleet.index(at(*n)), &reply);
        }
        Act::FilesFail => {
            let decision = install::files_failed(&fleet.view(), "no room", now);
            fleet.store(decision);
        }
        Act::Operators(status) => {
            for name in ["console", "cvo"] {
                let report = OperatorReport {
                    name: name.into(),
                    status: (*status).into(),
                    status_info: None,
                    version: None,
                };
                let decision = operators::report(&fleet.view(), &report, now);
                decision
                    .into_iter()
                    .for_each(|decision| fleet.store(decision));
            }
        }
        Act::Finalize(stage) => {
            let decision = progress::report_finalizing(&fleet.view(), *stage, now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::Kubeconfig => {
            let decision = install::kubeconfig_uploaded(&fleet.view(), now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::AllowAddHosts => {
            let decision = install::allow_add_hosts(&fleet.view(), now);
            decision
                .into_iter()
                .for_each(|decision| fleet.store(decision));
        }
        Act::Report(..) | Act::Bind(_) | Act::Unbind(_) | Act::Release(..) | Act::Reply(..) => {}
    }
}

fn set_alive(fleet: &mut Fleet, n: u128, alive: bool) {
    for machine in fleet.machines.iter_mut().filter(|m| m.number == n) {
        machine.alive = alive;
    }
}

/// The host reports the stage after its present one.
fn advance(fleet: &mut Fleet, n: u128) {
    let Some(host) = fleet.hosts.iter().find(|host| host.key() == key(n)) else {
        return;
    };
    let list = progress::stages(host, &fleet.cluster);
    let next = host
        .progress
        .stage
        .and_then(|stage| list.iter().position(|s| *s == stage));
    if let Some(stage) = list.get(next.map_or(0, |index| index + 1)) {
        report(fleet, n, *stage, "");
    }
}

fn report(fleet: &mut Fleet, n: u128, stage: HostStage, info: &str) {
    let host = fleet.host(n).clone();
    let bound = host.cluster.is_some();
    let report = StageReport {
        stage: Some(stage),
        info: info.into(),
    };
    let view = fleet.view();
    let decision = progress::report_host(&host, bound.then_some(&view), &report, fleet.now);
    drop(view);
    decision
        .into_iter()
        .for_each(|decision| fleet.store(decision));
}

/// What must hold in every moment.
fn check(fleet: &Fleet) -> Result<(), TestCaseError> {
    use HostStatus::{Disabled, DisabledUnbound, Resetting};
    for host in &fleet.hosts {
        prop_assert!(
            !matches!(host.status, Disabled | DisabledUnbound | Resetting),
            "legacy {}",
            host.status
        );
        prop_assert_eq!(
            host.cluster.is_none(),
            pool().contains(&host.status),
            "{}",
            host.status
        );
        prop_assert!((0..=100).contains(&host.progress.percentage));
    }
    prop_assert!((0..=100).contains(&fleet.cluster.progress.total));
    let leads = fleet
        .view()
        .hosts
        .iter()
        .filter(|view| view.host.bootstrap && !view.host.is_day2())
        .count();
    if fleet.cluster.status.is_installing() {
        prop_assert!(leads <= 1, "{leads} hosts lead");
    }
    Ok(())
}

/// Refreshing rests at once and asks to be woken in the future only.
fn check_rest(fleet: &Fleet) -> Result<(), TestCaseError> {
    let again = refresh(&fleet.view(), &fleet.settings, fleet.now);
    prop_assert!(again.changes_nothing(), "{:?}", (again.moves, again.events));
    prop_assert!(again.wake_at.is_none_or(|at| at > fleet.now));
    for (host, last_seen) in fleet
        .hosts
        .iter()
        .zip(&fleet.last_seen)
        .filter(|(host, _)| host.cluster.is_none())
    {
        let view = crate::HostView {
            host,
            last_seen: *last_seen,
        };
        let again = refresh_unbound(&view, None, &fleet.settings, fleet.now);
        prop_assert!(again.changes_nothing(), "{:?}", again.events);
        prop_assert!(again.wake_at.is_none_or(|at| at > fleet.now));
    }
    Ok(())
}

/// What a step must not do to what was there before it.
fn check_step(before: &Fleet, after: &Fleet, act: &Act) -> Result<(), TestCaseError> {
    use ClusterStatus::{
        AddingHosts, Finalizing, Installed, Installing, InstallingPendingUserAction,
    };
    let attempt = |fleet: &Fleet| -> Option<Timestamp> {
        let going = matches!(
            fleet.cluster.status,
            Installing | Finalizing | InstallingPendingUserAction | Installed
        );
        fleet.cluster.install_started_at.filter(|_| going)
    };
    if attempt(before).is_some() && attempt(before) == attempt(after) {
        let (old, new) = (&before.cluster.progress, &after.cluster.progress);
        prop_assert!(
            new.total >= old.total && new.installing >= old.installing,
            "{old:?} {new:?}"
        );
    }
    if before.cluster.status == Installed {
        prop_assert!(matches!(after.cluster.status, Installed | AddingHosts));
    }
    if before.cluster.kind == ClusterKind::AddHostsCluster {
        prop_assert_eq!(after.cluster.status, AddingHosts);
    }
    for old in &before.hosts {
        let new = after.hosts.iter().find(|host| host.key() == old.key());
        let Some(new) = new.filter(|new| {
            new.status == HostStatus::InstallingInProgress && old.status == new.status
        }) else {
            continue;
        };
        let first_is_foreign = old.progress.percentage == 0;
        prop_assert!(
            first_is_foreign || new.progress.percentage >= old.progress.percentage,
            "{act:?}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_machines_keep_their_promises(fleet in start(), acts in vec(act(), 1..36)) {
        let mut fleet = fleet;
        for act in &acts {
            let before = fleet.clone();
            perform(&mut fleet, act);
            fleet.refresh();
            check(&fleet)?;
            check_rest(&fleet)?;
            check_step(&before, &fleet, act)?;
            // Only what happens to the whole fleet over time is worth keeping.
            fleet.events.clear();
        }
    }

    #[test]
    fn an_undisturbed_installation_has_exactly_one_lead_and_ends(planes in 1_i64..6, spare in 0_u128..3, order in vec(1_u128..8, 60)) {
        let machines = machines(planes, spare);
        let mut fleet = Fleet::ready(planes, machines);
        prop_assert_eq!(fleet.cluster.status, ClusterStatus::Ready, "{:?}", fleet.cluster.validations_info);
        fleet.start();
        for n in order {
            advance(&mut fleet, (n - 1) % machines + 1);
            fleet.refresh();
            let leads = fleet.hosts.iter().filter(|host| host.bootstrap).count();
            prop_assert_eq!(leads, 1);
            prop_assert!(fleet.cluster.status.is_installing());
        }
        for _ in 0..12 {
            (1..=machines).for_each(|n| advance(&mut fleet, n));
        }
        fleet.refresh();
        perform(&mut fleet, &Act::Operators("available"));
        perform(&mut fleet, &Act::Kubeconfig);
        fleet.refresh();
        prop_assert_eq!(fleet.cluster.status, ClusterStatus::Installed);
        prop_assert_eq!(fleet.cluster.progress.total, 100);
        fleet.skip(Duration::from_secs(7 * 24 * 3600));
        prop_assert_eq!(fleet.cluster.status, ClusterStatus::Installed);
    }
}
