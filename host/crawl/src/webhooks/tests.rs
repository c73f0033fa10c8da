//! Delivery to receivers on the loopback interface.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use trawl_model::Nanodollars;
use trawl_model::clock::{Clock, Timestamp};
use trawl_model::memory::MemoryBudget;
use trawl_net::egress::{AllowList, Egress, EgressConfig};
use trawl_plan::address;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{
    AccountId, AccountRecord, DataDir, EventSummary, KeyRecord, KeySpending, Notice, PageRange,
    SigningSecrets, Store,
};

use super::{
    AGE_MAX, Event, FoundPage, ROTATION, WAITING_FLOOR, WebhookLimits, Webhooks, signature,
    standard_signature,
};

/// One request that a receiver got.
#[derive(Clone, Debug)]
struct Received {
    headers: HashMap<String, String>,
    body: String,
}

/// A receiver that responds with these statuses in turn, then with the last one.
struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    async fn start(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a socket address");
        let received = Arc::new(Mutex::new(Vec::new()));
        let (statuses, log) = (statuses.to_vec(), Arc::clone(&received));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (statuses, log) = (statuses.clone(), Arc::clone(&log));
                tokio::spawn(async move {
                    let mut socket = BufReader::new(socket);
                    while let Some(request) = read(&mut socket).await {
                        let index = {
                            let mut log = log.lock().expect("no panic");
                            log.push(request);
                            log.len() - 1
                        };
                        let status = statuses[index.min(statuses.len() - 1)];
                        let head = format!(
                            "HTTP/1.1 {status} X\r\nlocation: /elsewhere\r\ncontent-length: 2\r\n\r\nok"
                        );
                        let _ = socket.write_all(head.as_bytes()).await;
                    }
                });
            }
        });
        Self { address, received }
    }

    fn url(&self) -> address::Receiver {
        address::receiver(&format!("http://{}/hook", self.address)).expect("a URL")
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no panic").clone()
    }

    /// Waits until it has received this many requests.
    async fn has(&self, count: usize) -> Vec<Received> {
        for _ in 0..3_000 {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("only {} of {count} requests arrived", self.received().len());
    }
}

async fn read(socket: &mut BufReader<tokio::net::TcpStream>) -> Option<Received> {
    let mut headers = HashMap::new();
    let mut line = String::new();
    loop {
        line.clear();
        if socket.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) => drop(headers.insert(name.to_lowercase(), value.to_owned())),
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let len: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; len];
    socket.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Received { headers, body })
}

/// A store, its webhooks and a fake clock.
struct World {
    store: Arc<dyn Store>,
    hooks: Arc<Webhooks>,
    clock: Clock,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
}

fn account() -> AccountId {
    AccountId::new("acc_1")
}

fn other_account() -> AccountId {
    AccountId::new("acc_2")
}

async fn world(directory: &Path) -> World {
    let limits = WebhookLimits {
        events: 1_000,
        ..WebhookLimits::default()
    };
    world_with(directory, limits).await
}

async fn world_with(directory: &Path, limits: WebhookLimits) -> World {
    let data = DataDir::create(directory).expect("a data directory");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await.expect("a store"));
    let record = AccountRecord {
        id: account(),
        name: "test".to_owned(),
        created: Timestamp(1),
        balance: Nanodollars::ZERO,
        held: Nanodollars::ZERO,
        notice: Notice::default(),
    };
    let key = KeyRecord {
        prefix: "tr_1".to_owned(),
        account: account(),
        hash: [1; 32],
        created: Timestamp(1),
        name: String::new(),
        last_used: None,
        revoked: None,
        spending: KeySpending::default(),
    };
    let other = AccountRecord {
        id: other_account(),
        name: "other".to_owned(),
        ..record.clone()
    };
    let other_key = KeyRecord {
        prefix: "tr_2".to_owned(),
        account: other_account(),
        hash: [2; 32],
        ..key.clone()
    };
    // After a restart the accounts exist already.
    let _ = store.create_account(&record, &key, &[]).await;
    let _ = store.create_account(&other, &other_key, &[]).await;
    let clock = Clock::fake(Timestamp(1_700_000_000_000));
    let hooks = Webhooks::new(store.clone(), clock.clone(), limits);
    let loopback = "127.0.0.0/8".parse().expect("a range");
    let egress = Egress::new(EgressConfig {
        allow_private: AllowList::new(vec![loopback]),
        ..EgressConfig::default()
    });
    let stop = CancellationToken::new();
    let budget = MemoryBudget::unlimited();
    let running = Arc::clone(&hooks).run(egress.expect("egress"), budget, stop.clone());
    World {
        running: tokio::spawn(running),
        store,
        hooks,
        clock,
        stop,
    }
}

