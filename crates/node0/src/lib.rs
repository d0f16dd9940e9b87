//! The service on the rendezvous host of an agent-based installation.
//!
//! A third shell over `muster-app`, beside REST and the command line: [`run::Node0`] opens the
//! REST service, registers the one cluster that the image describes ([`files`], [`registration`]),
//! applies what the image knows of single hosts ([`host_config`]), presses install when the hosts
//! that the image names are ready ([`gate`]), shows on the console what it waits for ([`console`]),
//! and writes what happened into the new cluster, because this service ends with the live system
//! it runs in ([`handover`]). On a host that joins a running cluster, [`join`] takes the place of the
//! last steps.
//!
//! Every step is a reconciliation: it looks at the records and does what is missing, so a restart
//! continues where the last run was.

pub mod console;
pub mod environment;
pub mod files;
pub mod gate;
pub mod handover;
pub mod hints;
pub mod host_config;
pub mod join;
pub mod registration;
pub mod run;
pub mod settings;
