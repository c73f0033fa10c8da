//! Databases of earlier and later schema versions.

use std::path::Path;

use trawl_model::memory::MemoryBudget;

use super::*;
use crate::sqlite::SqliteStore;
use crate::{
    CrawlRecord, CrawlStore as _, DataDir, LedgerStore as _, OutboxStore as _, Store as _,
    TotalsStore as _, WebhookSecrets as _,
};

async fn open(directory: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(DataDir::create(directory).expect("a data directory")).await
}

/// All crawls, oldest first.
async fn crawls(store: &SqliteStore) -> Vec<CrawlRecord> {
    let rows = sqlx::query("SELECT * FROM crawls ORDER BY number")
        .fetch_all(&store.readers)
        .await
        .expect("rows");
    let records = rows.iter().map(crate::rows::crawl);
    records.collect::<Result<_, _>>().expect("crawls")
}

async fn execute(directory: &Path, sql: &'static str) -> Result<(), sqlx::Error> {
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(directory.join("trawl.db"))
        .create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    sqlx::raw_sql(sql).execute(&mut connection).await?;
    connection.close().await
}

#[tokio::test]
async fn a_newer_schema_is_refused_without_changes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    drop(open(directory.path()).await.expect("a new store"));
    let newer = execute(directory.path(), "PRAGMA user_version = 99").await;
    newer.expect("a database of the future");
    let refusal = open(directory.path()).await.expect_err("refused");
    let latest = super::latest();
    assert_eq!(
        refusal.to_string(),
        format!(
            "the database has schema version 99, this program knows versions up to {latest}: use the newer program that wrote it"
        )
    );
}

#[tokio::test]
async fn version_1_is_migrated() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    execute(directory.path(), VERSION_1).await.expect("tables");
    let rows = "PRAGMA user_version = 1; PRAGMA application_id = 0x7472776c;
        INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
        INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 5, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0)";
    execute(directory.path(), rows).await.expect("an account");
    for _ in 0..2 {
        let store = open(directory.path()).await.expect("migrated");
        let accounts = store.accounts().await.expect("accounts");
        assert_eq!(accounts[0].balance.0, 5);
        assert_eq!(crawls(&store).await, []);
        store.close().await;
    }
}

#[tokio::test]
async fn the_ledger_of_version_3_is_migrated() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for tables in [VERSION_1, VERSION_2, VERSION_3] {
        execute(directory.path(), tables).await.expect("tables");
    }
    let rows = "PRAGMA user_version = 3; PRAGMA application_id = 0x7472776c;
        INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0), ('b', 'b', 0);
        INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 500, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0);
        INSERT INTO entries VALUES (2, 'r:1', 'a', 'reserve', 0, 90, '1', 'x', 'u', 0, 0, 0, 0, 0, 0, '', 1);
        INSERT INTO entries VALUES (3, 's:1', 'a', 'post', -30, -90, '1', 'x', 'u', 0, 10, 0, 20, 0, 0, '', 2);
        INSERT INTO entries VALUES (5, 'r:p:2/1', 'a', 'reserve', 0, 70, 'p:2', 'y', '', 0, 0, 0, 0, 0, 0, '', 3);
        INSERT INTO crawls VALUES (1, 'c', 'a', '{}', 'crawl', 0, 1, 'queued', NULL, 0, NULL, 0, 0, 0, 0)";
    execute(directory.path(), rows).await.expect("an account");
    for _ in 0..2 {
        let store = open(directory.path()).await.expect("migrated");
        let accounts = store.accounts().await.expect("accounts");
        let sums: Vec<_> = accounts
            .iter()
            .map(|account| (account.balance.0, account.held.0))
            .collect();
        assert_eq!(sums, [(470, 70), (0, 0)]);
        let audit = store.audit().await.expect("an audit");
        assert_eq!((audit.disagreements, audit.n_entries), (Vec::new(), 4));
        let post = store.entry("s:1").await.expect("read").expect("a post");
        assert_eq!((post.seq, post.entry.charge.total().0), (3, 30));
        let open = store.open_reserves().await.expect("a search");
        assert_eq!((open.len(), open[0].held.0), (1, 70));
        let crawls = crawls(&store).await;
        assert_eq!(crawls[0].terms, trawl_model::Terms::PayAsYouGo);
        assert_eq!(store.subscriptions().await.expect("none"), []);
        store.close().await;
    }
    for sql in ["UPDATE entries SET amount = 9", "DELETE FROM entries"] {
        let refusal = execute(directory.path(), sql).await.expect_err("final");
        assert!(refusal.to_string().contains("ledger entries are final"));
    }
    let seats = "INSERT INTO entries VALUES (6, 'seats:a', 'a', 'seats', -400, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 4, 0, 0, '')";
    execute(directory.path(), seats).await.expect("a new kind");
    let too_much = "INSERT INTO entries VALUES (7, 'seats:b', 'a', 'seats', -1, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 4, 0, 0, '')";
    let refusal = execute(directory.path(), too_much).await;
    refusal.expect_err("reserved money is not spent");
    let store = open(directory.path()).await.expect("the same");
    let audit = store.audit().await.expect("an audit");
    assert_eq!(audit.disagreements, []);
}

