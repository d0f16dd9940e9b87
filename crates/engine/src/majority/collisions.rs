//! Addresses that two NICs answer for.
//!
//! A host that hears two different cards answer for one address on one of its links has found a
//! collision. What any host finds counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::reports::Connectivity;

/// The cards that answer for each contested address, over all hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Collisions(BTreeMap<String, BTreeSet<String>>);

impl Collisions {
    /// Adds what one host heard.
    pub(super) fn note(&mut self, report: &Connectivity) {
        let mut heard: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        for remote in report.remote_hosts.items() {
            for l2 in remote.l2_connectivity.items() {
                if l2.remote_mac.is_empty() {
                    continue;
                }
                let place = (l2.outgoing_nic.as_str(), l2.remote_ip_address.as_str());
                let first = *heard.entry(place).or_insert(&l2.remote_mac);
                if !first.eq_ignore_ascii_case(&l2.remote_mac) {
                    let cards = self.0.entry(l2.remote_ip_address.clone()).or_default();
                    cards.extend([first.to_owned(), l2.remote_mac.clone()]);
                }
            }
        }
    }

    /// The stored form.
    pub(super) fn by_address(&self) -> BTreeMap<String, Vec<String>> {
        let lists = self.0.iter();
        lists
            .map(|(ip, cards)| (ip.clone(), cards.iter().cloned().collect()))
            .collect()
    }
}
