use std::time::UNIX_EPOCH;

use trawl_model::clock::Clock;
use trawl_model::failure::status;
use trawl_model::memory::MemoryBudget;
use trawl_model::{Cause, PageFailure};
use trawl_net::fetch::loopback::{Answer, LoopbackSite, fetcher, page};
use trawl_net::fetch::{CookieJar, PoliteGet};
use trawl_net::politeness::PolitenessConfig;
use trawl_net::robots::Robots;
use trawl_plan::testing::page_plan;
use trawl_plan::{Pace, PagePlan};

use super::*;
use crate::page::Payer;
use crate::page_budget::tests::{other_page, page_budget, payer};

/// The route, and the robots.txt files that its pages obey.
struct World {
    route: OwnHttp,
    robots: Arc<Robots>,
}

fn world() -> World {
    let politeness = Politeness::new(&PolitenessConfig::default());
    let get = PoliteGet::new(fetcher(), Arc::clone(&politeness));
    World {
        route: OwnHttp::new(fetcher(), politeness),
        robots: Arc::new(Robots::new(Arc::new(get), "Trawl")),
    }
}

fn plan(timeout: Duration) -> FetchPlan {
    FetchPlan {
        timeout,
        user_agent: Some("Someone/1.0".to_owned()),
        ..(*page_plan("http://site.example/").fetch).clone()
    }
}

async fn fetch(
    world: &World,
    plan: &FetchPlan,
    url: &Url,
) -> Result<(Fetched, Duration), PageFailure> {
    let page_budget = PageBudget::unbilled(Nanodollars::MAX);
    fetch_paid(world, plan, url, &page_budget, "nobody").await
}

/// Fetches a page for this owner with this money.
async fn fetch_paid(
    world: &World,
    plan: &FetchPlan,
    url: &Url,
    page_budget: &PageBudget<'_>,
    owner: &str,
) -> Result<(Fetched, Duration), PageFailure> {
    let request = HttpRequest {
        plan,
        target: Target::own(url),
        admission: &Admission::new(&world.robots, plan),
        caller: Caller {
            cookies: &CookieJar::new(),
            memory: &MemoryBudget::unlimited().share("test").page(),
        },
        page_budget,
        owner: Owner::of(owner),
        condition: None,
    };
    let (time, patience) = (plan.timeout, plan.pace.patience);
    let mut clock = PageClock::start(time, patience, Instant::now() + time + patience);
    let fetched = world.route.fetch(request, &mut clock).await;
    let fetched = fetched.map_err(|error| error.failure())?;
    Ok((fetched, clock.waited()))
}

const TEN: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_page_is_retried_after_the_pause_that_its_host_requests() {
    // A date has whole seconds, so three from now is more than two away; starting the site may take
    // one of them.
    let date = Clock::wall().now().unix_seconds() + 3;
    let date = UNIX_EPOCH + Duration::from_secs(u64::try_from(date).expect("after 1970"));
    let date = httpdate::fmt_http_date(date);
    for (retry_after, least) in [(date.as_str(), 900), ("1", 990)] {
        let refusal = page(429, &format!("retry-after: {retry_after}\r\n"), "too many");
        let site = LoopbackSite::start(&[("/", vec![refusal, page(200, "", "good")])]).await;
        let begun = Instant::now();
        let (fetched, waited) = fetch(&world(), &plan(TEN), &site.url("/"))
            .await
            .expect("a page");
        assert_eq!(
            (fetched.page.status, &fetched.page.body[..]),
            (200, &b"good"[..])
        );
        assert!(
            begun.elapsed() >= Duration::from_millis(least),
            "{retry_after}: {:?}",
            begun.elapsed()
        );
        assert_eq!(waited, Duration::ZERO);
        assert_eq!(site.asked().len(), 2);
    }
}

#[tokio::test]
async fn the_last_refusal_is_the_page() {
    let refusals: Vec<Answer> = (0..5)
        .map(|number| page(503, "retry-after: 0\r\n", &number.to_string()))
        .collect();
    let site = LoopbackSite::start(&[("/", refusals)]).await;
    let (fetched, _) = fetch(&world(), &plan(TEN), &site.url("/"))
        .await
        .expect("a page");
    assert_eq!(
        (fetched.page.status, &fetched.page.body[..]),
        (503, &b"2"[..])
    );
    assert_eq!(site.asked().len(), 1 + RETRIES_MAX);
}

