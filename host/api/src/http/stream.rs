//! Responses that are streamed while pages finish: a JSON array, or one line per page.

use std::convert::Infallible;
use std::io;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use http_body_util::BodyExt;
use serde::Serialize;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use trawl_model::memory::MemoryLease;
use trawl_model::outcome::PageOutcome;
use trawl_plan::Ignored;

use super::format::ResponseFormat;
use super::headers;
use crate::service::{Order, Outcomes};

/// Longest entry that is copied behind its separator, which saves a part of the response.
const COPIED_BYTES_MAX: usize = 16 * 1024;
/// Most bytes of outputs of a page whose entry is written where its response is made, which takes
/// about a tenth of a millisecond. While megabytes are written there, other requests wait. To hand
/// an entry to another thread takes some microseconds.
const INLINE_BYTES_MAX: u64 = 64 * 1024;

impl ResponseFormat {
    /// The order in which pages are sent. Decision D11.
    pub(crate) const fn order(self) -> Order {
        match self {
            Self::Json => Order::Input,
            Self::JsonLines => Order::Finish,
        }
    }

    /// What precedes and follows the entries.
    const fn brackets(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Json => (b"[", b"]"),
            Self::JsonLines => (b"", b""),
        }
    }

    /// What precedes and follows an only entry.
    const fn around_one(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Json => self.brackets(),
            Self::JsonLines => (b"", b"\n"),
        }
    }

    /// What precedes and follows the entry of this index, within the brackets.
    const fn separators(self, index: usize) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Json if index > 0 => (b",", b""),
            Self::Json => (b"", b""),
            Self::JsonLines => (b"", b"\n"),
        }
    }
}

/// The response to a run of `n_pages`. A single page is sent at once, more are streamed. A header
/// names the parameters without effect: of a single page also those for which only the page shows
/// it.
pub(crate) async fn pages(
    format: ResponseFormat,
    n_pages: usize,
    outcomes: Outcomes,
    mut ignored: Ignored,
) -> Response {
    if n_pages > 1 {
        let body = Body::from_stream(chunks(format, outcomes).map(Ok::<_, Infallible>));
        let mut response = format.response(body);
        headers::set_ignored_parameters(&mut response, &ignored);
        return response;
    }
    let mut body = None;
    let mut outcomes = std::pin::pin!(until_panic(outcomes));
    while let Some(outcome) = outcomes.next().await {
        let names = outcome.fields.metadata.as_ref();
        let names = names.and_then(|metadata| metadata.get("ignored")?.as_array());
        for name in names.into_iter().flatten().filter_map(Value::as_str) {
            ignored.add(name);
        }
        body = Some(entry(outcome, format.around_one()).await);
    }
    let body = body.unwrap_or_else(|| {
        let (open, close) = format.brackets();
        Bytes::from([open, close].concat())
    });
    let mut response = format.response(body);
    headers::set_ignored_parameters(&mut response, &ignored);
    response
}

/// The chunks of the body: one per entry, and the brackets of an array. Always ends as valid JSON,
/// or after a complete line.
fn chunks(format: ResponseFormat, outcomes: Outcomes) -> impl Stream<Item = Bytes> + Send {
    let entries = until_panic(outcomes)
        .enumerate()
        .then(move |(index, outcome)| entry(outcome, format.separators(index)));
    let (open, close) = format.brackets();
    let bracket =
        |text: &'static [u8]| stream::iter((!text.is_empty()).then_some(Bytes::from_static(text)));
    bracket(open).chain(entries).chain(bracket(close))
}

/// The entry of a page between what precedes and follows it. A large one is written on another
/// thread.
async fn entry(outcome: PageOutcome, around: (&'static [u8], &'static [u8])) -> Bytes {
    let n_bytes = outcome.memory.as_ref().map_or(0, |memory| memory.bytes());
    if n_bytes <= INLINE_BYTES_MAX {
        return written(outcome, around);
    }
    let writing = tokio::task::spawn_blocking(move || written(outcome, around));
    match writing.await {
        Ok(entry) => entry,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The program ends, and with it this task.
            Err(_cancelled) => std::future::pending().await,
        },
    }
}

