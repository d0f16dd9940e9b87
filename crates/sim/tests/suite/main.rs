//! Simulated fleets against a real service in the same process: every topology to its end, every
//! fault to the place where it is noticed, and back to health where it can be repaired, and all that
//! with a service that is restarted meanwhile.

// Every function here is part of a test.
#![allow(clippy::unwrap_used)]

mod faults;
mod features;
mod restart;
mod stage;
mod topologies;
