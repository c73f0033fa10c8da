//! The suite of [`OutboxStore`], on a store with the accounts `acc_1` and `acc_2`.

use trawl_model::clock::Timestamp;

use super::fixtures::account;
use crate::{AccountId, OutboxRow, OutboxStore, PageRange};

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
    };
    let rows = [
        row("1", "a", 10),
        row("2", "b", 11),
        row("3", "a", 12),
        row("4", "a", 99),
    ];
    assert_eq!(store.outbox_push(&rows).await.expect("stored"), 4);
    assert_eq!(store.outbox_push(&rows[..2]).await.expect("stored"), 0);
    let due = async |now, busy: &[&str]| {
        let busy: Vec<String> = busy.iter().map(|&name| name.to_owned()).collect();
        let rows = store
            .outbox_due(Timestamp(now), &busy, 10)
            .await
            .expect("read");
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert!(due(9, &[]).await.is_empty());
    assert_eq!(due(12, &[]).await, ["1", "3"]);
    assert_eq!(due(12, &["a"]).await, ["2"]);
    assert!(due(12, &["a", "b"]).await.is_empty());
    let next = store.outbox_next(&["a".to_owned()]).await.expect("read");
    assert_eq!(next, Some(Timestamp(11)));

    let ids = ["2".to_owned(), "unknown".to_owned()];
    assert_eq!(store.outbox_done(&ids).await.expect("written"), 1);
    let tried = ["1".to_owned(), "3".to_owned()];
    let postponed = store.outbox_postpone("a", &tried, Timestamp(50), Timestamp(10));
    assert_eq!(postponed.await.expect("written"), 1);
    assert!(due(49, &[]).await.is_empty());
    let rows = store
        .outbox_due(Timestamp(99), &[], 10)
        .await
        .expect("read");
    let rows: Vec<_> = rows
        .iter()
        .map(|row| (row.id.as_str(), row.due.0, row.n_attempts))
        .collect();
    assert_eq!(rows, [("3", 50, 1), ("4", 99, 0)]);
    assert_eq!(store.outbox_count().await.expect("read"), 2);
}

pub(crate) async fn lists_are_paged(store: &dyn OutboxStore) {
    let (id, other) = (account(1).id, AccountId::new("acc_9"));
    let range = |limit, offset| PageRange { limit, offset };
    let event = |n: i64| OutboxRow {
        id: n.to_string(),
        account: id.clone(),
        destination: "http://b.example/".to_owned(),
        event: "on_find".to_owned(),
        body: "{}".to_owned(),
        created: Timestamp(n),
        due: Timestamp(n),
        n_attempts: 0,
    };
    store
        .outbox_push(&[event(1), event(2), event(3)])
        .await
        .expect("stored");
    let events = store.outbox_rows(&id, range(1, 1)).await.expect("events");
    assert_eq!((events.rows, events.count), (vec![event(2)], 3));
    let none = store.outbox_rows(&other, range(9, 0)).await;
    assert_eq!(none.expect("none").rows, []);
}

pub(crate) async fn a_secret_is_generated_once_and_renewed(store: &dyn OutboxStore) {
    let (id, other) = (account(1).id, account(2).id);
    let first = store.webhook_secret(&id).await.expect("generated");
    assert_eq!(store.webhook_secret(&id).await.expect("stored"), first);
    let second = store.renew_webhook_secret(&id).await.expect("generated");
    assert_ne!(first, second);
    assert_eq!(store.webhook_secret(&id).await.expect("stored"), second);
    let renewed = store.renew_webhook_secret(&other).await.expect("generated");
    assert_eq!(store.webhook_secret(&other).await.expect("stored"), renewed);
}
