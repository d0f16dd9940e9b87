//! Reading releases from a real `docker-registry` with TLS and passwords, over good links and bad,
//! and from servers that mean harm.

mod faults;
mod hostile;
mod mirrors;
mod reading;
mod retries;
mod support;