#[tokio::test]
async fn a_pause_longer_than_the_page_may_take_is_not_waited_for() {
    let site = LoopbackSite::start(&[("/", vec![page(429, "retry-after: 3600\r\n", "")])]).await;
    let (world, begun) = (world(), Instant::now());
    let (fetched, _) = fetch(&world, &plan(TEN), &site.url("/"))
        .await
        .expect("a page");
    assert_eq!(fetched.page.status, 429);
    let failure = fetch(&world, &plan(TEN), &site.url("/other"))
        .await
        .expect_err("a pause");
    assert_eq!(failure.status(), status::TIMED_OUT);
    assert!(
        failure
            .message
            .contains("asked not to be contacted for another"),
        "{failure}"
    );
    assert!(begun.elapsed() < TEN);
    assert_eq!(site.asked(), ["/"]);
}

#[tokio::test]
async fn a_failed_retry_leaves_the_answer_before_it() {
    let second = Answer::Silence(TEN);
    let site =
        LoopbackSite::start(&[("/", vec![page(503, "retry-after: 0\r\n", "first"), second])]).await;
    let (fetched, _) = fetch(&world(), &plan(Duration::from_secs(3)), &site.url("/"))
        .await
        .expect("a page");
    assert_eq!(&fetched.page.body[..], b"first");
}

#[tokio::test]
async fn waiting_within_the_patience_uses_no_timeout() {
    let refusal = page(503, "retry-after: 4\r\n", "");
    let site = LoopbackSite::start(&[("/", vec![refusal, page(200, "", "good")])]).await;
    let plan = FetchPlan {
        pace: Pace {
            patience: TEN,
            ..Pace::default()
        },
        ..plan(Duration::from_secs(3))
    };
    let (fetched, waited) = fetch(&world(), &plan, &site.url("/"))
        .await
        .expect("a page");
    assert_eq!(fetched.page.status, 200);
    assert!(waited >= Duration::from_millis(3_900), "{waited:?}");
}

#[tokio::test]
async fn a_rate_limit_delays_its_host_only() {
    let refusing = LoopbackSite::start(&[("/", vec![page(503, "retry-after: 60\r\n", "")])]).await;
    let other = LoopbackSite::start(&[("/", vec![page(200, "", "good")])]).await;
    let world = world();
    fetch(&world, &plan(TEN), &refusing.url("/"))
        .await
        .expect("a refusal");
    let url = Url::parse(&format!("http://127.0.0.2:{}/", other.address.port())).expect("a URL");
    // The second IP address has no listener, but it was contacted.
    let failure = fetch(&world, &plan(TEN), &url)
        .await
        .expect_err("no server listens");
    assert_eq!(failure.cause, Cause::ConnectionRefused);
}

#[tokio::test]
async fn a_connection_without_an_answer_is_tried_once_more() {
    let site = LoopbackSite::start(&[
        ("/once", vec![Answer::Reset, page(200, "", "good")]),
        ("/always", vec![Answer::Reset]),
        (
            "/empty",
            vec![Answer::Raw(String::new()), page(200, "", "good")],
        ),
        (
            "/half",
            vec![Answer::Raw(
                "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_owned(),
            )],
        ),
    ])
    .await;
    let world = world();
    for path in ["/once", "/empty"] {
        let fetched = fetch(&world, &plan(TEN), &site.url(path)).await;
        let (fetched, _) = fetched.expect("a page");
        assert_eq!(&fetched.page.body[..], b"good", "{path}");
    }
    fetch(&world, &plan(TEN), &site.url("/always"))
        .await
        .expect_err("a reset");
    // What breaks off after its beginning may have been acted on.
    let half = fetch(&world, &plan(TEN), &site.url("/half")).await;
    assert_eq!(half.expect_err("half a page").cause, Cause::Incomplete);
    let asked = site.asked();
    let n_asked = |path: &str| asked.iter().filter(|asked| **asked == path).count();
    assert_eq!(n_asked("/always"), 1 + RECONNECTS_MAX);
    assert_eq!((n_asked("/empty"), n_asked("/half")), (2, 1));
}

