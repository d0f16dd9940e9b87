//! `ntp-synchronizer`: hands time sources to chrony and reports which of them the clock follows.

use std::{collections::BTreeSet, net::IpAddr, time::Duration};

use muster_machine::Task;
use serde::{Deserialize, Serialize};

use super::{
    Context, Outcome,
    args::{TimeSource, Unusable, Usable, json, one},
};
use muster_names::Resolver;

const TIMEOUT: Duration = Duration::from_secs(30);
const MOST: usize = 64;

#[derive(Debug, Deserialize)]
struct Request {
    ntp_source: String,
}

#[derive(Debug, Serialize)]
struct Reply {
    ntp_sources: Vec<Source>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Source {
    source_name: String,
    source_state: &'static str,
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let wanted = wanted(args)?;
    let resolver = Resolver::of_system();
    let known = match sources(context).await {
        Ok(known) => known,
        Err(problem) => return Ok(Outcome::refused(problem)),
    };
    let mut complaints = Vec::new();
    for source in wanted {
        if is_configured(&source, &known, &resolver).await {
            continue;
        }
        let add =
            chronyc("hand a time source to chrony").args(["add", "server", &source, "iburst"]);
        if let Err(problem) = said(context, add).await {
            complaints.push(format!("{source:?} was not added: {problem}"));
        }
    }
    let mut found = match sources(context).await {
        Ok(found) => found,
        Err(problem) => return Ok(Outcome::refused(problem)),
    };
    for source in &mut found {
        if let Ok(address) = source.source_name.parse::<IpAddr>()
            && let Some(name) = resolver.name_of(address).await
        {
            source.source_name = name;
        }
    }
    let mut outcome = Outcome::json(&Reply { ntp_sources: found });
    outcome.error = complaints.join("\n");
    Ok(outcome)
}

/// The list is one text with commas; each item must be a name or an address.
fn wanted(args: Vec<String>) -> Usable<Vec<TimeSource>> {
    let request: Request = one(args)?;
    let items = request
        .ntp_source
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    let items: Vec<&str> = items.take(MOST + 1).collect();
    if items.len() > MOST {
        return Err(Unusable(format!("more than {MOST} time sources")));
    }
    // Quoted again, so that there is one place that checks texts.
    let quoted = serde_json::to_string(&items).map_err(|cause| Unusable(cause.to_string()))?;
    json(&quoted)
}

fn chronyc(reason: &str) -> Task {
    Task::new("chronyc", reason).deadline(TIMEOUT)
}

async fn said(context: &Context, task: Task) -> Result<String, String> {
    let finished = context
        .task(task)
        .await
        .map_err(|cause| cause.to_string())?;
    if finished.succeeded() {
        return Ok(finished.out());
    }
    let words = [finished.err(), finished.out()].concat();
    Err(format!("chronyc says: {}", words.trim()))
}

async fn sources(context: &Context) -> Result<Vec<Source>, String> {
    let list = chronyc("list the time sources").args(["-n", "sources"]);
    said(context, list).await.map(|text| parse(&text))
}

/// Lines of servers begin with `^`, then a letter for the state, then the name.
fn parse(text: &str) -> Vec<Source> {
    let line = |line: &str| {
        let mut letters = line.strip_prefix('^')?.chars();
        let source_state = match letters.next()? {
            '*' => "synced",
            '+' => "combined",
            '-' => "not_combined",
            '?' => "unreachable",
            '~' => "variable",
            _ => "error",
        };
        let source_name = letters.as_str().split_whitespace().next()?.to_owned();
        Some(Source {
            source_name,
            source_state,
        })
    };
    text.lines().filter_map(line).collect()
}

async fn is_configured(source: &str, known: &[Source], resolver: &Resolver) -> bool {
    let names: BTreeSet<&str> = known
        .iter()
        .map(|known| known.source_name.as_str())
        .collect();
    if names.contains(source) {
        return true;
    }
    if source.parse::<IpAddr>().is_ok() || known.is_empty() {
        return false;
    }
    let addresses = resolver
        .addresses(source)
        .await
        .unwrap_or_default()
        .addresses;
    addresses
        .iter()
        .any(|address| names.contains(address.to_string().as_str()))
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Simulated};

    use super::*;
    use crate::steps::tests::on;

    const LIST: &str = "MS Name/IP address         Stratum Poll Reach LastRx Last sample\n\
        ===============================================================================\n\
        ^* 192.0.2.11                    2   6    17     2    +11us[  +20us] +/-   36ms\n\
        ^? 192.0.2.12                    0   6     0     -     +0ns[   +0ns] +/-    0ns\n\
        #* PPS0                          0   4   377    11    +22ns[  +41ns] +/-  100ns\n";

    #[test]
    fn servers_are_read_and_clocks_of_the_machine_are_not() {
        let found = parse(LIST);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].source_state, "synced");
        assert_eq!(found[1].source_state, "unreachable");
    }

    #[tokio::test]
    async fn a_missing_source_is_added_and_a_known_one_is_not() {
        let machine = Simulated::default();
        machine.on(["chronyc", "-n", "sources"], Finished::with_output(LIST));
        machine.on(["chronyc", "add"], Finished::with_output("200 OK\n"));
        let (context, machine) = on(machine);
        let args = vec![r#"{"ntp_source":"192.0.2.11,192.0.2.99"}"#.to_owned()];
        let outcome = run(&context, args).await.unwrap();
        assert_eq!(outcome.exit_code, 0, "{outcome:?}");
        let added: Vec<_> = machine
            .ran()
            .into_iter()
            .filter(|words| words[1] == "add")
            .collect();
        assert_eq!(
            added,
            [["chronyc", "add", "server", "192.0.2.99", "iburst"]]
        );
        let read: muster_engine::reports::NtpReply = serde_json::from_str(&outcome.output).unwrap();
        assert_eq!(read.ntp_sources.items().len(), 2);
    }

    #[tokio::test]
    async fn without_chrony_the_step_says_so() {
        let (context, _) = on(Simulated::default());
        let outcome = run(&context, vec![r#"{"ntp_source":""}"#.into()])
            .await
            .unwrap();
        assert_eq!(outcome.exit_code, -1);
        assert!(outcome.error.contains("chronyc"), "{}", outcome.error);
    }

    #[tokio::test]
    async fn options_and_commands_are_no_time_sources() {
        let (context, machine) = on(Simulated::default());
        for bad in ["-a", "x;reboot", "x y", "$(reboot)", "a\\nb", "UPPER"] {
            let args = vec![format!(r#"{{"ntp_source":"ok.example,{bad}"}}"#)];
            assert!(run(&context, args).await.is_err(), "{bad}");
        }
        assert!(machine.ran().is_empty());
    }
}
