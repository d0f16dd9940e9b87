//! The controller's own logs, and the state of a cluster whose installation failed.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use tokio::{
    process::Command,
    time::{Instant, sleep, timeout},
};
use tracing::{info, warn};

use crate::{
    chain::chain,
    context::Context,
    kube::{Kind, text},
};

/// Where this program keeps a copy of what it logs.
pub const OWN_LOG: &str = "/tmp/controller_logs.log";
const MUST_GATHER: &str = "/tmp/must-gather-logs";
const MUST_GATHER_LIMIT: std::time::Duration = std::time::Duration::from_secs(40 * 60);
/// The end of a log is what explains a failure; more than this would not be read.
const LONGEST: usize = 64 << 20;

/// Uploads the logs now and then, for good.
pub async fn upload_regularly(context: &Context) {
    loop {
        sleep(context.pace.logs).await;
        let archive = archive(&[("assisted-installer-controller.logs", own(context).await)]);
        if let Err(error) = context.service.upload_logs(&archive).await {
            info!(error = %chain(&error), "logs not uploaded");
        }
    }
}

/// Uploads the logs for the last time. With `failed`, the state of the cluster as well.
pub async fn upload_last(context: &Context, failed: Option<&[String]>) {
    if let Err(error) = context.service.logs_state("requested").await {
        info!(error = %chain(&error), "state of logs not delivered");
    }
    let mut files = vec![("assisted-installer-controller.logs", own(context).await)];
    if let Some(operators) = failed {
        for path in ["/tmp/var-run-resolv.conf", "/tmp/host-resolv.conf"] {
            let content = tokio::fs::read_to_string(path).await.unwrap_or_default();
            info!(path, content, "resolver of this node");
        }
        // First what is at hand: collecting the rest takes long and may fail.
        deliver(context, &archive(&files)).await;
        match must_gather(context, operators).await {
            Ok(found) => files.push(("must-gather.tar.gz", found)),
            Err(cause) => warn!(cause, "the state of the cluster was not collected"),
        }
        files[0].1 = own(context).await;
    }
    deliver(context, &archive(&files)).await;
    if let Err(error) = context.service.logs_state("completed").await {
        info!(error = %chain(&error), "state of logs not delivered");
    }
}

async fn deliver(context: &Context, archive: &[u8]) {
    let limit = Instant::now() + context.pace.last_logs;
    loop {
        match context.service.upload_logs(archive).await {
            Ok(()) => return,
            Err(error) if crate::service::is_final(&error) || Instant::now() >= limit => {
                warn!(error = %chain(&error), "logs not uploaded");
                return;
            }
            Err(error) => info!(error = %chain(&error), "logs not uploaded, retrying"),
        }
        sleep(context.pace.resync).await;
    }
}

/// The log of this program's pod, else its own copy.
async fn own(context: &Context) -> Vec<u8> {
    let namespace = &context.options.namespace;
    let labels = "job-name=assisted-installer-controller";
    let pods = context.kube.list(Kind::POD, Some(namespace), labels).await;
    let pods = pods.map(|(pods, _)| pods).unwrap_or_default();
    let running = pods
        .iter()
        .find(|pod| text(pod, "/status/phase") == "Running");
    if let Some(pod) = running {
        let at = Kind::POD.within(namespace, text(pod, "/metadata/name"));
        match context.kube.pod_log(&at, None).await {
            Ok(log) => return shortened(log),
            Err(error) => {
                info!(error = %chain(&error), "log of the pod not read, using the own copy")
            }
        }
    }
    shortened(tokio::fs::read(OWN_LOG).await.unwrap_or_default())
}

fn shortened(mut log: Vec<u8>) -> Vec<u8> {
    let from = log.len().saturating_sub(LONGEST);
    log.drain(..from);
    log
}

/// Files as `tar.gz`.
fn archive(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let packed = || {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o644);
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, name, content.as_slice())?;
        }
        builder.into_inner()?.finish()
    };
    // Writing to memory does not fail.
    packed().unwrap_or_default()
}

/// Images to collect with: one for the release, more for operators that failed.
fn images(setting: &str, operators: &[String]) -> Vec<String> {
    match serde_json::from_str::<Value>(setting) {
        Ok(Value::Object(images)) => std::iter::once("ocp")
            .chain(operators.iter().map(String::as_str))
            .filter_map(|name| images.get(name)?.as_str().map(str::to_owned))
            .collect(),
        _ if setting.trim().is_empty() => Vec::new(),
        _ => vec![setting.trim().to_owned()],
    }
}

async fn must_gather(context: &Context, operators: &[String]) -> Result<Vec<u8>, String> {
    if !has_program("oc") {
        return Err("`oc` is not installed in this image".to_owned());
    }
    let failed = |what: &str, cause: String| format!("{what}: {cause}");
    let kubeconfig = kubeconfig(context).await?;
    let collected = Path::new(MUST_GATHER).join("collected");
    let mut command = Command::new("oc");
    command
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(["adm", "must-gather", "--dest-dir"])
        .arg(&collected);
    for image in images(&context.options.must_gather_image, operators) {
        command.arg(format!("--image={image}"));
    }
    command.stdin(Stdio::null()).kill_on_drop(true);
    match timeout(MUST_GATHER_LIMIT, command.output()).await {
        Ok(Ok(output)) if output.status.success() => {}
        Ok(Ok(output)) => warn!(status = %output.status, "must-gather ended early"),
        Ok(Err(cause)) => return Err(failed("oc", cause.to_string())),
        Err(_) => warn!("must-gather took too long"),
    }
    let packed = tokio::task::spawn_blocking(move || {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        builder.append_dir_all("must-gather", collected)?;
        builder.into_inner()?.finish()
    });
    let packed = packed
        .await
        .map_err(|cause| failed("packing", cause.to_string()))?;
    packed.map_err(|cause| failed("packing", cause.to_string()))
}

/// A file with credentials for `oc`.
pub async fn kubeconfig(context: &Context) -> Result<PathBuf, String> {
    let failed = |cause: std::io::Error| format!("kubeconfig: {cause}");
    let content = context.service.kubeconfig().await;
    let content = content.map_err(|cause| format!("kubeconfig: {cause}"))?;
    tokio::fs::create_dir_all(MUST_GATHER)
        .await
        .map_err(failed)?;
    let path = Path::new(MUST_GATHER).join("kubeconfig");
    tokio::fs::write(&path, content).await.map_err(failed)?;
    Ok(path)
}

/// Whether a program is at hand.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn images_follow_from_the_setting_and_the_failed_operators() {
        let failed = ["lso".to_owned(), "unknown".to_owned()];
        assert!(images("", &failed).is_empty());
        assert_eq!(images("quay.io/x:1", &failed), ["quay.io/x:1"]);
        let setting = r#"{"ocp": "a", "lso": "b", "odf": "c"}"#;
        assert_eq!(images(setting, &failed), ["a", "b"]);
    }

    #[test]
    fn an_archive_can_be_unpacked() {
        let packed = archive(&[("a", b"one".to_vec()), ("b", b"two".to_vec())]);
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let mut read = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            read.push((entry.path().unwrap().display().to_string(), content));
        }
        let expected = [("a", "one"), ("b", "two")];
        assert_eq!(
            read,
            expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
    }
}
