use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::timeout;

use super::*;

const SOON: Duration = Duration::from_millis(20);
/// How late a task may note its own start.
const LATE: Duration = Duration::from_millis(15);

/// For whom a request without an account is sent.
const NO_OWNER: Owner = RequestPace::NONE.owner;

fn politeness(in_flight_per_host: usize) -> Arc<Politeness> {
    Politeness::new(&PolitenessConfig { in_flight_per_host })
}

/// The pace of an account with this delay.
fn paced(delay: Duration) -> RequestPace {
    RequestPace {
        owner: Owner::of("one"),
        delay,
        ..RequestPace::default()
    }
}

/// The pace of an account without a delay.
fn of(account: &str) -> RequestPace {
    RequestPace {
        owner: Owner::of(account),
        ..RequestPace::NONE
    }
}

#[tokio::test]
async fn an_account_whose_requests_hang_keeps_no_other_from_the_host() {
    let politeness = politeness(IN_FLIGHT_PER_HOST);
    let hanging = async |n: usize| {
        for _ in 0..n {
            let politeness = Arc::clone(&politeness);
            tokio::spawn(async move {
                let _hangs = politeness.permit_with("a.example", of("greedy")).await;
                std::future::pending::<()>().await;
            });
        }
        tokio::time::sleep(SOON).await;
    };
    hanging(500).await;
    let mut held = Vec::new();
    for account in ["b", "b", "b", "c"] {
        let permit = politeness.permit_with("a.example", of(account));
        let permit = timeout(Duration::from_secs(5), permit).await;
        held.push(permit.expect("a slot that the greedy account left"));
    }
}

#[tokio::test]
async fn a_pause_that_the_host_asked_of_one_account_holds_no_other() {
    let politeness = politeness(64);
    let (one, other) = (of("one"), of("other"));
    let pause = politeness.backoff("a.example", one.owner, Some("60"));
    assert_eq!(pause, Duration::from_secs(60));
    assert!(politeness.pause("a.example", one.owner) > Duration::from_secs(50));
    assert!(politeness.pause("a.example", other.owner).is_zero());
    let held = timeout(SOON, politeness.permit_with("a.example", one)).await;
    assert!(held.is_err());
    let free = timeout(
        Duration::from_secs(5),
        politeness.permit_with("a.example", other),
    )
    .await;
    assert!(free.is_ok());
    // The other one learns of it when it is refused itself.
    politeness.succeeded("a.example", other.owner);
    politeness.backoff("a.example", other.owner, Some("30"));
    assert!(politeness.pause("a.example", one.owner) > Duration::from_secs(50));
    assert!(politeness.pause("a.example", other.owner) <= Duration::from_secs(30));
}

#[tokio::test]
async fn an_accounts_own_delay_slows_no_other_account() {
    let politeness = politeness(64);
    let minute = Duration::from_secs(60);
    let held = politeness.permit_with("a.example", paced(minute)).await;
    let mut sleepers = Vec::new();
    for _ in 0..20 {
        let politeness = Arc::clone(&politeness);
        let permit = async move { politeness.permit_with("a.example", paced(minute)).await };
        sleepers.push(tokio::spawn(permit));
    }
    tokio::task::yield_now().await;
    drop(held);
    tokio::time::sleep(SOON).await;
    let short = Duration::from_millis(10);
    let other = |host_delay| RequestPace {
        owner: Owner::of("other"),
        delay: short,
        host_delay,
    };
    for host_delay in [Duration::ZERO, short] {
        let permit = politeness.permit_with("a.example", other(host_delay));
        let permit = timeout(Duration::from_secs(5), permit).await;
        assert!(permit.is_ok(), "{host_delay:?}");
    }
    for sleeper in sleepers {
        assert!(!sleeper.is_finished());
        sleeper.abort();
    }
}

#[tokio::test]
async fn a_crawl_delay_holds_among_accounts_and_one_account_waits_once() {
    const DELAY: Duration = Duration::from_millis(40);
    let politeness = politeness(64);
    let starts = Mutex::new(Vec::new());
    let request = async |owner: &'static str| {
        let pace = RequestPace {
            owner: Owner::of(owner),
            host_delay: DELAY,
            ..RequestPace::default()
        };
        let _permit = politeness.permit_with("a.example", pace).await;
        starts
            .lock()
            .expect("no panic")
            .push((owner, Instant::now()));
    };
    let many = async {
        tokio::join!(
            request("many"),
            request("many"),
            request("many"),
            request("many")
        );
    };
    tokio::join!(many, request("one"));
    let starts = starts.into_inner().expect("no panic");
    let place = starts.iter().position(|(owner, _)| *owner == "one");
    assert!(place.expect("served") <= 2, "{starts:?}");
    for pair in starts.windows(2) {
        assert!(pair[1].1 - pair[0].1 >= DELAY - LATE, "{starts:?}");
    }
}