fn written(mut outcome: PageOutcome, (before, after): (&[u8], &[u8])) -> Bytes {
    let mut buffer = before.to_vec();
    trawl_wire::write_entry(&outcome, &mut buffer);
    buffer.extend_from_slice(after);
    held(outcome.memory.take(), buffer)
}

/// A written entry with the memory that its outcome held, which is released once it is sent.
fn held(memory: Option<Arc<MemoryLease>>, entry: Vec<u8>) -> Bytes {
    match memory.and_then(Arc::into_inner) {
        Some(mut lease) => {
            lease.record(entry.capacity());
            lease.attach(entry)
        }
        None => entry.into(),
    }
}

/// Holds a guard until the body is sent or dropped. The body keeps its known length, which a stream
/// would lose.
pub(crate) fn holding(response: Response, guard: impl Send + Sync + 'static) -> Response {
    response.map(|body| {
        Body::new(body.map_err(move |error| {
            let _held = &guard;
            error
        }))
    })
}

/// The response to rows of the store, each of them an entry. It holds the memory of all.
pub(crate) fn rows(
    format: ResponseFormat,
    rows: impl Iterator<Item = impl Serialize>,
    mut lease: MemoryLease,
) -> Response {
    let written = rows.filter_map(|row| serde_json::to_vec(&row).ok().map(Bytes::from));
    let written: Vec<Bytes> = written.collect();
    lease.record(written.iter().map(Bytes::len).sum());
    holding(entries(format, stream::iter(written).map(Ok)), lease)
}

/// The response to entries that are serialized already. An error breaks it off: its reader sees
/// that it is not complete.
pub(crate) fn entries(
    format: ResponseFormat,
    entries: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Response {
    let (open, close) = format.brackets();
    let bracket = |text: &'static [u8]| {
        stream::iter((!text.is_empty()).then_some(Ok(Bytes::from_static(text))))
    };
    let chunks = entries.enumerate().flat_map(move |(index, entry)| {
        let parts = entry.map(|entry| parts(format, index, entry));
        let (parts, error) = match parts {
            Ok(parts) => (Some(parts), None),
            Err(error) => (None, Some(Err(error))),
        };
        stream::iter(parts.into_iter().flatten().map(Ok).chain(error))
    });
    let chunks = bracket(open).chain(chunks).chain(bracket(close));
    format.response(Body::from_stream(chunks))
}

