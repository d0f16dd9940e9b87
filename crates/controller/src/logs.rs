//! The controller's own logs, and the state of a cluster whose installation failed.

mod gather;
mod router;

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use crate::{
    chain::chain,
    context::Context,
    kube::{Kind, text},
    oc::Oc,
};

/// Where this program keeps a copy of what it logs.
pub const OWN_LOG: &str = "/tmp/controller_logs.log";
const OWN_ENTRY: &str = "assisted-installer-controller.logs";
/// The end of a log is what explains a failure; more than this would not be read.
const LONGEST: usize = 64 << 20;

/// Why the state of the cluster is wanted beside the logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The installation failed.
    General,
    /// The cluster is installed, but these operators of a user are not available.
    Operators(Vec<String>),
}

/// Uploads the logs now and then, for good.
pub async fn upload_regularly(context: &Context) {
    loop {
        sleep(context.pace.logs).await;
        if context.agent_based && !context.record.state().service_reachable {
            continue;
        }
        let archive = archive(&[(OWN_ENTRY.to_owned(), own(context).await)]);
        if let Err(error) = context.service.upload_logs(&archive).await {
            info!(error = %chain(&error), "logs not uploaded");
        }
    }
}

/// Uploads the logs for the last time. In trouble, the state of the cluster as well: the output of
/// must-gather, or where that is not to be had, what the API itself shows.
pub async fn upload_last(context: &Context, trouble: Option<&Trouble>) {
    if let Err(error) = context.service.logs_state("requested").await {
        info!(error = %chain(&error), "state of logs not delivered");
    }
    let mut files = vec![(OWN_ENTRY.to_owned(), own(context).await)];
    if let Some(trouble) = trouble {
        for path in [
            "/etc/resolv.conf",
            "/tmp/var-run-resolv.conf",
            "/tmp/host-resolv.conf",
        ] {
            let content = tokio::fs::read_to_string(path).await.unwrap_or_default();
            info!(path, content, "resolver of this node");
        }
        if *trouble == Trouble::General && context.options.control_plane_count == 1 {
            router::log_health(context).await;
        }
        // First what is at hand: collecting the rest takes long and may fail.
        deliver(context, &archive(&files)).await;
        match must_gather(context, trouble).await {
            Ok(found) => files.push(("must-gather.tar.gz".to_owned(), found)),
            Err(cause) => {
                warn!(
                    cause,
                    "must-gather is not possible, collecting from the API"
                );
                files.extend(gather::collect(context).await);
            }
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
fn archive(files: &[(String, Vec<u8>)]) -> Vec<u8> {
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

/// Images to collect with: one for the release if the installation failed, more for operators.
fn images(setting: &str, trouble: &Trouble) -> Vec<String> {
    let names: Vec<&str> = match trouble {
        Trouble::General => vec!["ocp"],
        Trouble::Operators(names) => names.iter().map(String::as_str).collect(),
    };
    match serde_json::from_str::<Value>(setting) {
        Ok(Value::Object(images)) => names
            .into_iter()
            .filter_map(|name| images.get(name)?.as_str().map(str::to_owned))
            .collect(),
        _ if setting.trim().is_empty() => Vec::new(),
        _ => vec![setting.trim().to_owned()],
    }
}

async fn must_gather(context: &Context, trouble: &Trouble) -> Result<Vec<u8>, String> {
    let failed = |what: &str, cause: String| format!("{what}: {cause}");
    let oc = Oc::prepare(context).await?;
    let mut command = oc.command();
    command
        .args(["adm", "must-gather", "--dest-dir"])
        .arg(oc.inside("collected"));
    for image in images(&context.options.must_gather_image, trouble) {
        command.arg(format!("--image={image}"));
    }
    match timeout(context.pace.must_gather, command.output()).await {
        Ok(Ok(output)) if output.status.success() => {}
        Ok(Ok(output)) => {
            let said = String::from_utf8_lossy(&output.stderr);
            warn!(status = %output.status, said = %said.trim(), "must-gather ended early");
        }
        Ok(Err(cause)) => return Err(failed("oc", cause.to_string())),
        Err(_) => warn!("must-gather took too long"),
    }
    let collected = oc.outside("collected");
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn images_follow_from_the_setting_and_the_failed_operators() {
        let failed = Trouble::Operators(vec!["lso".to_owned(), "unknown".to_owned()]);
        assert!(images("", &failed).is_empty());
        assert_eq!(images("quay.io/x:1", &failed), ["quay.io/x:1"]);
        let setting = r#"{"ocp": "a", "lso": "b", "odf": "c"}"#;
        assert_eq!(images(setting, &failed), ["b"]);
        assert_eq!(images(setting, &Trouble::General), ["a"]);
    }

    #[test]
    fn an_archive_can_be_unpacked() {
        let packed = archive(&[
            ("a".to_owned(), b"one".to_vec()),
            ("b".to_owned(), b"two".to_vec()),
        ]);
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
