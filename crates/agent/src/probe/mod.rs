//! Asking the network directly: ARP, neighbour discovery and ICMP over our own sockets.
//!
//! The reference starts a process for every address it tries; here one socket per interface or
//! family tries all of them side by side, at a bounded rate. [`packet`] knows the bytes and does
//! no I/O; the others send and listen.

pub mod arp;
pub mod links;
pub mod ndp;
pub mod packet;
pub mod ping;
pub mod ports;
pub mod socket;

use std::time::Duration;

/// Packets between two rests; small bursts keep queues of cheap switches from overflowing.
const BURST: usize = 32;
const REST: Duration = Duration::from_millis(25);

/// Keeps the rate of packets bounded, whatever the number of targets.
#[derive(Debug, Default)]
struct Pace(usize);

impl Pace {
    async fn step(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(BURST) {
            tokio::time::sleep(REST).await;
        }
    }
}
