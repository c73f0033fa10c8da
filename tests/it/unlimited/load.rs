//! Many connections compete for few seats: never more requests in flight than seats, and hardly
//! ever fewer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trawl_tests::FakeSite;

use super::{SCRAPE, active, one, until_active, with_seats};

const SEATS: u32 = 8;
const CONNECTIONS: usize = 64;
/// Requests that are served; many more are refused.
const SERVED: usize = 2_000;
/// Pause of a client after a refusal. It retries, so that there is always demand.
const PAUSE: Duration = Duration::from_millis(20);
/// Lower bound on the share of seats in use. It is near one on an idle machine, but this process
/// runs the server, the site and all clients, which share two threads with whatever else runs. A
/// server that serialised its requests would use one seat of eight.
const IN_USE_MIN: f64 = 0.6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_connections_never_exceed_the_seats() {
    let (app, site) = (with_seats(SEATS).await, FakeSite::start().await);
    let (served, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now();
    let callers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (caller, page) = ((*app).clone(), one(&site.url("/slow/40")));
            let (served, refused) = (Arc::clone(&served), Arc::clone(&refused));
            tokio::spawn(async move {
                while served.load(Ordering::SeqCst) < SERVED {
                    let answer = caller.post(SCRAPE, &[], &page).await;
                    assert_eq!(answer.header("x-concurrency-limit"), "8");
                    let in_use: u32 = answer.header("x-concurrency-active").parse().unwrap();
                    assert!((1..=SEATS).contains(&in_use), "{in_use}");
                    match answer.status {
                        200 => served.fetch_add(1, Ordering::SeqCst),
                        429 => {
                            tokio::time::sleep(PAUSE).await;
                            refused.fetch_add(1, Ordering::SeqCst)
                        }
                        other => panic!("{other}"),
                    };
                }
            })
        })
        .collect();
    let (mut in_use, mut looks) = (0, 0);
    while served.load(Ordering::SeqCst) < SERVED {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let now = active(&app);
        assert!(now <= SEATS, "{now} in flight");
        in_use += now;
        looks += 1;
    }
    let elapsed = began.elapsed();
    for caller in callers {
        caller.await.unwrap();
    }
    until_active(&app, 0).await;
    let share = f64::from(in_use) / f64::from(looks * SEATS);
    eprintln!(
        "{SERVED} served, {} refused in {elapsed:?}; {:.1} % of the seats in use, {} at once at the site",
        refused.load(Ordering::SeqCst),
        share * 100.0,
        site.slow_at_once(),
    );
    assert_eq!(site.slow_at_once(), SEATS as usize);
    assert!(share > IN_USE_MIN, "only {share}");
    app.assert_settled().await;
}