#[tokio::test]
async fn lanes_of_accounts_are_forgotten() {
    let politeness = politeness(64);
    let _stays = politeness.permit("a.example").await;
    for n in 0..1_000 {
        let pace = RequestPace {
            owner: Owner::of(&n.to_string()),
            delay: Duration::from_nanos(1),
            ..RequestPace::default()
        };
        drop(politeness.permit_with("a.example", pace).await);
    }
    let lanes = politeness.locked().by_name["a.example"].n_accounts();
    assert!(lanes <= 64, "{lanes} lanes");
}

#[tokio::test]
async fn requests_to_a_host_are_limited_by_its_slots() {
    let politeness = politeness(3);
    let first = politeness.permit("a.example").await;
    let _second = politeness.permit("A.example.").await;
    // The third is left for another account.
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_err());
    let third = timeout(SOON, politeness.permit_with("a.example", of("other"))).await;
    assert!(third.is_ok());
    let fourth = timeout(SOON, politeness.permit_with("a.example", of("next"))).await;
    assert!(fourth.is_err());
    assert!(timeout(SOON, politeness.permit("b.example")).await.is_ok());
    drop((first, third));
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_ok());
}

#[tokio::test]
async fn unused_hosts_are_forgotten() {
    let politeness = politeness(1);
    for number in 0..100 {
        let permit = politeness.permit(&format!("h{number}.example")).await;
        assert_eq!(politeness.hosts_known(), 1);
        drop(permit);
    }
    assert_eq!(politeness.hosts_known(), 0);
}

#[tokio::test]
async fn requests_with_a_delay_start_one_after_the_other() {
    const DELAY: Duration = Duration::from_millis(50);
    let politeness = politeness(64);
    let in_flight = AtomicUsize::new(0);
    let starts = Mutex::new(Vec::new());
    let request = async || {
        let _permit = politeness.permit_with("a.example", paced(DELAY)).await;
        assert_eq!(in_flight.fetch_add(1, Ordering::SeqCst), 0);
        starts.lock().expect("no panic").push(Instant::now());
        tokio::time::sleep(Duration::from_millis(5)).await;
        in_flight.fetch_sub(1, Ordering::SeqCst);
    };
    tokio::join!(request(), request(), request(), request());
    let starts = starts.into_inner().expect("no panic");
    assert_eq!(starts.len(), 4);
    for pair in starts.windows(2) {
        assert!(pair[1] - pair[0] >= DELAY - LATE, "{:?}", pair[1] - pair[0]);
    }
}

#[tokio::test]
async fn a_delay_holds_between_runs_that_do_not_overlap() {
    let politeness = politeness(64);
    let delay = Duration::from_millis(60);
    let before = Instant::now();
    drop(politeness.permit_with("a.example", paced(delay)).await);
    assert_eq!(politeness.hosts_known(), 1);
    drop(politeness.permit_with("a.example", paced(delay)).await);
    assert!(before.elapsed() >= delay);
}

#[tokio::test]
async fn a_delay_does_not_slow_other_tasks() {
    let politeness = politeness(64);
    let long = Duration::from_secs(60);
    let _one = politeness.permit_with("a.example", paced(long)).await;
    assert!(
        timeout(SOON, politeness.permit_with("a.example", paced(long)))
            .await
            .is_err()
    );
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_ok());
    assert!(
        timeout(SOON, politeness.permit_with("b.example", paced(long)))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_paused_host_is_not_contacted() {
    let politeness = politeness(64);
    let before = Instant::now();
    assert_eq!(
        politeness.backoff("a.example", NO_OWNER, Some("1")),
        Duration::from_secs(1)
    );
    assert!(timeout(SOON, politeness.permit("A.EXAMPLE")).await.is_err());
    assert!(timeout(SOON, politeness.permit("b.example")).await.is_ok());
    let _permit = politeness.permit("a.example").await;
    assert!(before.elapsed() >= Duration::from_millis(990));
}

#[tokio::test]
async fn a_pause_also_delays_queued_requests() {
    let politeness = politeness(1);
    let holder = politeness.permit("a.example").await;
    let waiter = tokio::spawn({
        let politeness = Arc::clone(&politeness);
        async move { politeness.permit("a.example").await }
    });
    tokio::time::sleep(SOON).await;
    politeness.backoff("a.example", NO_OWNER, Some("60"));
    drop(holder);
    tokio::time::sleep(SOON).await;
    assert!(!waiter.is_finished());
    waiter.abort();
}

#[tokio::test]
async fn after_a_pause_one_request_is_tried_before_the_others() {
    let politeness = politeness(64);
    politeness.backoff("a.example", NO_OWNER, Some("0"));
    let first = politeness.permit("a.example").await;
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_err());
    politeness.succeeded("a.example", NO_OWNER);
    let second = timeout(SOON, politeness.permit("a.example")).await;
    assert!(second.is_ok());
    drop((first, second));
    assert_eq!(politeness.hosts_known(), 0);
}

