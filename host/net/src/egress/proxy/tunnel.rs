//! Copies bytes between the browser and a destination, both ways, until one side is idle for too
//! long.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::meter::Meter;

/// Bytes copied at once: the largest TLS record.
const PIECE_BYTES: usize = 16 * 1024;

/// A connection in both directions.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Copies bytes between `near`, the browser, and `far` until both sides have closed, one fails,
/// nothing was transferred for `idle_time_max`, or the channel reaches its byte limit.
pub(super) async fn carry(
    near: impl Stream,
    far: impl Stream,
    meter: &Meter,
    idle_time_max: Duration,
) {
    let (near_in, near_out) = tokio::io::split(near);
    let (far_in, far_out) = tokio::io::split(far);
    let activity = Activity::new();
    let up = copy(near_in, far_out, &activity, |bytes| meter.send(bytes));
    let down = copy(far_in, near_out, &activity, |bytes| {
        meter.receive_from_tunnel(bytes)
    });
    tokio::select! {
        ended = async { tokio::try_join!(up, down) } => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a browser's tunnel failed");
            }
        }
        () = activity.stopped(idle_time_max) => tracing::debug!("a browser's tunnel was idle for too long"),
    }
}

/// Copies bytes in one direction until their end, which it passes on.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    activity: &Activity,
    count: impl Fn(usize) -> io::Result<()>,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        activity.record();
        count(length)?;
        to.write_all(&piece[..length]).await?;
        to.flush().await?;
        activity.record();
    }
}

/// When bytes were last transferred.
struct Activity {
    start: Instant,
    last_ms: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            last_ms: AtomicU64::new(0),
        }
    }

    fn record(&self) {
        let now_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Returns once nothing was transferred for this long.
    async fn stopped(&self, time: Duration) {
        loop {
            let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
            let end = self.start + last + time;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}
