//! What is new of each source.

use std::{collections::BTreeMap, time::Duration};

use muster_engine::tables;

use super::{Level, Line, Tracker};
use crate::observation::{
    ClusterView, Event, HostView, Observation, ServiceSeen, ServiceView, Validation,
};

/// Events from before the account began that are shown.
const EARLIER: usize = 5;
/// Stages of the leading host after which its service may go.
const LAST_STAGES: &[&str] = &["Waiting for controller", "Rebooting"];
/// The same of a single node, which reboots at once when its disk is written.
const LAST_STAGE_ALONE: &str = "Writing image to disk";
/// Statuses of a cluster whose installation has begun.
const BEGUN: &[&str] = &[
    "preparing-for-installation",
    "installing",
    "installing-pending-user-action",
    "finalizing",
];
const WRONG_MEDIUM: &str = "The rendezvous host has booted from the image again instead of its \
                            disk; remove the image or change the boot order";

impl Tracker {
    /// News of the service; why the installation was cancelled, if it was.
    pub(super) fn take_service(
        &mut self,
        seen: &Observation,
        lines: &mut Vec<Line>,
    ) -> Option<String> {
        match &seen.service {
            ServiceSeen::None => None,
            ServiceSeen::Silent(_) => {
                self.news_of_silence(seen, lines);
                None
            }
            ServiceSeen::Refused(why) => {
                self.once(
                    lines,
                    Level::Warning,
                    format!(
                        "The service on the rendezvous host does not accept this directory's token \
                         ({why}); was the image made in another directory, or made again since?"
                    ),
                );
                None
            }
            ServiceSeen::Empty => {
                self.news_of_return(lines);
                if self.bootstrap_complete {
                    self.once(lines, Level::Warning, WRONG_MEDIUM.to_owned());
                }
                None
            }
            ServiceSeen::Cluster(view) => self.news_of_service(view, seen.at, lines),
        }
    }

    fn news_of_silence(&mut self, seen: &Observation, lines: &mut Vec<Line>) {
        let since = *self.service_silent.get_or_insert(seen.at);
        let silent = seen.at.saturating_sub(since).as_secs();
        if !self.service_seen {
            if silent >= 120 && !self.api_seen {
                match seen.host_answers {
                    Some(true) => self.once(
                        lines,
                        Level::Warning,
                        "The rendezvous host is reachable by SSH, but its service does not answer; \
                         log in as core and run agent-gather, or look at \
                         `journalctl -u assisted-service -u node-zero`"
                            .to_owned(),
                    ),
                    Some(false) => self.once(
                        lines,
                        Level::Warning,
                        "The rendezvous host cannot be reached; check that it is switched on, has \
                         booted the image and has the rendezvous address (its console shows it)"
                            .to_owned(),
                    ),
                    None => {}
                }
            }
        } else if self.service_may_go {
            self.once(
                lines,
                Level::Info,
                "The service on the rendezvous host has ended with its live system, as planned; \
                 from here on the cluster itself is followed"
                    .to_owned(),
            );
        } else if silent >= 30 {
            self.once(
                lines,
                Level::Warning,
                "The service on the rendezvous host does not answer any more, though the \
                 installation has not come so far that it may end; waiting for it to return"
                    .to_owned(),
            );
        }
    }

    /// The service answers, whatever it says.
    fn news_of_return(&mut self, lines: &mut Vec<Line>) {
        if self.service_silent.take().is_some() && self.service_seen {
            self.say(lines, Level::Info, "The service answers again");
            self.said
                .retain(|text| !text.contains("does not answer any more"));
        }
    }

    /// The service has lost what it knew: it lives in the memory of the rendezvous host, which has
    /// booted the image again. Everything that was seen of this installation is void.
    fn start_over(&mut self, at: Duration, lines: &mut Vec<Line>) {
        if self.bootstrap_complete {
            // What is complete stays so.
            self.once(lines, Level::Warning, WRONG_MEDIUM.to_owned());
            return;
        }
        let mut text = "The rendezvous host has booted the image again".to_owned();
        if BEGUN.contains(&self.status.as_str()) {
            text.push_str(
                " before the bootstrap was complete: its service has lost the installation, and \
                 starts it over when every host is discovered and ready again",
            );
            if self.service_may_go {
                text.push_str(
                    "; if its disk was written already, it should have started from it: remove the \
                     image or change the boot order",
                );
            }
            if self.stages.len() > 1 {
                text.push_str(
                    "; other hosts that have rebooted into their disks must be booted from the \
                     image again, too",
                );
            }
        } else {
            text.push_str(": hosts are discovered and validated again");
        }
        self.say(lines, Level::Warning, text);
        self.counting = at;
        self.service_may_go = false;
        self.api_seen = false;
        self.said.clear();
        self.status.clear();
        self.percent = 0;
        self.stages.clear();
        self.validations.clear();
        self.operators.clear();
        self.progress.clear();
        self.nodes.clear();
        self.leader = None;
    }

