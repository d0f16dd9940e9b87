//! Figures about installations: how they ended, how long each phase took, on which hardware.
//!
//! They follow from what a change did to the records and from the figures among its events
//! (category `metrics`), so every way to change a cluster is counted once, when it is stored.

use muster_model::{Category, Cluster, ClusterStatus, Event, Host, Timestamp};
use prometheus::{Error, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};
use serde_json::Value;

use super::Evaluated;

/// What dashboards know about installations.
#[derive(Debug)]
pub(super) struct Installations {
    clusters: HistogramVec,
    host_stages: HistogramVec,
    hosts: IntCounterVec,
    cores: HistogramVec,
    memory: HistogramVec,
    disks: HistogramVec,
    cards: HistogramVec,
    cluster_phases: HistogramVec,
    host_phases: HistogramVec,
    operations: HistogramVec,
    evaluations: HistogramVec,
    clusters_now: IntGaugeVec,
    hosts_now: IntGaugeVec,
    waiting_since: IntGaugeVec,
}

/// Clusters that are shown one by one while they are being installed; more are only counted.
const MOST_SHOWN: usize = 100;

/// How an installation can end.
const ENDS: [ClusterStatus; 3] = [
    ClusterStatus::Installed,
    ClusterStatus::Error,
    ClusterStatus::Cancelled,
];

/// Phases take from milliseconds (simulated) to a day (waiting for a person).
const PHASE_SECONDS: [f64; 14] = [
    1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0,
    86_400.0,
];

