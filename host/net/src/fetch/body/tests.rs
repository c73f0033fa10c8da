use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::FutureExt;
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;
use url::Url;

use trawl_model::Cause;
use trawl_model::memory::MemoryBudget;
use trawl_plan::FetchPlan;
use trawl_plan::testing::page_plan;

use super::*;
use crate::fetch::loopback::{Answer, LoopbackSite, fetcher_with, page};
use crate::fetch::{Caller, CookieJar, FetchConfig, Fetched, Fetcher, Get, GetLimits, PoliteGet};
use crate::politeness::{Politeness, PolitenessConfig};

const MIB: usize = 1024 * 1024;
const GZIP: &str = "content-encoding: gzip\r\n";
const IDLE_MAX: Duration = Duration::from_millis(300);

fn hasty() -> Fetcher {
    with_idle_max(IDLE_MAX)
}

fn with_idle_max(body_idle_max: Duration) -> Fetcher {
    fetcher_with(FetchConfig {
        body_idle_max,
        ..FetchConfig::default()
    })
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory to memory");
    encoder.finish().expect("memory to memory")
}

/// Gzip without its end, as a site that stalls sends it.
fn unfinished(bytes: usize) -> Answer {
    let mut body = gzip(&vec![0; bytes]);
    body.truncate(body.len() - 8);
    Answer::Stalled(GZIP.to_owned(), body)
}

async fn fetch(fetcher: &Fetcher, url: &Url, memory: &PageMemory) -> Result<Fetched, FetchError> {
    let politeness = Politeness::new(&PolitenessConfig::default());
    let permit = politeness.permit("127.0.0.1").await;
    let plan = FetchPlan::clone(&page_plan(url.as_str()).fetch);
    let caller = Caller {
        cookies: &CookieJar::new(),
        memory,
    };
    fetcher.fetch(&permit, url, &plan, caller).await
}

#[tokio::test]
async fn a_body_holds_its_memory_until_it_is_dropped() {
    let site = LoopbackSite::start(&[
        ("/small", vec![page(200, "", "a small page")]),
        ("/big", vec![page(200, "", &"x".repeat(3 * MIB))]),
        (
            "/coded",
            vec![Answer::Whole(
                200,
                GZIP.to_owned(),
                gzip(&vec![b'x'; 3 * MIB]),
            )],
        ),
    ])
    .await;
    let budget = MemoryBudget::new(64 << 20);
    let share = budget.share("a");
    for (path, held) in [
        ("/small", 64 * 1024),
        ("/big", 3 << 20),
        ("/coded", 3 << 20),
    ] {
        let fetched = fetch(&hasty(), &site.url(path), &share.page()).await;
        let body = fetched.expect("a page").page.body;
        assert_eq!(budget.in_use().used, held, "{path}");
        let part = body.slice(..1);
        drop(body);
        assert_eq!(budget.in_use().used, held, "{path}");
        drop(part);
        assert_eq!(budget.in_use().used, 0, "{path}");
    }
}

#[tokio::test]
async fn a_body_that_stalls_ends_and_a_slow_one_does_not() {
    let site = LoopbackSite::start(&[("/stalled", vec![unfinished(1_000)])]).await;
    let share = MemoryBudget::unlimited().share("a");
    let begun = Instant::now();
    let error = fetch(&hasty(), &site.url("/stalled"), &share.page()).await;
    let error = error.expect_err("no end");
    assert!(
        matches!(error, FetchError::Stalled(time) if time == IDLE_MAX),
        "{error}"
    );
    assert_eq!(error.failure().cause, Cause::Stalled);
    assert!(error.is_failure_of_site());
    assert!(begun.elapsed() < Duration::from_secs(10));

    let get = PoliteGet::new(hasty(), Politeness::new(&PolitenessConfig::default()));
    let limits = GetLimits {
        bytes_max: 10_000,
        time_max: Duration::from_secs(20),
        pause_max: Duration::from_secs(5),
        exit: trawl_plan::Exit::default(),
        pace: None,
    };
    let response = get
        .get(&site.url("/stalled"), limits)
        .await
        .expect("a response");
    assert_eq!(response.end, crate::fetch::BodyEnd::Broken);

    // Longer than the limit in all, with pauses far below it.
    let (slow, pause) = (vec![b'x'; 12], Duration::from_millis(250));
    let site = LoopbackSite::start(&[("/slow", vec![Answer::Dripping(slow.clone(), pause)])]).await;
    let patient = with_idle_max(Duration::from_secs(2));
    let begun = Instant::now();
    let fetched = fetch(&patient, &site.url("/slow"), &share.page()).await;
    assert_eq!(fetched.expect("a page").page.body, slow);
    assert!(begun.elapsed() > Duration::from_secs(2));
}

