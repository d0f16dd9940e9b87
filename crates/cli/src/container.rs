//! `muster container …`: what runs in the containers of a pod that was written for the reference.
//!
//! There the image service and the web page are containers of their own, each with a port. Here the
//! service does their work, so these containers only pass connections on to it: bytes, unchanged, so
//! that TLS ends in the service and nothing has to be configured twice.

use std::{
    env, io,
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use clap::{Args, Subcommand};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    signal::unix::{SignalKind, signal},
    time::{Instant, sleep},
};

use crate::output;

/// Where the service is in such a pod.
const SERVICE: &str = "127.0.0.1:8090";
/// A service that starts beside us needs a moment.
const START: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(250);

/// Run as one of the containers of the reference's pod.
#[derive(Debug, Args)]
pub struct Container {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Pass connections to $LISTEN_PORT (8080) on to $ASSISTED_SERVICE_HOST (127.0.0.1:8090).
    ImageService,
    /// Pass connections to port 8080 on to $ASSISTED_SERVICE_URL (127.0.0.1:8090).
    Ui,
}

impl Role {
    /// The port to listen on, and where connections go, by the variables of the pod.
    fn wiring(&self, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<(u16, String)> {
        match self {
            Self::ImageService => {
                let port = match variable("LISTEN_PORT") {
                    Some(text) => text.parse().context("LISTEN_PORT is no port")?,
                    None => 8080,
                };
                let to = variable("ASSISTED_SERVICE_HOST").unwrap_or_else(|| SERVICE.to_owned());
                Ok((port, to))
            }
            Self::Ui => {
                let to = match variable("ASSISTED_SERVICE_URL") {
                    Some(url) => authority(&url).to_owned(),
                    None => SERVICE.to_owned(),
                };
                Ok((8080, to))
            }
        }
    }
}

/// Host and port of a URL.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Passes connections on until asked to stop.
pub fn run(container: &Container) -> ExitCode {
    let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let outcome = container.role.wiring(given).and_then(|(port, to)| {
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(pass_on(port, to))
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}

async fn pass_on(port: u16, to: String) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    let line = format!("connections to port {port} are passed on to {to}");
    let _ = output::text(&line);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => drop(tokio::spawn(one(client, to.clone()))),
                // Too many open files, for example: those that end make room.
                Err(_) => sleep(RETRY).await,
            },
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        }
    }
}

async fn one(mut client: TcpStream, to: String) {
    if let Ok(mut service) = reach(&to).await {
        let _ = client.set_nodelay(true);
        let _ = service.set_nodelay(true);
        // Either side may break off; the other one learns it by the end of its connection.
        let _ = copy_bidirectional(&mut client, &mut service).await;
    }
}

/// Connects to the service, which may not listen yet.
async fn reach(to: &str) -> io::Result<TcpStream> {
    let limit = Instant::now() + START;
    loop {
        match TcpStream::connect(to).await {
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionRefused && Instant::now() < limit =>
            {
                sleep(RETRY).await;
            }
            connected => return connected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_the_pod_say_where_connections_go() {
        let pod = |name: &str| match name {
            "LISTEN_PORT" => Some("8888".to_owned()),
            "ASSISTED_SERVICE_URL" => Some("https://service.example:9090/".to_owned()),
            _ => None,
        };
        let image_service = Role::ImageService.wiring(pod).unwrap();
        assert_eq!(image_service, (8888, SERVICE.to_owned()));
        assert_eq!(
            Role::Ui.wiring(pod).unwrap(),
            (8080, "service.example:9090".to_owned())
        );
        assert_eq!(
            Role::Ui.wiring(|_| None).unwrap(),
            (8080, SERVICE.to_owned())
        );
        assert!(
            Role::ImageService
                .wiring(|_| Some("many".to_owned()))
                .is_err()
        );
    }
}
