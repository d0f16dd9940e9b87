//! Power of machines: switching one off, or off and on again.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tokio::task::AbortHandle;
use uuid::Uuid;

/// The plugs of all machines of a scenario.
#[derive(Debug, Default)]
pub struct Plugs(Mutex<HashMap<Uuid, AbortHandle>>);

impl Plugs {
    /// A machine runs; what ran in its place before is switched off.
    pub(crate) fn plug_in(&self, machine: Uuid, running: AbortHandle) {
        if let Some(before) = self.lock().insert(machine, running) {
            before.abort();
        }
    }

    /// Switches a machine off in the middle of whatever it does; false if it was not on.
    pub fn pull(&self, machine: Uuid) -> bool {
        let running = self.lock().remove(&machine);
        running.is_some_and(|running| {
            let on = !running.is_finished();
            running.abort();
            on
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Uuid, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_plug_is_pulled_once_and_a_new_run_ends_the_old_one() {
        let plugs = Plugs::default();
        let id = Uuid::from_u128(1);
        let runs = || tokio::spawn(std::future::pending::<()>());
        let (first, second) = (runs(), runs());
        plugs.plug_in(id, first.abort_handle());
        plugs.plug_in(id, second.abort_handle());
        assert!(first.await.unwrap_err().is_cancelled());
        assert!(plugs.pull(id) && !plugs.pull(id));
        assert!(second.await.unwrap_err().is_cancelled());
    }
}
