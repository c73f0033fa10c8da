use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::timeout;

use super::*;

const SOON: Duration = Duration::from_millis(20);

fn politeness(in_flight_per_host: usize) -> Arc<Politeness> {
    Politeness::new(&PolitenessConfig { in_flight_per_host })
}

#[tokio::test]
async fn requests_to_a_host_are_limited_by_its_slots() {
    let politeness = politeness(2);
    let first = politeness.permit("a.example").await;
    let _second = politeness.permit("A.example.").await;
    assert!(timeout(SOON, politeness.permit("a.example")).await.is_err());
    assert!(timeout(SOON, politeness.permit("b.example")).await.is_ok());
    drop(first);
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
        let _permit = politeness.permit_with("a.example", DELAY).await;
        assert_eq!(in_flight.fetch_add(1, Ordering::SeqCst), 0);
        starts.lock().expect("no panic").push(Instant::now());
        tokio::time::sleep(Duration::from_millis(5)).await;
        in_flight.fetch_sub(1, Ordering::SeqCst);
    };
    tokio::join!(request(), request(), request(), request());
    let starts = starts.into_inner().expect("no panic");
    assert_eq!(starts.len(), 4);
    for pair in starts.windows(2) {
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
async fn a_delay_does_not_slow_other_tasks() {
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
async fn a_paused_host_is_not_contacted() {
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
async fn a_pause_also_delays_queued_requests() {
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
async fn after_a_pause_one_request_is_tried_before_the_others() {
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
async fn the_next_request_starts_when_the_first_after_a_pause_is_dropped() {
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
async fn the_number_of_paused_hosts_is_bounded() {
    let politeness = politeness(1);
    for number in 0..IDLE_HOSTS_MAX * 3 {
        politeness.backoff(&format!("h{number}.example"), Some("60"));
    }
    assert!(politeness.hosts_known() <= IDLE_HOSTS_MAX * 2 + SWEEP_FROM);
}