/// A large body that gets a byte now and then holds its memory from others: it stalls.
#[tokio::test]
async fn a_large_body_that_hardly_moves_is_stalled() {
    let (large, small) = (vec![b'x'; 2 * MIB], vec![b'x'; 1_000]);
    let pause = Duration::from_millis(100);
    let site = LoopbackSite::start(&[
        ("/large", vec![Answer::Ebbing(large, pause)]),
        ("/small", vec![Answer::Ebbing(small, pause)]),
    ])
    .await;
    let budget = MemoryBudget::new(64 << 20);
    let share = budget.share("a");
    let begun = Instant::now();
    let error = fetch(&hasty(), &site.url("/large"), &share.page()).await;
    let error = error.expect_err("it hardly moves");
    assert!(
        matches!(error, FetchError::Stalled(time) if time == IDLE_MAX),
        "{error}"
    );
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(budget.in_use().used, 0);
    // A small one may be a slow page that a caller wants.
    let page = share.page();
    let (fetcher, url) = (hasty(), site.url("/small"));
    let slow = fetch(&fetcher, &url, &page);
    let slow = tokio::time::timeout(IDLE_MAX * 5, slow).await;
    assert!(slow.is_err(), "it is still read");
}

/// However many bodies of one account are decoded, another account's is decoded in its turn.
#[tokio::test]
async fn accounts_take_turns_to_decode() {
    let bomb = bomb_without_output();
    let turns = CpuTurns::new(1);
    let budget = MemoryBudget::unlimited();
    let decode = |owner: &str| {
        let mut decoding = decoding(&turns, owner);
        decoding.decoder.push(bomb.clone().into());
        decoding.decoder.end();
        let memory = budget.share(owner).page();
        async move {
            let mut body = growing(&memory);
            decoding.run(&mut body).await.expect("decoded");
            decoding.time
        }
    };
    let mut greedy: FuturesUnordered<_> = (0..40).map(|_| decode("greedy")).collect();
    // They have begun.
    assert!(greedy.next().now_or_never().is_none());
    let before = cpu_time();
    let mut innocent = std::pin::pin!(decode("innocent"));
    let time = loop {
        tokio::select! {
            biased;
            time = &mut innocent => break time,
            _ended = greedy.next() => {}
        }
    };
    let all = cpu_time().saturating_sub(before);
    assert!(all < time * 8, "{all:?} until its {time:?} were over");
}

