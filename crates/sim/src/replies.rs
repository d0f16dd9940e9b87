//! One function per step: the request of the service in, the reply of a machine out.
//!
//! Nothing here waits or sends; the agent loop in [`crate::host`] does. Steps that are deeds
//! rather than questions (install, logs, stop) are its own.

mod network;
mod oneself;

use serde::de::DeserializeOwned;

use self::{network::*, oneself::*};
use crate::{machine::Machine, network::Network};

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// As a process would end; 0 is success.
    pub exit_code: i64,
    /// What it printed.
    pub output: String,
    /// What it complained about.
    pub error: String,
}

impl Answer {
    fn ok(output: impl ToString) -> Self {
        Self {
            exit_code: 0,
            output: output.to_string(),
            error: String::new(),
        }
    }

    /// A step that cannot be done as asked.
    #[must_use]
    pub fn refused(error: impl Into<String>) -> Self {
        Self {
            exit_code: -1,
            output: String::new(),
            error: error.into(),
        }
    }
}

/// Who is asked, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Its network.
    pub network: &'a Network,
    /// What makes this answer differ from the last one; without it answers are always the same.
    pub now: Option<Now>,
}

/// A moment in the state of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// What its clock says, in seconds.
    pub clock: i64,
    /// How often it has asked for work.
    pub poll: u64,
}

/// Answers that are new every time when a real agent gives them: an inventory says when it was
/// made, a connectivity report how long packets took.
pub(crate) fn never_repeats(step_type: &str) -> bool {
    matches!(step_type, "inventory" | "connectivity-check")
}

type Reply = fn(&Asked<'_>, &[String]) -> Answer;

/// Every question a machine has an answer to.
static REPLIES: &[(&str, Reply)] = &[
    ("inventory", describe),
    ("connectivity-check", connectivity),
    ("free-network-addresses", free_addresses),
    ("dhcp-lease-allocate", leases),
    ("api-vip-connectivity-check", worker_ignition),
    ("tang-connectivity-check", tang),
    ("ntp-synchronizer", time_sources),
    ("installation-disk-speed-check", disk_speed),
    ("container-image-availability", images),
    ("domain-resolution", names),
    ("verify-vips", vips),
    ("upgrade-agent", upgrade),
    ("download-boot-artifacts", nothing),
    ("stop-installation", nothing),
    ("logs-gather", nothing),
];

/// The answer to a step.
#[must_use]
pub fn answer(step_type: &str, args: &[String], on: &Asked<'_>) -> Answer {
    match REPLIES.iter().find(|(name, _)| *name == step_type) {
        Some((_, reply)) => reply(on, args),
        None => Answer::refused(format!("this machine has no action for step {step_type}")),
    }
}

/// The first argument as what it should be.
fn question<T: DeserializeOwned>(args: &[String]) -> Result<T, Answer> {
    let text = args.first().map_or("", String::as_str);
    serde_json::from_str(text).map_err(|cause| {
        Answer::refused(format!("the argument of the step cannot be read: {cause}"))
    })
}

/// The question, or the end of the function with a refusal.
macro_rules! asked {
    ($args:expr) => {
        match super::question($args) {
            Ok(question) => question,
            Err(answer) => return answer,
        }
    };
}
use asked;

#[cfg(test)]
mod tests {
    use muster_api::contract::contract;
    use serde_json::{Value, json};

    use super::*;
    use crate::{fault::Fault, machine::Build, network::Site, seed::Seed};

    fn ask(network: &Network, step: &str, argument: &Value) -> Answer {
        let on = Asked {
            machine: &network.machines()[0],
            network,
            now: None,
        };
        answer(step, &[argument.to_string()], &on)
    }

    fn network() -> Network {
        Network::with(Seed(1), &[Build::ControlPlane; 3], Site::default())
    }

    #[test]
    fn a_question_that_makes_no_sense_is_refused_and_not_fatal() {
        let network = network();
        for (step, _) in REPLIES.iter().filter(|(_, reply)| {
            ![describe as Reply, nothing as Reply]
                .iter()
                .any(|free| std::ptr::fn_addr_eq(*free, *reply))
        }) {
            let answer = ask(&network, step, &json!("nonsense"));
            assert_eq!(answer.exit_code, -1, "{step}");
            assert!(!answer.error.is_empty(), "{step}");
        }
        assert_eq!(ask(&network, "execute", &json!({})).exit_code, -1);
    }

    #[test]
    fn both_ends_of_a_cut_say_so() {
        let network = network();
        let [here, there, _] = network.machines() else {
            panic!("three machines were built")
        };
        let nic = json!({"name": "x", "mac": there.macs[0], "ip_addresses": [there.address]});
        let argument = json!([{ "host_id": there.id, "nics": [nic] }]);
        let whole = ask(&network, "connectivity-check", &argument).output;
        assert!(whole.contains(r#""successful":true"#), "{whole}");
        network.set(here, Fault::SplitNetwork);
        let cut = ask(&network, "connectivity-check", &argument).output;
        assert!(!cut.contains("successful"), "{cut}");
    }

    #[test]
    fn a_faithful_agent_never_gives_the_same_inventory_or_connectivity_twice() {
        let network = network();
        let there = &network.machines()[1];
        let nic = json!({"name": "x", "mac": there.macs[0], "ip_addresses": [there.address]});
        let argument = json!([{ "host_id": there.id, "nics": [nic] }]).to_string();
        let at = |step: &str, poll: u64| {
            let on = Asked {
                machine: &network.machines()[0],
                network: &network,
                now: Some(Now {
                    clock: 1000 + poll as i64,
                    poll,
                }),
            };
            answer(step, std::slice::from_ref(&argument), &on).output
        };
        for step in ["inventory", "connectivity-check"] {
            assert!(never_repeats(step));
            assert_ne!(at(step, 1), at(step, 2), "{step}");
            assert_eq!(at(step, 1), at(step, 1), "{step}");
        }
    }

    #[test]
    fn a_whole_fleet_sees_the_machine_that_took_the_address_of_the_api() {
        let network = network();
        let argument = json!([{"vip": network.api_vip(), "vip_type": "api"}]);
        assert!(
            ask(&network, "verify-vips", &argument)
                .output
                .contains("succeeded")
        );
        network.set(&network.machines()[2], Fault::VipTaken);
        assert!(
            ask(&network, "verify-vips", &argument)
                .output
                .contains("failed")
        );
    }

    #[test]
    fn every_step_of_the_contract_but_deeds_has_an_answer() {
        let deeds = [
            "install",
            "execute",
            "next-step-runner",
            "reboot-for-reclaim",
        ];
        let text = serde_json::to_string(&muster_api::openapi3()).unwrap();
        assert!(!contract().operations().is_empty() && text.contains("verify-vips"));
        let document: Value = serde_json::from_str(&text).unwrap();
        let steps = document["components"]["schemas"]["step-type"]["enum"]
            .as_array()
            .unwrap();
        for step in steps.iter().filter_map(Value::as_str) {
            let known = REPLIES.iter().any(|(name, _)| *name == step);
            assert_eq!(known, !deeds.contains(&step), "{step}");
        }
    }
}
