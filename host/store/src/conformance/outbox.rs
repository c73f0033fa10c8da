//! The suite of [`OutboxStore`], on a store with the accounts `acc_1` and `acc_2`.

use trawl_model::clock::Timestamp;
use trawl_model::memory::{MemoryBudget, MemoryKind};

use super::fixtures::account;
use crate::{
    AccountId, BatchSize, Busy, Channel, DeliveryFailure, EventSummary, OutboxRow, OutboxStore,
    PageRange, StoreError,
};

pub(crate) async fn events_are_stored_until_they_are_delivered(store: &dyn OutboxStore) {
    let row = |id: &str, destination: &str, due: i64| OutboxRow {
        id: id.to_owned(),
        account: account(1).id,
        destination: destination.to_owned(),
        event: "on_find".to_owned(),
        body: "{}".to_owned(),
        created: Timestamp(due),
        due: Timestamp(due),
        n_attempts: 0,
        last_failure: None,
    };
    let rows = [
        row("1", "a", 10),
        row("2", "b", 11),
        row("3", "a", 12),
        row("4", "a", 99),
    ];
    assert_eq!(store.outbox_oldest().await.expect("read"), None);
    assert_eq!(store.outbox_push(&rows).await.expect("stored"), 4);
    let oldest = store.outbox_oldest().await.expect("read");
    assert_eq!(oldest, Some(Timestamp(10)));
    assert_eq!(store.outbox_push(&rows[..2]).await.expect("stored"), 0);
    let due_ids = async |now, busy: &[&str]| {
        let busy = Busy {
            channels: busy.iter().map(|&name| channel(1, name)).collect(),
            accounts: Vec::new(),
        };
        ids(&due(store, now, &busy).await)
    };
    assert!(due_ids(9, &[]).await.is_empty());
    assert_eq!(due_ids(12, &[]).await, ["1", "3", "4"]);
    assert_eq!(due_ids(12, &["a"]).await, ["2"]);
    assert!(due_ids(12, &["a", "b"]).await.is_empty());
    let busy = Busy {
        channels: vec![channel(1, "a")],
        accounts: Vec::new(),
    };
    let next = store.outbox_next(&busy).await.expect("read");
    assert_eq!(next, Some(Timestamp(11)));

    let ids = ["2".to_owned(), "unknown".to_owned()];
    let channel_b = channel(1, "b");
    let done = store.outbox_done(&channel_b, &ids, Timestamp(12));
    assert_eq!(done.await.expect("written"), 1);
    let tried = ["1".to_owned(), "3".to_owned()];
    let a = channel(1, "a");
    let failure = failure();
    let postponed = store.outbox_postpone(&a, &tried, &failure, Timestamp(50), Timestamp(10));
    assert_eq!(postponed.await.expect("written"), 1);
    assert!(due_ids(49, &[]).await.is_empty());
    let rows = due(store, 50, &Busy::default()).await;
    let rows: Vec<_> = rows
        .iter()
        .map(|row| (row.id.as_str(), row.due.0, row.n_attempts))
        .collect();
    assert_eq!(rows, [("3", 50, 1), ("4", 50, 0)]);
    assert_eq!(store.outbox_count().await.expect("read"), 2);
    let oldest = store.outbox_oldest().await.expect("read");
    assert_eq!(oldest, Some(Timestamp(12)));

    let unknown = channel(1, "unknown");
    let postponed = store.outbox_postpone(&unknown, &[], &failure, Timestamp(50), Timestamp(0));
    assert_eq!(postponed.await.expect("written"), 0);
    let rows = due(store, 50, &Busy::default()).await;
    assert!(
        rows.iter()
            .all(|row| row.last_failure.as_ref() == Some(&failure))
    );
    let owner = account(1);
    let listed = store.outbox_rows(&owner.id, PageRange::offset(9, 0));
    let expected: Vec<_> = rows.iter().map(summary).collect();
    assert_eq!(listed.await.expect("read").rows, expected);
}

/// The oldest events of the channel that is due first, at most ten.
async fn due(store: &dyn OutboxStore, now: i64, busy: &Busy) -> Vec<OutboxRow> {
    let channel = store.outbox_due(Timestamp(now), busy).await.expect("read");
    match channel {
        Some(channel) => batch(store, &channel, 10, u64::MAX).await,
        None => Vec::new(),
    }
}

async fn batch(
    store: &dyn OutboxStore,
    channel: &Channel,
    events: u32,
    bytes: u64,
) -> Vec<OutboxRow> {
    let memory = MemoryBudget::unlimited().share("a").page();
    let size = BatchSize { events, bytes };
    let batch = store.outbox_batch(channel, size, &memory).await;
    batch.expect("read").into_parts().0
}

