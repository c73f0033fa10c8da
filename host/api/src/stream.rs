//! Answers that are sent while pages finish: a JSON array, or a line a page.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use http_body_util::BodyExt;
use tracing::Instrument;

use super::post::Form;
use super::service::{Order, Outcomes};
use trawl_engine::page::PageOutcome;

impl Form {
    /// The order pages are sent in. Decision D11.
    pub(super) const fn order(self) -> Order {
        match self {
            Self::Json => Order::Input,
            Self::Lines => Order::Finish,
        }
    }

    /// What stands around the entries.
    const fn brackets(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Json => (b"[", b"]"),
            Self::Lines => (b"", b""),
        }
    }
}

/// The answer of a run of `n_pages`. One page is sent whole, more as they come.
pub(super) async fn answer(form: Form, n_pages: usize, outcomes: Outcomes) -> Response {
    if n_pages > 1 {
        return form.response(Body::from_stream(
            pieces(form, outcomes).map(Ok::<_, Infallible>),
        ));
    }
    let (open, close) = form.brackets();
    let mut body = open.to_vec();
    let mut outcomes = std::pin::pin!(until_panic(outcomes).enumerate());
    while let Some((index, outcome)) = outcomes.next().await {
        write(form, index, &outcome, &mut body);
    }
    body.extend_from_slice(close);
    form.response(body)
}

/// The pieces of the body: one an entry, and the brackets of an array. Always ends as a whole JSON text, or after a whole line.
fn pieces(form: Form, outcomes: Outcomes) -> impl Stream<Item = Bytes> + Send {
    let entries = until_panic(outcomes)
        .enumerate()
        .map(move |(index, outcome)| {
            let mut buffer = Vec::new();
            write(form, index, &outcome, &mut buffer);
            Bytes::from(buffer)
        });
    let (open, close) = form.brackets();
    let bracket =
        |text: &'static [u8]| stream::iter((!text.is_empty()).then_some(Bytes::from_static(text)));
    bracket(open).chain(entries).chain(bracket(close))
}

/// Keeps a guard for as long as the body is neither sent nor given up. The body keeps its length, which a stream would not.
pub(super) fn holding(response: Response, guard: impl Send + Sync + 'static) -> Response {
    response.map(|body| {
        Body::new(body.map_err(move |error| {
            let _held = &guard;
            error
        }))
    })
}

/// The answer of entries that are written already, one piece each.
pub(super) fn entries(form: Form, entries: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let (open, close) = form.brackets();
    let bracket =
        |text: &'static [u8]| stream::iter((!text.is_empty()).then_some(Bytes::from_static(text)));
    let pieces = entries.enumerate().map(move |(index, entry)| {
        let mut piece = Vec::with_capacity(entry.len() + 1);
        if form == Form::Json && index > 0 {
            piece.push(b',');
        }
        piece.extend_from_slice(&entry);
        if form == Form::Lines {
            piece.push(b'\n');
        }
        Bytes::from(piece)
    });
    let pieces = bracket(open).chain(pieces).chain(bracket(close));
    form.response(Body::from_stream(pieces.map(Ok::<_, Infallible>)))
}

fn write(form: Form, index: usize, outcome: &PageOutcome, buffer: &mut Vec<u8>) {
    if form == Form::Json && index > 0 {
        buffer.push(b',');
    }
    trawl_wire::write_entry(outcome, buffer);
    if form == Form::Lines {
        buffer.push(b'\n');
    }
}

/// The outcomes up to a panic of the run, which ends them: the status is sent by then, so the answer can only be whole.
/// The run is polled in the span of its request, also after the handler has returned.
fn until_panic(outcomes: Outcomes) -> impl Stream<Item = PageOutcome> + Send {
    let span = tracing::Span::current();
    stream::unfold(Some(outcomes), move |outcomes| {
        let span = span.clone();
        let next = async move {
            let mut outcomes = outcomes?;
            match AssertUnwindSafe(outcomes.next()).catch_unwind().await {
                Ok(outcome) => outcome.map(|outcome| (outcome, Some(outcomes))),
                Err(_) => {
                    tracing::error!("a run panicked, its answer ends early");
                    None
                }
            }
        };
        next.instrument(span)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn body(form: Form, n_pages: usize, outcomes: Outcomes) -> String {
        let response = answer(form, n_pages, outcomes).await;
        assert_eq!(response.headers()["content-type"], form.media_type());
        let bytes = response
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        String::from_utf8(bytes.to_vec()).expect("UTF-8")
    }

    fn pages(n_pages: u16) -> Outcomes {
        stream::iter((0..n_pages).map(|status| PageOutcome {
            status,
            ..PageOutcome::default()
        }))
        .boxed()
    }

    #[tokio::test]
    async fn arrays_and_lines_are_whole() {
        for n_pages in [0, 1, 3] {
            let array = body(Form::Json, n_pages.into(), pages(n_pages)).await;
            let entries: Vec<serde_json::Value> = serde_json::from_str(&array).expect("an array");
            let statuses: Vec<_> = entries
                .iter()
                .map(|entry| entry["status"].as_u64())
                .collect();
            assert_eq!(
                statuses,
                (0..n_pages).map(|n| Some(u64::from(n))).collect::<Vec<_>>()
            );
            let lines = body(Form::Lines, n_pages.into(), pages(n_pages)).await;
            assert_eq!(lines.lines().count(), usize::from(n_pages));
            assert!(lines.is_empty() || lines.ends_with("}\n"));
        }
    }

    #[tokio::test]
    async fn a_panic_ends_the_answer_after_a_whole_entry() {
        let broken = || {
            pages(2)
                .chain(stream::once(async { panic!("a bug") }))
                .boxed()
        };
        let array = body(Form::Json, 3, broken()).await;
        assert_eq!(
            serde_json::from_str::<Vec<serde_json::Value>>(&array)
                .expect("an array")
                .len(),
            2
        );
        assert!(body(Form::Lines, 3, broken()).await.ends_with("}\n"));
    }
}
