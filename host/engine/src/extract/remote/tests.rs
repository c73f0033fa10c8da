use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use serde_json::json;
use url::Url;

use trawl_model::Content;
use trawl_plan::{Format, FormatChoice};
use trawl_test_guests::Guest;

use super::super::for_node::{Refusal, answer};
use super::super::{Workers, testing};
use super::*;

/// A registry with a format of this name that shows what it was given.
fn registry(name: &str) -> Arc<Registry> {
    testing::registry(&[Guest::echo_format(name)], "")
}

/// Another node in this process, with workers and plugins of its own.
struct Neighbour {
    workers: Workers,
    registry: Arc<Registry>,
    n_asked: Arc<AtomicUsize>,
    /// It answers nothing.
    is_silent: bool,
}

impl fmt::Debug for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Neighbour")
    }
}

impl Transport for Neighbour {
    fn send(&self, _address: Arc<str>, request: Vec<u8>) -> BoxFuture<'_, Option<Bytes>> {
        self.n_asked.fetch_add(1, Ordering::Relaxed);
        if self.is_silent {
            return std::future::pending().boxed();
        }
        let registry = Arc::clone(&self.registry);
        let request = Bytes::from(request);
        let answered = async move { answer(&self.workers, registry, &request).await };
        answered.map(|made| made.ok().map(Bytes::from)).boxed()
    }
}

/// A neighbour with these plugins. It counts as silent a few seconds later.
fn with_neighbour(registry: &Arc<Registry>, is_silent: bool) -> (RemoteWorkers, Arc<AtomicUsize>) {
    let n_asked = Arc::new(AtomicUsize::new(0));
    let neighbour = Neighbour {
        workers: Workers::new(),
        registry: Arc::clone(registry),
        n_asked: Arc::clone(&n_asked),
        is_silent,
    };
    let remote = RemoteWorkers::new(Box::new(neighbour));
    remote.announced("neighbour:1", 8);
    (remote, n_asked)
}

fn plan() -> OutputPlan {
    OutputPlan {
        discover: true,
        ..OutputPlan::of(FormatChoice {
            name: "markdown".to_owned(),
            format: Format::Plugin("markdown".to_owned()),
            options: json!({}),
        })
    }
}