    fn news_of_service(
        &mut self,
        view: &ServiceView,
        at: Duration,
        lines: &mut Vec<Line>,
    ) -> Option<String> {
        self.news_of_return(lines);
        if !self.registered.is_empty()
            && !view.registered.is_empty()
            && self.registered != view.registered
        {
            self.start_over(at, lines);
        }
        self.registered.clone_from(&view.registered);
        if !self.service_seen {
            self.say(
                lines,
                Level::Info,
                "The service on the rendezvous host answers",
            );
        }
        self.service_seen = true;
        let leader = view.hosts.iter().find(|host| host.bootstrap);
        if let Some(host) = leader {
            self.leader = Some(host.name.clone());
        }
        let is_alone = view.hosts.len() == 1;
        self.service_may_go |= leader.is_some_and(|host| may_end(host, is_alone))
            || matches!(view.status.as_str(), "finalizing" | "installed");
        if view.status != self.status {
            let text = match view.status_info.as_str() {
                "" => format!("Cluster: {}", view.status),
                info => format!("Cluster: {}: {info}", view.status),
            };
            let level = match view.status.as_str() {
                "error" | "installing-pending-user-action" => Level::Warning,
                _ => Level::Info,
            };
            self.say(lines, level, text);
            self.status.clone_from(&view.status);
        }
        if view.percent != self.percent {
            self.percent = view.percent;
            let text = format!("Installation: {} %", view.percent);
            self.say(lines, Level::Debug, text);
        }
        for host in &view.hosts {
            self.news_of_host(host, lines);
        }
        self.news_of_validations(&view.validations, lines);
        self.news_of_events(&view.events, lines);
        (view.status == "cancelled").then(|| "the installation was cancelled".to_owned())
    }

    fn news_of_host(&mut self, host: &HostView, lines: &mut Vec<Line>) {
        let state = match host.stage.as_str() {
            "" => host.status.clone(),
            stage => format!("{} ({stage})", host.status),
        };
        if self.stages.get(&host.name) == Some(&state) {
            return;
        }
        let level = match host.status.as_str() {
            "error" | "installing-pending-user-action" | "disconnected" => Level::Warning,
            _ => Level::Info,
        };
        let mut text = format!("Host {}: {state}", host.name);
        if level == Level::Warning && !host.status_info.is_empty() {
            text.push_str(": ");
            text.push_str(&host.status_info);
        }
        self.say(lines, level, text);
        self.stages.insert(host.name.clone(), state);
    }

    fn news_of_validations(
        &mut self,
        now: &BTreeMap<(String, String), Validation>,
        lines: &mut Vec<Line>,
    ) {
        for ((about, id), validation) in now {
            let before = self.validations.get(&(about.clone(), id.clone()));
            if before == Some(validation) {
                continue;
            }
            let was_failed = before.is_some_and(Validation::failed);
            let (level, text) = match (validation.failed(), was_failed) {
                (true, _) => (
                    Level::Warning,
                    format!(
                        "Validation failed, {about}: {} ({id}){}",
                        validation.message,
                        explained(about, id)
                    ),
                ),
                (false, true) if validation.status == "success" => (
                    Level::Info,
                    format!(
                        "Validation passed now, {about}: {} ({id})",
                        validation.message
                    ),
                ),
                (false, _) => (
                    Level::Debug,
                    format!("Validation {}, {about}: {id}", validation.status),
                ),
            };
            lines.push(Line { level, text });
        }
        self.validations.clone_from(now);
    }

    fn news_of_events(&mut self, now: &[Event], lines: &mut Vec<Line>) {
        let fresh: Vec<&Event> = now
            .iter()
            .filter(|event| !self.events.contains(event))
            .collect();
        let skipped = match std::mem::take(&mut self.first_events) {
            true => fresh.len().saturating_sub(EARLIER),
            false => 0,
        };
        if skipped > 0 {
            let text =
                format!("{skipped} earlier events are not shown here; they are in the log file");
            lines.push(Line {
                level: Level::Info,
                text,
            });
        }
        for (number, event) in fresh.iter().enumerate() {
            let level = match (number < skipped, event.severity.as_str()) {
                (true, _) => Level::Debug,
                (false, "info" | "") => Level::Info,
                (false, _) => Level::Warning,
            };
            let text = format!("{} {}", event.time, event.message);
            lines.push(Line { level, text });
        }
        let fresh: Vec<Event> = fresh.into_iter().cloned().collect();
        self.events.extend(fresh);
    }

