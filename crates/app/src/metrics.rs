//! Figures for Prometheus, under the names dashboards already know.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use muster_engine::Measured;
use muster_model::{Cluster, Event, Host, Timestamp};
use muster_store::Deleted;
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::{App, error_chain, refusals::Refusal};

mod installation;

use installation::Installations;

/// The label value all HTTP figures carry.
const SERVICE: &str = "assisted-installer";

/// Images that have a row of their own. Hosts name them, and no host may fill our memory.
const MOST_IMAGES: usize = 256;

/// The row of all others.
const OTHER_IMAGES: &str = "other";

/// All figures of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Clusters created since the start.
    pub cluster_creations: IntCounter,
    /// Installations started since the start.
    pub installations_started: IntCounter,
    disk_sync: Histogram,
    image_pulls: HistogramVec,
    images: Mutex<HashSet<String>>,
    request_seconds: HistogramVec,
    response_bytes: HistogramVec,
    in_flight: IntGaugeVec,
    refusals: IntCounterVec,
    quarantined: IntGaugeVec,
    disk_usage: IntGauge,
    free_bytes: IntGaugeVec,
    failing: Checks,
    lost: Checks,
    installations: Installations,
}

/// What the driver evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluated {
    /// A cluster with all its hosts.
    Cluster,
    /// A host without a cluster.
    Host,
}

impl Evaluated {
    const ALL: [Self; 2] = [Self::Cluster, Self::Host];

    const fn label(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Host => "host",
        }
    }
}

/// Validations counted by their ids, those of hosts and those of clusters.
#[derive(Debug)]
struct Checks {
    host: IntCounterVec,
    cluster: IntCounterVec,
}

