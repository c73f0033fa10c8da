//! The trace contexts of crawls whose webhooks carry them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use trawl_model::TraceContext;

/// Crawls whose trace is known. It is not stored: events that wait longer, or for a restart, are
/// sent without one.
const CRAWLS_MAX: usize = 10_000;

/// Trace contexts by the id of their crawl, the latest [`CRAWLS_MAX`].
#[derive(Debug, Default)]
pub(super) struct Traces(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_crawl: HashMap<String, TraceContext>,
    /// The ids in the order in which they came.
    order: VecDeque<String>,
}

impl Traces {
    /// Notes the trace of a crawl.
    pub(super) fn note(&self, crawl_id: &str, trace: TraceContext) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.by_crawl.insert(crawl_id.to_owned(), trace).is_none() {
            known.order.push_back(crawl_id.to_owned());
        }
        if known.order.len() > CRAWLS_MAX
            && let Some(first) = known.order.pop_front()
        {
            known.by_crawl.remove(&first);
        }
    }

    /// The trace of the crawl of an event, whose id begins with the crawl's.
    pub(super) fn of(&self, event_id: &str) -> Option<TraceContext> {
        let (crawl_id, _) = event_id.split_once(':')?;
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.by_crawl.get(crawl_id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_trace_of_their_crawl() {
        let traces = Traces::default();
        let value = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let trace = TraceContext::parse(value).expect("a context");
        traces.note("c1", trace);
        traces.note("c1", trace);
        assert_eq!(traces.of("c1:on_find:3"), Some(trace));
        assert_eq!(traces.of("c2:on_find:3"), None);
        assert_eq!(traces.of("c1"), None);
        for number in 0..CRAWLS_MAX {
            traces.note(&format!("n{number}"), trace);
        }
        assert_eq!(traces.of("c1:on_find:3"), None, "too old");
        assert_eq!(traces.of("n0:on_find:3"), Some(trace));
    }
}
