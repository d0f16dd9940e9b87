//! How much memory requests may use at a time, in total and per address.
//!
//! Units are taken before memory is, and given back when the request is done. Who finds none
//! waits for a while and is then asked to come back later; agents do. An address gets at most
//! half, so a flood from one place leaves the other half to everyone else.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use muster_app::quotas::address::block_of;

/// Something that is there in a limited number of units.
#[derive(Debug)]
pub struct Budget {
    all: Arc<Semaphore>,
    of_address: u32,
    /// Gone once the last request of an address is.
    addresses: Mutex<HashMap<IpAddr, Weak<Semaphore>>>,
}

/// Units in use; free again when dropped.
#[derive(Debug)]
pub struct Share {
    _all: OwnedSemaphorePermit,
    _of_address: OwnedSemaphorePermit,
}

impl Budget {
    /// This many units; an address gets at most half of them.
    pub fn new(units: u32) -> Self {
        let units = units.max(2);
        Self {
            all: Arc::new(Semaphore::new(units as usize)),
            of_address: units / 2,
            addresses: Mutex::default(),
        }
    }

    /// Waits for units; none if there are not enough in time. More than an address may have
    /// counts as all that it may have, so that one large request is not refused for ever.
    pub async fn take(&self, peer: IpAddr, units: u32, wait: Duration) -> Option<Share> {
        let units = units.clamp(1, self.of_address);
        let own = self.of(block_of(peer));
        let both = async {
            // Its own share first: who waits for that holds nothing that others need.
            let of_address = own.acquire_many_owned(units).await.ok()?;
            let all = Arc::clone(&self.all).acquire_many_owned(units).await.ok()?;
            Some(Share {
                _all: all,
                _of_address: of_address,
            })
        };
        timeout(wait, both).await.ok().flatten()
    }

    fn of(&self, address: IpAddr) -> Arc<Semaphore> {
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = addresses.get(&address).and_then(Weak::upgrade) {
            return own;
        }
        addresses.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.of_address as usize));
        addresses.insert(address, Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn address(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    #[tokio::test]
    async fn one_address_gets_half_and_gives_it_back() {
        let budget = Budget::new(10);
        let first = budget.take(address(1), 4, SOON).await.unwrap();
        assert!(budget.take(address(1), 2, SOON).await.is_none());
        let other = budget.take(address(2), 5, SOON).await.unwrap();
        assert!(budget.take(address(3), 2, SOON).await.is_none());
        drop(other);
        assert!(budget.take(address(3), 5, SOON).await.is_some());
        drop(first);
        let large = budget.take(address(1), 1000, SOON).await;
        assert!(large.is_some(), "it counts as the whole share");
    }

    #[tokio::test]
    async fn who_waits_gets_what_becomes_free() {
        let budget = Budget::new(4);
        let share = budget.take(address(1), 2, SOON).await.unwrap();
        let waiting = budget.take(address(1), 2, Duration::from_secs(20));
        let (got, ()) = tokio::join!(waiting, async { drop(share) });
        assert!(got.is_some());
    }

    #[tokio::test]
    async fn addresses_are_forgotten() {
        let budget = Budget::new(4);
        for n in 0..100 {
            assert!(budget.take(address(n), 1, SOON).await.is_some());
        }
        assert!(budget.addresses.lock().unwrap().len() <= 2);
    }
}