/// The parts of a body that `next` makes one after the other, each once the one before was taken.
/// Each is made in a task of its own, which goes on while the reader is slow: it may have a turn, a
/// connection of the store or memory that others wait for. A panic breaks the body off.
pub(crate) fn read_in_tasks<S, N>(
    source: S,
    next: impl Fn(S) -> N + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static
where
    S: Send + 'static,
    N: Future<Output = io::Result<Option<(Bytes, S)>>> + Send + 'static,
{
    stream::try_unfold(source, move |source| {
        let reading = AbortOnDropHandle::new(tokio::spawn(next(source).in_current_span()));
        async move { reading.await.map_err(io::Error::other)? }
    })
}

/// A copy of an entry with what separates it from the others. The entry, which may hold memory of
/// its account, goes with it: it is given back once the copy is sent.
struct Copied {
    bytes: Vec<u8>,
    _entry: Bytes,
}

impl AsRef<[u8]> for Copied {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// An entry with what separates it from the others. A long entry is not copied. Either way it holds
/// its memory until it is sent.
fn parts(format: ResponseFormat, index: usize, entry: Bytes) -> impl Iterator<Item = Bytes> {
    let (before, after) = format.separators(index);
    let parts = if entry.len() <= COPIED_BYTES_MAX {
        let copied = Copied {
            bytes: [before, &entry[..], after].concat(),
            _entry: entry,
        };
        [Bytes::from_owner(copied), Bytes::new(), Bytes::new()]
    } else {
        [Bytes::from_static(before), entry, Bytes::from_static(after)]
    };
    parts.into_iter().filter(|part| !part.is_empty())
}

/// The outcomes up to a panic of the run, which ends them: the status line is sent by then, so all
/// that is left is to end the body in a valid way. The run is polled in the span of its request,
/// also after the handler has returned.
fn until_panic(outcomes: Outcomes) -> impl Stream<Item = PageOutcome> + Send {
    let span = tracing::Span::current();
    stream::unfold(Some(outcomes), move |outcomes| {
        let span = span.clone();
        let next = async move {
            let mut outcomes = outcomes?;
            match AssertUnwindSafe(outcomes.next()).catch_unwind().await {
                Ok(outcome) => outcome.map(|outcome| (outcome, Some(outcomes))),
                Err(_) => {
                    tracing::error!("a run panicked, the response ends early");
                    None
                }
            }
        };
        next.instrument(span)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::sync::Semaphore;

    use trawl_model::memory::MemoryBudget;
    use trawl_model::{Content, Piece};

    use super::*;

    async fn body(format: ResponseFormat, n_pages: usize, outcomes: Outcomes) -> String {
        let response = super::pages(format, n_pages, outcomes, Ignored::default()).await;
        assert_eq!(response.headers()["content-type"], format.media_type());
        let bytes = response
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        String::from_utf8(bytes.to_vec()).expect("UTF-8")
    }

    fn outcomes(n_pages: u16) -> Outcomes {
        stream::iter((0..n_pages).map(|status| PageOutcome {
            status,
            ..PageOutcome::default()
        }))
        .boxed()
    }

    #[tokio::test]
    async fn arrays_and_lines_are_complete() {
        for n_pages in [0, 1, 3] {
            let array = body(ResponseFormat::Json, n_pages.into(), outcomes(n_pages)).await;
            let entries: Vec<serde_json::Value> = serde_json::from_str(&array).expect("an array");
            let statuses: Vec<_> = entries
                .iter()
                .map(|entry| entry["status"].as_u64())
                .collect();
            assert_eq!(
                statuses,
                (0..n_pages).map(|n| Some(u64::from(n))).collect::<Vec<_>>()
            );
            let lines = body(ResponseFormat::JsonLines, n_pages.into(), outcomes(n_pages)).await;
            assert_eq!(lines.lines().count(), usize::from(n_pages));
            assert!(lines.is_empty() || lines.ends_with("}\n"));
        }
    }

    #[tokio::test]
    async fn large_entries_are_complete() {
        let budget = MemoryBudget::new(1 << 30);
        let outcomes = |n_pages: usize| {
            let texts = (0..n_pages).map(|n| n.to_string().repeat(1 << 17));
            let outcomes = texts.map(|text| {
                let mut lease = budget.share("acc_1").page().lease();
                lease.record(text.len());
                assert!(lease.bytes() > INLINE_BYTES_MAX);
                PageOutcome {
                    content: Content::One(Piece::Text(text)),
                    memory: Some(Arc::new(lease)),
                    ..PageOutcome::default()
                }
            });
            stream::iter(outcomes.collect::<Vec<_>>()).boxed()
        };
        for n_pages in [1, 3] {
            let array = body(ResponseFormat::Json, n_pages, outcomes(n_pages)).await;
            let lines = body(ResponseFormat::JsonLines, n_pages, outcomes(n_pages)).await;
            let array: Vec<Value> = serde_json::from_str(&array).expect("an array");
            let lines = lines.lines().map(serde_json::from_str::<Value>);
            let lines: Vec<Value> = lines.map(|line| line.expect("a line")).collect();
            assert_eq!(array, lines);
            assert_eq!(array.len(), n_pages);
            for (n, entry) in array.iter().enumerate() {
                assert_eq!(entry["content"], n.to_string().repeat(1 << 17));
            }
        }
        assert_eq!(budget.in_use().used, 0);
    }

    #[tokio::test]
    async fn an_entry_holds_its_memory_until_it_is_sent() {
        let budget = MemoryBudget::new(1 << 30);
        let lease = |n_bytes: usize| {
            let mut lease = budget.share("acc_1").page().lease();
            lease.record(n_bytes);
            lease
        };
        for format in [ResponseFormat::Json, ResponseFormat::JsonLines] {
            for n_bytes in [2, COPIED_BYTES_MAX, COPIED_BYTES_MAX + 1] {
                let entry = lease(n_bytes).attach(vec![b'x'; n_bytes]);
                let parts: Vec<Bytes> = parts(format, 1, entry).collect();
                assert!(budget.in_use().used > 0, "{format:?}: {n_bytes} bytes");
                drop(parts);
                assert_eq!(budget.in_use().used, 0);
            }
            for n_pages in [1, 2] {
                let outcome = PageOutcome {
                    memory: Some(Arc::new(lease(1 << 20))),
                    ..PageOutcome::default()
                };
                let outcomes = stream::once(async { outcome }).boxed();
                let response = super::pages(format, n_pages, outcomes, Ignored::default()).await;
                let mut chunks = response.into_body().into_data_stream();
                let mut sent = Vec::new();
                while let Some(chunk) = chunks.next().await {
                    sent.push(chunk);
                }
                let used = budget.in_use().used;
                assert!((1..1 << 20).contains(&used), "{format:?}: {used}");
                drop((chunks, sent));
                assert_eq!(budget.in_use().used, 0);
            }
        }
    }

    #[tokio::test]
    async fn a_part_of_a_body_is_made_although_nobody_asks_for_it() {
        let turns = Arc::new(Semaphore::new(1));
        let (n_made, own) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&turns));
        let made = Arc::clone(&n_made);
        let parts = read_in_tasks((own, made), |(turns, made)| async move {
            let turn = turns.acquire().await.expect("it is not closed");
            tokio::task::yield_now().await;
            drop(turn);
            let n = made.fetch_add(1, Ordering::SeqCst);
            Ok((n < 2).then(|| (Bytes::from(n.to_string()), (turns, made))))
        });
        let mut parts = Box::pin(parts);
        assert!(parts.next().now_or_never().is_none(), "it is being made");
        let one_is_made = async {
            while n_made.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
        };
        let one_is_made = tokio::time::timeout(Duration::from_secs(60), one_is_made).await;
        one_is_made.expect("it goes on");
        assert_eq!(turns.available_permits(), 1);
        assert_eq!(n_made.load(Ordering::SeqCst), 1, "and no other");
        let rest: Vec<Bytes> = parts.map(|part| part.expect("no error")).collect().await;
        assert_eq!(rest, ["0", "1"]);
    }

    async fn broken((): ()) -> io::Result<Option<(Bytes, ())>> {
        panic!("a bug")
    }

    #[tokio::test]
    async fn a_panic_breaks_a_body_off() {
        let parts = read_in_tasks((), broken);
        let parts: Vec<io::Result<Bytes>> = parts.collect().await;
        assert!(matches!(parts.as_slice(), [Err(_)]), "{parts:?}");
    }

    #[tokio::test]
    async fn a_panic_ends_the_response_after_a_complete_entry() {
        let broken = || {
            outcomes(2)
                .chain(stream::once(async { panic!("a bug") }))
                .boxed()
        };
        let array = body(ResponseFormat::Json, 3, broken()).await;
        assert_eq!(
            serde_json::from_str::<Vec<serde_json::Value>>(&array)
                .expect("an array")
                .len(),
            2
        );
        assert!(
            body(ResponseFormat::JsonLines, 3, broken())
                .await
                .ends_with("}\n")
        );
    }
}
