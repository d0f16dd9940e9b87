//! How often a node rebooted during its installation, which some sites want to know.

use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::{
    context::Context,
    hosts::Host,
    oc::{self, Oc},
};

const ATTEMPTS: u32 = 10;

/// Counts and reports. Only the node itself knows, and `oc` is the way to ask it.
pub async fn report(context: &Context, host: &Host, node: &str) {
    if !Oc::is_available(&context.options) {
        warn!(node, cause = oc::MISSING, "reboots not counted");
        return;
    }
    match timeout(context.pace.reboots_in_all, counted(context, node)).await {
        Ok(Some(count)) => {
            let message = format!("Node {node} rebooted {count} times during the installation");
            context.record.note(message.clone());
            context
                .event("reboots_for_node", "info", &message, Some(host))
                .await;
        }
        Ok(None) | Err(_) => warn!(node, "reboots not counted"),
    }
}

async fn counted(context: &Context, node: &str) -> Option<usize> {
    for _ in 0..ATTEMPTS {
        match asked(context, node).await {
            Ok(answer) => return Some(reboots(&answer)),
            Err(cause) => info!(node, cause, "reboots not counted, retrying"),
        }
        sleep(context.pace.reboots).await;
    }
    None
}

async fn asked(context: &Context, node: &str) -> Result<String, String> {
    let oc = Oc::prepare(context).await?;
    let output = oc
        .command()
        .args(["debug", &format!("node/{node}"), "--"])
        .args(["chroot", "/host", "last", "reboot"])
        .output()
        .await
        .map_err(|cause| cause.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

fn reboots(answer: &str) -> usize {
    let lines = answer.lines();
    lines.filter(|line| line.starts_with("reboot ")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_about_reboots_count() {
        let answer = "reboot   system boot  5.14\nreboot   system boot\n\nwtmp begins\nrebooted\n";
        assert_eq!(reboots(answer), 2);
    }
}
