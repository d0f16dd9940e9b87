//! Exit codes that scripts written for the reference look at.

use std::process::ExitCode;

use muster_assets::agent_based::AgentError;

use super::{log::Log, unfinished};
use crate::diagnostics;

/// The install-config cannot be read.
const UNPARSABLE: u8 = 3;
/// A signal ended the command.
pub const INTERRUPTED: i32 = 8;

/// Reports why a command failed.
pub fn failed(error: &anyhow::Error, log: &Log) -> ExitCode {
    if let Some(AgentError::Findings {
        reports,
        is_unparsable,
    }) = error.downcast_ref()
    {
        for report in reports {
            diagnostics::show(report);
            log.record("error", &report.to_string());
        }
        log.error(&format!("{error:#}"));
        return if *is_unparsable {
            ExitCode::from(UNPARSABLE)
        } else {
            ExitCode::FAILURE
        };
    }
    log.error(&format!("{error:#}"));
    ExitCode::FAILURE
}

/// Ends the process with the code for it when a signal arrives, and removes what is unfinished.
pub fn end_on_signal(log: &Log) {
    let log = log.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else {
            return;
        };
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut interrupt), Ok(mut terminate)) = (
                signal(SignalKind::interrupt()),
                signal(SignalKind::terminate()),
            ) else {
                return;
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            log.warn("interrupted; what is unfinished is not kept");
            unfinished::exit(INTERRUPTED);
        });
    });
}
