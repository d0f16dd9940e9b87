//! Settings that follow from others, and rules that bind several of them.
//!
//! Runs after all layers are in. Each step fills what was not given, notes how it was found, and
//! complains about combinations that cannot work.

mod callers;
mod limits;
mod places;

use crate::errors::ConfigError;
use crate::load::{Loading, Origin, Sources};

/// Fills and checks everything, in order of dependence.
pub(crate) fn settle(loading: &mut Loading, sources: &Sources) {
    places::data_dir(loading, sources);
    places::database(loading);
    places::storage(loading);
    callers::tls_files(loading);
    callers::addresses(loading, sources);
    callers::auth(loading);
    limits::timeouts(loading);
    limits::ranges(loading);
}

impl Loading {
    fn derived(&mut self, key: &'static str, how: &str) {
        self.origins.insert(key, Origin::Derived(how.into()));
    }

    fn complain(&mut self, key: &str, problem: impl Into<String>) {
        let place = self.place(key);
        self.errors.push(ConfigError::new(place, problem));
    }
}

#[cfg(test)]
mod tests;
