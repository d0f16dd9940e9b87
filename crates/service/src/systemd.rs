//! Notifies systemd when the service is ready (`Type=notify`). Without systemd it does nothing.

#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Sends one state, such as `READY=1`. Failing to do so is no reason to fail.
pub fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let address = match path.to_str().and_then(|text| text.strip_prefix('@')) {
        #[cfg(target_os = "linux")]
        Some(name) => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&path),
    };
    let sent = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = sent {
        tracing::debug!(%error, "systemd was not notified");
    }
}
