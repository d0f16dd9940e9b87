//! Keeps long work off the threads that answer requests.

use tokio::runtime::{Handle, RuntimeFlavor};

/// JSON of at least this many bytes is parsed where it does not block other requests.
pub const LARGE: usize = 64 << 10;

/// Does long work without keeping other requests from this thread.
pub fn off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // Tests, where there is no other thread.
        _ => work(),
    }
}