impl World {
    /// Advances the clock and wakes the delivery.
    fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.hooks.wake.notify_one();
    }

    async fn until_empty(&self) {
        for _ in 0..3_000 {
            if self.store.outbox_count().await.expect("a store") == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("events are still waiting");
    }

    /// Waits until this many attempts at the oldest event are stored.
    async fn until_tried(&self, count: u32) {
        for _ in 0..3_000 {
            let waiting = self.waiting().await;
            if waiting.first().is_some_and(|row| row.n_attempts >= count) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("fewer than {count} attempts are stored");
    }

    async fn waiting(&self) -> Vec<EventSummary> {
        let account = account();
        let rows = self.store.outbox_rows(&account, PageRange::offset(10, 0));
        rows.await.expect("a store").rows
    }

    async fn end(self) {
        self.stop.cancel();
        self.running.await.expect("no panic");
        self.store.close().await;
    }
}

fn found(n: u64, hook: &address::Receiver) -> Event {
    found_by(&account(), n, hook)
}

fn found_by(account: &AccountId, n: u64, hook: &address::Receiver) -> Event {
    let page = FoundPage {
        crawl_id: "c1",
        n,
        url: "http://a.example/x",
        status: 200,
        cause: None,
        place: None,
    };
    Event::find(account, hook, page, format!("page {n}").into())
}

const HOUR: Duration = Duration::from_secs(60 * 60);

#[tokio::test]
async fn an_event_is_signed_and_delivered() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let receiver = Receiver::start(&[204]).await;
    world
        .hooks
        .push(vec![found(1, &receiver.url())])
        .await
        .expect("stored");
    let received = receiver.has(1).await.remove(0);
    world.until_empty().await;
    let header = |name: &str| {
        received
            .headers
            .get(name)
            .map(String::as_str)
            .unwrap_or_default()
    };
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("x-trawl-event"), "on_find");
    assert_eq!(header("x-trawl-event-id"), "c1:1:on_find");
    let secrets = world.hooks.secrets(&account()).await.expect("a secret");
    let (now, sent) = (world.clock.now(), received.body.as_bytes());
    let expected = signature(&secrets.current, now, sent);
    assert_eq!(header("x-trawl-signature"), expected);
    assert_eq!(header("webhook-id"), "c1:1:on_find");
    assert_eq!(header("webhook-timestamp"), "1700000000");
    let expected = standard_signature(&secrets, "c1:1:on_find", now, sent);
    assert_eq!(header("webhook-signature"), expected);
    assert!(!expected.contains(' '), "one secret, one signature");
    let body: Value = serde_json::from_str(&received.body).expect("JSON");
    assert_eq!(body["content"], "page 1");
    assert_eq!(receiver.received().len(), 1);
    let [delivery] = &world.hooks.deliveries(&account())[..] else {
        panic!("one delivery");
    };
    assert_eq!((delivery.status, delivery.attempt), (Some(204), 1));
    assert_eq!((delivery.id.as_str(), delivery.at), ("c1:1:on_find", now));
    assert_eq!(delivery.error, None);
    world.end().await;
}

#[tokio::test]
async fn a_replaced_secret_signs_beside_the_new_one_for_a_day() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let old = world.store.webhook_secret(&account()).await;
    let old = old.expect("a secret");
    let now = world.clock.now();
    let new = world.store.renew_webhook_secret(&account(), now).await;
    let new = new.expect("a secret");
    let receiver = Receiver::start(&[200]).await;
    let mut signatures = Vec::new();
    for n in [1, 2] {
        let event = found(n, &receiver.url());
        world.hooks.push(vec![event]).await.expect("stored");
        let received = receiver.has(signatures.len() + 1).await;
        let received = received.last().expect("an event");
        world.until_empty().await;
        // This header has one signature: the new secret signs at once.
        let expected = signature(&new, world.clock.now(), received.body.as_bytes());
        assert_eq!(received.headers["x-trawl-signature"], expected);
        let standard = received.headers["webhook-signature"].split(' ');
        signatures.push(standard.map(str::to_owned).collect::<Vec<_>>());
        let alone = SigningSecrets {
            current: old.clone(),
            previous: None,
        };
        let id = format!("c1:{n}:on_find");
        let of_old = standard_signature(&alone, &id, world.clock.now(), received.body.as_bytes());
        let place = signatures[signatures.len() - 1]
            .iter()
            .position(|one| *one == of_old);
        assert_eq!(place, (n == 1).then_some(1));
        world.advance(ROTATION);
    }
    assert_eq!((signatures[0].len(), signatures[1].len()), (2, 1));
    world.end().await;
}

