//! An inventory arrives: disks are evaluated, the installation disk is chosen.

use muster_model::{HostRole, HostStatus, Timestamp};
use serde_json::json;

use super::{BadReply, Outcome, record};
use crate::{
    StepType,
    checks::{
        host::needs_of_host,
        operators::{self, OnHost, Scene},
    },
    disks, events, figures,
    inventory::{self, Inventory},
    reports::keep,
    settings::Settings,
    view::Environment,
};

pub(super) fn store(
    outcome: &mut Outcome,
    around: &Environment<'_>,
    text: &str,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), BadReply> {
    let mut inventory = Inventory::parse(text)?;
    let status = outcome.host.status;
    if !may_change(status) {
        return Err(BadReply::not_now(
            StepType::Inventory,
            format!("the host is {status}, its hardware must not change now"),
        ));
    }
    count_cards(outcome, &inventory, now);
    if let Some(nics) = inventory.interfaces.0.as_mut() {
        if !settings.keep_virtual_interfaces {
            nics.retain(inventory::Interface::is_lasting);
        }
    } else {
        inventory.interfaces.0 = Some(Vec::new());
    }
    if let Some(mac) = &settings.bootstrap_mac
        && !outcome.host.bootstrap
        && inventory
            .interfaces
            .items()
            .iter()
            .any(|nic| nic.mac_address.eq_ignore_ascii_case(mac))
    {
        outcome.host.role = HostRole::Master;
        outcome.host.suggested_role = HostRole::Master;
        outcome.host.bootstrap = true;
        let message = format!(
            "Host {}: is the bootstrap host, as configured",
            outcome.host.id
        );
        record(outcome, events::HOST_BOOTSTRAP_SET, now, message);
    }
    let version = match (around.cluster, around.infra_env) {
        (Some(cluster), _) if !cluster.is_day2() => cluster.openshift_version.as_str(),
        (_, Some(infra_env)) => infra_env.openshift_version.as_str(),
        (Some(cluster), None) => cluster.openshift_version.as_str(),
        (None, None) => "",
    };
    let host = &mut outcome.host;
    let scene = around.cluster.map_or_else(Scene::default, |cluster| {
        Scene::of(cluster, around.peers.iter().map(|peer| peer.host))
    });
    let on = OnHost::new(&scene, host, Some(&inventory), &settings.operators);
    let role = needs_of_host(host, around.cluster, Some(&inventory), settings);
    let needs = operators::total(&role, &on);
    disks::evaluate(&mut inventory, &needs, version);
    let present = [
        host.installation_disk_id.as_deref().unwrap_or_default(),
        host.installation_disk_path.as_deref().unwrap_or_default(),
    ];
    let chosen = disks::choose(&inventory, &present);
    let (id, path) = (
        chosen.map(|d| d.id.clone()),
        chosen.map(|d| format!("/dev/{}", d.name)),
    );
    host.installation_disk_id = id;
    host.installation_disk_path = path;
    host.disks_to_be_formatted = disks::to_be_formatted(&inventory);
    keep(&mut host.reports.inventory, inventory.to_text());
    Ok(())
}

/// Figures for those who count network cards, when they changed and the host has a cluster.
fn count_cards(outcome: &mut Outcome, inventory: &Inventory, now: Timestamp) {
    let host = &outcome.host;
    let cards = inventory.interfaces.items();
    let (lasting, passing): (Vec<_>, Vec<_>) = cards.iter().partition(|nic| nic.is_lasting());
    let before = Inventory::of(host).ok();
    let unchanged = before.is_some_and(|before| before.interfaces.items().len() == lasting.len());
    if unchanged || host.cluster.is_none() {
        return;
    }
    let kinds: Vec<&str> = passing.iter().map(|nic| nic.kind.as_str()).collect();
    let counts = [
        (
            "nic.virtual_interfaces",
            json!({ "count": passing.len(), "types": kinds }),
        ),
        ("nic.physical_interfaces", json!({ "count": lasting.len() })),
    ];
    for (what, props) in counts {
        let event = figures::about_host(&outcome.host, now, what, &props);
        outcome.events.push(event);
    }
}

const fn may_change(status: HostStatus) -> bool {
    use HostStatus::*;
    match status {
        Discovering | Known | Disconnected | Insufficient | PendingForInput
        | InstallingInProgress | DiscoveringUnbound | DisconnectedUnbound | InsufficientUnbound
        | KnownUnbound => true,
        Disabled
        | PreparingForInstallation
        | PreparingFailed
        | PreparingSuccessful
        | Installing
        | InstallingPendingUserAction
        | ResettingPendingUserAction
        | Installed
        | Error
        | Resetting
        | AddedToExistingCluster
        | Cancelled
        | Binding
        | Unbinding
        | UnbindingPendingUserAction
        | DisabledUnbound
        | Reclaiming
        | ReclaimingRebooting => false,
    }
}