impl Checks {
    fn new(registry: &Registry, when: &str, help: &str) -> Result<Self, prometheus::Error> {
        let counter = |subject: &str| {
            let name = format!("service_assisted_installer_{subject}_validation_{when}");
            let label = format!("{subject}ValidationType");
            let help = format!("Validations of {subject}s that {help}");
            let counter = IntCounterVec::new(Opts::new(name, help), &[&label])?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        Ok(Self {
            host: counter("host")?,
            cluster: counter("cluster")?,
        })
    }
}

impl Metrics {
    /// Registers everything. Fails only if two figures had one name.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let cluster_creations = IntCounter::new(
            "service_assisted_installer_cluster_creations",
            "Clusters created",
        )?;
        let installations_started = IntCounter::new(
            "service_assisted_installer_cluster_installation_started",
            "Installations started",
        )?;
        let disk_sync = Histogram::with_opts(
            HistogramOpts::new(
                "service_assisted_installer_cluster_host_disk_sync_duration_ms",
                "Time an installation disk takes to sync a write",
            )
            .buckets(vec![1.0, 5.0, 10.0, 15.0, 20.0]),
        )?;
        let mut rates = vec![0.1, 0.5, 1.0];
        rates.extend(prometheus::linear_buckets(5.0, 5.0, 10)?);
        let image_pulls = HistogramVec::new(
            HistogramOpts::new(
                "service_assisted_installer_cluster_image_pull_status",
                "Rate at which hosts pull images, in MB/s",
            )
            .buckets(rates),
            &["imageName", "result"],
        )?;
        let labels = ["service", "handler", "method", "code"];
        let request_seconds = HistogramVec::new(
            HistogramOpts::new("http_request_duration_seconds", "Time to answer a request")
                .buckets(vec![
                    0.000_5, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
                ]),
            &labels,
        )?;
        let response_bytes = HistogramVec::new(
            HistogramOpts::new("http_response_size_bytes", "Size of answers")
                .buckets(prometheus::exponential_buckets(100.0, 10.0, 8)?),
            &labels,
        )?;
        let in_flight = IntGaugeVec::new(
            Opts::new("http_requests_inflight", "Requests being answered"),
            &["service", "handler", "method"],
        )?;
        let refusals = IntCounterVec::new(
            Opts::new(
                "muster_refusals_total",
                "Requests, connections and uploads refused by a limit",
            ),
            &["reason"],
        )?;
        for reason in Refusal::ALL {
            refusals.with_label_values(&[reason.label()]);
        }
        let quarantined = IntGaugeVec::new(
            Opts::new(
                "muster_quarantined_rows",
                "Rows of the database that cannot be read and were left unchanged",
            ),
            &["table"],
        )?;
        let disk_usage = IntGauge::new(
            "service_assisted_installer_filesystem_usage_percentage",
            "How full the fullest file system with our data is, in percent",
        )?;
        let free_bytes = IntGaugeVec::new(
            Opts::new(
                "assisted_installer_fs_free_bytes",
                "Free bytes of the file system with this directory",
            ),
            &["directory"],
        )?;
        registry.register(Box::new(free_bytes.clone()))?;
        let installations = Installations::new(&registry)?;
        let failing = Checks::new(
            &registry,
            "is_in_failed_status_on_cluster_deletion",
            "fail when their cluster is deleted",
        )?;
        let lost = Checks::new(
            &registry,
            "failed_after_success_before_installation",
            "fail after they have passed",
        )?;
        registry.register(Box::new(quarantined.clone()))?;
        registry.register(Box::new(disk_usage.clone()))?;
        registry.register(Box::new(refusals.clone()))?;
        registry.register(Box::new(cluster_creations.clone()))?;
        registry.register(Box::new(installations_started.clone()))?;
        registry.register(Box::new(disk_sync.clone()))?;
        registry.register(Box::new(image_pulls.clone()))?;
        registry.register(Box::new(request_seconds.clone()))?;
        registry.register(Box::new(response_bytes.clone()))?;
        registry.register(Box::new(in_flight.clone()))?;
        Ok(Self {
            registry,
            cluster_creations,
            installations_started,
            disk_sync,
            image_pulls,
            images: Mutex::default(),
            request_seconds,
            response_bytes,
            in_flight,
            refusals,
            quarantined,
            disk_usage,
            free_bytes,
            failing,
            lost,
            installations,
        })
    }

    /// Takes over what the stores and disks know about themselves; before each rendering.
    pub async fn look_at(&self, app: &App) {
        let records = async {
            Ok((
                app.store.clusters(Deleted::Excluded).await?,
                app.store.hosts().await?,
            ))
        };
        match records.await {
            Ok((clusters, hosts)) => self.installations.now(
                clusters.iter().map(|row| &*row.value),
                hosts.iter().map(|row| &*row.value),
            ),
            // The page is most needed when the database is not well: the other figures stay.
            Err::<_, muster_store::StoreError>(error) => {
                tracing::warn!(error = error_chain(&error), "clusters could not be counted");
            }
        }
        let data_dir = app.config.data_dir.as_path();
        if let Ok(space) = rustix::fs::statvfs(data_dir) {
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            self.free_bytes
                .with_label_values(&[&*data_dir.to_string_lossy()])
                .set(i64::try_from(free).unwrap_or(i64::MAX));
        }
        for (table, rows) in app.store.quarantined() {
            let rows = i64::try_from(rows).unwrap_or(i64::MAX);
            self.quarantined.with_label_values(&[table]).set(rows);
        }
        self.disk_usage.set(i64::from(app.disks.fullest()));
        for (reason, count) in [
            (Refusal::DatabaseFull, app.store.refused_by_full_disk()),
            (Refusal::FileStoreFull, app.blobs.refused_by_full_disk()),
        ] {
            let counter = self.refusals.with_label_values(&[reason.label()]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
    }

    /// A limit refused something.
    pub fn refused(&self, reason: Refusal) {
        self.refusals.with_label_values(&[reason.label()]).inc();
    }

    /// A request to `handler` (a path template) began.
    pub fn began<'a>(&'a self, handler: &'a str, method: &'a str) -> InFlight<'a> {
        self.in_flight
            .with_label_values(&[SERVICE, handler, method])
            .inc();
        InFlight {
            metrics: self,
            handler,
            method,
            began: Instant::now(),
        }
    }

    /// A change was stored: of these records, with these events.
    pub fn stored<'a>(
        &self,
        cluster: Option<(&Cluster, &Cluster)>,
        hosts: impl Iterator<Item = (&'a Host, &'a Host)>,
        events: &[Event],
        now: Timestamp,
    ) {
        if let Some((before, after)) = cluster {
            self.installations.cluster_changed(before, after, now);
        }
        for (before, after) in hosts {
            self.installations.host_changed(before, after, now);
        }
        for event in events {
            self.installations.figure(event);
        }
    }

    /// An operation that takes longer than a request ended.
    pub fn operation(&self, name: &str, began: Instant) {
        self.installations
            .operation(name, began.elapsed().as_secs_f64() * 1000.0);
    }

    /// The driver has evaluated a cluster or a host without one.
    pub fn evaluation(&self, kind: Evaluated, began: Instant) {
        self.installations
            .evaluation(kind, began.elapsed().as_secs_f64() * 1000.0);
    }

    /// A host has measured something, or the rules have found something.
    pub fn measured(&self, figure: &Measured) {
        match figure {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a histogram of milliseconds needs no exact ones"
            )]
            Measured::DiskSync { milliseconds } => self.disk_sync.observe(*milliseconds as f64),
            Measured::ImagePull {
                image,
                result,
                rate,
            } => {
                let mut known = self.images.lock().unwrap_or_else(PoisonError::into_inner);
                let counted = known.contains(image) || known.len() < MOST_IMAGES;
                let name = if counted { image } else { OTHER_IMAGES };
                self.image_pulls
                    .with_label_values(&[name, result])
                    .observe(*rate);
                if counted {
                    known.insert(image.clone());
                }
            }
            Measured::HostCheckLost { id } => self.lost.host.with_label_values(&[id]).inc(),
            Measured::ClusterCheckLost { id } => self.lost.cluster.with_label_values(&[id]).inc(),
        }
    }

    /// A cluster was deleted; counts what kept it from being installed.
    pub fn deleted_cluster(&self, cluster: &Cluster, hosts: &[Host]) {
        let counted = |counter: &IntCounterVec, stored: Option<&str>| {
            for id in muster_engine::failing_checks(stored) {
                counter.with_label_values(&[&id]).inc();
            }
        };
        counted(&self.failing.cluster, cluster.validations_info.as_deref());
        for host in hosts {
            counted(&self.failing.host, host.validations_info.as_deref());
        }
    }

    /// The page Prometheus reads.
    #[must_use]
    pub fn render(&self) -> Vec<u8> {
        let mut page = Vec::new();
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut page) {
            tracing::warn!(%error, "metrics could not be written");
        }
        page
    }
}