#[tokio::test]
async fn the_password_of_a_receiver_is_sent_and_not_shown() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let receiver = Receiver::start(&[204]).await;
    let hook = format!("http://ada:canary@{}/hook?token=canary", receiver.address);
    let event = found(1, &address::receiver(&hook).expect("a URL"));
    assert!(!format!("{event:?}").contains("canary"), "{event:?}");
    world.hooks.push(vec![event]).await.expect("stored");
    let received = receiver.has(1).await.remove(0);
    assert_eq!(received.headers["authorization"], "Basic YWRhOmNhbmFyeQ==");
    world.until_empty().await;
    world.end().await;
}

#[tokio::test]
async fn failed_events_are_retried_later() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let receiver = Receiver::start(&[500, 301, 200]).await;
    world
        .hooks
        .push(vec![found(1, &receiver.url())])
        .await
        .expect("stored");
    for (n_received, n_attempts) in [(1, 1), (2, 2)] {
        receiver.has(n_received).await;
        world.until_tried(n_attempts).await;
        let age = world.hooks.oldest_age().await.expect("a store");
        assert_eq!(age, HOUR * (n_attempts - 1));
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(
            receiver.received().len(),
            n_received,
            "not before it is due"
        );
        world.advance(HOUR);
    }
    let received = receiver.has(3).await;
    world.until_empty().await;
    let age = world.hooks.oldest_age().await.expect("a store");
    assert_eq!(age, Duration::ZERO);
    assert_eq!(received[0].body, received[2].body);
    assert_ne!(
        received[0].headers["x-trawl-signature"],
        received[2].headers["x-trawl-signature"]
    );
    world.end().await;
}

#[tokio::test]
async fn events_survive_a_restart() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let before = world(directory.path()).await;
    let receiver = Receiver::start(&[503, 200]).await;
    before
        .hooks
        .push(vec![found(1, &receiver.url())])
        .await
        .expect("stored");
    receiver.has(1).await;
    before.until_tried(1).await;
    let secret = before.hooks.secrets(&account()).await.expect("a secret");
    before.end().await;
    let after = world(directory.path()).await;
    assert_eq!(
        after.hooks.secrets(&account()).await.expect("a secret"),
        secret
    );
    after.advance(HOUR);
    receiver.has(2).await;
    after.until_empty().await;
    after.end().await;
}

#[tokio::test]
async fn an_event_is_stored_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let receiver = Receiver::start(&[503, 200]).await;
    let event = found(1, &receiver.url());
    world
        .hooks
        .push(vec![event.clone(), event.clone()])
        .await
        .expect("stored");
    receiver.has(1).await;
    world.until_tried(1).await;
    world.hooks.push(vec![event]).await.expect("stored");
    assert_eq!(world.store.outbox_count().await.expect("a store"), 1);
    world.advance(HOUR);
    receiver.has(2).await;
    world.until_empty().await;
    assert_eq!(receiver.received().len(), 2);
    world.end().await;
}

#[tokio::test]
async fn a_failing_receiver_does_not_delay_others() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let (bad, good) = (Receiver::start(&[500]).await, Receiver::start(&[200]).await);
    let events = (0..300).flat_map(|n| [found(n, &bad.url()), found(1_000 + n, &good.url())]);
    world.hooks.push(events.collect()).await.expect("stored");
    assert_eq!(good.has(300).await.len(), 300);
    // After one failure the receiver is not called again until its backoff ends.
    assert!(bad.received().len() <= 8, "{}", bad.received().len());
    world.end().await;
}

#[tokio::test]
async fn events_that_fail_for_a_day_are_dropped() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let receiver = Receiver::start(&[500]).await;
    world
        .hooks
        .push(vec![found(1, &receiver.url()), found(2, &receiver.url())])
        .await
        .expect("stored");
    receiver.has(1).await;
    world.until_tried(1).await;
    world.advance(AGE_MAX);
    world.until_empty().await;
    world.end().await;
}

#[tokio::test]
async fn private_ip_addresses_get_no_events() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let private = address::receiver("http://10.0.0.1/hook").expect("a URL");
    world
        .hooks
        .push(vec![found(1, &private)])
        .await
        .expect("stored");
    world.until_tried(1).await;
    let waiting = world.waiting().await;
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].n_attempts, 1);
    world.end().await;
}

#[tokio::test]
async fn the_last_failure_is_stored_for_the_owner() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let receiver = Receiver::start(&[503]).await;
    let private = address::receiver("http://10.0.0.1/hook").expect("a URL");
    let events = vec![found(1, &receiver.url()), found(2, &private)];
    world.hooks.push(events).await.expect("stored");
    let mut failures = Vec::new();
    // Much longer than two deliveries on one machine.
    for _ in 0..3_000 {
        let account = account();
        let rows = world.store.outbox_rows(&account, PageRange::offset(9, 0));
        let rows = rows.await.expect("a store").rows;
        failures = rows
            .into_iter()
            .filter_map(|row| row.last_failure)
            .collect();
        if failures.len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let reasons: Vec<_> = failures.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].contains("responded with 503"), "{reasons:?}");
    assert!(
        reasons[1].contains("has no public IP address"),
        "{reasons:?}"
    );
    world.end().await;
}

