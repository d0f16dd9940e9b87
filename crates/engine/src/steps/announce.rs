//! What sending steps changes: events are written once, however often the agent polls.
//!
//! The reference emits events about disks to be formatted and agents to be upgraded at every poll.

use muster_model::{Event, Host, HostStatus, Timestamp};

use super::{StepType, Steps, install};
use crate::{
    draft, events, history,
    inventory::{self, Inventory},
    settings::Settings,
    view::Decision,
};

/// Call it with every new answer to a poll; once its decision is stored it has nothing more to
/// say about the same steps.
pub fn handed_out(host: &Host, steps: &Steps, settings: &Settings, now: Timestamp) -> Decision {
    let mut after = host.clone();
    let mut events = Vec::new();
    for step in &steps.steps {
        if step.step_type == StepType::Install {
            install(&mut after, settings, now, &mut events);
        } else if step.step_type == StepType::UpgradeAgent {
            upgrade(&mut after, settings, now, &mut events);
        }
    }
    draft::about_host(host, after, events, now)
}

fn install(host: &mut Host, settings: &Settings, now: Timestamp, events: &mut Vec<Event>) {
    let is_old = host.install_announced_at >= Some(host.status_updated_at);
    if is_old || host.status != HostStatus::Installing {
        return;
    }
    // Never earlier than the status, even if the clock was set back in between.
    host.install_announced_at = Some(now.max(host.status_updated_at));
    host.installer_version = Some(settings.images.installer.clone());
    let name = inventory::hostname(host);
    let inventory = Inventory::of(host).ok().unwrap_or_default();
    for id in &host.disks_to_be_formatted {
        let disks = inventory.disks.items();
        let disk = disks.iter().find(|disk| disk.id == *id);
        let disk = disk.map_or("", |disk| disk.name.as_str());
        let (kind, what) = if install::is_formatted(host, id) {
            (
                events::QUICK_DISK_FORMAT_PERFORMED,
                "loses its boot records",
            )
        } else {
            (events::QUICK_DISK_FORMAT_SKIPPED, "keeps its content")
        };
        let message = format!("Host {name}: disk {disk} ({id}) {what} before the installation");
        events.push(history::about_host(kind, host, now, message));
    }
}

fn upgrade(host: &mut Host, settings: &Settings, now: Timestamp, events: &mut Vec<Event>) {
    let Some(image) = settings.upgrade_agent_to.as_deref() else {
        return;
    };
    if host.agent_upgrade.image.as_deref() == Some(image) {
        return;
    }
    host.agent_upgrade.image = Some(image.to_owned());
    host.agent_upgrade.result = None;
    let name = inventory::hostname(host);
    let message = format!("Host {name}: the agent is asked to upgrade to {image}");
    let kind = events::UPGRADE_AGENT_STARTED;
    events.push(history::about_host(kind, host, now, message));
}
