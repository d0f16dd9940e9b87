//! Rules for single members that clusters and infra-envs share.
//!
//! Pure functions: a text in, the cleaned text (or nothing) or a sentence for the client out.
//! None of them repeats a value that may carry credentials (proxy addresses, pull secrets).

pub mod ntp;
pub mod pem;
pub mod proxy;
pub mod pull_secret;
pub mod ssh_keys;
