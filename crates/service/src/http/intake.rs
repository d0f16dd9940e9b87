//! What requests may bring in at a time: bytes, what is parsed from them, and uploads.

use std::{net::IpAddr, time::Duration};

use http::StatusCode;
use muster_app::{metrics::Metrics, refusals::Refusal};
use muster_config::sections::Server;
use muster_model::JsonSize;

use super::budget::{Budget, Share};
use crate::http::Failure;

/// Most values in a JSON body; a request for a thousand hosts has a third of it.
pub const MOST_VALUES: usize = 50_000;

/// What a value may take once it is parsed.
const VALUE_BYTES: usize = 320;
/// Memory is counted in such units.
const UNIT: u64 = 1 << 10;
/// How long a request waits for memory, and an upload for a place.
const WAIT: Duration = Duration::from_secs(10);
const UPLOAD_WAIT: Duration = Duration::from_secs(60);

/// The budgets of the service.
#[derive(Debug)]
pub struct Intake {
    bytes: Budget,
    /// A budget of its own, taken after the bytes: who holds parsed values waits for nothing more.
    parsed: Budget,
    /// The same for outputs of steps, which are JSON inside of JSON.
    outputs: Budget,
    uploads: Budget,
}

/// Memory that a request holds.
#[derive(Debug)]
pub struct Held(Vec<Share>);

impl Held {
    /// Holds more.
    pub fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl Intake {
    /// As configured.
    pub fn new(settings: &Server) -> Self {
        let memory = units(settings.max_body_bytes_in_flight);
        Self {
            bytes: Budget::new(memory),
            parsed: Budget::new(memory / 2),
            outputs: Budget::new(memory / 2),
            uploads: Budget::new(settings.max_uploads),
        }
    }

    /// Memory for a body.
    pub async fn bytes(
        &self,
        metrics: &Metrics,
        peer: IpAddr,
        count: u64,
    ) -> Result<Held, Failure> {
        let share = self.bytes.take(peer, units(count), WAIT).await;
        held(metrics, share)
    }

    /// Memory for what a JSON text is parsed to.
    pub async fn parsed(
        &self,
        metrics: &Metrics,
        peer: IpAddr,
        size: JsonSize,
    ) -> Result<Held, Failure> {
        let bytes = size.values.saturating_mul(VALUE_BYTES) as u64;
        let share = self.parsed.take(peer, units(bytes), WAIT).await;
        held(metrics, share)
    }

    /// Memory for what the output of a step is parsed to.
    pub async fn output(
        &self,
        metrics: &Metrics,
        peer: IpAddr,
        size: JsonSize,
    ) -> Result<Held, Failure> {
        let bytes = size.values.saturating_mul(VALUE_BYTES) as u64;
        let share = self.outputs.take(peer, units(bytes), WAIT).await;
        held(metrics, share)
    }

    /// A place for an upload.
    pub async fn upload(&self, metrics: &Metrics, peer: IpAddr) -> Result<Share, Failure> {
        let place = self.uploads.take(peer, 1, UPLOAD_WAIT).await;
        place.ok_or_else(|| {
            metrics.refused(Refusal::UploadsInFlight);
            busy("too many uploads at the moment (server.max_uploads); try again in a few seconds")
        })
    }
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT))
        .unwrap_or(u32::MAX >> 4)
        .min(u32::MAX >> 4)
}

fn held(metrics: &Metrics, share: Option<Share>) -> Result<Held, Failure> {
    share.map(|share| Held(vec![share])).ok_or_else(|| {
        metrics.refused(Refusal::BodiesInFlight);
        busy(
            "too many large requests at the moment (server.max_body_bytes_in_flight); \
             try again in a few seconds",
        )
    })
}

fn busy(message: &str) -> Failure {
    Failure::infra(StatusCode::SERVICE_UNAVAILABLE, message)
}
