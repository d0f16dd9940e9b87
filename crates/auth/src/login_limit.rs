//! Rate limits of logins, by name and address.
//!
//! Attempts are counted per name and address. A few are free; after that each further one has to
//! wait, twice as long every time up to a minute: guessing is slow, and it delays only the
//! guesser's address, not the owner of the name at another one.
//!
//! Guessing from many addresses meets a second, much looser count of the name alone. It does not
//! hold up addresses from which the name has logged in before, so the owner gets in at the usual
//! place even then.
//!
//! Guessing at many names from one address meets a third count, of the address alone. It is looser
//! for an address from which someone has logged in before, which may be a proxy or an office, and
//! it does not hold up a name that has logged in from there itself.
//!
//! Names that do not exist are treated the same, or the difference would reveal which ones do; but
//! they are counted separately, so that invented names cannot evict the counts of real ones.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

/// Seconds without an attempt after which a count is dropped.
const FORGET_AFTER: i64 = 15 * 60;
/// Names, and pairs of name and address, that are counted at the same time.
const ROOM: usize = 8192;

/// How attempts are slowed down.
struct Pace {
    /// Attempts without any waiting.
    free: u32,
    /// Longest wait between two attempts, in seconds.
    longest_wait: i64,
}

const PER_ADDRESS: Pace = Pace {
    free: 5,
    longest_wait: 60,
};
const PER_NAME: Pace = Pace {
    free: 100,
    longest_wait: 10,
};
const ANY_NAME: Pace = Pace {
    free: 100,
    longest_wait: 60,
};
const ANY_NAME_PROVEN: Pace = Pace {
    free: 1000,
    longest_wait: 2,
};

/// Counts attempts per name and address.
#[derive(Debug, Default)]
pub(crate) struct LoginLimit {
    known: Mutex<Counts>,
    strangers: Mutex<Counts>,
    /// Failures under any name.
    peers: Mutex<HashMap<IpAddr, Attempts>>,
}

#[derive(Debug, Default)]
struct Counts {
    addresses: HashMap<(String, IpAddr), Attempts>,
    names: HashMap<String, Attempts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Attempts {
    failures: u32,
    last: i64,
    not_before: i64,
    /// The name, or any name, has logged in from this address.
    proven: bool,
}

impl Attempts {
    fn wait(&self, pace: &Pace, now: i64) -> i64 {
        let left = self.not_before - now;
        // More than the longest wait is left only if the clock was turned back meanwhile.
        if left > pace.longest_wait {
            return 0;
        }
        left.max(0)
    }

    /// The pace of an address for all names together.
    fn any_name(&self) -> &'static Pace {
        if self.proven {
            &ANY_NAME_PROVEN
        } else {
            &ANY_NAME
        }
    }

    fn count(&mut self, pace: &Pace, now: i64) {
        if now - self.last > FORGET_AFTER {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.last = now;
        self.not_before = match self.failures.checked_sub(pace.free) {
            Some(beyond) => now + (1_i64 << beyond.min(6)).min(pace.longest_wait),
            None => 0,
        };
    }
}

impl LoginLimit {
    /// Counts an attempt before it is made, so that many at once cannot slip through together.
    /// `Err` is the number of seconds to wait.
    pub(crate) fn begin(&self, name: &str, known: bool, peer: IpAddr, now: i64) -> Result<(), i64> {
        let counts = if known { &self.known } else { &self.strangers };
        // A poisoned lock still guards valid counts: they are plain numbers.
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Counts { addresses, names } = &mut *counts;
        let of_address = slot(addresses, (name.to_owned(), network(peer)));
        let of_name = slot(names, name.to_owned());
        let mut wait = of_address.wait(&PER_ADDRESS, now);
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = slot(&mut peers, network(peer));
        let any_name = of_peer.any_name();
        if !of_address.proven {
            wait = wait.max(of_name.wait(&PER_NAME, now));
            wait = wait.max(of_peer.wait(any_name, now));
        }
        if wait > 0 {
            return Err(wait);
        }
        of_address.count(&PER_ADDRESS, now);
        of_name.count(&PER_NAME, now);
        of_peer.count(any_name, now);
        Ok(())
    }