#[tokio::test]
async fn robots_txt_is_obeyed_by_plans_that_respect_it() {
    let robots = "User-agent: Someone\nAllow: /\nUser-agent: *\nDisallow: /secret\n";
    let site = LoopbackSite::start(&[
        ("/robots.txt", vec![page(200, "", robots)]),
        ("/secret", vec![page(200, "", "secret")]),
        ("/open", vec![page(200, "", "open")]),
        ("/away", vec![page(302, "location: /secret\r\n", "")]),
    ])
    .await;
    let world = world();
    let polite = FetchPlan {
        respect_robots: true,
        ..plan(TEN)
    };
    let failure = fetch(&world, &polite, &site.url("/secret"))
        .await
        .expect_err("forbidden");
    assert_eq!(failure.status(), status::UNREACHABLE_OR_REFUSED);
    assert_eq!(
        failure.message,
        "the robots.txt of `127.0.0.1` disallows this page"
    );
    fetch(&world, &polite, &site.url("/away"))
        .await
        .expect_err("forbidden");
    assert_eq!(site.asked(), ["/robots.txt", "/away"]);
    fetch(&world, &polite, &site.url("/open"))
        .await
        .expect("a page");
    let (fetched, _) = fetch(&world, &plan(TEN), &site.url("/secret"))
        .await
        .expect("a page");
    assert_eq!(&fetched.page.body[..], b"secret");
}

#[tokio::test]
async fn a_crawl_delay_is_observed_between_pages() {
    let robots = "User-agent: *\nCrawl-delay: 0.3\n";
    let site = LoopbackSite::start(&[
        ("/robots.txt", vec![page(200, "", robots)]),
        ("/", vec![page(200, "", "")]),
    ])
    .await;
    let (world, begun) = (world(), Instant::now());
    let polite = FetchPlan {
        respect_robots: true,
        ..plan(TEN)
    };
    let url = site.url("/");
    let (a, b, c) = tokio::join!(
        fetch(&world, &polite, &url),
        fetch(&world, &polite, &url),
        fetch(&world, &polite, &url)
    );
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert!(
        begun.elapsed() >= Duration::from_millis(600),
        "{:?}",
        begun.elapsed()
    );
}

/// The plan of a page at this URL, fetched like this.
fn page_of(url: &Url, fetch: &FetchPlan) -> PagePlan {
    PagePlan {
        fetch: Arc::new(fetch.clone()),
        ..page_plan(url.as_str())
    }
}