fn ids(rows: &[OutboxRow]) -> Vec<String> {
    rows.iter().map(|row| row.id.clone()).collect()
}

fn summary(row: &OutboxRow) -> EventSummary {
    EventSummary {
        id: row.id.clone(),
        destination: row.destination.clone(),
        event: row.event.clone(),
        created: row.created,
        due: row.due,
        n_attempts: row.n_attempts,
        last_failure: row.last_failure.clone(),
    }
}

/// A batch ends before its bodies have more bytes than asked for, has one event at least, and takes
/// its memory before it is read.
pub(crate) async fn a_batch_is_a_window_of_bytes(store: &dyn OutboxStore) {
    let a = channel(1, "a");
    let row = |n: i64, length: usize| OutboxRow {
        // Two bytes a character: lengths count bytes.
        body: "\u{e9}".repeat(length / 2),
        ..event(n.to_string(), &a, n)
    };
    let rows = [row(1, 1_000), row(2, 400_000), row(3, 300_000), row(4, 10)];
    assert_eq!(store.outbox_push(&rows).await.expect("stored"), 4);
    for (events, bytes, expected) in [
        (10, 1, "1"),
        (10, 400_000, "1"),
        (10, 401_000, "1 2"),
        (2, u64::MAX, "1 2"),
        (10, u64::MAX, "1 2 3 4"),
    ] {
        let found = ids(&batch(store, &a, events, bytes).await).join(" ");
        assert_eq!(found, expected, "{events} events, {bytes} bytes");
    }
    let budget = MemoryBudget::with_wait_max(64 << 20, std::time::Duration::from_millis(10));
    let share = budget.share("a");
    let size = BatchSize {
        events: 10,
        bytes: u64::MAX,
    };
    let held = store.outbox_batch(&a, size, &share.page()).await;
    let used = budget.in_use().used;
    assert!((701_010..800_000).contains(&used), "{used}");
    drop(held);
    assert_eq!(budget.in_use().used, 0);
    // All that the account may hold, and all that its oldest page may.
    let page = share.page();
    let [mut rest, mut oldest] = [(); 2].map(|()| page.lease_for(MemoryKind::Outputs));
    rest.record(40 << 20);
    oldest.grow_to(16 << 20).await.expect("the oldest page");
    let none = store.outbox_batch(&a, size, &share.page()).await;
    assert!(matches!(none, Err(StoreError::Memory(_))), "{none:?}");
}

/// An event of this channel that happened at this time, and is due then.
fn event(id: String, channel: &Channel, at: i64) -> OutboxRow {
    OutboxRow {
        id,
        account: channel.account.clone(),
        destination: channel.destination.clone(),
        event: "on_find".to_owned(),
        body: "{}".to_owned(),
        created: Timestamp(at),
        due: Timestamp(at),
        n_attempts: 0,
        last_failure: None,
    }
}

fn failure() -> DeliveryFailure {
    DeliveryFailure {
        reason: "the receiver responded with 500".to_owned(),
        at: Timestamp(49),
    }
}

fn channel(n_account: u8, destination: &str) -> Channel {
    Channel {
        account: account(n_account).id,
        destination: destination.to_owned(),
    }
}

/// What one account sends to a destination neither waits for another account nor postpones it.
pub(crate) async fn accounts_have_channels_of_their_own(store: &dyn OutboxStore) {
    let row = |n_account: u8, destination: &str, n: i64| {
        let id = format!("{n_account}{destination}{n}");
        event(id, &channel(n_account, destination), n)
    };
    let rows = [
        row(1, "a", 1),
        row(1, "b", 2),
        row(2, "a", 3),
        row(1, "a", 4),
    ];
    assert_eq!(store.outbox_push(&rows).await.expect("stored"), 4);
    let due = async |busy: Busy| ids(&due(store, 9, &busy).await).join(" ");
    let busy = |n_accounts: &[u8], channels: &[Channel]| Busy {
        channels: channels.to_vec(),
        accounts: n_accounts.iter().map(|&n| account(n).id).collect(),
    };
    assert_eq!(due(busy(&[], &[])).await, "1a1 1a4");
    assert_eq!(due(busy(&[], &[channel(1, "a")])).await, "1b2");
    assert_eq!(due(busy(&[1], &[])).await, "2a3");
    let busy_all = busy(&[1], &[channel(2, "a")]);
    assert_eq!(store.outbox_next(&busy_all).await.expect("read"), None);
    assert_eq!(due(busy_all).await, "");

    let until = Timestamp(50);
    let a = channel(1, "a");
    let failure = failure();
    let postponed = store.outbox_postpone(&a, &[], &failure, until, Timestamp(0));
    assert_eq!(postponed.await.expect("written"), 0);
    assert_eq!(due(busy(&[], &[channel(1, "b")])).await, "2a3");
    let late = [row(1, "a", 5)];
    assert_eq!(store.outbox_push(&late).await.expect("stored"), 1);
    let others = busy(&[2], &[channel(1, "b")]);
    let next = store.outbox_next(&others).await.expect("read");
    assert_eq!(next, Some(until), "a new event waits with the others");
}