fn input() -> Input {
    Input {
        url: Url::parse("http://a.example/b").expect("a URL"),
        body: Bytes::from_static(b"<a href=c>text</a>"),
        content_type: "text/html".to_owned(),
        is_serialised: false,
        screenshot: None,
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

async fn extracted(remote: &RemoteWorkers, registry: &Registry) -> Option<Outputs> {
    let (input, plan) = (input(), plan());
    let page = RemotePage::new(registry, &input, &plan, ("o", soon())).expect("it may leave");
    let place = remote.try_place().expect("room");
    Some(remote.extract(&page, place).await?.0)
}

fn text(content: &Content) -> String {
    match content {
        Content::One(piece) => piece.text().expect("a text").into_owned(),
        Content::ByFormat(_) => panic!("one format was asked for"),
    }
}

#[tokio::test]
async fn a_neighbour_makes_what_would_be_made_here() {
    let registry = registry("markdown");
    let (remote, n_asked) = with_neighbour(&registry, false);
    let there = extracted(&remote, &registry).await.expect("outputs");
    let here = super::super::run(&registry, &input(), &plan(), soon()).0;
    assert_eq!(here.failure, None);
    assert!(!text(&here.content).is_empty());
    assert_eq!(text(&there.content), text(&here.content));
    let links = |outputs: &Outputs| format!("{:?}", outputs.discovered);
    assert!(links(&here).contains("http://a.example/c"));
    assert_eq!(links(&there), links(&here));
    assert_eq!(n_asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_neighbour_with_other_plugins_makes_nothing_and_rests() {
    let (registry, other) = (registry("markdown"), registry("other"));
    let (remote, n_asked) = with_neighbour(&other, false);
    let mut n_pages = 0;
    while remote.try_place().is_some() {
        assert!(n_pages < 10, "it is given pages for ever");
        assert!(extracted(&remote, &registry).await.is_none());
        n_pages += 1;
    }
    assert_eq!(n_asked.load(Ordering::Relaxed), n_pages);
    let malformed = answer(&Workers::new(), registry, &Bytes::from_static(b"x")).await;
    assert_eq!(malformed, Err(Refusal::Malformed));
}

#[tokio::test]
async fn a_page_that_fails_on_a_neighbour_is_made_here() {
    // It fails with options alone, so that it is loaded.
    let registry = testing::registry(
        &[Guest::echo_format("markdown").when_asked("unreachable")],
        "",
    );
    let (remote, n_asked) = with_neighbour(&registry, false);
    let (input, mut plan) = (input(), plan());
    plan.formats[0].options = json!({"fail": true});
    let page = RemotePage::new(&registry, &input, &plan, ("o", soon())).expect("it may leave");
    let place = remote.try_place().expect("room");
    assert!(remote.extract(&page, place).await.is_none());
    assert_eq!(n_asked.load(Ordering::Relaxed), 1);
    assert!(remote.try_place().is_some(), "the neighbour did its work");
}

#[test]
fn a_neighbour_is_believed_no_more_cpu_time_than_has_passed() {
    let time = |parse, transform| CpuTime {
        parse: Duration::from_millis(parse),
        transform: Duration::from_millis(transform),
    };
    let in_10_ms = |cpu: CpuTime| cpu.at_most(Duration::from_millis(10));
    assert_eq!(in_10_ms(time(3, 7)), time(3, 7));
    assert_eq!(in_10_ms(time(3, 9)), time(3, 7));
    assert_eq!(in_10_ms(time(30, 9)), time(10, 0));
}

#[tokio::test]
async fn a_neighbour_that_does_not_answer_is_not_waited_for_beyond_the_deadline() {
    let registry = registry("markdown");
    let (remote, n_asked) = with_neighbour(&registry, true);
    let (input, plan) = (input(), plan());
    let deadline = Instant::now() + Duration::from_millis(20);
    let page = RemotePage::new(&registry, &input, &plan, ("o", deadline)).expect("it may leave");
    let place = remote.try_place().expect("room");
    assert!(remote.extract(&page, place).await.is_none());
    assert_eq!(n_asked.load(Ordering::Relaxed), 1);
}

#[test]
fn what_is_bound_to_this_process_does_not_leave() {
    let registry = registry("markdown");
    let may_leave = |input: &Input, plan: &OutputPlan| {
        RemotePage::new(&registry, input, plan, ("o", soon())).is_some()
    };
    assert!(may_leave(&input(), &plan()));
    let screenshot = Input {
        screenshot: Some(Bytes::from_static(b"png")),
        ..input()
    };
    assert!(!may_leave(&screenshot, &plan()));
    let huge = Input {
        body: vec![b' '; BODY_BYTES_MAX + 1].into(),
        ..input()
    };
    assert!(!may_leave(&huge, &plan()));
    let timed = OutputPlan {
        timing: true,
        ..plan()
    };
    assert!(!may_leave(&input(), &timed));
    let unknown = OutputPlan {
        filters: vec![("nowhere".to_owned(), json!({}))],
        ..plan()
    };
    assert!(!may_leave(&input(), &unknown));
}

#[tokio::test]
async fn pages_go_to_a_neighbour_while_the_threads_here_are_busy() {
    let registry = registry("markdown");
    let (remote, n_asked) = with_neighbour(&registry, false);
    let workers = Workers::new().with_remote(Arc::new(remote));
    let extract = || {
        let (registry, plan) = (Arc::clone(&registry), Arc::new(plan()));
        workers.run(registry, input(), plan, ("o", soon()))
    };
    let alone = extract().await.0;
    assert_eq!(n_asked.load(Ordering::Relaxed), 0, "a thread was free");
    let n_pages = 4 * workers.n_threads();
    let all = futures_util::future::join_all((0..n_pages).map(|_| extract())).await;
    assert!(n_asked.load(Ordering::Relaxed) > 0);
    assert_eq!(all.len(), n_pages);
    for (outputs, _) in all {
        assert_eq!(outputs.failure, None);
        assert_eq!(text(&outputs.content), text(&alone.content));
    }
}

#[tokio::test]
async fn what_a_neighbour_made_is_found_in_the_output_cache() {
    let registry = registry("markdown");
    let (remote, n_asked) = with_neighbour(&registry, false);
    let workers = Workers::new().with_output_cache(1 << 20);
    let workers = workers.with_remote(Arc::new(remote));
    let extract = || {
        let (registry, plan) = (Arc::clone(&registry), Arc::new(plan()));
        workers.run_cached(registry, input(), plan, ("o", soon()), None)
    };
    let n_pages = 4 * workers.n_threads();
    for made in futures_util::future::join_all((0..n_pages).map(|_| extract())).await {
        made.write.expect("a page that may be cached").commit();
    }
    let n_first = n_asked.load(Ordering::Relaxed);
    assert!(n_first > 0);
    for made in futures_util::future::join_all((0..n_pages).map(|_| extract())).await {
        assert_eq!(made.outputs.failure, None);
    }
    assert_eq!(n_asked.load(Ordering::Relaxed), n_first);
}