#[tokio::test]
async fn the_next_request_starts_when_the_first_after_a_pause_is_dropped() {
    let politeness = politeness(64);
    politeness.backoff("a.example", NO_OWNER, Some("0"));
    let first = politeness.permit("a.example").await;
    let next = tokio::spawn({
        let politeness = Arc::clone(&politeness);
        async move { politeness.permit("a.example").await }
    });
    tokio::time::sleep(SOON).await;
    drop(first);
    assert!(timeout(SOON * 10, next).await.is_ok());
}

#[tokio::test]
async fn the_number_of_paused_hosts_is_bounded() {
    let politeness = politeness(1);
    for number in 0..IDLE_HOSTS_MAX * 3 {
        politeness.backoff(&format!("h{number}.example"), NO_OWNER, Some("60"));
    }
    assert!(politeness.hosts_known() <= IDLE_HOSTS_MAX * 2 + SWEEP_FROM);
}

/// A crawl delay of robots.txt that this account obeys.
fn under_crawl_delay(account: &str, host_delay: Duration) -> RequestPace {
    RequestPace {
        owner: Owner::of(account),
        host_delay,
        ..RequestPace::default()
    }
}

#[tokio::test]
async fn an_unused_permit_delays_nobody() {
    let politeness = politeness(64);
    let hour = Duration::from_secs(3_600);
    let own = RequestPace {
        delay: hour,
        ..under_crawl_delay("one", hour)
    };
    // The second and the third wait for the first: they learn that it was not used.
    let first = politeness.permit_with("a.example", own).await;
    let other = under_crawl_delay("other", hour);
    let mut others = std::pin::pin!(politeness.permit_with("a.example", other));
    assert!(timeout(SOON, others.as_mut()).await.is_err());
    first.release_unused();
    let second = timeout(Duration::from_secs(10), others).await;
    second.expect("no delay").release_unused();
    let third = timeout(
        Duration::from_secs(10),
        politeness.permit_with("a.example", own),
    );
    drop(third.await.expect("no delay of its own either"));
    // The third was used.
    let fourth = politeness.permit_with("a.example", other);
    assert!(timeout(SOON, fourth).await.is_err());
}

#[tokio::test]
async fn a_turn_of_a_third_party_keeps_the_delays_and_no_pause() {
    let politeness = politeness(1);
    let delay = Duration::from_millis(60);
    let unpaced = politeness.turn_with("a.example", RequestPace::NONE).await;
    assert!(unpaced.is_none() && politeness.hosts_known() == 0);
    // Its own pause and its only slot concern requests from here.
    let slot = politeness.permit("a.example").await;
    politeness.backoff("a.example", NO_OWNER, Some("60"));
    let before = Instant::now();
    let first = politeness.turn_with("a.example", paced(delay)).await;
    let mut second = std::pin::pin!(politeness.turn_with("A.example.", paced(delay)));
    assert!(timeout(delay + SOON, second.as_mut()).await.is_err());
    drop(first);
    assert!(second.await.is_some());
    assert!(before.elapsed() >= delay);
    drop(slot);
}

#[tokio::test]
async fn turns_and_permits_of_one_account_wait_for_each_other() {
    let politeness = politeness(64);
    let delay = Duration::from_millis(60);
    let both = RequestPace {
        delay,
        ..under_crawl_delay("one", delay)
    };
    let before = Instant::now();
    drop(politeness.permit_with("a.example", both).await);
    let turn = politeness.turn_with("a.example", both).await;
    assert!(before.elapsed() >= delay);
    drop(turn);
    // Others who obey the crawl delay wait for it too.
    let other = under_crawl_delay("other", delay);
    drop(politeness.permit_with("a.example", other).await);
    assert!(before.elapsed() >= 2 * delay - LATE);
}