#[tokio::test]
async fn keys_and_pages_of_version_4_are_migrated() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for tables in [VERSION_1, VERSION_2, VERSION_3, VERSION_4] {
        execute(directory.path(), tables).await.expect("tables");
    }
    let rows = "PRAGMA user_version = 4; PRAGMA application_id = 0x7472776c;
        INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
        INSERT INTO keys VALUES ('tr_1', 'a', zeroblob(32), 1, NULL), ('tr_2', 'a', x'0101010101010101010101010101010101010101010101010101010101010101', 2, 3);
        INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 500, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0);
        INSERT INTO crawls VALUES (1, 'c', 'a', '{}', 'crawl', 0, 1, 'ended', NULL, 0, 5, 1, 0, 9, 7, 'pay_as_you_go');
        INSERT INTO crawl_urls VALUES (1, 0, 'http://a.example/', 0, 1);
        INSERT INTO crawl_pages VALUES (1, 1, 0, 200, 0, 0, 9)";
    execute(directory.path(), rows).await.expect("an account");
    for _ in 0..2 {
        let store = open(directory.path()).await.expect("migrated");
        let keys = store.keys().await.expect("keys");
        assert_eq!(
            (keys.len(), keys[0].name.as_str(), keys[0].last_used),
            (1, "", None)
        );
        let account = keys[0].account.clone();
        let all = store.all_keys(&account).await.expect("keys");
        assert_eq!(all[1].revoked, Some(trawl_model::clock::Timestamp(3)));
        let accounts = store.accounts().await.expect("accounts");
        assert_eq!(accounts[0].notice, crate::Notice::default());
        let pages = store.crawl_pages("c", 0, 9).await.expect("pages");
        assert_eq!((pages.len(), pages[0].at, pages[0].cost.0), (1, None, 0));
        assert_eq!(store.prices().await.expect("none"), []);
        let audit = store.audit().await.expect("an audit");
        assert_eq!((audit.disagreements, audit.n_entries), (Vec::new(), 1));
        store.close().await;
    }
    let old = "INSERT INTO price_history VALUES (1, 2, '{}')";
    execute(directory.path(), old).await.expect("a row");
    for sql in [
        "UPDATE price_history SET prices = ''",
        "DELETE FROM price_history",
    ] {
        let refusal = execute(directory.path(), sql).await.expect_err("final");
        assert!(refusal.to_string().contains("past prices are final"));
    }
}

