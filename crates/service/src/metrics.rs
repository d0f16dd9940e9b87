//! Figures for Prometheus, under the names dashboards already know.

use std::time::Instant;

use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounter, IntGaugeVec, Opts, Registry, TextEncoder,
};

/// The label value all HTTP figures carry.
const SERVICE: &str = "assisted-installer";

/// All figures of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Clusters created since the start.
    pub cluster_creations: IntCounter,
    /// Installations started since the start.
    pub installations_started: IntCounter,
    request_seconds: HistogramVec,
    response_bytes: HistogramVec,
    in_flight: IntGaugeVec,
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
        registry.register(Box::new(cluster_creations.clone()))?;
        registry.register(Box::new(installations_started.clone()))?;
        registry.register(Box::new(request_seconds.clone()))?;
        registry.register(Box::new(response_bytes.clone()))?;
        registry.register(Box::new(in_flight.clone()))?;
        Ok(Self {
            registry,
            cluster_creations,
            installations_started,
            request_seconds,
            response_bytes,
            in_flight,
        })
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
    /// It was answered with this status and so many bytes.
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
