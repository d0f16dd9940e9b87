//! Counts connections per address, and selects one to close when there are too many.
//!
//! A connection costs a file descriptor and some memory before it says anything, so there is an
//! upper bound for all and one for each address. A new connection is worth more than one on
//! which nothing happens: when a bound is reached, the connection that has been without a request
//! for longest is closed in favour of the new one. Below the bound of all connections that is one
//! of the address that has most, so that a crowd from one place pushes out itself first.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use muster_app::quotas::address::block_of;
use tokio::sync::Notify;

/// All connections of a listener.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    most_of_address: usize,
    open: Mutex<Open>,
    /// Called when a place may have become free.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    count: usize,
    /// Numbers connections, and orders them by when their last request ended.
    clock: u64,
    addresses: HashMap<IpAddr, Address>,
}

#[derive(Debug, Default)]
struct Address {
    open: HashMap<u64, Connection>,
    /// Connections without a request, the longest of them first.
    idle: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct Connection {
    requests: usize,
    idle_since: u64,
    signals: Arc<Signals>,
}

/// What a connection and the bookkeeping exchange.
#[derive(Debug, Default)]
pub struct Signals {
    evicted: Notify,
    /// Part of an answer has not been handed to the kernel yet.
    writing: AtomicBool,
}

impl Signals {
    /// Notes whether an answer is on its way.
    pub fn set_writing(&self, writing: bool) {
        self.writing.store(writing, Ordering::Relaxed);
    }

    /// Returns when the connection has to make room.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }

    fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Relaxed)
    }
}

/// What became of a new connection.
#[derive(Debug)]
pub enum Admission {
    /// It has a place.
    Admitted(Arc<Place>),
    /// It has one, and another connection was closed for it.
    AfterEviction(Arc<Place>),
    /// Its address has as many as it may have, and all are at work.
    AddressIsFull,
    /// All places are in use by connections at work.
    Full,
}

impl Connections {
    /// No connections yet, and never more than `most`, of one address `most_of_address`.
    pub fn new(most: usize, most_of_address: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            most_of_address,
            open: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Tries to find a place for a connection from `peer`.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Admission {
        let address = block_of(peer);
        let mut open = self.open();
        let here = open.addresses.get(&address).map_or(0, |at| at.open.len());
        let mut evicted = false;
        if here >= self.most_of_address {
            if !open.evict(address) {
                return Admission::AddressIsFull;
            }
            evicted = true;
        } else if open.count >= self.most {
            if !open.evict_of_largest() {
                return Admission::Full;
            }
            evicted = true;
        }
        let (id, signals) = open.add(address);
        let place = Arc::new(Place {
            connections: Arc::clone(self),
            address,
            id,
            signals,
        });
        match evicted {
            true => Admission::AfterEviction(place),
            false => Admission::Admitted(place),
        }
    }

    /// Returns when it is worth trying again.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // A poisoned lock still guards valid books: no step of a change can panic.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn add(&mut self, address: IpAddr) -> (u64, Arc<Signals>) {
        self.clock += 1;
        let id = self.clock;
        let signals = Arc::<Signals>::default();
        let connection = Connection {
            requests: 0,
            idle_since: id,
            signals: Arc::clone(&signals),
        };
        let at = self.addresses.entry(address).or_default();
        at.open.insert(id, connection);
        at.idle.insert(id, id);
        self.count += 1;
        (id, signals)
    }

    fn remove(&mut self, address: IpAddr, id: u64) -> Option<Connection> {
        let at = self.addresses.get_mut(&address)?;
        let connection = at.open.remove(&id)?;
        at.idle.remove(&connection.idle_since);
        if at.open.is_empty() {
            self.addresses.remove(&address);
        }
        self.count -= 1;
        Some(connection)
    }

    /// Closes the connection of an address that has been idle for longest, if there is one.
    fn evict(&mut self, address: IpAddr) -> bool {
        let Some(at) = self.addresses.get(&address) else {
            return false;
        };
        let found = at.idle.values().copied().find(|id| {
            let connection = at.open.get(id);
            connection.is_some_and(|connection| !connection.signals.is_writing())
        });
        let Some(connection) = found.and_then(|id| self.remove(address, id)) else {
            return false;
        };
        connection.signals.evicted.notify_one();
        true
    }

