//! Reads bodies: as they arrive, decoded in short turns that accounts take fairly, within their
//! limits, and only while the memory budget has room for them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use rustix::time::{ClockId, clock_gettime};

use trawl_model::PageFailure;
use trawl_model::memory::{HeldBuffer, MemoryKind, PageMemory};
use trawl_model::timing;

use super::decode::{CodingError, Decoder, Step};
use super::error::FetchError;
use crate::egress::Reply;
use crate::turns::{CpuTurn, CpuTurns};

/// CPU time of decoding after which the turn passes to another account, whatever has come out
/// meanwhile.
const DECODE_YIELD_TIME: Duration = Duration::from_millis(2);
/// Bytes from which on a body must move: it holds them from others.
const MOVING_FROM_BYTES: usize = 1 << 20;
/// Bytes that a body gets room for at once, if it says that it has so many: most have no more. Only
/// once some have arrived, so that a site that sends none holds none.
const RESERVED_BYTES_MAX: usize = 128 * 1024;
/// Bytes over the wire that such a body gets at least in its idle time; fewer are a stall.
const MOVED_BYTES_MIN: u64 = 4 * 1024;

/// Covers the cost of a body while it arrives.
pub trait BodyMeter: Send + Sync {
    /// Covers a body of this many decoded bytes; may wait. Returns the number of bytes that are
    /// paid for now, at least `n_bytes`.
    ///
    /// # Errors
    /// The page cannot be paid: it ends with this failure.
    fn cover(&self, n_bytes: u64) -> BoxFuture<'_, Result<u64, PageFailure>>;
}

/// Limits of one body.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyLimits {
    /// Bytes as they come over the wire.
    pub(super) wire_bytes_max: u64,
    /// Bytes after decoding.
    pub(super) body_bytes_max: usize,
    /// Longest time without a byte; `None` for the operator's own services.
    pub(super) idle_max: Option<Duration>,
}

/// A body, or as much of it as could be read.
#[derive(Debug)]
pub(super) struct Received {
    /// It holds its part of the memory budget until the last clone is dropped.
    pub(super) body: Bytes,
    pub(super) wire_bytes: u64,
    /// CPU time of decoding.
    pub(super) decode_time: Duration,
    /// What is wrong with a body that is whole: its checksum.
    pub(super) fault: Option<CodingError>,
    /// Why there is no more of it; `Ok` if it is complete.
    pub(super) end: Result<(), FetchError>,
}

/// A body that grows.
struct Growing<'a> {
    buffer: HeldBuffer,
    bytes_max: usize,
    meter: Option<&'a dyn BodyMeter>,
    /// Bytes that the meter covers.
    covered: u64,
}

/// Decodes and keeps time.
struct Decoding {
    decoder: Decoder,
    turns: CpuTurns,
    /// The account that takes the turns.
    owner: String,
    time: Duration,
    time_since_yield: Duration,
    fault: Option<CodingError>,
}

/// How slowly a body arrives: what came, and how long it was waited for.
#[derive(Debug, Default)]
struct Arrival {
    bytes: u64,
    waited: Duration,
}

/// Reads a body until it ends, fails or meets a limit. What the meter does not cover is not read.
///
/// # Errors
/// [`FetchError::Coding`] if it has too many codings. What happens later is in
/// [`Received::end`].
pub(super) async fn receive(
    mut reply: Reply,
    limits: BodyLimits,
    memory: &PageMemory,
    meter: Option<&dyn BodyMeter>,
) -> Result<Received, FetchError> {
    let mut decoding = Decoding {
        decoder: Decoder::new(reply.headers(), limits.body_bytes_max)?,
        turns: CpuTurns::of_process(),
        owner: memory.account().to_owned(),
        time: Duration::ZERO,
        time_since_yield: Duration::ZERO,
        fault: None,
    };
    let mut body = Growing {
        buffer: HeldBuffer::new(memory, MemoryKind::PageBodies, limits.body_bytes_max),
        bytes_max: limits.body_bytes_max,
        meter,
        covered: 0,
    };
    let reading = read(&mut reply, limits, &mut decoding, &mut body);
    let end = timing::step("body", reading).await;
    Ok(Received {
        body: body.finish(),
        wire_bytes: reply.body_bytes(),
        decode_time: decoding.time,
        fault: decoding.fault,
        end,
    })
}