#[tokio::test]
async fn what_version_6_has_stored_is_counted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for tables in [
        VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6,
    ] {
        execute(directory.path(), tables).await.expect("tables");
    }
    let rows = "PRAGMA user_version = 6; PRAGMA application_id = 0x7472776c;
        INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0), ('b', 'b', 0);
        INSERT INTO crawls VALUES (1, 'c', 'a', '{}', 'crawl', 0, 1, 'ended', NULL, 0, 5, 1, 0, 9, 7, 'pay_as_you_go');
        INSERT INTO crawl_urls VALUES (1, 0, 'http://a.example/', 0, 1);
        INSERT INTO crawl_pages VALUES (1, 1, 0, 200, 0, 0, 900, 5, 7, NULL);
        INSERT INTO answers VALUES ('b', 'k', zeroblob(32), 200, 'text/plain', zeroblob(700), 1);
        INSERT INTO outbox VALUES (1, 'e1', 'a', 'https://h.example/', 'on_find', '{}', 1, 30, 0),
            (2, 'e2', 'a', 'https://h.example/', 'on_find', '{}', 1, 20, 1)";
    execute(directory.path(), rows).await.expect("rows");
    let store = open(directory.path()).await.expect("migrated");
    let totals = async |id: &str| {
        let totals = store.totals(&crate::AccountId::new(id)).await;
        totals.expect("totals")
    };
    let (a, b) = (totals("a").await, totals("b").await);
    assert_eq!((a.n_crawls, a.n_pages, a.n_background_pages), (1, 1, 1));
    assert!((900..1_500).contains(&a.crawl_bytes), "{a:?}");
    assert_eq!((a.n_events, a.n_answers, b.n_answers), (2, 0, 1));
    assert!((700..1_000).contains(&b.answer_bytes), "{b:?}");
    let due = store.outbox_next(&crate::Busy::default()).await;
    let due = due.expect("a search").map(|due| due.0);
    assert_eq!(due, Some(20));
}

#[tokio::test]
async fn events_of_version_7_have_no_failure_yet() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for tables in [
        VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7,
    ] {
        execute(directory.path(), tables).await.expect("tables");
    }
    let rows = "PRAGMA user_version = 7; PRAGMA application_id = 0x7472776c;
        INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
        INSERT INTO outbox VALUES (1, 'e1', 'a', 'https://h.example/', 'on_find', '{}', 1, 30, 2)";
    execute(directory.path(), rows).await.expect("rows");
    for is_first in [true, false] {
        let store = open(directory.path()).await.expect("migrated");
        let account = crate::AccountId::new("a");
        let events = store.outbox_rows(&account, crate::PageRange::offset(9, 0));
        let events = events.await.expect("events").rows;
        let failure = crate::DeliveryFailure {
            reason: "it was refused".to_owned(),
            at: trawl_model::clock::Timestamp(7),
        };
        let stored = (!is_first).then(|| failure.clone());
        assert_eq!((events.len(), &events[0].last_failure), (1, &stored));
        let channel = crate::Channel {
            account,
            destination: "https://h.example/".to_owned(),
        };
        let (until, never) = (
            trawl_model::clock::Timestamp(8),
            trawl_model::clock::Timestamp(0),
        );
        let postponed = store.outbox_postpone(&channel, &[], &failure, until, never);
        postponed.await.expect("written");
        store.close().await;
    }
}