#[tokio::test]
async fn slow_destinations_of_one_account_delay_no_other() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let never = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let never_at = never.local_addr().expect("a socket address");
    // Accepts by the backlog of its socket and answers nothing.
    let slow = |n: u64| address::receiver(&format!("http://{never_at}/{n}")).expect("a URL");
    let events: Vec<Event> = (0..200).map(|n| found(n, &slow(n))).collect();
    world.hooks.push(events).await.expect("stored");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let receiver = Receiver::start(&[200]).await;
    let events = (1_000..1_100).map(|n| found_by(&other_account(), n, &receiver.url()));
    world.hooks.push(events.collect()).await.expect("stored");
    // Far sooner than the first of the slow requests times out.
    let arrived = tokio::time::timeout(Duration::from_secs(10), receiver.has(100)).await;
    assert_eq!(arrived.expect("in time").len(), 100);
    world.end().await;
}

#[tokio::test]
async fn an_account_that_reached_its_limit_stores_no_more_events() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let (bad, good) = (Receiver::start(&[500]).await, Receiver::start(&[200]).await);
    let events = (0..1_000).map(|n| found(n, &bad.url()));
    world.hooks.push(events.collect()).await.expect("stored");
    let full = world.hooks.full(&account()).await.expect("a store");
    let full = full.expect("the limit is reached").to_string();
    assert!(
        full.starts_with("webhook_events: the account has 1000 of 1000"),
        "{full}"
    );
    let more = vec![found(1_001, &bad.url())];
    world.hooks.push(more).await.expect("dropped");
    let range = PageRange::offset(1, 0);
    let waiting = world.store.outbox_rows(&account(), range).await;
    assert_eq!(waiting.expect("a store").count, 1_000);
    let theirs = vec![found_by(&other_account(), 2_000, &good.url())];
    world.hooks.push(theirs).await.expect("stored");
    good.has(1).await;
    world.end().await;
}

/// Accounts with many events leave room for events of others.
#[tokio::test]
async fn an_account_cannot_take_all_the_room_for_events() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let limits = WebhookLimits {
        events: 10_000,
        all: 4_000,
        ..WebhookLimits::default()
    };
    let world = world_with(directory.path(), limits).await;
    let bad = Receiver::start(&[500]).await;
    let push = async |account: &AccountId, from: u64| {
        for n in 0..50 {
            let events = (0..100).map(|m| found_by(account, from + n * 100 + m, &bad.url()));
            world.hooks.push(events.collect()).await.expect("stored");
        }
        let rows = world.store.outbox_rows(account, PageRange::offset(1, 0));
        rows.await.expect("a store").count
    };
    assert_eq!(push(&account(), 0).await, 2_000, "half of the room");
    let full = world.hooks.full(&account()).await.expect("a store");
    let full = full.expect("its part is used up").to_string();
    assert!(
        full.starts_with("webhook_events: the account has 2000 of 2000"),
        "{full}"
    );
    assert_eq!(push(&other_account(), 10_000).await, WAITING_FLOOR);
    world.end().await;
}

#[tokio::test]
async fn every_destination_of_an_account_gets_its_turn() {
    // More than one batch has.
    const N_EVENTS: usize = 110;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let world = world(directory.path()).await;
    let receiver = Receiver::start(&[200]).await;
    // The destinations are one more than are served at once.
    let hook = |n: u64| {
        let hook = format!("http://{}/{n}", receiver.address);
        address::receiver(&hook).expect("a URL")
    };
    let stored = Timestamp(world.clock.now().0 - 1_000);
    let rows = (1..=9).flat_map(|n| {
        let events = (n * 1_000..).take(N_EVENTS);
        let hook = hook(n);
        events.map(move |event| found(event, &hook).into_row(stored))
    });
    let rows: Vec<_> = rows.collect();
    world.store.outbox_push(&rows).await.expect("stored");
    world.hooks.wake.notify_one();
    let received = receiver.has(9 * N_EVENTS).await;
    world.until_empty().await;
    let destinations: Vec<u64> = received
        .iter()
        .map(|request| {
            let body: Value = serde_json::from_str(&request.body).expect("JSON");
            let content = body["content"].as_str().unwrap_or_default();
            let n: u64 = content
                .trim_start_matches("page ")
                .parse()
                .expect("an event");
            n / 1_000
        })
        .collect();
    let first_of_last = destinations.iter().position(|n| *n == 9);
    let before = &destinations[..first_of_last.expect("the ninth has events")];
    for n in 1..9 {
        let count = before.iter().filter(|other| **other == n).count();
        assert!(count < N_EVENTS, "{n} was finished before the ninth began");
    }
    world.end().await;
}
