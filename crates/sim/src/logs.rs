//! Logs: a small marked archive, sent like real log senders do.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use muster_api::{
    client::ClientError,
    requests::{self, Nothing, Request, Upload, UploadLogsLogsType, UploadLogsOptions},
    wire::LogsProgressParams,
};
use uuid::Uuid;

use crate::{line::Line, machine::Machine};

/// Sends the logs of a host.
///
/// # Errors
/// The service did not take them.
pub async fn send_host(
    line: &Line,
    cluster: Uuid,
    infra_env: Uuid,
    machine: &Machine,
) -> Result<(), ClientError> {
    let progress = |state: &LogsProgressParams| {
        requests::update_host_logs_progress(infra_env, machine.id, state)
    };
    let options = UploadLogsOptions {
        infra_env_id: Some(infra_env),
        host_id: Some(machine.id),
    };
    let upload = requests::upload_logs(cluster, UploadLogsLogsType::Host, &options);
    let text = format!(
        "This machine exists only in a simulation.\nname {}\nid {}\naddress {}\n",
        machine.name(),
        machine.id,
        machine.address
    );
    send(line, progress, &upload, "journal/agent.log", &text).await
}

/// Sends the logs of the controller in the new cluster.
///
/// # Errors
/// The service did not take them.
pub async fn send_controller(line: &Line, cluster: Uuid) -> Result<(), ClientError> {
    let progress =
        |state: &LogsProgressParams| requests::update_cluster_logs_progress(cluster, state);
    let options = UploadLogsOptions::default();
    let upload = requests::upload_logs(cluster, UploadLogsLogsType::Controller, &options);
    let text = "This controller exists only in a simulation.\n";
    send(line, progress, &upload, "controller.logs", text).await
}

async fn send(
    line: &Line,
    progress: impl Fn(&LogsProgressParams) -> Request<Nothing>,
    upload: &Upload,
    name: &str,
    text: &str,
) -> Result<(), ClientError> {
    let report = |state: &str| {
        progress(&LogsProgressParams {
            logs_state: Some(state.to_owned()),
        })
    };
    for state in ["requested", "collecting"] {
        line.send(&report(state)).await?;
    }
    line.upload_logs(upload, &archive(name, text)).await?;
    line.send(&report("completed")).await
}

/// A compressed archive with one file; writing to memory does not fail.
fn archive(name: &str, text: &str) -> Vec<u8> {
    let mut files = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    let _ = files.append_data(&mut header, name, text.as_bytes());
    let files = files.into_inner().unwrap_or_default();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let _ = packed.write_all(&files);
    packed.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn an_archive_can_be_unpacked_again() {
        let packed = archive("a/b.log", "hello");
        let mut files = tar::Archive::new(flate2::read::GzDecoder::new(&packed[..]));
        let mut file = files.entries().unwrap().next().unwrap().unwrap();
        assert_eq!(file.path().unwrap().to_str(), Some("a/b.log"));
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }
}
