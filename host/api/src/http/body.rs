//! Reading request bodies, with limits on size and time, and only while their account has memory
//! for them.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use axum::body::{BodyDataStream, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;

use trawl_model::memory::{Held, HeldBuffer, MemoryKind, MemoryShare};

use super::error::ApiError;
use super::media_type::essence;

/// Maximum size of the body of a page or crawl request. Decision D75.
pub(crate) const BODY_BYTES_MAX: usize = 10_000_000;

/// How long a body may take to arrive, its waits for memory excluded.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a body may wait for memory in all. It is not read on meanwhile, so its sender waits
/// too.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(60);
/// Room that is made before more of a body is read: most parts that arrive are no longer.
const ROOM_BYTES: usize = 64 * 1024;
/// How much of an oversized body is read and discarded, and for how long.
const DISCARDED_BYTES_MAX: usize = 64_000_000;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the whole body of a request that must be JSON.
///
/// # Errors
/// The `Content-Type` is not JSON, or the body is too large or takes too long.
pub(crate) async fn read_json(request: Request, bytes_max: usize) -> Result<Held<Bytes>, ApiError> {
    require_json(request.headers())?;
    read(request, bytes_max).await
}

/// Whether a request has no body and declares none. Where all fields are optional, it means an
/// empty object. Decision D261.
pub(crate) fn is_absent(request: &Request) -> bool {
    request.body().is_end_stream() && !request.headers().contains_key(header::CONTENT_TYPE)
}

/// Checks that a request declares a JSON body.
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    match media_type.map(essence).as_deref() {
        Some("application/json" | "application/jsonl") => Ok(()),
        _ => Err(ApiError::MediaType),
    }
}

/// Reads the whole body of a request, under a lease of the share that its authentication left in
/// the extensions. While the share is used up nothing is read, so that the sender waits.
///
/// # Errors
/// The body is too large, takes too long, ends early, or there was no memory for it in time.
pub(crate) async fn read(request: Request, bytes_max: usize) -> Result<Held<Bytes>, ApiError> {
    let Some(share) = request.extensions().get::<MemoryShare>().cloned() else {
        tracing::error!("a request body without a memory share");
        return Err(ApiError::Internal);
    };
    let (memory, kind) = (share.page(), MemoryKind::RequestBodies);
    if request.body().is_end_stream() {
        return Ok(HeldBuffer::new(&memory, kind, 0).finish());
    }
    let declared = declared_length(request.headers());
    let mut chunks = request.into_body().into_data_stream();
    if declared.is_some_and(|length| length > bytes_max) {
        return Err(too_large(chunks, bytes_max).await);
    }
    let mut body = HeldBuffer::new(&memory, kind, declared.unwrap_or(bytes_max));
    let mut patience = Patience::default();
    loop {
        // Before it arrives: what waits for memory is not in memory.
        patience.room(&mut body, ROOM_BYTES).await?;
        let Some(chunk) = patience.chunk(&mut chunks).await? else {
            return Ok(body.finish());
        };
        patience.room(&mut body, chunk.len()).await?;
        let appended = body.extend(&chunk).await;
        if appended.map_err(|_error| ApiError::no_memory())? < chunk.len() {
            return Err(too_large(chunks, bytes_max).await);
        }
    }
}

/// What is left of the times that a body may take.
#[derive(Debug)]
struct Patience {
    arrival: Duration,
    memory: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            arrival: BODY_TIMEOUT,
            memory: MEMORY_WAIT_MAX,
        }
    }
}

impl Patience {
    /// The next part of a body; `None` at its end.
    async fn chunk(&mut self, chunks: &mut BodyDataStream) -> Result<Option<Bytes>, ApiError> {
        let begun = Instant::now();
        let chunk = tokio::time::timeout(self.arrival, chunks.next()).await;
        self.arrival = self.arrival.saturating_sub(begun.elapsed());
        match chunk {
            Err(_) => Err(ApiError::SlowBody),
            Ok(chunk) => chunk.transpose().map_err(|error| match is_slow(&error) {
                true => ApiError::SlowBody,
                false => ApiError::Invalid("the request body ended early".to_owned()),
            }),
        }
    }

    /// Waits for room for so many more bytes.
    async fn room(&mut self, body: &mut HeldBuffer, more: usize) -> Result<(), ApiError> {
        loop {
            let begun = Instant::now();
            if body.reserve(more).await.is_ok() {
                return Ok(());
            }
            self.memory = self.memory.saturating_sub(begun.elapsed());
            if self.memory.is_zero() {
                return Err(ApiError::no_memory());
            }
        }
    }
}

/// The length of a body by its header.
fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

async fn too_large(rest: BodyDataStream, bytes_max: usize) -> ApiError {
    discard(rest).await;
    ApiError::TooLarge(bytes_max)
}

/// Whether the listener gave up on a body that made no progress.
fn is_slow(error: &(dyn Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut errors = causes.filter_map(|error| error.downcast_ref::<io::Error>());
    errors.any(|error| error.kind() == io::ErrorKind::TimedOut)
}

/// Reads on for a while: a client that is still sending when the connection closes never sees the
/// response.
async fn discard(mut chunks: BodyDataStream) {
    let mut left = DISCARDED_BYTES_MAX;
    let read = async {
        while let Some(Ok(chunk)) = chunks.next().await
            && left > chunk.len()
        {
            left -= chunk.len();
        }
    };
    if tokio::time::timeout(DISCARD_TIMEOUT, read).await.is_err() {
        tracing::debug!("timed out discarding the rest of an oversized request body");
    }
}