#[tokio::test]
async fn what_crawls_of_version_8_left_out_moves_into_its_column() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for tables in [
        VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8,
    ] {
        execute(directory.path(), tables).await.expect("tables");
    }
    let rows = r#"PRAGMA user_version = 8; PRAGMA application_id = 0x7472776c;
        INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
        INSERT INTO answers VALUES ('a', 'k', zeroblob(32), 200, 'text/plain', zeroblob(700), 1);
        INSERT INTO crawls (number, id, account, request, verb, needs_secrets, in_background, state,
            created, n_pages, n_failed, n_bytes, spent, stored_bytes) VALUES
            (1, 'c1', 'a', '{"text":"\u001e1 URL","\u001eleft_out":{"urls":4,"reasons":["größer"]},"n":1.50}',
                'crawl-text', 0, 1, 'queued', 1, 0, 0, 0, 0, 0),
            (2, 'c2', 'a', '{"a":"\u001eleft_out"}', 'crawl', 0, 1, 'queued', 2, 0, 0, 0, 0, 0),
            (3, 'c3', 'a', 'no JSON "\u001eleft_out"', 'crawl', 0, 1, 'queued', 3, 0, 0, 0, 0, 0),
            (4, 'c4', 'a', '{"\u001eleft_out":"of a caller"}', 'crawl', 0, 1, 'queued', 4, 0, 0, 0, 0, 0);
        UPDATE crawls SET stored_bytes = octet_length(request) + 256"#;
    execute(directory.path(), rows).await.expect("rows");
    let account = crate::AccountId::new("a");
    let key = crate::AnswerKey {
        account: account.clone(),
        key: "k".to_owned(),
    };
    for _ in 0..2 {
        let store = open(directory.path()).await.expect("migrated");
        let crawls = crawls(&store).await;
        let texts = crawls
            .iter()
            .map(|crawl| (crawl.request.as_str(), crawl.left_out.as_deref()));
        let moved = r#"{"urls":4,"reasons":["größer"]}"#;
        let expected = [
            (r#"{"text":"\u001e1 URL","n":1.50}"#, Some(moved)),
            (r#"{"a":"\u001eleft_out"}"#, None),
            (r#"no JSON "\u001eleft_out""#, None),
            (r#"{"\u001eleft_out":"of a caller"}"#, None),
        ];
        assert_eq!(texts.collect::<Vec<_>>(), expected);
        let bytes =
            expected.map(|(request, left_out)| request.len() + left_out.map_or(0, str::len) + 256);
        let totals = store.totals(&account).await.expect("totals");
        assert_eq!(totals.crawl_bytes, bytes.iter().sum::<usize>() as u64);
        assert_eq!((totals.n_answers, totals.answer_bytes), (1, 956));
        let memory = MemoryBudget::unlimited().share("a").page();
        let since = trawl_model::clock::Timestamp(0);
        let answer = store.answer(&key, since, &memory).await;
        let answer = answer.expect("a search").and_then(|stored| stored.answer);
        assert_eq!(answer.map(|answer| answer.headers), Some(Vec::new()));
        store.close().await;
    }
    let store = open(directory.path()).await.expect("the same");
    let expired = store.expire_answers(trawl_model::clock::Timestamp(9)).await;
    assert_eq!(expired.expect("deleted"), 1);
    let totals = store.totals(&account).await.expect("totals");
    assert_eq!((totals.n_answers, totals.answer_bytes), (0, 0));
}

#[tokio::test]
async fn keys_of_version_10_have_no_budget_and_entries_no_key() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for tables in MIGRATIONS.iter().copied().take(10) {
        execute(directory.path(), tables).await.expect("tables");
    }
    let rows = "PRAGMA user_version = 10; PRAGMA application_id = 0x7472776c;
        INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
        INSERT INTO keys (prefix, account, hash, created) VALUES ('tr_1', 'a', zeroblob(32), 1);
        INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 500, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0, 0, 0),
            (2, 's:1', 'a', 'post', -30, 0, '1', 'x', 'u', 0, 30, 0, 0, 0, 0, '', 5, 7, 0);
        INSERT INTO crawls (number, id, account, request, verb, needs_secrets, in_background, state,
            created, n_pages, n_failed, n_bytes, spent) VALUES (1, 'c', 'a', '{}', 'crawl', 0, 1, 'queued', 1, 0, 0, 0, 0)";
    execute(directory.path(), rows).await.expect("rows");
    for _ in 0..2 {
        let store = open(directory.path()).await.expect("migrated");
        let keys = store.keys().await.expect("keys");
        assert_eq!(keys[0].spending, crate::KeySpending::default());
        assert!(crawls(&store).await[0].key.is_empty());
        let (from, to) = (
            trawl_model::clock::Timestamp(0),
            trawl_model::clock::Timestamp(9),
        );
        let usage = store.usage_by_key(&keys[0].account, from, to).await;
        let usage = usage.expect("sums");
        let [(key, usage)] = &usage[..] else {
            panic!("one key: {usage:?}");
        };
        assert!(key.is_empty());
        assert_eq!((usage.n_pages, usage.charge.total().0), (1, 30));
        store.close().await;
    }
}

#[tokio::test]
async fn webhook_secrets_of_version_12_sign_alone_until_they_are_replaced() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for tables in MIGRATIONS.iter().copied().take(12) {
        execute(directory.path(), tables).await.expect("tables");
    }
    let rows = "PRAGMA user_version = 12; PRAGMA application_id = 0x7472776c;
        INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
        INSERT INTO webhook_secrets (account, secret) VALUES ('a', 'whsec_old')";
    execute(directory.path(), rows).await.expect("rows");
    let store = open(directory.path()).await.expect("migrated");
    let account = crate::AccountId::new("a");
    let since = trawl_model::clock::Timestamp(0);
    let secrets = store.signing_secrets(&account, since).await;
    let secrets = secrets.expect("secrets");
    assert_eq!(secrets.current.expose(), "whsec_old");
    assert_eq!(secrets.previous, None);
    let now = trawl_model::clock::Timestamp(5);
    let renewed = store.renew_webhook_secret(&account, now).await;
    let signing = store.signing_secrets(&account, since).await;
    let signing = signing.expect("secrets");
    assert_eq!(signing.current, renewed.expect("generated"));
    assert_eq!(signing.previous, Some(secrets.current));
}

