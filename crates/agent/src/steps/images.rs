//! `container-image-availability`: can the images of the installation be pulled, and how fast?
//!
//! Through podman, or through crictl on machines that have only the runtime of Kubernetes.

use std::time::{Duration, Instant};

use muster_machine::Task;
use serde::{Deserialize, Serialize};

use super::{
    Context, Outcome,
    args::{Image, Unusable, one},
};

/// What the reference says when an image could not be had.
const NOT_PULLED: i64 = 2;
const MOST: usize = 64;
const SHORT: Duration = Duration::from_secs(60);

#[derive(Debug, Deserialize)]
struct Request {
    images: Vec<Image>,
    #[serde(default)]
    timeout: u64,
}

#[derive(Debug, Serialize)]
struct Reply {
    images: Vec<Status>,
}

#[derive(Debug, Default, Serialize)]
struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    download_rate: Option<f64>,
    name: String,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
}

/// A program that pulls images, and its words for what we ask.
#[derive(Debug)]
struct Tool {
    program: &'static str,
    list: &'static [&'static str],
    pull: &'static [&'static str],
    inspect: &'static [&'static str],
    size: fn(&str) -> Option<f64>,
}

/// The first that is installed is used. References are validated before they get here, so none is
/// taken for an option; `--` is passed anyway where a program supports it.
const TOOLS: &[Tool] = &[
    Tool {
        program: "podman",
        list: &["images", "--quiet", "--"],
        pull: &["pull", "--quiet", "--"],
        inspect: &["image", "inspect", "--format={{.Size}}", "--"],
        size: |text| text.trim().parse().ok(),
    },
    Tool {
        program: "crictl",
        list: &["images", "--quiet"],
        pull: &["pull"],
        inspect: &["inspecti", "--output=json"],
        size: size_in_status,
    },
];

/// The runtime writes 64-bit numbers as texts.
fn size_in_status(text: &str) -> Option<f64> {
    let answer: serde_json::Value = serde_json::from_str(text).ok()?;
    let size = &answer["status"]["size"];
    let number = size.as_f64();
    number.or_else(|| size.as_str()?.parse().ok())
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Request = one(args)?;
    if request.images.len() > MOST {
        return Err(Unusable(format!("more than {MOST} images")));
    }
    let tool = present(context).await;
    // One budget for all of them.
    let end = Instant::now() + Duration::from_secs(request.timeout.min(7200));
    let mut images = Vec::new();
    let mut problems = Vec::new();
    for image in &request.images {
        let left = end.saturating_duration_since(Instant::now());
        let pulled = match tool {
            Some(tool) => pull(context, tool, image, left).await,
            None => Err("neither podman nor crictl is on this machine".to_owned()),
        };
        match pulled {
            Ok(status) => images.push(status),
            Err(problem) => {
                problems.push(format!("{image:?}: {problem}"));
                images.push(Status {
                    name: image.to_string(),
                    result: "failure",
                    ..Status::default()
                });
            }
        }
    }
    let reply = Reply { images };
    Ok(if problems.is_empty() {
        Outcome::json(&reply)
    } else {
        Outcome::failed(NOT_PULLED, problems.join("\n")).and_output(&reply)
    })
}

async fn present(context: &Context) -> Option<&'static Tool> {
    for tool in TOOLS {
        let task = Task::new(tool.program, "is it there?")
            .args(["--version"])
            .deadline(SHORT);
        match context.task(task).await {
            Err(cause) if cause.is_missing() => {}
            // One that is there and broken should be heard when it is asked for something.
            Ok(_) | Err(_) => return Some(tool),
        }
    }
    None
}

/// Also an image that is there is pulled: its registry must still be reachable later.
async fn pull(
    context: &Context,
    tool: &Tool,
    image: &str,
    left: Duration,
) -> Result<Status, String> {
    if left.is_zero() {
        return Err("no time was left for it".to_owned());
    }
    let listed = asked(context, tool, tool.list, image, SHORT).await?;
    let was_here = !listed.trim().is_empty();
    let begun = Instant::now();
    asked(context, tool, tool.pull, image, left).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut status = Status {
        name: image.to_owned(),
        result: "success",
        ..Status::default()
    };
    if !was_here {
        let answer = asked(context, tool, tool.inspect, image, SHORT).await?;
        let size =
            (tool.size)(&answer).ok_or_else(|| format!("{} reports no size", tool.program))?;
        status.size_bytes = Some(size);
        status.time = Some(seconds);
        status.download_rate = (seconds > 0.0).then_some(size / 1e6 / seconds);
    }
    Ok(status)
}

