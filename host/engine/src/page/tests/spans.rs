//! The spans of a page in the log.

use std::sync::{Mutex, PoisonError};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

/// Notes each span, and which one it is in.
#[derive(Default)]
struct Spans(Mutex<Noted>);

#[derive(Default)]
struct Noted {
    /// Names, and numbers of the spans around them; the number of a span is its place, from 1.
    spans: Vec<(&'static str, Option<u64>)>,
    entered: Vec<u64>,
}

impl Spans {
    fn noted<R>(&self, look: impl FnOnce(&mut Noted) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Name of each span with that of the span around it.
    fn names(&self) -> Vec<(&'static str, Option<&'static str>)> {
        self.noted(|noted| {
            let name = |number: u64| noted.spans[usize::try_from(number - 1).expect("small")].0;
            let spans = noted.spans.iter();
            spans
                .map(|(own, around)| (*own, around.map(name)))
                .collect()
        })
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.noted(|noted| {
            let around = noted.entered.last().copied();
            let around = around.filter(|_| attributes.is_contextual());
            noted.spans.push((attributes.metadata().name(), around));
            Id::from_u64(noted.spans.len() as u64)
        })
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.noted(|noted| noted.entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        let number = span.into_u64();
        self.noted(|noted| {
            let last = noted.entered.iter().rposition(|one| *one == number);
            noted.entered.remove(last.expect("it was entered"));
        });
    }
}

#[tokio::test]
async fn a_page_its_fetch_and_its_charge_are_spans() {
    let site = LoopbackSite::start(&[("/", vec![loopback::page(200, "", "text")])]).await;
    let (run, plan) = (run_context(), page_plan(site.url("/").as_str()));
    let (payer, _directory) = payer(1_000_000_000).await;
    let spans = Arc::new(Spans::default());
    let noting = tracing::subscriber::set_default(Arc::clone(&spans));
    let admission = Arc::new(run.admission(&plan));
    let paid_by = PaidBy::Account(&payer);
    let (page_budget, produced) = produce_paid(&run, paid_by, &plan, &admission, || true).await;
    let outcome = settle(page_budget, produced).await;
    drop(noting);
    assert_eq!(outcome.error, None);
    let names = spans.names();
    for expected in [
        ("page", None),
        ("fetch", Some("page")),
        ("charge", Some("page")),
    ] {
        assert!(names.contains(&expected), "{expected:?} in {names:?}");
    }
}
