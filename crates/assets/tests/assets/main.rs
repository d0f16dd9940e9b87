//! The whole way from an install-config to Ignition, judged by the programs that will read it.

mod cases;
mod consumption;
mod golden;
mod readers;
mod scripts;
