//! The state machines: ordered tables of named rules. The first rule that fits wins, so order
//! is meaning. [`host::HOST_RULES`], [`pool::POOL_RULES`] and [`cluster::CLUSTER_RULES`] are
//! the whole behaviour of time and validations; what people and agents do is in [`triggers`].
//! Each row names the statuses it may lead to, so that [`crate::tables`] can print the whole
//! machine; a row that led elsewhere would stop a test build.

pub(crate) mod cluster;
mod cluster_effects;
mod cluster_facts;
pub(crate) mod coverage;
pub(crate) mod host;
mod host_facts;
pub(crate) mod pool;
pub(crate) mod step;
pub(crate) mod triggers;
