//! A cluster in the making: a service, hosts with agents, and what is thought of them.
//!
//! Each host has two cards, as in many machine rooms: `eth0` in the network of the cluster, which
//! stories break, and `eth1` in the office network, over which it talks to the service.

use std::{
    thread,
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    program::Background,
    room::{Machine, Room},
    service::{ADDRESS, Service},
};

/// The network between hosts and service.
pub const OFFICE: &str = "office";
/// The network of the cluster.
pub const WIRE: &str = "wire";
/// Longer than anything here takes, even on a machine with other things to do.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A service with one cluster.
#[derive(Debug)]
pub struct Lab {
    /// Where all of it is.
    pub room: Room,
    /// The service.
    pub service: Service,
    /// Id of the cluster.
    pub cluster: String,
    infra_env: String,
}

/// A machine with an agent.
#[derive(Debug)]
pub struct Host {
    /// The machine.
    pub machine: Machine,
    /// Its id.
    pub id: String,
    agent: Background,
}

impl Host {
    /// Waits until its agent has said something.
    pub fn expect_word(&self, word: &str) {
        let begun = Instant::now();
        while !self.agent.said().contains(word) {
            let late = begun.elapsed() > TIMEOUT;
            assert!(
                !late,
                "{word:?} was never said: {}",
                self.agent.last_words()
            );
            thread::sleep(Duration::from_millis(300));
        }
    }

    /// How often its agent has said something.
    pub fn times_said(&self, word: &str) -> usize {
        self.agent.said().matches(word).count()
    }
}

impl Lab {
    /// A lab with a cluster of these fields.
    pub fn new(cluster: &Value) -> Self {
        Self::with(cluster, &[])
    }

    /// The same with further settings of the service.
    pub fn with(cluster: &Value, settings: &[String]) -> Self {
        let room = Room::enter();
        room.switch(OFFICE, Some(&format!("{ADDRESS}/24")));
        room.switch(WIRE, None);
        let service = Service::start(&room, settings);
        let cluster = service.cluster(cluster);
        let infra_env = service.infra_env(&cluster);
        Self {
            room,
            service,
            cluster,
            infra_env,
        }
    }

    /// A machine with both cards, the first with the address of its number on the wire.
    pub fn machine(&self, number: u8) -> Machine {
        let machine = Machine::new(&self.room, &format!("host-{number}"));
        machine.plug("eth0", WIRE);
        machine.address("eth0", &on_wire(number));
        self.join_office(&machine, number);
        machine
    }

    /// Puts a machine into the office network and makes it complete.
    pub fn join_office(&self, machine: &Machine, number: u8) {
        machine.plug("eth1", OFFICE);
        machine.address("eth1", &format!("10.99.0.{number}/24"));
        machine.ip(&format!("route add default via {ADDRESS}"));
        machine.furnish(&self.room, &["eth0", "eth1"], ADDRESS);
    }

    /// Starts the agents of machines with these numbers, and makes them a control plane once
    /// they are known.
    pub fn host_all(&self, machines: impl IntoIterator<Item = (Machine, u8)>) -> Vec<Host> {
        let start = |(machine, number)| self.start(machine, number);
        let hosts: Vec<Host> = machines.into_iter().map(start).collect();
        for host in &hosts {
            self.until("its inventory", host, || {
                self.of(host)["inventory"].is_string().then_some(())
            });
            let role = json!({"host_role": "master"});
            self.service.call(Method::PATCH, &self.path(host), &role);
        }
        hosts
    }

    fn start(&self, machine: Machine, number: u8) -> Host {
        let id = format!("00000000-0000-0000-0000-0000000000{number:02x}");
        let (url, ca) = (self.service.url(), self.service.ca());
        let place = ["--url", &url, "--cacert", &ca];
        let who = ["--infra-env-id", &self.infra_env, "--host-id", &id];
        let agent = env!("CARGO_BIN_EXE_muster-agent");
        let agent = machine.server(&self.room, agent, &[place, who].concat());
        Host { machine, id, agent }
    }

    /// This many hosts on one switch.
    pub fn hosts(&self, count: u8) -> Vec<Host> {
        self.host_all((11..11 + count).map(|number| (self.machine(number), number)))
    }

    /// A single host, for validations that need no others.
    pub fn one_host(&self) -> Host {
        let mut hosts = self.hosts(1);
        hosts.remove(0)
    }

    /// Waits until a host has come since now.
    pub fn expect_visit(&self, host: &Host) {
        let seen = || self.of(host)["checked_in_at"].to_string();
        let before = seen();
        self.until("another visit", host, || (seen() != before).then_some(()));
    }

    fn path(&self, host: &Host) -> String {
        format!("/infra-envs/{}/hosts/{}", self.infra_env, host.id)
    }

