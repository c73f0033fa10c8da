//! The suite of [`TotalsStore`], on a store with the accounts `acc_1` and `acc_2`.

use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, StopReason, UrlRow, UrlState};

use super::fixtures::{account, crawl};
use crate::{
    AccountTotals, Answer, AnswerKey, Channel, Contact, CrawlCounts, LogPosition, OutboxRow,
    PageRow, Progress, Store, StoredAnswer, TotalsStore,
};

/// Two URLs, one of which is a page of 1,000 bytes.
fn progress() -> Progress {
    let url = |n: u32| UrlRow {
        n,
        url: format!("https://a.example/{n}"),
        depth: 0,
        referrer: None,
        anchor: None,
        target: None,
        state: UrlState::Done,
    };
    let page = PageRow {
        seq: 1,
        n: 0,
        status: 200,
        is_failed: false,
        place: LogPosition {
            segment: None,
            offset: 0,
            length: 1_000,
        },
        at: Some(Timestamp(2)),
        cost: Nanodollars(3),
        cause: None,
        error: None,
        content: None,
    };
    Progress {
        urls: vec![url(0), url(1)],
        pages: vec![page],
        counts: CrawlCounts {
            n_pages: 1,
            ..CrawlCounts::default()
        },
    }
}

fn answer(len: usize, at: i64) -> StoredAnswer {
    StoredAnswer {
        body_hash: [1; 32],
        has_ended: true,
        answer: Some(Answer {
            status: 200,
            content_type: "application/json".to_owned(),
            headers: vec![("x-crawl-id".to_owned(), "c".repeat(len / 10))],
            body: vec![b'x'; len].into(),
        }),
        at: Timestamp(at),
    }
}

async fn put_answer(store: &dyn Store, key: &str, answer: &StoredAnswer) {
    let key = AnswerKey {
        account: account(1).id,
        key: key.to_owned(),
    };
    let stored = store.store_answer(&key, answer, Timestamp(0)).await;
    stored.expect("stored");
}

fn contact(details: &str) -> Contact {
    Contact {
        domain: "a.example".to_owned(),
        kind: "email".to_owned(),
        value: "x@a.example".to_owned(),
        details: details.to_owned(),
        pages: Vec::new(),
        first_seen: Timestamp(1),
        last_seen: Timestamp(1),
    }
}

fn event(id: &str, body: &str) -> OutboxRow {
    OutboxRow {
        id: id.to_owned(),
        account: account(1).id,
        destination: "https://b.example/".to_owned(),
        event: "on_find".to_owned(),
        body: body.to_owned(),
        created: Timestamp(1),
        due: Timestamp(1),
        n_attempts: 0,
        last_failure: None,
    }
}

async fn totals(store: &dyn Store, n_account: u8) -> AccountTotals {
    let id = account(n_account).id;
    TotalsStore::totals(store, &id).await.expect("totals")
}

pub(crate) async fn totals_follow_every_row(store: &dyn Store) {
    assert_eq!(totals(store, 1).await, AccountTotals::default());
    store.create_crawl(&crawl("a")).await.expect("a crawl");
    let stored = store.save_crawl_progress("a", &progress()).await;
    let stored = stored.expect("saved");
    assert!((1_000..2_000).contains(&stored), "{stored}");
    for len in [5_000, 3_000] {
        put_answer(store, "k", &answer(len, 9)).await;
    }
    let id = account(1).id;
    for details in ["{}", "{\"name\":\"Ünal\"}"] {
        let saved = store.save_contacts(&id, &[contact(details)]).await;
        assert_eq!(saved.expect("saved"), 0);
    }
    let events = [event("1", "é"), event("2", "{}"), event("1", "é")];
    assert_eq!(store.outbox_push(&events).await.expect("stored"), 2);
    let found = totals(store, 1).await;
    assert_eq!(
        (found.n_crawls, found.n_pages, found.n_background_pages),
        (1, 1, 1)
    );
    assert_eq!(
        (found.n_answers, found.n_contacts, found.n_events),
        (1, 1, 2)
    );
    assert_eq!(found.crawl_bytes, stored);
    assert!((3_000..4_000).contains(&found.answer_bytes), "{found:?}");
    assert_eq!(found.event_bytes, 2 * (2 + 18 + 256));
    assert_eq!(totals(store, 2).await, AccountTotals::default());

    let ended = store.end_crawl("a", StopReason::Completed, Timestamp(3));
    ended.await.expect("ended");
    store.expire_crawls(Timestamp(4)).await.expect("expired");
    store.expire_answers(Timestamp(10)).await.expect("expired");
    let ids = ["1".to_owned(), "2".to_owned()];
    let channel = Channel {
        account: account(1).id,
        destination: event("1", "").destination,
    };
    let done = store.outbox_done(&channel, &ids, Timestamp(4)).await;
    assert_eq!(done.expect("done"), 2);
    let found = totals(store, 1).await;
    let expected = AccountTotals {
        n_contacts: 1,
        contact_bytes: found.contact_bytes,
        ..AccountTotals::default()
    };
    assert_eq!(found, expected, "contacts do not expire");
    assert!((128..256).contains(&found.contact_bytes), "{found:?}");
}

pub(crate) async fn a_repeated_batch_is_counted_once(store: &dyn Store) {
    store.create_crawl(&crawl("a")).await.expect("a crawl");
    let save = async || {
        store
            .save_crawl_progress("a", &progress())
            .await
            .expect("saved")
    };
    let first = save().await;
    assert_eq!(save().await, first);
    assert_eq!(totals(store, 1).await.stored_bytes(), first);
}

pub(crate) async fn expired_answers_are_deleted(store: &dyn Store) {
    for n in 0..50_i64 {
        put_answer(store, &n.to_string(), &answer(9, n)).await;
    }
    let expired = store.expire_answers(Timestamp(45)).await;
    assert_eq!(expired.expect("deleted"), 45);
    assert_eq!(totals(store, 1).await.n_answers, 5);
}