    /// The attempt was a success: the name starts afresh here, and this address is proven.
    pub(crate) fn succeeded(&self, name: &str, peer: IpAddr, now: i64) {
        let mut counts = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        counts.names.remove(name);
        *slot(&mut counts.addresses, (name.to_owned(), network(peer))) = Attempts {
            last: now,
            proven: true,
            ..Attempts::default()
        };
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = slot(&mut peers, network(peer));
        // Only this attempt is taken back: an account of one's own gives no further guesses.
        of_peer.failures = of_peer.failures.saturating_sub(1);
        of_peer.proven = true;
    }
}

/// The counts of `key`, with room made for them: proven addresses go last, old ones first.
fn slot<K: Clone + Eq + Hash>(table: &mut HashMap<K, Attempts>, key: K) -> &mut Attempts {
    if table.len() >= ROOM && !table.contains_key(&key) {
        let oldest = table
            .iter()
            .min_by_key(|(_, attempts)| (attempts.proven, attempts.last));
        if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
            table.remove(&oldest);
        }
    }
    table.entry(key).or_default()
}

/// What one customer of a provider gets: an IPv4 address, or 64 bits of an IPv6 one.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    /// The n-th of many other addresses.
    fn elsewhere(n: u32) -> IpAddr {
        IpAddr::V4((0x0a00_0000 + n).into())
    }

    fn exhaust(limit: &LoginLimit, name: &str, peer: IpAddr, now: i64) {
        while limit.begin(name, true, peer, now).is_ok() {}
    }

    #[test]
    fn after_the_free_attempts_the_wait_doubles_up_to_a_minute() {
        let limit = LoginLimit::default();
        for _ in 0..PER_ADDRESS.free {
            assert_eq!(limit.begin("ann", true, HOME, 1000), Ok(()));
        }
        let mut now = 1000;
        let mut waits = Vec::new();
        for _ in 0..9 {
            let wait = limit.begin("ann", true, HOME, now).unwrap_err();
            waits.push(wait);
            now += wait;
            assert_eq!(limit.begin("ann", true, HOME, now), Ok(()));
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn guessing_from_one_address_does_not_delay_others() {
        let limit = LoginLimit::default();
        for now in 1000..2000 {
            let _ = limit.begin("ann", true, elsewhere(1), now);
        }
        assert!(limit.begin("ann", true, elsewhere(1), 2000).is_err());
        assert_eq!(limit.begin("ann", true, HOME, 2000), Ok(()));
    }

    #[test]
    fn guessing_from_many_addresses_is_slowed_down_but_not_at_a_proven_one() {
        let limit = LoginLimit::default();
        limit.succeeded("ann", HOME, 900);
        let admitted = (0..10_000)
            .filter(|n| limit.begin("ann", true, elsewhere(*n), 1000).is_ok())
            .count();
        assert_eq!(admitted, PER_NAME.free as usize);
        assert_eq!(limit.begin("ann", true, elsewhere(20_000), 1000), Err(1));
        assert_eq!(limit.begin("ann", true, HOME, 1000), Ok(()));
        exhaust(&limit, "ann", HOME, 1000);
        let guesses_there = limit.begin("ann", true, HOME, 1000);
        assert_eq!(
            guesses_there,
            Err(1),
            "a proven address has its own limit still"
        );
    }

    /// How many invented names an address may try at this moment.
    fn sprayed(limit: &LoginLimit, peer: IpAddr) -> usize {
        let try_one = |n: &u32| limit.begin(&format!("name-{n}"), false, peer, 1000).is_ok();
        (0..10_000).take_while(try_one).count()
    }

    #[test]
    fn guessing_at_many_names_from_one_address_is_slowed_down() {
        let limit = LoginLimit::default();
        assert_eq!(sprayed(&limit, elsewhere(1)), ANY_NAME.free as usize);
        assert_eq!(limit.begin("ann", true, elsewhere(1), 1000), Err(1));
        assert_eq!(limit.begin("ann", true, HOME, 1000), Ok(()));
    }

    #[test]
    fn an_address_that_has_logged_in_has_more_room_and_its_users_are_not_held_up() {
        let limit = LoginLimit::default();
        limit.begin("ann", true, HOME, 900).unwrap();
        limit.succeeded("ann", HOME, 900);
        assert_eq!(sprayed(&limit, HOME), ANY_NAME_PROVEN.free as usize);
        assert_eq!(limit.begin("bob", true, HOME, 1000), Err(1));
        assert_eq!(limit.begin("ann", true, HOME, 1000), Ok(()));
    }

    #[test]
    fn logging_in_to_an_own_account_does_not_clear_what_was_guessed() {
        let limit = LoginLimit::default();
        for round in 0..50 {
            limit.begin("eve", true, HOME, 1000).unwrap();
            limit.succeeded("eve", HOME, 1000);
            let name = format!("name-{round}");
            limit.begin(&name, false, HOME, 1000).unwrap();
        }
        let peers = limit.peers.lock().unwrap();
        assert_eq!(peers[&HOME].failures, 50);
    }

    #[test]
    fn success_and_silence_both_clear_the_count() {
        let limit = LoginLimit::default();
        exhaust(&limit, "ann", HOME, 1000);
        limit.succeeded("ann", HOME, 1000);
        assert_eq!(limit.begin("ann", true, HOME, 1000), Ok(()));
        exhaust(&limit, "bob", HOME, 1000);
        let later = 1001 + FORGET_AFTER;
        for _ in 0..PER_ADDRESS.free {
            assert_eq!(limit.begin("bob", true, HOME, later), Ok(()));
        }
    }

    #[test]
    fn invented_names_stay_bounded_and_leave_real_ones_counted() {
        let limit = LoginLimit::default();
        exhaust(&limit, "ann", HOME, 1000);
        for number in 0..ROOM + 50 {
            let name = format!("stranger-{number}");
            let peer = elsewhere(u32::try_from(number / 50).unwrap());
            assert_eq!(limit.begin(&name, false, peer, 1000), Ok(()));
        }
        let strangers = limit.strangers.lock().unwrap();
        assert_eq!(
            (strangers.names.len(), strangers.addresses.len()),
            (ROOM, ROOM)
        );
        assert!(limit.begin("ann", true, HOME, 1000).is_err());
    }

    #[test]
    fn many_addresses_stay_bounded_and_push_out_no_proven_one() {
        let limit = LoginLimit::default();
        limit.succeeded("ann", HOME, 0);
        for number in 0..(ROOM as u32 + 50) {
            let _ = limit.begin("bob", true, elsewhere(number), 1000);
        }
        let counts = limit.known.lock().unwrap();
        assert_eq!(counts.addresses.len(), ROOM);
        assert!(counts.addresses[&("ann".to_owned(), HOME)].proven);
    }

    #[test]
    fn neighbours_in_one_ipv6_network_and_mapped_addresses_are_the_same() {
        let at = |text: &str| network(text.parse().unwrap());
        assert_eq!(at("2001:db8:1:2::1"), at("2001:db8:1:2:ffff::9"));
        assert_ne!(at("2001:db8:1:2::1"), at("2001:db8:1:3::1"));
        assert_eq!(at("::ffff:192.0.2.1"), HOME);
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
    }

    #[test]
    fn a_clock_turned_back_does_not_lock_a_name_for_years() {
        let limit = LoginLimit::default();
        exhaust(&limit, "ann", HOME, 1_000_000);
        assert_eq!(limit.begin("ann", true, HOME, 0), Ok(()));
    }
}