/// Many pages of one account whose bodies stall when they are large: together they never hold more
/// than the budget, and a small page of another account comes at once all the while.
#[tokio::test]
async fn stalled_bodies_stay_within_the_budget_and_the_innocent_does_not_wait() {
    const N_PAGES: usize = 48;
    let site = LoopbackSite::start(&[
        ("/stalled", vec![unfinished(4 * MIB)]),
        ("/small", vec![page(200, "", "a small page")]),
    ])
    .await;
    let budget = MemoryBudget::with_wait_max(32 << 20, Duration::from_secs(1));
    let (greedy, innocent) = (budget.share("greedy"), budget.share("innocent"));
    let (fetcher, patient) = (hasty(), with_idle_max(Duration::from_secs(10)));
    let is_over = Arc::new(AtomicBool::new(false));
    let watch = {
        let (budget, is_over) = (Arc::clone(&budget), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut most = (0, 0);
            while !is_over.load(Ordering::Relaxed) {
                let now = budget.in_use();
                most = (now.used.max(most.0), now.n_waiting.max(most.1));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            most
        })
    };
    let url = site.url("/stalled");
    let pages = async {
        let pages: Vec<_> = (0..N_PAGES).map(|_| greedy.page()).collect();
        let failures = join_all(pages.iter().map(|page| fetch(&fetcher, &url, page))).await;
        is_over.store(true, Ordering::Relaxed);
        failures
    };
    let visits = async {
        let mut slowest = Duration::ZERO;
        while !is_over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let small = fetch(&patient, &site.url("/small"), &innocent.page()).await;
            assert_eq!(small.expect("a page").page.body, "a small page");
            slowest = slowest.max(begun.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        slowest
    };
    let (failures, slowest) = tokio::join!(pages, visits);
    let (used, n_waiting) = watch.await.expect("no panic");
    assert!(used <= 32 << 20, "{used} bytes");
    assert!(n_waiting > 0, "no body had to wait");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    let (mut n_stalled, mut n_starved) = (0, 0);
    for failure in failures {
        match failure.expect_err("a stalled body") {
            FetchError::Stalled(_) => n_stalled += 1,
            FetchError::Memory(_) => n_starved += 1,
            other => panic!("{other}"),
        }
    }
    assert!(n_stalled > 0 && n_starved > 0, "{n_stalled} {n_starved}");
    assert_eq!((budget.in_use().used, budget.in_use().n_waiting), (0, 0));
}

/// Deflate blocks without content decode to nothing, however many there are.
fn bomb_without_output() -> Vec<u8> {
    let mut blocks = [0, 0, 0, 0xff, 0xff].repeat(4 * MIB);
    blocks.extend([1, 0, 0, 0xff, 0xff]);
    gzip(&blocks)
}

fn decoding(turns: &CpuTurns, owner: &str) -> Decoding {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("deflate, gzip"));
    Decoding {
        decoder: Decoder::new(&headers, 64 * MIB).expect("two codings"),
        turns: turns.clone(),
        owner: owner.to_owned(),
        time: Duration::ZERO,
        time_since_yield: Duration::ZERO,
        fault: None,
    }
}

fn growing(memory: &PageMemory) -> Growing<'static> {
    Growing {
        buffer: HeldBuffer::new(memory, MemoryKind::PageBodies, 64 * MIB),
        bytes_max: 64 * MIB,
        meter: None,
        covered: 0,
    }
}

#[tokio::test]
async fn a_plain_body_waits_for_no_turn() {
    let turns = CpuTurns::new(1);
    let _taken = turns.take("b").await;
    let mut decoding = Decoding {
        decoder: Decoder::new(&HeaderMap::new(), 64 * MIB).expect("no coding"),
        ..decoding(&turns, "a")
    };
    let mut body = growing(&MemoryBudget::unlimited().share("a").page());
    decoding.decoder.end();
    let ended = decoding.run(&mut body).now_or_never();
    assert!(matches!(ended, Some(Ok(()))), "{ended:?}");
}

/// Others must get their turn on the thread meanwhile.
#[tokio::test]
async fn a_bomb_without_output_yields() {
    let mut decoding = decoding(&CpuTurns::new(1), "a");
    let mut body = growing(&MemoryBudget::unlimited().share("a").page());
    decoding.decoder.push(bomb_without_output().into());
    decoding.decoder.end();
    let mut n_yields = 0;
    {
        let mut run = std::pin::pin!(decoding.run(&mut body));
        while (&mut run).now_or_never().is_none() {
            n_yields += 1;
        }
    }
    assert!(n_yields >= 5, "{n_yields} yields in {:?}", decoding.time);
    assert!(body.buffer.is_empty());
}

/// Decision D312.
#[test]
fn a_body_without_a_length_ends_with_its_connection() {
    let mut headers = HeaderMap::new();
    assert!(matches!(early_end(&headers), FetchError::Unclosed));
    headers.insert(CONTENT_LENGTH, HeaderValue::from_static("9"));
    assert!(matches!(early_end(&headers), FetchError::Incomplete));
}