    /// Deletes a host from the service, while its agent goes on.
    pub fn forget(&self, host: &Host) {
        self.service
            .call(Method::DELETE, &self.path(host), &Value::Null);
    }

    /// What the service knows of a host; null if nothing.
    pub fn of(&self, host: &Host) -> Value {
        let path = format!("/infra-envs/{}/hosts", self.infra_env);
        let all = self.service.call(Method::GET, &path, &Value::Null);
        let mut all = all.as_array().into_iter().flatten();
        let found = all.find(|one| one["id"] == host.id.as_str());
        found.cloned().unwrap_or_default()
    }

    /// What it knows of the cluster.
    pub fn of_cluster(&self) -> Value {
        let path = format!("/clusters/{}", self.cluster);
        self.service.call(Method::GET, &path, &Value::Null)
    }

    /// Changes the cluster.
    pub fn change_cluster(&self, fields: &Value) {
        let path = format!("/clusters/{}", self.cluster);
        self.service.call(Method::PATCH, &path, fields);
    }

    /// Waits until a validation of a host has this result.
    pub fn expect(&self, host: &Host, validation: &str, result: &str) {
        self.until(&format!("{validation}: {result}"), host, || {
            let (now, _) = validation_of(&self.of(host), validation)?;
            (now == result).then_some(())
        });
    }

    /// The same for several hosts.
    pub fn expect_all(&self, hosts: &[Host], validation: &str, result: &str) {
        for host in hosts {
            self.expect(host, validation, result);
        }
    }

    /// Waits until a validation of the cluster has this result.
    pub fn expect_of_cluster(&self, validation: &str, result: &str) {
        let begun = Instant::now();
        loop {
            let found = validation_of(&self.of_cluster(), validation);
            if found.as_ref().is_some_and(|(now, _)| now == result) {
                return;
            }
            let late = begun.elapsed() > TIMEOUT;
            assert!(
                !late,
                "{validation} of the cluster is {found:?}, not {result}"
            );
            thread::sleep(Duration::from_millis(300));
        }
    }

    /// Waits until the cluster has this status.
    pub fn expect_cluster_status(&self, fits: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        loop {
            let known = self.of_cluster();
            if known["status"].as_str().is_some_and(&fits) {
                return;
            }
            if begun.elapsed() > TIMEOUT {
                let hosts = known["hosts"].as_array().into_iter().flatten();
                let unmet: Vec<_> = hosts.chain([&known]).flat_map(unmet).collect();
                let status = (&known["status"], &known["status_info"]);
                panic!("the cluster stays {status:?}; {unmet:#?}");
            }
            thread::sleep(Duration::from_millis(300));
        }
    }

    /// Waits until what is known of a host fits.
    pub fn expect_record(&self, host: &Host, what: &str, fits: impl Fn(&Value) -> bool) {
        self.until(what, host, || fits(&self.of(host)).then_some(()));
    }

    /// Waits until a host has this status.
    pub fn expect_status(&self, host: &Host, fits: impl Fn(&str) -> bool) {
        self.expect_record(host, "its status", |known| {
            known["status"].as_str().is_some_and(&fits)
        });
    }

    fn until<T>(&self, what: &str, host: &Host, question: impl Fn() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(answer) = question() {
                return answer;
            }
            if begun.elapsed() > TIMEOUT {
                let known = self.of(host);
                let id = what.split(':').next().unwrap_or_default();
                panic!(
                    "{} timed out waiting for {what}\nit is {} with {:?}\nagent: {}\nservice: {}",
                    host.machine.name,
                    known["status"],
                    validation_of(&known, id),
                    host.agent.last_words(),
                    self.service.last_words(),
                );
            }
            thread::sleep(Duration::from_millis(300));
        }
    }
}

/// Address of a host on the wire.
pub fn on_wire(number: u8) -> String {
    format!("192.168.70.{number}/24")
}

/// Result and message of a validation.
fn validation_of(record: &Value, validation: &str) -> Option<(String, String)> {
    let found = all(record).into_iter().find(|one| one.0 == validation);
    found.map(|(_, status, message)| (status, message))
}

/// Validations that are neither good nor switched off.
fn unmet(record: &Value) -> Vec<(String, String, String)> {
    let bad = |one: &(String, String, String)| !matches!(&*one.1, "success" | "disabled");
    all(record).into_iter().filter(bad).collect()
}

/// Id, result and message of all validations.
fn all(record: &Value) -> Vec<(String, String, String)> {
    let text = record["validations_info"].as_str().unwrap_or_default();
    let groups: Value = serde_json::from_str(text).unwrap_or_default();
    let groups = groups.as_object().into_iter().flatten();
    let list = groups.filter_map(|(_, list)| list.as_array()).flatten();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    list.map(|one| (text(one, "id"), text(one, "status"), text(one, "message")))
        .collect()
}