async fn read(
    reply: &mut Reply,
    limits: BodyLimits,
    decoding: &mut Decoding,
    body: &mut Growing<'_>,
) -> Result<(), FetchError> {
    let length = length(reply.headers()).unwrap_or_default();
    if length > 0 {
        // What can never be paid is not downloaded.
        body.cover(length.min(limits.wire_bytes_max)).await?;
    }
    let expected = usize::try_from(length).unwrap_or(usize::MAX);
    let mut arrival = Arrival::default();
    loop {
        let chunk = match arrival.next_chunk(reply, limits.idle_max).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                // What has arrived is still decoded.
                decoding.decoder.end();
                let decoded = decoding.run(body).await;
                let is_coded = !decoding.decoder.is_identity() && reply.body_bytes() > 0;
                if is_coded && decoded.is_ok() {
                    // Its coding says that it is complete: the length was the text's, or the
                    // end of the last chunk is missing. Decision D312.
                    return Ok(());
                }
                return Err(match error {
                    FetchError::Egress(error) if error.is_early_end() => early_end(reply.headers()),
                    error => error,
                });
            }
        };
        if arrival.bytes >= MOVED_BYTES_MIN || body.buffer.len() < MOVING_FROM_BYTES {
            arrival = Arrival::default();
        }
        if decoding.decoder.is_identity() {
            body.make_room(expected.min(RESERVED_BYTES_MAX)).await?;
            body.extend(&chunk).await?;
        } else {
            decoding.decoder.push(chunk);
            decoding.run(body).await?;
        }
        if reply.body_bytes() > limits.wire_bytes_max {
            return Err(FetchError::TooLarge(limits.wire_bytes_max));
        }
    }
    decoding.decoder.end();
    match decoding.run(body).await {
        Err(FetchError::Coding(fault @ CodingError::Unverified(_))) => {
            decoding.fault = Some(fault);
            Ok(())
        }
        end => end,
    }
}

impl Arrival {
    /// The next bytes; `None` at the end of the body.
    async fn next_chunk(
        &mut self,
        reply: &mut Reply,
        idle_max: Option<Duration>,
    ) -> Result<Option<Bytes>, FetchError> {
        let Some(idle_max) = idle_max else {
            return Ok(reply.chunk().await?);
        };
        let begun = Instant::now();
        let patience = idle_max.saturating_sub(self.waited);
        let chunk = tokio::time::timeout(patience, reply.chunk()).await;
        let chunk = chunk.map_err(|_elapsed| FetchError::Stalled(idle_max))??;
        self.waited += begun.elapsed();
        self.bytes += chunk.as_ref().map_or(0, Bytes::len) as u64;
        Ok(chunk)
    }
}

impl Decoding {
    /// Decodes all that has arrived.
    async fn run(&mut self, body: &mut Growing<'_>) -> Result<(), FetchError> {
        if self.decoder.is_identity() {
            // Nothing to decode, and no turn to wait for.
            return Ok(());
        }
        let mut turn: Option<CpuTurn> = None;
        loop {
            if turn.is_none() {
                turn = Some(self.turns.take(&self.owner).await);
            }
            let before = cpu_time();
            let step = self.decoder.step();
            let took = cpu_time().saturating_sub(before);
            self.time += took;
            self.time_since_yield += took;
            match step? {
                Step::Emitted(bytes) => {
                    if body.may_wait_for(bytes.len()) {
                        // A body that waits for money or memory gives its turn back.
                        turn = None;
                    }
                    body.extend(bytes).await?;
                }
                Step::Working => {}
                Step::Idle => return Ok(()),
            }
            if self.time_since_yield >= DECODE_YIELD_TIME {
                self.time_since_yield = Duration::ZERO;
                drop(turn.take());
                // It is back in line before others run: all bodies of another account could have
                // their turns while it yields.
                let next = self.turns.take(&self.owner);
                let (next, ()) = tokio::join!(next, tokio::task::yield_now());
                turn = Some(next);
            }
        }
    }
}

impl Growing<'_> {
    /// Appends bytes, up to the limit, once there are money and memory for them.
    async fn extend(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        let needed = (self.buffer.len() + bytes.len()).min(self.bytes_max);
        self.cover(needed as u64).await?;
        let n_appended = self.buffer.extend(bytes).await?;
        if n_appended < bytes.len() {
            return Err(CodingError::TooLarge(self.bytes_max).into());
        }
        Ok(())
    }

    /// Makes room for so many bytes if there are none yet, so that they are not moved as more
    /// arrive.
    async fn make_room(&mut self, n_bytes: usize) -> Result<(), FetchError> {
        if self.buffer.is_empty() {
            self.buffer.reserve(n_bytes).await?;
        }
        Ok(())
    }

    /// Whether so many more bytes need money or memory that they may have to wait for.
    fn may_wait_for(&self, more: usize) -> bool {
        let is_covered = self.meter.is_none() || (self.buffer.len() + more) as u64 <= self.covered;
        more > self.buffer.room() || !is_covered
    }

    /// Has the meter cover this many bytes.
    async fn cover(&mut self, n_bytes: u64) -> Result<(), FetchError> {
        if let Some(meter) = self.meter
            && n_bytes > self.covered
        {
            let covered = meter.cover(n_bytes).await;
            self.covered = covered.map_err(FetchError::Refused)?;
        }
        Ok(())
    }

    fn finish(self) -> Bytes {
        if self.buffer.is_empty() {
            return Bytes::new();
        }
        self.buffer.finish().into_bytes()
    }
}

/// The error of a body whose connection ended too early.
fn early_end(headers: &HeaderMap) -> FetchError {
    let has_end = headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING);
    if has_end {
        FetchError::Incomplete
    } else {
        FetchError::Unclosed
    }
}

/// The length of a body that is sent as it is; `None` if it is not known.
fn length(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    (!headers.contains_key(CONTENT_ENCODING)).then_some(length)
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests;
