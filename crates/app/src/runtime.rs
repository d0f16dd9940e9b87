//! Keeping long work from the threads that answer requests.

use tokio::runtime::{Handle, RuntimeFlavor};

/// From so many bytes on, JSON is parsed where it does not hold up other requests.
pub const LARGE: usize = 64 << 10;

/// Does long work without keeping other requests from this thread.
pub fn off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // Tests, where there is no other thread.
        _ => work(),
    }
}