    /// News of the cluster itself.
    pub(super) fn news_of_cluster(&mut self, view: &ClusterView, lines: &mut Vec<Line>) {
        for (name, ready) in &view.nodes {
            let before = self.nodes.insert(name.clone(), *ready);
            match (before, ready) {
                (None, true) => self.say(lines, Level::Info, format!("Node {name} is ready")),
                (None, false) => self.say(lines, Level::Info, format!("Node {name} has joined")),
                (Some(false), true) => {
                    self.say(lines, Level::Info, format!("Node {name} is ready"));
                }
                (Some(true), false) => {
                    self.say(lines, Level::Warning, format!("Node {name} is not ready"));
                }
                (Some(_), _) => {}
            }
        }
        self.news_of_record(view, lines);
        if let Some(version) = &view.version {
            let text = match (&version.failing, &version.progressing) {
                (Some(why), _) => format!("Cluster version: {why}"),
                (None, Some(what)) if !what.is_empty() => format!("Cluster version: {what}"),
                (None, _) => String::new(),
            };
            if !text.is_empty() && text != self.progress {
                let level = match version.failing {
                    Some(_) => Level::Warning,
                    None => Level::Info,
                };
                self.say(lines, level, text.clone());
                self.progress = text;
            }
        }
        for (name, operator) in &view.operators {
            let before = self.operators.insert(name.clone(), operator.available);
            if operator.available && before != Some(true) {
                let text = format!("Operator {name} is available");
                self.say(lines, Level::Info, text);
            } else if !operator.available && before == Some(true) {
                let text = format!("Operator {name} is not available any more");
                self.say(lines, Level::Warning, text);
            }
            if let Some(why) = &operator.degraded {
                self.once(
                    lines,
                    Level::Warning,
                    format!("Operator {name} is degraded: {why}"),
                );
            }
        }
    }

    /// The records in the cluster; while the service answers it says the same itself.
    fn news_of_record(&mut self, view: &ClusterView, lines: &mut Vec<Line>) {
        if self.service_seen && self.service_silent.is_none() {
            return;
        }
        let known = std::mem::take(&mut self.events);
        // The service's times have fractions of seconds and the record keeps them, so equal
        // entries are equal texts; severities are not kept.
        let is_new = |event: &&Event| {
            !known
                .iter()
                .any(|one| one.time == event.time && one.message == event.message)
        };
        let fresh: Vec<Event> = view.record.events.iter().filter(is_new).cloned().collect();
        self.events = known;
        self.news_of_events(&fresh, lines);
        for (name, stage) in &view.record.stages {
            let state = format!("({stage})");
            let before = self.stages.get(name);
            if before.is_none_or(|before| !before.ends_with(&state)) {
                self.say(lines, Level::Info, format!("Host {name}: {stage}"));
                self.stages.insert(name.clone(), state);
            }
        }
        if let Some(outcome) = &view.record.outcome {
            let text = format!("The controller of the installation has ended: {outcome}");
            self.once(lines, Level::Info, text);
        }
    }

    pub(super) fn say(&self, lines: &mut Vec<Line>, level: Level, text: impl Into<String>) {
        let text = text.into();
        lines.push(Line { level, text });
    }

    fn once(&mut self, lines: &mut Vec<Line>, level: Level, text: String) {
        if self.said.insert(text.clone()) {
            lines.push(Line { level, text });
        }
    }
}

fn may_end(host: &HostView, is_alone: bool) -> bool {
    LAST_STAGES.contains(&host.stage.as_str())
        || (is_alone && host.stage == LAST_STAGE_ALONE)
        || host.status == "installed"
}

/// What the validation checks and where to read on.
fn explained(about: &str, id: &str) -> String {
    let subject = about.split(' ').next().unwrap_or_default();
    let all = tables::validations();
    let found = all
        .iter()
        .find(|one| one.id == id && one.subject == subject);
    found.map_or_else(String::new, |one| {
        format!(
            "; it checks: {} More: muster explain validations {id}",
            one.asks
        )
    })
}
