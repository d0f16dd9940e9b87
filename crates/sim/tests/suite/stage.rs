//! A service of one's own and a fleet against it.

use std::{sync::Arc, time::Duration};

use muster_api::client::{Client, ClientOptions};
use muster_config::{Config, Overrides, Sources};
use muster_service::Running;
use muster_sim::{End, Line, Pace, Plan, Report, Scenario, Seed, Stuck, Topology};
use tempfile::TempDir;

/// A running service; its data go with it.
pub struct Stage {
    _service: Running,
    pub line: Line,
    _data: TempDir,
}

impl Stage {
    /// Starts a service in which nobody has to wait long.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(settings: &[(&'static str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut flags = Overrides::default()
            .set("test", "data_dir", data.path().to_str().unwrap())
            .set("test", "server.listen", "127.0.0.1:0")
            .set("test", "server.plain_http", "true")
            .set("test", "auth.mode", "none")
            .set("test", "features.dummy_ignition", "true")
            .set("test", "features.tna_clusters", "true")
            .set("test", "timeouts.host_disconnection", "4s");
        for (key, value) in settings {
            flags = flags.set("test", key, *value);
        }
        let sources = Sources {
            flags,
            ..Sources::default()
        };
        let config = Config::load(&sources).unwrap().config;
        let service = muster_service::start(config).await.unwrap();
        let url = format!("{}://{}", service.scheme, service.address);
        let client = Client::new(&url, ClientOptions::default()).unwrap();
        Self {
            _service: service,
            line: Line::new(client),
            _data: data,
        }
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

/// A plan that is through in seconds: ten simulated minutes per second.
pub fn plan(topology: Topology) -> Plan {
    Plan {
        patience: Duration::from_secs(60),
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
