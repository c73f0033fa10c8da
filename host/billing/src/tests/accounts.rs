//! Accounts, keys, top-ups, idempotency.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use trawl_model::memory::{MemoryBudget, MemoryShare};
use trawl_model::money::PER_CENT;
use trawl_model::{Charge, Nanodollars};

use super::world::world;
use crate::{ANSWER_BYTES_MAX, Answer, Billing, BillingError, IdempotencyStart, Payment, Repeated};

/// Memory for stored answers.
fn memory() -> MemoryShare {
    MemoryBudget::unlimited().share("a")
}

#[tokio::test]
async fn a_repeated_top_up_is_paid_in_once() {
    let world = world(Nanodollars::ZERO).await;
    let dollars = |n: i64| Nanodollars(n * 1_000_000_000);
    let top_up = |amount, id| world.billing.top_up(&world.account, amount, id);
    let first = top_up(dollars(500), Some("invoice-7")).await.expect("paid");
    assert_eq!((first.bonus, first.is_repeat), (dollars(25), false));
    let again = top_up(dollars(500), Some("invoice-7"))
        .await
        .expect("known");
    assert!(again.is_repeat);
    let other = top_up(dollars(2), Some("invoice-7")).await;
    assert!(matches!(other, Err(BillingError::IdTaken { .. })));
    assert_eq!(world.billing.balance(&world.account), dollars(525));
    top_up(dollars(2), None).await.expect("paid");
    assert_eq!(world.billing.balance(&world.account), dollars(527));
    for amount in [Nanodollars::ZERO, dollars(-1), Nanodollars::MAX] {
        let refusal = top_up(amount, None).await;
        assert!(matches!(refusal, Err(BillingError::BadAmount { .. })));
    }
    world.check_sums().await;
}

#[tokio::test]
async fn keys_are_valid_immediately_until_they_are_revoked() {
    let world = world(Nanodollars::ZERO).await;
    let billing = &world.billing;
    assert_eq!(billing.authenticate("tr_wrong"), None);
    let key = billing
        .create_key(&world.account, "", None)
        .await
        .expect("a key");
    assert!(billing.authenticate(key.expose()).is_some());
    let keys = billing.keys(&world.account);
    assert_eq!(keys.len(), 2);
    let shown = key.expose().get(..11).expect("a key is longer");
    let revoked = billing.revoke_key(&world.account, shown).await;
    assert!(revoked.expect("the store works"));
    assert_eq!(billing.authenticate(key.expose()), None);
    let again = billing.revoke_key(&world.account, shown).await;
    assert!(!again.expect("the store works"));
    let world = world.restarted().await;
    assert_eq!(world.billing.authenticate(key.expose()), None);
}

#[tokio::test]
async fn every_file_is_private_and_contains_no_key() {
    let world = world(Nanodollars(PER_CENT)).await;
    let key = world.billing.create_key(&world.account, "", None).await;
    let key = key.expect("a key");
    let hidden = key.expose().get(11..).expect("a key is longer").as_bytes();
    for file in std::fs::read_dir(world.directory.path()).expect("a directory") {
        let path = file.expect("a file").path();
        let mode = std::fs::metadata(&path)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        let content = std::fs::read(&path).expect("readable");
        let found = content.windows(hidden.len()).any(|part| part == hidden);
        assert!(!found, "{}", path.display());
    }
}

#[tokio::test]
async fn names_are_checked() {
    let world = world(Nanodollars::ZERO).await;
    for name in ["", " bob", "acc_bob", "a\nb", &"x".repeat(101)] {
        let refusal = world.billing.create_account(name, Nanodollars::ZERO).await;
        assert!(
            matches!(refusal, Err(BillingError::BadName { .. })),
            "{name}"
        );
    }
    let taken = world.billing.create_account("alice", Nanodollars::ZERO);
    assert!(matches!(taken.await, Err(BillingError::NameTaken { .. })));
    assert!(world.billing.find("alice").is_some());
    assert!(world.billing.find(world.account.as_str()).is_some());
    assert!(world.billing.known("nobody").is_err());
}