async fn asked(
    context: &Context,
    tool: &Tool,
    words: &[&str],
    image: &str,
    limit: Duration,
) -> Result<String, String> {
    let task = Task::new(tool.program, "check a container image")
        .args(words.iter().copied())
        .arg(image)
        .deadline(limit);
    let finished = context
        .task(task)
        .await
        .map_err(|cause| cause.to_string())?;
    if finished.succeeded() {
        return Ok(finished.out());
    }
    let words = finished.err();
    let last = words.trim().lines().last().unwrap_or("no reason given");
    Err(format!("{} says: {last}", tool.program))
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Simulated};

    use super::*;
    use crate::steps::tests::on;

    const ARGS: &str = r#"{"images":["quay.io/a/b:1","quay.io/a/c:1"],"timeout":960}"#;

    #[tokio::test]
    async fn pulled_images_have_figures_and_present_ones_have_not() {
        let machine = Simulated::default();
        machine.on(["podman"], Finished::with_output(""));
        machine.on(
            ["podman", "images", "--quiet", "--", "quay.io/a/c:1"],
            Finished::with_output("abc\n"),
        );
        machine.on(
            ["podman", "image", "inspect"],
            Finished::with_output("412345678\n"),
        );
        let (context, machine) = on(machine);
        let outcome = run(&context, vec![ARGS.into()]).await.unwrap();
        assert_eq!(outcome.exit_code, 0, "{outcome:?}");
        let read: muster_engine::reports::ImagesReply =
            serde_json::from_str(&outcome.output).unwrap();
        let images = read.images.items();
        assert!(images[0].size_bytes.is_some() && images[1].size_bytes.is_none());
        assert!(images.iter().all(|image| image.result == "success"));
        let pulls = machine
            .ran()
            .iter()
            .filter(|words| words[1] == "pull")
            .count();
        assert_eq!(pulls, 2);
    }

    #[tokio::test]
    async fn one_failure_fails_the_step_but_the_others_are_reported() {
        let machine = Simulated::default();
        machine.on(["podman"], Finished::with_output("1"));
        let refusal = Finished::failed(125, "Trying…\nError: unauthorized");
        machine.on(
            ["podman", "pull", "--quiet", "--", "quay.io/a/b:1"],
            refusal,
        );
        let (context, _) = on(machine);
        let outcome = run(&context, vec![ARGS.into()]).await.unwrap();
        assert_eq!(outcome.exit_code, 2);
        assert!(outcome.error.contains("unauthorized"), "{}", outcome.error);
        assert!(
            outcome.output.contains(r#""result":"failure""#),
            "{}",
            outcome.output
        );
        assert!(
            outcome.output.contains(r#""result":"success""#),
            "{}",
            outcome.output
        );
    }

    #[tokio::test]
    async fn references_that_are_options_or_commands_run_nothing() {
        let (context, machine) = on(Simulated::default());
        for bad in ["--privileged", "a;b", "$(x)", "a b", ""] {
            let args = serde_json::json!({"images": [bad], "timeout": 9}).to_string();
            assert!(run(&context, vec![args]).await.is_err(), "{bad}");
        }
        assert!(machine.ran().is_empty());
    }

    #[tokio::test]
    async fn without_podman_the_runtime_of_kubernetes_pulls() {
        let machine = Simulated::default();
        machine.on(["crictl"], Finished::with_output(""));
        let answer = r#"{"status":{"id":"sha256:1","size":"412345678"},"info":{}}"#;
        machine.on(["crictl", "inspecti"], Finished::with_output(answer));
        let (context, machine) = on(machine);
        let outcome = run(&context, vec![ARGS.into()]).await.unwrap();
        assert_eq!(outcome.exit_code, 0, "{outcome:?}");
        assert!(outcome.output.contains(r#""size_bytes":412345678.0"#));
        let pulled = ["crictl", "pull", "quay.io/a/b:1"];
        assert!(machine.ran().iter().any(|words| *words == pulled));
    }

    #[tokio::test]
    async fn a_machine_that_can_pull_nothing_says_so() {
        let (context, _) = on(Simulated::default());
        let outcome = run(&context, vec![ARGS.into()]).await.unwrap();
        assert_eq!(outcome.exit_code, NOT_PULLED);
        assert!(outcome.error.contains("neither podman nor crictl"));
    }
}