    /// The same for the address that has most connections and an idle one.
    fn evict_of_largest(&mut self) -> bool {
        let with_idle = self
            .addresses
            .iter()
            .filter(|(_, address)| !address.idle.is_empty());
        let largest = with_idle
            .max_by_key(|(_, address)| address.open.len())
            .map(|(address, _)| *address);
        largest.is_some_and(|address| self.evict(address))
    }

    fn count_requests(&mut self, address: IpAddr, id: u64, change: impl FnOnce(usize) -> usize) {
        self.clock += 1;
        let now = self.clock;
        let Some(at) = self.addresses.get_mut(&address) else {
            return;
        };
        let Some(connection) = at.open.get_mut(&id) else {
            return;
        };
        at.idle.remove(&connection.idle_since);
        connection.requests = change(connection.requests);
        if connection.requests == 0 {
            connection.idle_since = now;
            at.idle.insert(now, id);
        }
    }
}

/// The place of one connection; free again when dropped.
#[derive(Debug)]
pub struct Place {
    connections: Arc<Connections>,
    address: IpAddr,
    id: u64,
    signals: Arc<Signals>,
}

impl Place {
    /// What the connection has to heed.
    pub fn signals(&self) -> Arc<Signals> {
        Arc::clone(&self.signals)
    }

    /// A request is in progress until what is returned is dropped.
    pub fn request(self: &Arc<Self>) -> InProgress {
        self.count(|requests| requests + 1);
        InProgress(Arc::clone(self))
    }

    fn count(&self, change: impl FnOnce(usize) -> usize) {
        let mut open = self.connections.open();
        open.count_requests(self.address, self.id, change);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open().remove(self.address, self.id);
        self.connections.changed.notify_one();
    }
}

/// A request in progress.
#[derive(Debug)]
pub struct InProgress(Arc<Place>);

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.count(|requests| requests.saturating_sub(1));
        self.0.connections.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    fn place(admission: Admission) -> Arc<Place> {
        match admission {
            Admission::Admitted(place) | Admission::AfterEviction(place) => place,
            other => panic!("{other:?}"),
        }
    }

    async fn is_evicted(place: &Place) -> bool {
        let soon = std::time::Duration::from_millis(20);
        tokio::time::timeout(soon, place.signals.evicted())
            .await
            .is_ok()
    }

    #[tokio::test]
    async fn the_connection_that_was_idle_for_longest_makes_room() {
        let all = Connections::new(100, 3);
        let places: Vec<_> = (0..3).map(|_| place(all.admit(address(1)))).collect();
        // The first has had a request since, the second has one now.
        drop(places[0].request());
        let running = places[1].request();
        assert!(matches!(all.admit(address(1)), Admission::AfterEviction(_)));
        assert!(is_evicted(&places[2]).await);
        assert!(!is_evicted(&places[0]).await && !is_evicted(&places[1]).await);
        drop(running);
    }

    #[tokio::test]
    async fn an_address_whose_connections_are_all_at_work_gets_no_more() {
        let all = Connections::new(100, 2);
        let (one, two) = (place(all.admit(address(1))), place(all.admit(address(1))));
        let running = one.request();
        // The answer to an earlier request is still being sent.
        two.signals().set_writing(true);
        assert!(matches!(all.admit(address(1)), Admission::AddressIsFull));
        let other = place(all.admit(address(2)));
        assert!(!is_evicted(&other).await);
        drop(running);
        assert!(matches!(all.admit(address(1)), Admission::AfterEviction(_)));
        assert!(is_evicted(&one).await);
    }

    #[tokio::test]
    async fn when_all_is_full_the_largest_crowd_makes_room() {
        let all = Connections::new(4, 3);
        let lone = place(all.admit(address(9)));
        let crowd: Vec<_> = (0..3).map(|_| place(all.admit(address(1)))).collect();
        let new = place(all.admit(address(2)));
        assert!(is_evicted(&crowd[0]).await && !is_evicted(&lone).await);
        let at_work = [&lone, &crowd[1], &crowd[2], &new].map(Place::request);
        assert!(matches!(all.admit(address(3)), Admission::Full));
        drop(at_work);
        drop(crowd);
        assert!(matches!(all.admit(address(3)), Admission::Admitted(_)));
    }

    #[test]
    fn places_become_free_once_and_only_once() {
        let all = Connections::new(100, 1);
        let first = place(all.admit(address(1)));
        let second = place(all.admit(address(1)));
        drop(first);
        assert_eq!(all.open().count, 1);
        drop(second);
        assert_eq!(all.open().count, 0);
        assert!(all.open().addresses.is_empty());
    }
}