#[tokio::test]
async fn an_interrupted_request_goes_on_and_pays_a_page_once() {
    let world = world(Nanodollars(1_000_000)).await;
    let account = world.account.clone();
    let charge = |amount: i64| Charge {
        bytes_transferred: Nanodollars(amount),
        ..Charge::default()
    };
    let pay = async |billing: &Billing, payment: &Payment, page: &str, amount: i64| {
        let money = (Nanodollars::MAX, Nanodollars::ZERO);
        let budget = billing.payment_budget(&account, "request", &payment.name, money);
        let budget = budget.expect("a budget");
        let page = budget.reserve_now(Nanodollars(500), "https://a.example/", page);
        let posted = page.expect("money").post(&charge(amount)).await;
        posted.expect("posted")
    };
    let open = async |billing: &Billing, hash: u8| {
        let begun = billing.begin(&account, "k", [hash; 32], &memory()).await;
        let Ok(IdempotencyStart::New(mut first)) = begun else {
            panic!("{begun:?}")
        };
        let payment = first.open().await.expect("stored");
        (first, payment)
    };
    let (first, payment) = open(&world.billing, 1).await;
    assert!(!payment.is_repeated);
    assert_eq!(pay(&world.billing, &payment, "0", 300).await, charge(300));
    // The process ends.
    drop(first);
    let world = world.restarted().await;
    let balance = world.billing.funds(&account).balance;
    let other = world.billing.begin(&account, "k", [2; 32], &memory()).await;
    assert!(
        matches!(other, Ok(IdempotencyStart::Repeated(Repeated::Mismatch))),
        "{other:?}"
    );
    let (first, again) = open(&world.billing, 1).await;
    assert!(again.is_repeated);
    assert_eq!(again.name, payment.name);
    let charged = world.billing.charged(&again.name, "0").await;
    assert_eq!(charged.expect("a look"), Some(charge(300)));
    // Whatever it would cost now, and although it was never asked for before.
    assert_eq!(pay(&world.billing, &again, "0", 400).await, charge(300));
    assert_eq!(world.billing.funds(&account).balance, balance);
    assert_eq!(pay(&world.billing, &again, "1", 50).await, charge(50));
    // A request that fails after charges may only be repeated as it was.
    first.release(&again).await.expect("the store works");
    let other = world.billing.begin(&account, "k", [2; 32], &memory()).await;
    assert!(
        matches!(other, Ok(IdempotencyStart::Repeated(Repeated::Mismatch))),
        "{other:?}"
    );
    // A day later it is another request.
    world.clock.advance(Duration::from_secs(24 * 60 * 60 + 1));
    let (first, later) = open(&world.billing, 1).await;
    assert_ne!(later.name, payment.name);
    assert_ne!(later.part(0).name, later.part(1).name);
    assert_eq!(pay(&world.billing, &later, "0", 300).await, charge(300));
    drop(first);
    world.check_sums().await;
}

#[tokio::test]
async fn a_server_that_closes_stores_no_answer() {
    let world = world(Nanodollars::ZERO).await;
    let account = world.account.clone();
    let Ok(IdempotencyStart::New(mut first)) =
        world.billing.begin(&account, "k", [1; 32], &memory()).await
    else {
        panic!("the first of its key")
    };
    first.open().await.expect("stored");
    world.billing.close().await;
    let answer = Answer {
        status: 200,
        content_type: "application/json".to_owned(),
        headers: Vec::new(),
        body: "[]".into(),
    };
    let refused = first.finish(answer).await;
    assert!(
        matches!(refused, Err(BillingError::Unavailable)),
        "{refused:?}"
    );
    let world = world.restarted().await;
    let begun = world.billing.begin(&account, "k", [1; 32], &memory()).await;
    assert!(matches!(begun, Ok(IdempotencyStart::New(_))), "{begun:?}");
}

#[tokio::test]
async fn a_key_whose_request_charged_nothing_is_free_again() {
    let world = world(Nanodollars::ZERO).await;
    for hash in [1, 2, 3] {
        let begun = world
            .billing
            .begin(&world.account, "k", [hash; 32], &memory())
            .await;
        let Ok(IdempotencyStart::New(mut first)) = begun else {
            panic!("{begun:?}")
        };
        let payment = first.open().await.expect("stored");
        assert!(!payment.is_repeated);
        first.release(&payment).await.expect("the store works");
    }
}

#[tokio::test]
async fn a_repeated_request_gets_the_stored_answer() {
    let world = world(Nanodollars::ZERO).await;
    let memory = memory();
    let begin = |key: &'static str, hash: u8| {
        let begun = world
            .billing
            .begin(&world.account, key, [hash; 32], &memory);
        async move { begun.await.expect("the store works") }
    };
    let IdempotencyStart::New(first) = begin("k", 1).await else {
        panic!("the first of its key")
    };
    assert!(matches!(begin("k", 1).await, IdempotencyStart::InFlight));
    assert!(matches!(
        begin("k", 2).await,
        IdempotencyStart::Repeated(Repeated::Mismatch)
    ));
    drop(first);
    let IdempotencyStart::New(first) = begin("k", 2).await else {
        panic!("the key was released")
    };
    let answer = Answer {
        status: 200,
        content_type: "application/json".to_owned(),
        headers: vec![("x-crawl-id".to_owned(), "c1".to_owned())],
        body: "[]".into(),
    };
    first.finish(answer.clone()).await.expect("stored");
    assert!(
        matches!(begin("k", 2).await, IdempotencyStart::Repeated(Repeated::Replay(stored)) if stored == answer)
    );
    let at_once = futures_util::future::join_all((0..3).map(|_| begin("k", 2))).await;
    for begun in at_once {
        let is_replay = matches!(begun, IdempotencyStart::Repeated(Repeated::Replay(_)));
        assert!(is_replay, "{begun:?}");
    }
    assert!(matches!(
        begin("k", 1).await,
        IdempotencyStart::Repeated(Repeated::Mismatch)
    ));
    let IdempotencyStart::New(large) = begin("large", 1).await else {
        panic!("another key")
    };
    let body = vec![b' '; ANSWER_BYTES_MAX + 1].into();
    large
        .finish(Answer { body, ..answer })
        .await
        .expect("stored");
    assert!(matches!(
        begin("large", 1).await,
        IdempotencyStart::Repeated(Repeated::TooLarge)
    ));
    world.clock.advance(Duration::from_secs(24 * 60 * 60 + 1));
    assert!(matches!(begin("k", 1).await, IdempotencyStart::New(_)));
    assert!(
        world
            .billing
            .begin(&world.account, "", [0; 32], &memory)
            .await
            .is_err()
    );
}
