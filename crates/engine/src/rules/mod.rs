//! The state machines: ordered tables of named rules. The first rule that fits wins, so order
//! is meaning. [`host::HOST_RULES`], [`pool::POOL_RULES`] and [`cluster::CLUSTER_RULES`] are
//! the whole behaviour of time and validations; requests have modules of their own.
//!
//! Soft timeouts (warn instead of fail) are left to a later version.

pub(crate) mod cluster;
mod cluster_facts;
pub(crate) mod host;
mod host_facts;
pub(crate) mod pool;