/// A request being answered; counted until dropped, however it ends.
#[derive(Debug)]
pub struct InFlight<'a> {
    metrics: &'a Metrics,
    handler: &'a str,
    method: &'a str,
    began: Instant,
}

impl InFlight<'_> {
    /// It was answered with this status and this many bytes.
    pub fn answered(self, code: &str, bytes: u64) {
        let labels = [SERVICE, self.handler, self.method, code];
        let took = self.began.elapsed().as_secs_f64();
        self.metrics
            .request_seconds
            .with_label_values(&labels)
            .observe(took);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a histogram of sizes needs no exact bytes"
        )]
        self.metrics
            .response_bytes
            .with_label_values(&labels)
            .observe(bytes as f64);
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.metrics
            .in_flight
            .with_label_values(&[SERVICE, self.handler, self.method])
            .dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(figures: impl IntoIterator<Item = Measured>) -> String {
        let metrics = Metrics::new().unwrap();
        for figure in figures {
            metrics.measured(&figure);
        }
        String::from_utf8(metrics.render()).unwrap()
    }

    fn pull(image: String) -> Measured {
        Measured::ImagePull {
            image,
            result: "success".into(),
            rate: 12.0,
        }
    }

    /// Families that are not on this page, or come with the first request.
    const ELSEWHERE: &[&str] = &[
        "muster_image_based_installations_total",
        "http_request_duration_seconds_count",
    ];

    #[test]
    fn what_alerts_ask_the_growth_of_is_there_before_it_grows() {
        let rules = include_str!("../../../deploy/monitoring/muster-alerts.yml");
        let asked = regex::Regex::new(r#"(?:rate|increase)\((\w+)(?:\{(\w+="[^"]*")\})?"#).unwrap();
        let page = page([]);
        let mut looked_at = 0;
        for found in asked.captures_iter(rules) {
            let name = &found[1];
            if ELSEWHERE.contains(&name) {
                continue;
            }
            let label = found.get(2).map_or("", |label| label.as_str());
            let sample = |line: &&str| {
                line.strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(['{', ' ']))
            };
            let mut samples = page
                .lines()
                .filter(sample)
                .filter(|line| line.contains(label));
            let first = samples
                .next()
                .unwrap_or_else(|| panic!("{name} {label} is not in\n{page}"));
            assert!(first.ends_with(" 0"), "{first}");
            looked_at += 1;
        }
        assert!(
            looked_at >= 4,
            "the expressions of the rules are not recognised"
        );
    }

    #[test]
    fn measurements_of_hosts_fall_into_the_known_buckets() {
        let page = page([
            Measured::DiskSync { milliseconds: 7 },
            pull("quay.io/a:1".into()),
        ]);
        let has = |line: &str| assert!(page.contains(line), "{line} in {page}");
        let disk = "service_assisted_installer_cluster_host_disk_sync_duration_ms_bucket";
        has(&format!("{disk}{{le=\"5\"}} 0"));
        has(&format!("{disk}{{le=\"10\"}} 1"));
        let pulls = "service_assisted_installer_cluster_image_pull_status_bucket";
        has(&format!(
            "{pulls}{{imageName=\"quay.io/a:1\",result=\"success\",le=\"15\"}} 1"
        ));
    }

    #[test]
    fn validations_are_counted_when_they_are_lost_and_when_their_cluster_goes() {
        use muster_model::{
            ClusterId, ClusterKind, ClusterStatus, HostId, HostKey, InfraEnvId, Timestamp,
        };
        use uuid::Uuid;

        let metrics = Metrics::new().unwrap();
        metrics.measured(&Measured::HostCheckLost {
            id: "connected".into(),
        });
        metrics.measured(&Measured::ClusterCheckLost {
            id: "api-vips-valid".into(),
        });
        let id = ClusterId(Uuid::nil());
        let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Insufficient);
        let mut cluster = Cluster::blank(id, kind, "c", status, "admin", Timestamp(0));
        let found = r#"{"network":[{"id":"dns-domain-defined","status":"failure","message":""},
                        {"id":"ntp-server-configured","status":"success","message":""}]}"#;
        cluster.validations_info = Some(found.into());
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::nil()),
            host: HostId(Uuid::nil()),
        };
        let mut host = Host::registered(key, Some(id), "admin", Timestamp(0));
        let found = r#"{"hardware":[{"id":"has-min-memory","status":"failure","message":""}]}"#;
        host.validations_info = Some(found.into());
        metrics.deleted_cluster(&cluster, &[host]);
        let page = String::from_utf8(metrics.render()).unwrap();
        let deleted = "validation_is_in_failed_status_on_cluster_deletion";
        let lost = "validation_failed_after_success_before_installation";
        for line in [
            format!("host_{deleted}{{hostValidationType=\"has-min-memory\"}} 1"),
            format!("cluster_{deleted}{{clusterValidationType=\"dns-domain-defined\"}} 1"),
            format!("host_{lost}{{hostValidationType=\"connected\"}} 1"),
            format!("cluster_{lost}{{clusterValidationType=\"api-vips-valid\"}} 1"),
        ] {
            let line = format!("service_assisted_installer_{line}");
            assert!(page.contains(&line), "{line} in {page}");
        }
        assert!(!page.contains("ntp-server-configured"));
    }

    #[test]
    fn hosts_cannot_make_up_images_without_end() {
        let page = page((0..MOST_IMAGES + 50).map(|number| pull(format!("image-{number}"))));
        let counts = page.lines().filter(|line| line.contains("status_count{"));
        assert_eq!(counts.count(), MOST_IMAGES + 1);
        assert!(page.contains("imageName=\"other\",result=\"success\"} 50"));
    }
}