/// Polls until the account has this much money reserved.
async fn until_held(payer: &Payer, is_reached: impl Fn(i64) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_reached(payer.billing.funds(&payer.account).held.0) {
        assert!(Instant::now() < deadline, "not in time");
        sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_page_that_waits_for_its_host_again_holds_no_money() {
    let refusal = page(429, "retry-after: 2\r\n", "too many");
    let site = LoopbackSite::start(&[("/", vec![refusal, page(200, "", "good")])]).await;
    let (payer, _directory) = payer(1_000_000).await;
    let (world, url, fetch_plan) = (world(), site.url("/"), plan(TEN));
    let page_plan = page_of(&url, &fetch_plan);
    let page_budget = page_budget(&payer, &page_plan);
    let watched = async {
        until_held(&payer, |held| held > 0).await;
        // During the pause: afterwards it is held until the page is charged.
        until_held(&payer, |held| held == 0).await;
    };
    let fetched = fetch_paid(&world, &fetch_plan, &url, &page_budget, "one");
    let (fetched, ()) = tokio::join!(fetched, watched);
    let (fetched, _) = fetched.expect("a page");
    assert_eq!(fetched.page.status, 200);
    assert!(page_budget.is_open().await, "reserved again");
    page_budget.void("done");
}

#[tokio::test]
async fn a_page_that_waits_for_money_uses_no_turn_of_its_host() {
    // The first page waits for it after the request of robots.txt.
    let robots = "User-agent: *\nCrawl-delay: 5\n";
    let site = LoopbackSite::start(&[
        ("/robots.txt", vec![page(200, "", robots)]),
        ("/", vec![page(200, "", "good")]),
    ])
    .await;
    let ((poor, _of_poor), (rich, _of_rich)) = (payer(1_000).await, payer(1_000_000).await);
    let _all = other_page(&poor, 1_000);
    let fetch_plan = FetchPlan {
        respect_robots: true,
        pace: Pace {
            patience: Duration::from_secs(600),
            ..Pace::default()
        },
        ..plan(TEN)
    };
    let (world, url) = (world(), site.url("/"));
    let page_plan = page_of(&url, &fetch_plan);
    let (poor, rich) = (
        page_budget(&poor, &page_plan),
        page_budget(&rich, &page_plan),
    );
    let first = fetch_paid(&world, &fetch_plan, &url, &poor, "poor");
    let second = fetch_paid(&world, &fetch_plan, &url, &rich, "rich");
    tokio::select! {
        biased;
        _failed = first => panic!("it has no money to be fetched"),
        // Far above one delay, far below two.
        second = tokio::time::timeout(Duration::from_secs(8), second) => {
            let (fetched, _) = second.expect("one delay").expect("a page");
            assert_eq!(fetched.page.status, 200);
        }
    }
    assert_eq!(site.asked(), ["/robots.txt", "/"]);
}

#[tokio::test]
async fn a_body_whose_wait_for_money_takes_too_long_fails_for_the_money() {
    let body = "x".repeat(380_000);
    let site = LoopbackSite::start(&[("/", vec![page(200, "", &body)])]).await;
    // Enough for a page as most are, and for this one without the other.
    let (payer, _directory) = payer(400_000).await;
    let _other = other_page(&payer, 60_000);
    let fetch_plan = FetchPlan {
        pace: Pace {
            patience: Duration::from_secs(600),
            ..Pace::default()
        },
        ..plan(Duration::from_secs(3))
    };
    let (world, url) = (world(), site.url("/"));
    let page_plan = page_of(&url, &fetch_plan);
    let page_budget = page_budget(&payer, &page_plan);
    let failure = fetch_paid(&world, &fetch_plan, &url, &page_budget, "one").await;
    let failure = failure.expect_err("the other page has the money");
    assert!(failure.message.contains("the balance is 4"), "{failure}");
}

#[tokio::test]
async fn a_delay_holds_between_hops_and_after_robots_txt_and_uses_up_no_timeout() {
    const DELAY: Duration = Duration::from_millis(250);
    let site = LoopbackSite::start(&[
        ("/robots.txt", vec![page(200, "", "User-agent: *\n")]),
        ("/r", vec![page(302, "location: /t\r\n", "")]),
        ("/t", vec![page(200, "", "there")]),
    ])
    .await;
    for (respect_robots, n_requests) in [(false, 2), (true, 3)] {
        let plan = FetchPlan {
            pace: Pace {
                delay: DELAY,
                patience: TEN,
            },
            respect_robots,
            // Less than one wait.
            ..plan(DELAY - Duration::from_millis(50))
        };
        let begun = Instant::now();
        let page_budget = PageBudget::unbilled(Nanodollars::MAX);
        let (world, url) = (world(), site.url("/r"));
        let page = fetch_paid(&world, &plan, &url, &page_budget, "one");
        let page = trawl_net::egress::on_behalf_of("one", page).await;
        let (fetched, waited) = page.expect("a page");
        assert_eq!(&fetched.page.body[..], b"there");
        let waits = DELAY * (n_requests - 1);
        assert!(begun.elapsed() >= waits, "{:?}", begun.elapsed());
        assert!(waited >= waits - Duration::from_millis(50), "{waited:?}");
    }
}

#[tokio::test]
async fn a_pause_asked_of_one_account_holds_no_other() {
    let refusal = page(429, "retry-after: 300\r\n", "");
    let site = LoopbackSite::start(&[
        ("/", vec![refusal]),
        ("/other", vec![page(200, "", "fine")]),
    ])
    .await;
    let world = world();
    let page_budget = PageBudget::unbilled(Nanodollars::MAX);
    let refused = fetch_paid(&world, &plan(TEN), &site.url("/"), &page_budget, "one").await;
    assert_eq!(refused.expect("a page").0.page.status, 429);
    let other = fetch_paid(
        &world,
        &plan(TEN),
        &site.url("/other"),
        &page_budget,
        "other",
    )
    .await;
    assert_eq!(other.expect("a page").0.page.status, 200);
    let own = fetch_paid(&world, &plan(TEN), &site.url("/other"), &page_budget, "one").await;
    assert_eq!(own.expect_err("a pause").cause, Cause::RateLimited);
}

#[tokio::test]
async fn a_robots_txt_whose_site_asks_for_a_long_pause_is_not_waited_for() {
    let later = page(503, "retry-after: 3600\r\n", "");
    let site = LoopbackSite::start(&[("/robots.txt", vec![later])]).await;
    let plan = FetchPlan {
        respect_robots: true,
        ..plan(TEN)
    };
    let begun = Instant::now();
    let failure = fetch(&world(), &plan, &site.url("/")).await;
    assert_eq!(
        failure.expect_err("refused").cause,
        Cause::RobotsUnavailable
    );
    assert!(begun.elapsed() < TEN / 2, "{:?}", begun.elapsed());
    assert_eq!(site.asked(), ["/robots.txt"]);
}