/// With more events than one batch has, a channel would else be due first for as long as they last.
pub(crate) async fn a_channel_that_was_served_goes_behind_the_others(store: &dyn OutboxStore) {
    let row = |destination: &str, n: i64| {
        let id = format!("{destination}{n}");
        event(id, &channel(1, destination), n)
    };
    let rows = [row("a", 1), row("a", 2), row("a", 3), row("b", 4)];
    assert_eq!(store.outbox_push(&rows).await.expect("stored"), 4);
    let due = async |now| {
        let mut found = due(store, now, &Busy::default()).await;
        found.truncate(1);
        ids(&found)
    };
    let done = async |destination, id: &str, now| {
        let (channel, ids) = (channel(1, destination), [id.to_owned()]);
        let done = store.outbox_done(&channel, &ids, Timestamp(now)).await;
        assert_eq!(done.expect("written"), 1);
    };
    assert_eq!(due(10).await, ["a1"]);
    done("a", "a1", 10).await;
    assert_eq!(due(10).await, ["b4"]);
    done("b", "b4", 11).await;
    assert_eq!(due(11).await, ["a2"], "and it is still due");

    let a = channel(1, "a");
    let failure = failure();
    let postponed = store.outbox_postpone(&a, &[], &failure, Timestamp(50), Timestamp(0));
    assert_eq!(postponed.await.expect("written"), 0);
    done("a", "a2", 20).await;
    assert!(due(49).await.is_empty(), "it is not due any sooner");
    assert_eq!(due(50).await, ["a3"]);
}

pub(crate) async fn lists_are_paged(store: &dyn OutboxStore) {
    let (id, other) = (account(1).id, AccountId::new("acc_9"));
    let range = PageRange::offset;
    let event = |n: i64| OutboxRow {
        id: n.to_string(),
        account: id.clone(),
        destination: "http://b.example/".to_owned(),
        event: "on_find".to_owned(),
        body: "{}".to_owned(),
        created: Timestamp(n),
        due: Timestamp(1),
        n_attempts: 0,
        last_failure: None,
    };
    store
        .outbox_push(&[event(1), event(2), event(3)])
        .await
        .expect("stored");
    let events = store.outbox_rows(&id, range(1, 1)).await.expect("events");
    assert_eq!((events.rows, events.count), (vec![summary(&event(2))], 3));
    let next = PageRange::after(1, events.next.expect("there are more"));
    let events = store.outbox_rows(&id, next).await.expect("events");
    assert_eq!((events.rows, events.next), (vec![summary(&event(3))], None));
    let none = store.outbox_rows(&other, range(9, 0)).await;
    assert_eq!(none.expect("none").rows, []);
}

pub(crate) async fn a_secret_is_generated_once_and_renewed(store: &dyn OutboxStore) {
    let (id, other) = (account(1).id, account(2).id);
    let first = store.webhook_secret(&id).await.expect("generated");
    assert_eq!(store.webhook_secret(&id).await.expect("stored"), first);
    let now = Timestamp(1_000);
    let second = store.renew_webhook_secret(&id, now).await;
    let second = second.expect("generated");
    assert_ne!(first, second);
    assert_eq!(store.webhook_secret(&id).await.expect("stored"), second);
    let renewed = store.renew_webhook_secret(&other, now).await;
    let renewed = renewed.expect("generated");
    assert_eq!(store.webhook_secret(&other).await.expect("stored"), renewed);
}

pub(crate) async fn a_replaced_secret_signs_for_a_while(store: &dyn OutboxStore) {
    let id = account(1).id;
    let signing = async |since: i64| {
        let secrets = store.signing_secrets(&id, Timestamp(since)).await;
        let secrets = secrets.expect("secrets");
        (secrets.current, secrets.previous)
    };
    let (first, none) = signing(0).await;
    assert_eq!(none, None);
    assert_eq!(store.webhook_secret(&id).await.expect("stored"), first);
    let now = Timestamp(1_000);
    let second = store.renew_webhook_secret(&id, now).await;
    let second = second.expect("generated");
    assert_eq!(signing(999).await, (second.clone(), Some(first)));
    assert_eq!(signing(1_000).await, (second.clone(), None));
    // Two sign at most.
    let later = Timestamp(1_001);
    let third = store.renew_webhook_secret(&id, later).await;
    assert_eq!(
        signing(999).await,
        (third.expect("generated"), Some(second))
    );
}