#[tokio::test]
async fn a_database_of_another_program_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let other = execute(directory.path(), "CREATE TABLE bookmarks (url TEXT)").await;
    other.expect("a database of another program");
    let refusal = open(directory.path()).await.expect_err("refused");
    assert!(matches!(refusal, StoreError::NotOurs));

    let directory = tempfile::tempdir().expect("a temporary directory");
    let text = "this is not a database, but it is long enough to be one".repeat(100);
    std::fs::write(directory.path().join("trawl.db"), text).expect("a text file");
    let refusal = open(directory.path()).await.expect_err("refused");
    assert!(matches!(refusal, StoreError::NotOurs));
}

#[tokio::test]
async fn ledger_entries_are_final() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    drop(open(directory.path()).await.expect("a new store"));
    let sql = "INSERT INTO accounts (id, name, created) VALUES ('a', 'a', 0);
        INSERT INTO entries VALUES (1, 't', 'a', 'top_up', 5, 0, '', '', '', 0, 0, 0, 0, 0, 0, '', 0, 0, 0, '')";
    execute(directory.path(), sql).await.expect("an entry");
    for sql in ["UPDATE entries SET amount = 9", "DELETE FROM entries"] {
        let refusal = execute(directory.path(), sql).await.expect_err("final");
        assert!(refusal.to_string().contains("ledger entries are final"));
    }
}

#[tokio::test]
async fn a_database_without_a_part_of_its_schema_is_refused() {
    let cases = [
        ("DROP TABLE outbox", "its column `outbox."),
        (
            "DROP TRIGGER entries_move_sums",
            "its trigger `entries_move_sums` is missing",
        ),
        (
            "DROP INDEX crawls_of_account",
            "its index `crawls_of_account` is missing",
        ),
        (
            "ALTER TABLE crawl_pages DROP COLUMN cause",
            "its column `crawl_pages.cause` is missing",
        ),
        (
            "DROP TRIGGER entries_count_for_keys",
            "its trigger `entries_count_for_keys` is missing",
        ),
        (
            "DROP TRIGGER entries_count_for_keys; ALTER TABLE keys DROP COLUMN month_spent",
            "its column `keys.month_spent` is missing",
        ),
        ("PRAGMA user_version = -1", "another schema version than -1"),
        ("PRAGMA user_version = 0", "another schema version than 0"),
        ("PRAGMA user_version = 9", "it names schema version 9"),
    ];
    for (sql, expected) in cases {
        let directory = tempfile::tempdir().expect("a temporary directory");
        drop(open(directory.path()).await.expect("a new store"));
        execute(directory.path(), sql).await.expect(sql);
        let refusal = open(directory.path()).await.expect_err(sql).to_string();
        let is_named = refusal.starts_with("the database is damaged: ");
        assert!(is_named && refusal.contains(expected), "{sql}: {refusal}");
    }
}
