//! A service for the test and a fleet against it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use muster_api::client::{Client, ClientOptions};
use muster_config::{Config, Overrides, Sources};
use muster_service::Running;
use muster_sim::{End, Line, Pace, Plan, Report, Scenario, Seed, Stuck, Topology};
use tempfile::TempDir;

/// A running service; its data go with it.
pub struct Stage {
    service: Option<Running>,
    settings: Vec<(&'static str, String)>,
    address: SocketAddr,
    pub line: Line,
    data: TempDir,
}

impl Stage {
    /// Starts a service with short intervals and timeouts.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(settings: &[(&'static str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let settings: Vec<_> = settings
            .iter()
            .map(|(key, value)| (*key, (*value).to_owned()))
            .collect();
        let address = "127.0.0.1:0".parse().unwrap();
        let service = start(&data, address, &settings).await;
        let url = format!("{}://{}", service.scheme, service.address);
        let client = Client::new(&url, ClientOptions::default()).unwrap();
        Self {
            address: service.address,
            service: Some(service),
            settings,
            line: Line::new(client),
            data,
        }
    }

    /// Stops the service; its data stay.
    pub async fn stop(&mut self) {
        self.service.take().unwrap().stop().await;
    }

    /// Starts it again where it was.
    pub async fn start_again(&mut self) {
        self.service = Some(start(&self.data, self.address, &self.settings).await);
    }

    /// Plays a plan to its end.
    pub async fn play(&self, plan: Plan) -> (Result<End, Stuck>, Arc<Report>) {
        let report = Arc::new(Report::default());
        let mut scenario = Scenario::new(plan, &self.line, Arc::clone(&report)).unwrap();
        scenario.watch();
        let end = scenario.run().await;
        let left = scenario.clean_up().await;
        assert!(left.is_empty(), "not removed: {left:?}");
        (end, report)
    }
}

async fn start(
    data: &TempDir,
    address: SocketAddr,
    settings: &[(&'static str, String)],
) -> Running {
    let mut flags = Overrides::default()
        .set("test", "data_dir", data.path().to_str().unwrap())
        .set("test", "server.listen", address.to_string())
        .set("test", "server.plain_http", "true")
        .set("test", "auth.mode", "none")
        .set("test", "features.dummy_ignition", "true")
        .set("test", "features.tna_clusters", "true")
        .set("test", "features.tnf_clusters", "true")
        .set("test", "timeouts.host_disconnection", "4s");
    for (key, value) in settings {
        flags = flags.set("test", key, value);
    }
    let sources = Sources {
        flags,
        ..Sources::default()
    };
    let config = Config::load(&sources).unwrap().config;
    muster_service::start(config).await.unwrap()
}

/// A plan that is through in seconds: ten simulated minutes per second.
pub fn plan(topology: Topology) -> Plan {
    Plan {
        timeout: Duration::from_secs(60),
        look_every: Duration::from_millis(50),
        ..Plan::of(topology, Seed(42), Pace::new(600.0))
    }
}

/// Asserts that `wanted` occurs in `seen` in this order, other things in between allowed.
pub fn in_order(what: &str, seen: &[String], wanted: &[&str]) {
    let mut rest = seen.iter();
    for item in wanted {
        assert!(
            rest.any(|seen| seen == item),
            "{what}: {item:?} is missing, or out of order, in {seen:#?}"
        );
    }
}