impl Installations {
    pub(super) fn new(registry: &Registry) -> Result<Self, Error> {
        let seconds = [
            1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_200.0, 1_800.0,
        ];
        let doubling = |from: f64, count| prometheus::exponential_buckets(from, 2.0, count);
        let of = |name: &str, help: &str, labels: &[&str], buckets: &[f64]| {
            let name = format!("service_assisted_installer_{name}");
            histogram(registry, &name, help, labels, buckets)
        };
        let own = |name: &str, help: &str, labels: &[&str]| {
            histogram(registry, name, help, labels, &PHASE_SECONDS)
        };
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            let gauge = IntGaugeVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, Error>(gauge)
        };
        let hosts = IntCounterVec::new(
            Opts::new(
                "service_assisted_installer_cluster_hosts",
                "Hosts whose installation ended",
            ),
            &["role", "result"],
        )?;
        registry.register(Box::new(hosts.clone()))?;
        let milliseconds = [10.0, 100.0, 200.0, 500.0, 1_000.0, 10_000.0, 30_000.0];
        let by_role = ["role", "result"];
        let clusters = of(
            "cluster_installation_seconds",
            "Duration of installations",
            &["result"],
            &seconds,
        )?;
        let evaluations = histogram(
            registry,
            "muster_evaluation_duration_ms",
            "Time to evaluate a cluster with its hosts, or a host without one",
            &["kind"],
            &milliseconds,
        )?;
        // Alerts ask by how much these grow: a series that begins at 1 has not grown.
        for end in ENDS {
            clusters.with_label_values(&[end.as_str()]);
        }
        for kind in Evaluated::ALL {
            evaluations.with_label_values(&[kind.label()]);
        }
        Ok(Self {
            clusters,
            host_stages: of(
                "host_installation_phase_seconds",
                "Duration of the stages of a host's installation",
                &["phase", "result"],
                &seconds,
            )?,
            hosts,
            cores: of(
                "cluster_host_cores",
                "CPU cores of hosts",
                &by_role,
                &doubling(1.0, 10)?,
            )?,
            memory: of(
                "cluster_host_ram_gb",
                "Memory of hosts in GiB",
                &by_role,
                &doubling(8.0, 9)?,
            )?,
            disks: of(
                "cluster_host_disk_gb",
                "Disks of hosts in GiB",
                &["diskType", "role", "result"],
                &doubling(250.0, 7)?,
            )?,
            cards: of(
                "cluster_host_nic_gb",
                "Network cards of hosts in Gbit/s",
                &by_role,
                &[1.0, 10.0, 20.0, 40.0, 100.0],
            )?,
            operations: of(
                "operation_duration_miliseconds",
                "Duration of longer operations",
                &["operation"],
                &operation_buckets(),
            )?,
            evaluations,
            cluster_phases: own(
                "muster_cluster_phase_seconds",
                "Time clusters spent in a status, when they leave it",
                &["status", "next"],
            )?,
            host_phases: own(
                "muster_host_phase_seconds",
                "Time hosts spent in a status, when they leave it",
                &["status", "next"],
            )?,
            clusters_now: gauge("muster_clusters", "Clusters by status", &["status"])?,
            hosts_now: gauge("muster_hosts", "Hosts by status", &["status"])?,
            waiting_since: gauge(
                "muster_cluster_status_since_seconds",
                "Unix time since which a cluster that is being installed has its status",
                &["cluster_id", "status"],
            )?,
        })
    }

    /// A change of a cluster was stored.
    pub(super) fn cluster_changed(&self, before: &Cluster, after: &Cluster, now: Timestamp) {
        if before.status == after.status {
            return;
        }
        let labels = [before.status.as_str(), after.status.as_str()];
        let since = before.status_updated_at;
        self.cluster_phases
            .with_label_values(&labels)
            .observe(seconds(since, now));
        let ended = ENDS.contains(&after.status);
        if let (true, Some(began)) = (ended, after.install_started_at) {
            self.clusters
                .with_label_values(&[after.status.as_str()])
                .observe(seconds(began, now));
        }
    }

    /// A change of a host was stored.
    pub(super) fn host_changed(&self, before: &Host, after: &Host, now: Timestamp) {
        if before.status == after.status {
            return;
        }
        let labels = [before.status.as_str(), after.status.as_str()];
        self.host_phases
            .with_label_values(&labels)
            .observe(seconds(before.status_updated_at, now));
    }

    /// A figure among the events was stored.
    pub(super) fn figure(&self, event: &Event) {
        if event.category != Category::Metrics {
            return;
        }
        let props: Value = event
            .props
            .as_deref()
            .and_then(|props| serde_json::from_str(props).ok())
            .unwrap_or_default();
        let text = |key: &str| props[key].as_str().unwrap_or_default();
        let number = |key: &str| props[key].as_f64().unwrap_or(0.0);
        let by_role = [text("host_role"), text("host_result")];
        match event.message.as_str() {
            "host.stage.duration" => self
                .host_stages
                .with_label_values(&[text("host_stage"), text("result")])
                .observe(number("duration")),
            "host.mem.cpu" => {
                self.hosts.with_label_values(&by_role).inc();
                self.cores
                    .with_label_values(&by_role)
                    .observe(number("core_count"));
                self.memory
                    .with_label_values(&by_role)
                    .observe(number("mem_bytes"));
            }
            "disk.size.type" => self
                .disks
                .with_label_values(&[disk_type(text("disk_type")), by_role[0], by_role[1]])
                .observe(number("disk_size")),
            "nic.speed" => self
                .cards
                .with_label_values(&by_role)
                .observe(number("nic_speed") / 1000.0),
            _ => {}
        }
    }

    /// An operation took this long.
    pub(super) fn operation(&self, name: &str, milliseconds: f64) {
        self.operations
            .with_label_values(&[name])
            .observe(milliseconds);
    }

    /// An evaluation took this long.
    pub(super) fn evaluation(&self, kind: Evaluated, milliseconds: f64) {
        self.evaluations
            .with_label_values(&[kind.label()])
            .observe(milliseconds);
    }

    /// What there is right now.
    pub(super) fn now<'a>(
        &self,
        clusters: impl Iterator<Item = &'a Cluster>,
        hosts: impl Iterator<Item = &'a Host>,
    ) {
        self.clusters_now.reset();
        self.hosts_now.reset();
        self.waiting_since.reset();
        let mut shown = 0;
        for cluster in clusters {
            let status = cluster.status.as_str();
            self.clusters_now.with_label_values(&[status]).inc();
            if is_being_installed(cluster.status) && shown < MOST_SHOWN {
                shown += 1;
                self.waiting_since
                    .with_label_values(&[&cluster.id.to_string(), status])
                    .set(cluster.status_updated_at.unix_seconds());
            }
        }
        for host in hosts {
            self.hosts_now
                .with_label_values(&[host.status.as_str()])
                .inc();
        }
    }
}

fn is_being_installed(status: ClusterStatus) -> bool {
    matches!(
        status,
        ClusterStatus::PreparingForInstallation
            | ClusterStatus::Installing
            | ClusterStatus::Finalizing
            | ClusterStatus::InstallingPendingUserAction
    )
}

/// Hosts name their disks' types, and no host may fill our memory.
fn disk_type(text: &str) -> &str {
    match text {
        "HDD" | "SSD" | "ODD" | "FDD" | "Multipath" | "iSCSI" | "FC" | "LVM" | "RAID" | "ECKD"
        | "ECKD (ESE)" | "virtual" => text,
        _ => "Unknown",
    }
}