#[tokio::test]
async fn an_unused_turn_delays_nobody() {
    let politeness = politeness(64);
    let hour = Duration::from_secs(3_600);
    let own = RequestPace {
        delay: hour,
        ..under_crawl_delay("one", hour)
    };
    let turn = politeness.turn_with("a.example", own).await;
    let other = under_crawl_delay("other", hour);
    let mut waiting = std::pin::pin!(politeness.permit_with("a.example", other));
    assert!(timeout(SOON, waiting.as_mut()).await.is_err());
    turn.expect("a turn").release_unused();
    let permit = timeout(Duration::from_secs(10), waiting).await;
    permit.expect("no delay").release_unused();
    let again = politeness.turn_with("a.example", own);
    assert!(
        timeout(SOON * 10, again).await.is_ok(),
        "nor its own account"
    );
}

#[tokio::test]
async fn an_unused_permit_does_not_undo_a_later_request() {
    let politeness = politeness(64);
    let minute = Duration::from_secs(60);
    let short = under_crawl_delay("one", Duration::from_nanos(1));
    let unused = politeness.permit_with("a.example", short).await;
    tokio::time::sleep(SOON).await;
    let later = under_crawl_delay("other", Duration::from_nanos(1));
    let used = politeness.permit_with("a.example", later).await;
    unused.release_unused();
    let next = politeness.permit_with("a.example", under_crawl_delay("next", minute));
    assert!(timeout(SOON, next).await.is_err());
    drop(used);
}

#[tokio::test]
async fn a_delay_holds_between_the_hops_of_a_redirect() {
    let politeness = politeness(64);
    let delay = Duration::from_millis(60);
    let before = Instant::now();
    let permit = politeness.permit_with("a.example", paced(delay)).await;
    permit.follow("a.example").await;
    assert!(before.elapsed() >= delay, "at the same host");
    permit.follow("A.example.").await;
    assert!(before.elapsed() >= 2 * delay, "and again");
    // At another host it waits for the account's last request there.
    let there = Instant::now();
    drop(politeness.permit_with("b.example", paced(delay)).await);
    permit.follow("b.example").await;
    assert!(there.elapsed() >= delay);
    // The first host is free for the account's next page, after the delay.
    let next = politeness.permit_with("a.example", paced(delay));
    assert!(timeout(Duration::from_secs(5), next).await.is_ok());
    assert!(permit.waited() >= 2 * delay, "{:?}", permit.waited());
    drop(permit);
}

#[tokio::test]
async fn pages_that_redirect_to_each_others_hosts_do_not_wait_for_ever() {
    let politeness = politeness(64);
    let delay = Duration::from_millis(20);
    let page = async |from: &str, to: &str| {
        let permit = politeness.permit_with(from, paced(delay)).await;
        tokio::time::sleep(SOON).await;
        for _ in 0..3 {
            permit.follow(to).await;
            permit.follow(from).await;
        }
    };
    let both = async {
        tokio::join!(
            page("a.example", "b.example"),
            page("b.example", "a.example")
        )
    };
    assert!(timeout(Duration::from_secs(10), both).await.is_ok());
}

#[tokio::test]
async fn waits_between_hops_extend_a_time_up_to_the_patience() {
    let politeness = politeness(64);
    let delay = Duration::from_millis(200);
    let permit = politeness.permit_with("a.example", paced(delay)).await;
    let (short, long) = (Duration::from_millis(40), Duration::from_secs(5));
    let waits = permit
        .in_time(short, long, permit.follow("a.example"))
        .await;
    assert!(waits.is_some(), "the wait does not count");
    let waits = permit
        .in_time(short, short, permit.follow("a.example"))
        .await;
    assert!(waits.is_none(), "beyond the patience it does");
    let hangs = permit
        .in_time(short, long, std::future::pending::<()>())
        .await;
    assert!(hangs.is_none(), "what is not a wait counts");
}

#[tokio::test]
async fn a_delay_holds_after_robots_txt() {
    let politeness = politeness(64);
    let delay = Duration::from_millis(60);
    let before = Instant::now();
    politeness.note("a.example", Owner::of("one"));
    // It has its own delay, and one that others share.
    let own = politeness.permit_with("a.example", paced(delay));
    assert!(timeout(SOON, own).await.is_err());
    let shared = politeness.permit_with("a.example", under_crawl_delay("other", delay));
    drop(shared.await);
    assert!(before.elapsed() >= delay);
    let unpaced = politeness.permit_with("a.example", of("one"));
    assert!(timeout(SOON, unpaced).await.is_ok());
}
