//! The threads of a command.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// How long a thread for blocking work waits for more. Idle ones take turns at what little there is
/// to do, so a long wait keeps all threads of a busy moment, each with memory that it once needed.
const BLOCKING_THREAD_IDLE: Duration = Duration::from_secs(1);

/// The runtime of a command that waits for others.
pub(in crate::cli) fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(BLOCKING_THREAD_IDLE)
        .build()
}