fn histogram(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: &[f64],
) -> Result<HistogramVec, Error> {
    let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
    let histogram = HistogramVec::new(options, labels)?;
    registry.register(Box::new(histogram.clone()))?;
    Ok(histogram)
}

fn operation_buckets() -> Vec<f64> {
    let steps = [
        (100, 1_000, 100),
        (1_200, 2_000, 200),
        (2_400, 4_000, 400),
        (5_000, 5_000, 1),
    ];
    let steps = steps.into_iter();
    steps
        .flat_map(|(from, to, step)| (from..=to).step_by(step))
        .map(f64::from)
        .collect()
}

fn seconds(since: Timestamp, now: Timestamp) -> f64 {
    now.since(since).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, EventScope, Severity};
    use prometheus::{Encoder, TextEncoder};
    use uuid::Uuid;

    use super::*;

    fn page(fill: impl FnOnce(&Installations)) -> String {
        let registry = Registry::new();
        fill(&Installations::new(&registry).unwrap());
        let mut page = Vec::new();
        TextEncoder::new()
            .encode(&registry.gather(), &mut page)
            .unwrap();
        String::from_utf8(page).unwrap()
    }

    fn cluster(status: ClusterStatus) -> Cluster {
        let id = ClusterId(Uuid::nil());
        Cluster::blank(
            id,
            ClusterKind::Cluster,
            "steel",
            status,
            "admin",
            Timestamp(0),
        )
    }

    fn figure(what: &str, props: &str) -> Event {
        let mut event = Event::new(
            "",
            Severity::Info,
            EventScope::default(),
            Timestamp(0),
            what,
        );
        event.category = Category::Metrics;
        event.props = Some(props.to_owned());
        event
    }

    #[test]
    fn the_end_of_an_installation_is_counted_with_its_duration_and_its_last_phase() {
        let before = cluster(ClusterStatus::Finalizing);
        let mut after = cluster(ClusterStatus::Installed);
        after.install_started_at = Some(Timestamp(0));
        let now = Timestamp(0).plus(std::time::Duration::from_secs(400));
        let page = page(|all| {
            all.cluster_changed(&before, &after, now);
            all.cluster_changed(&after, &after, now);
        });
        for line in [
            "service_assisted_installer_cluster_installation_seconds_sum{result=\"installed\"} 400",
            "service_assisted_installer_cluster_installation_seconds_count{result=\"installed\"} 1",
            "muster_cluster_phase_seconds_count{next=\"installed\",status=\"finalizing\"} 1",
        ] {
            assert!(page.contains(line), "{line} in\n{page}");
        }
    }

    #[test]
    fn figures_among_events_become_those_of_dashboards() {
        let page = page(|all| {
            let stage = r#"{"result":"Done","duration":12.5,"host_stage":"Rebooting"}"#;
            all.figure(&figure("host.stage.duration", stage));
            let host =
                r#"{"host_role":"master","host_result":"Done","mem_bytes":64,"core_count":16}"#;
            all.figure(&figure("host.mem.cpu", host));
            let disk = r#"{"host_role":"master","host_result":"Done","disk_type":"x\u0000y","disk_size":120}"#;
            all.figure(&figure("disk.size.type", disk));
            let mut posted = figure("host.mem.cpu", host);
            posted.category = Category::User;
            all.figure(&posted);
        });
        let service = "service_assisted_installer";
        for line in [
            format!(
                "{service}_host_installation_phase_seconds_sum{{phase=\"Rebooting\",result=\"Done\"}} 12.5"
            ),
            format!("{service}_cluster_hosts{{result=\"Done\",role=\"master\"}} 1"),
            format!(
                "{service}_cluster_host_cores_bucket{{result=\"Done\",role=\"master\",le=\"16\"}} 1"
            ),
            format!(
                "{service}_cluster_host_disk_gb_count{{diskType=\"Unknown\",result=\"Done\",role=\"master\"}} 1"
            ),
        ] {
            assert!(page.contains(&line), "{line} in\n{page}");
        }
    }

    #[test]
    fn what_is_being_installed_is_shown_by_id_and_what_is_over_is_not() {
        let installing = cluster(ClusterStatus::Installing);
        let done = cluster(ClusterStatus::Installed);
        let page = page(|all| {
            all.now([&installing].into_iter(), std::iter::empty());
            all.now([&done, &done].into_iter(), std::iter::empty());
        });
        assert!(
            page.contains("muster_clusters{status=\"installed\"} 2"),
            "{page}"
        );
        assert!(!page.contains("cluster_id"), "{page}");
    }
}
