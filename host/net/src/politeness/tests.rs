use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::timeout;

use super::*;

const SOON: Duration = Duration::from_millis(20);

fn politeness(in_flight_per_host: usize) -> Arc<Politeness> {
    Politeness::new(&PolitenessConfig { in_flight_per_host })
}

#[tokio::test]
async fn a_host_is_contacted_by_no_more_than_its_places() {
    let politeness = politeness(2);
    let first = politeness.permit("a.example").await;
    let _second = politeness.permit("A.example.").await;
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_err());
    assert!(timeout(SOON, politeness.permit("b.example")).await.is_ok());
    drop(first);
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_ok());
}

#[tokio::test]
async fn hosts_are_forgotten_when_nobody_wants_them() {
    let politeness = politeness(1);
    for number in 0..100 {
        let permit = politeness.permit(&format!("h{number}.example")).await;
        assert_eq!(politeness.hosts_known(), 1);
        drop(permit);
    }
    assert_eq!(politeness.hosts_known(), 0);
}

#[tokio::test]
async fn requests_with_a_delay_begin_one_after_the_other() {
    const DELAY: Duration = Duration::from_millis(50);
    let politeness = politeness(64);
    let in_flight = AtomicUsize::new(0);
    let begun = Mutex::new(Vec::new());
    let request = async || {
        let _permit = politeness.permit_with("a.example", DELAY).await;
        assert_eq!(in_flight.fetch_add(1, Ordering::SeqCst), 0);
        begun.lock().expect("no panic").push(Instant::now());
        tokio::time::sleep(Duration::from_millis(5)).await;
        in_flight.fetch_sub(1, Ordering::SeqCst);
    };
    tokio::join!(request(), request(), request(), request());
    let begun = begun.into_inner().expect("no panic");
    assert_eq!(begun.len(), 4);
    for pair in begun.windows(2) {
        assert!(pair[1] - pair[0] >= DELAY, "{:?}", pair[1] - pair[0]);
    }
}

#[tokio::test]
async fn a_delay_holds_between_runs_that_do_not_overlap() {
    let politeness = politeness(64);
    let delay = Duration::from_millis(60);
    let before = Instant::now();
    drop(politeness.permit_with("a.example", delay).await);
    assert_eq!(politeness.hosts_known(), 1);
    drop(politeness.permit_with("a.example", delay).await);
    assert!(before.elapsed() >= delay);
}

#[tokio::test]
async fn a_delay_is_nobody_elses() {
    let politeness = politeness(64);
    let long = Duration::from_secs(60);
    let _one = politeness.permit_with("a.example", long).await;
    assert!(
        timeout(SOON, politeness.permit_with("a.example", long))
            .await
            .is_err()
    );
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_ok());
    assert!(
        timeout(SOON, politeness.permit_with("b.example", long))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_host_in_pause_is_contacted_by_nobody() {
    let politeness = politeness(64);
    assert_eq!(
        politeness.backoff("a.example", Some("1")),
        Duration::from_secs(1)
    );
    let before = Instant::now();
    assert!(timeout(SOON, politeness.permit("A.EXAMPLE")).await.is_err());
    assert!(timeout(SOON, politeness.permit("b.example")).await.is_ok());
    let _permit = politeness.permit("a.example").await;
    assert!(before.elapsed() >= Duration::from_millis(990));
}

#[tokio::test]
async fn who_stands_in_line_when_the_pause_begins_waits_too() {
    let politeness = politeness(1);
    let holder = politeness.permit("a.example").await;
    let waiter = tokio::spawn({
        let politeness = Arc::clone(&politeness);
        async move { politeness.permit("a.example").await }
    });
    tokio::time::sleep(SOON).await;
    politeness.backoff("a.example", Some("60"));
    drop(holder);
    tokio::time::sleep(SOON).await;
    assert!(!waiter.is_finished());
    waiter.abort();
}

#[tokio::test]
async fn after_a_pause_one_asks_first_and_then_all() {
    let politeness = politeness(64);
    politeness.backoff("a.example", Some("0"));
    let first = politeness.permit("a.example").await;
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_err());
    politeness.succeeded("a.example");
    let second = timeout(SOON, politeness.permit("a.example")).await;
    assert!(second.is_ok());
    drop((first, second));
    assert_eq!(politeness.hosts_known(), 0);
}

#[tokio::test]
async fn the_next_is_let_in_when_the_first_after_a_pause_gives_up() {
    let politeness = politeness(64);
    politeness.backoff("a.example", Some("0"));
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
async fn hosts_in_pause_are_remembered_up_to_a_number() {
    let politeness = politeness(1);
    for number in 0..RESTING_HOSTS_MAX * 3 {
        politeness.backoff(&format!("h{number}.example"), Some("60"));
    }
    assert!(politeness.hosts_known() <= RESTING_HOSTS_MAX * 2 + SWEEP_FROM);
}
