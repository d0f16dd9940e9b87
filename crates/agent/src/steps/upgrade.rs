//! `upgrade-agent`: fetches the agent the service asks for, then starts it.
//!
//! An image of Muster carries `/usr/bin/muster-agent`; it takes the place of the running
//! program once it has shown that it starts. An image of the reference has no such file: then
//! it is only pulled, and we go on under the version the service asked for, because otherwise
//! it would ask for nothing else any more. The same goes for an image without a digest: its
//! content may change at any time, so nothing of it runs here as root.

use std::{os::unix::fs::PermissionsExt, path::Path, time::Duration};

use muster_machine::Task;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::{
    Context, Outcome,
    args::{Image, Unusable, one},
    web::about,
};

/// Its name on the wire.
pub(super) const NAME: &str = "upgrade-agent";
const INSIDE: &str = "/usr/bin/muster-agent";
const SHORT: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(3000);

#[derive(Debug, Deserialize)]
struct Request {
    agent_image: Image,
}

#[derive(Debug, Serialize)]
struct Reply<'a> {
    agent_image: &'a str,
    result: &'static str,
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Request = one(args)?;
    let image = &*request.agent_image;
    let problem = match digest_of(image) {
        Some(_) => fetch(context, image).await.err(),
        None => {
            warn!(
                image,
                "image has no digest: pulled, but this agent keeps its own program"
            );
            pull(context, image).await.err()
        }
    };
    let mut outcome = Outcome::json(&Reply {
        agent_image: image,
        result: if problem.is_none() {
            "success"
        } else {
            "failure"
        },
    });
    outcome.error = problem.unwrap_or_default();
    Ok(outcome)
}

/// The step went well, so the agent has to start again.
pub(super) fn succeeded(outcome: &Outcome) -> bool {
    let value: serde_json::Value = serde_json::from_str(&outcome.output).unwrap_or_default();
    outcome.exit_code == 0
        && value
            .get("result")
            .is_some_and(|result| result == "success")
}

/// The digest that pins an image to one content.
fn digest_of(image: &str) -> Option<&str> {
    let (_, digest) = image.rsplit_once("@sha256:")?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_digest.then_some(digest)
}

async fn pull(context: &Context, image: &str) -> Result<(), String> {
    podman(context, &["pull", "--quiet", "--", image], LONG)
        .await
        .map(drop)
}

async fn fetch(context: &Context, image: &str) -> Result<(), String> {
    pull(context, image).await?;
    let Some(program) = &context.program else {
        return Ok(());
    };
    let made = podman(context, &["create", "--pull=never", "--", image], SHORT).await?;
    let id = made.trim();
    if id.is_empty() || !id.chars().all(|letter| letter.is_ascii_hexdigit()) {
        return Err(format!(
            "podman made a container without a usable id: {id:?}"
        ));
    }
    let fresh = program.with_extension("new");
    let path = fresh.to_string_lossy().into_owned();
    let inside = format!("{id}:{INSIDE}");
    let copied = podman(context, &["cp", "--", &inside, &path], SHORT).await;
    let _ = podman(context, &["rm", "--force", "--", id], SHORT).await;
    if copied.is_err() {
        // An image of the reference.
        return Ok(());
    }
    let placed = replace(context, &fresh, program).await;
    if placed.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    placed
}

/// Puts the new program in place of the old, if it runs here at all.
async fn replace(context: &Context, fresh: &Path, program: &Path) -> Result<(), String> {
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fresh, mode).map_err(|cause| about(fresh, &cause))?;
    let trial = Task::new(fresh.to_string_lossy(), "try the new agent").arg("--version");
    let finished = context
        .task(trial.deadline(SHORT))
        .await
        .map_err(|cause| cause.to_string())?;
    if !finished.succeeded() {
        return Err(format!(
            "the new agent does not start: {}",
            finished.err().trim()
        ));
    }
    std::fs::rename(fresh, program).map_err(|cause| about(program, &cause))
}

async fn podman(context: &Context, args: &[&str], limit: Duration) -> Result<String, String> {
    let task = Task::new("podman", "fetch another agent").args(args.iter().copied());
    let finished = context
        .task(task.deadline(limit))
        .await
        .map_err(|cause| cause.to_string())?;
    if finished.succeeded() {
        return Ok(finished.out());
    }
    Err(format!("podman says: {}", finished.err().trim()))
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Simulated};

    use super::*;
    use crate::steps::tests::on;

    const ARGS: &str = r#"{"agent_image":"quay.io/x/agent:2"}"#;

    #[tokio::test]
    async fn a_pulled_image_is_a_success_and_restarts_the_agent() {
        let machine = Simulated::default();
        machine.on(["podman", "pull"], Finished::with_output("id\n"));
        let (context, _) = on(machine);
        let outcome = run(&context, vec![ARGS.into()]).await.unwrap();
        assert_eq!(
            outcome.output,
            r#"{"agent_image":"quay.io/x/agent:2","result":"success"}"#
        );
        assert!(succeeded(&outcome));
        let read: muster_engine::reports::UpgradeReply =
            serde_json::from_str(&outcome.output).unwrap();
        assert_eq!(read.result, "success");
    }

    #[tokio::test]
    async fn nothing_of_an_image_without_a_digest_runs_here() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("muster-agent");
        let image = |digest: &str| format!(r#"{{"agent_image":"quay.io/x/agent{digest}"}}"#);
        let pinned = format!("@sha256:{}", "0a".repeat(32));
        for (digest, made) in [(":2", 0), ("@sha256:0a", 0), (pinned.as_str(), 1)] {
            let machine = Simulated::default();
            machine.on(["podman", "pull"], Finished::with_output("id\n"));
            machine.on(["podman", "create"], Finished::with_output("0a0a\n"));
            let (context, machine) = on(machine);
            let context = Context {
                program: Some(program.clone()),
                machine: machine.clone(),
                link: context.link.clone(),
                infra_env: context.infra_env,
                host: context.host,
            };
            let outcome = run(&context, vec![image(digest)]).await.unwrap();
            assert!(succeeded(&outcome), "{digest}: {}", outcome.error);
            let ran = machine.ran();
            let taken = ran
                .iter()
                .filter(|words| words.iter().any(|word| word == "create"));
            assert_eq!(taken.count(), made, "{digest}: {ran:?}");
        }
    }

    #[tokio::test]
    async fn a_failed_pull_is_reported_and_the_agent_is_not_restarted() {
        for machine in [Simulated::default(), {
            let machine = Simulated::default();
            machine.on(["podman", "pull"], Finished::failed(125, "no such image"));
            machine
        }] {
            let (context, _) = on(machine);
            let outcome = run(&context, vec![ARGS.into()]).await.unwrap();
            assert_eq!(outcome.exit_code, 0);
            assert!(outcome.output.contains("failure") && !succeeded(&outcome));
            assert!(!outcome.error.is_empty());
        }
    }
}
