//! The only task that writes the ledger: takes a group, makes it durable, reports the results.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trawl_model::{Charge, Nanodollars};
use trawl_store::{EntryKind, LedgerEntry, LedgerStore, StoreError, Written};

use crate::error::BillingError;
use crate::key_wallet::KeyWallet;
use crate::queue::{ChargeSource, Effect, Item, Payee, Queue, UndonePost};
use crate::refund;
use crate::wallet::Wallet;

/// Delay before a retry after the store failed, for instance because the disk is full.
const RETRY_DELAY: Duration = Duration::from_millis(200);
const NOT_ACCEPTED: &str = "the ledger was not available";

/// Writes groups until the queue is closed and empty.
pub(crate) async fn run(store: Arc<dyn LedgerStore>, queue: Arc<Queue>) {
    while let Some(mut group) = queue.next_group().await {
        let resolved = resolve_undone(store.as_ref(), &mut group).await;
        let (entries, effects) = split(group);
        let written = match resolved {
            Ok(()) => post(store.as_ref(), &entries).await,
            Err(error) => Err(error),
        };
        queue.set_failing(written.is_err());
        match written {
            Ok(written) => settle(store.as_ref(), &queue, entries, effects, written).await,
            Err(error) => {
                log_failure(&error);
                queue.requeue(undo(entries, effects));
                if queue.is_closed() {
                    queue.end();
                    break;
                }
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

/// Looks up failed posts and failed payments that may have reached the disk after all. Those that
/// did are settled.
async fn resolve_undone(store: &dyn LedgerStore, group: &mut [Item]) -> Result<(), StoreError> {
    for item in group {
        match &item.effect {
            Effect::UndonePost { source, post } => {
                let found = store.entry(&post.id).await?;
                // A post with another allotment is of an earlier process, for the same page.
                if found.is_some_and(|found| found.entry.reservation == post.reservation) {
                    settle_reservation(source.wallet(), post, true);
                    *item = Item {
                        entries: Vec::new(),
                        effect: Effect::Void { undone_post: None },
                    };
                }
            }
            Effect::UndoneMoney { payee, entries } => {
                let mut durable = Vec::new();
                for entry in entries {
                    let found = store.entry(&entry.id).await?;
                    // One of another time was added when it was written.
                    if found.is_some_and(|found| found.entry.at == entry.at) {
                        durable.push(entry);
                    }
                }
                // Once all are looked up: a failure repeats the whole item.
                for entry in durable {
                    payee.receive(entry.amount, entry.at);
                }
                *item = Item {
                    entries: Vec::new(),
                    effect: Effect::Reserve,
                };
            }
            _ => {}
        }
    }
    Ok(())
}

/// The effect of an item, and how many of the group's entries belong to it.
type ItemEffect = (usize, Effect);

fn split(group: Vec<Item>) -> (Vec<LedgerEntry>, Vec<ItemEffect>) {
    let mut entries = Vec::with_capacity(group.len());
    let mut effects = Vec::with_capacity(group.len());
    for item in group {
        effects.push((item.entries.len(), item.effect));
        entries.extend(item.entries);
    }
    (entries, effects)
}

async fn post(
    store: &dyn LedgerStore,
    entries: &[LedgerEntry],
) -> Result<Vec<Written>, StoreError> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let began = Instant::now();
    let written = store.post_group(entries).await?;
    metrics::histogram!("trawl_ledger_commit_duration_seconds").record(began.elapsed());
    Ok(written)
}

async fn settle(
    store: &dyn LedgerStore,
    queue: &Queue,
    entries: Vec<LedgerEntry>,
    effects: Vec<ItemEffect>,
    written: Vec<Written>,
) {
    let mut results = entries.into_iter().zip(written);
    for (n_entries, effect) in effects {
        let (entries, written): (Vec<LedgerEntry>, Vec<Written>) =
            results.by_ref().take(n_entries).unzip();
        for (entry, written) in entries.iter().zip(&written) {
            log_refusal(entry, written);
        }
        match effect {
            Effect::Reserve | Effect::UndoneMoney { .. } => {}
            Effect::Void { undone_post } => {
                if let (Some(undone), [void], [written]) = (undone_post, &entries[..], &written[..])
                {
                    settle_undone(store, &undone, void, written).await;
                }
                queue.release();
            }
            Effect::Post {
                wallet,
                key,
                source,
                done,
            } => {
                let ([entry], [written]) = (&entries[..], &written[..]) else {
                    continue;
                };
                let outcome = match source {
                    None => settle_post(&wallet, &key, entry, written),
                    Some(source) => settle_run_post(store, &*source, entry, written).await,
                };
                queue.release();
                // The receiver is gone if the client has disconnected; the charge is final.
                let _ignored = done.send(outcome);
            }
            Effect::UndonePost { source, post } => {
                source.uncharge(-post.amount, post.at);
                queue.release();
            }
            Effect::Report { payee, done } => {
                if let Some(payee) = payee {
                    add_new_money(&*payee, &entries, &written);
                }
                let _ignored = done.send(Ok(written));
            }
        }
    }
}

fn settle_post(
    wallet: &Wallet,
    key: &KeyWallet,
    post: &LedgerEntry,
    written: &Written,
) -> Result<Charge, BillingError> {
    let is_posted = matches!(written, Written::New | Written::AlreadyThere);
    settle_reservation(wallet, post, is_posted);
    if is_posted {
        Ok(post.charge)
    } else {
        key.uncharge(-post.amount, post.at);
        Err(BillingError::Unavailable)
    }
}

/// Settles a failed post, after its void was written, or was not because one of the two is there.
async fn settle_undone(
    store: &dyn LedgerStore,
    undone: &UndonePost,
    void: &LedgerEntry,
    written: &Written,
) {
    let charge = undone.charge;
    if *written == Written::AlreadyThere && is_posted(store, &void.id).await {
        // The failed commit had reached the disk: the post is valid and is deducted now.
        undone
            .wallet
            .change(|funds| funds.balance = funds.balance - charge);
    } else {
        undone.key.uncharge(charge, undone.at);
    }
}

/// Whether the settlement with this id is a post. It is a void if the commit of the void was
/// reported as failed, too, and had reached the disk. One that cannot be read counts as a post.
async fn is_posted(store: &dyn LedgerStore, id: &str) -> bool {
    let found = store.entry(id).await;
    !matches!(found, Ok(Some(found)) if found.entry.kind == EntryKind::Void)
}

/// Settles the post of a page of a run. A page is posted only once: if it was charged before, its
/// allotment gets the money back, and the earlier charge is returned, which is nothing if it was
/// refunded.
async fn settle_run_post(
    store: &dyn LedgerStore,
    source: &dyn ChargeSource,
    post: &LedgerEntry,
    written: &Written,
) -> Result<Charge, BillingError> {
    if *written == Written::New {
        settle_reservation(source.wallet(), post, true);
        return Ok(post.charge);
    }
    source.uncharge(-post.amount, post.at);
    match written {
        Written::AlreadyThere => {
            let earlier = refund::charge_of_post(store, &post.id).await?;
            earlier.ok_or(BillingError::Unavailable)
        }
        _ => Err(BillingError::Unavailable),
    }
}

fn settle_reservation(wallet: &Wallet, entry: &LedgerEntry, is_posted: bool) {
    wallet.change(|funds| {
        funds.held += entry.held;
        if is_posted {
            funds.balance += entry.amount;
        }
    });
}

fn add_new_money(payee: &dyn Payee, entries: &[LedgerEntry], written: &[Written]) {
    for (entry, written) in entries.iter().zip(written) {
        if *written == Written::New {
            payee.receive(entry.amount, entry.at);
        }
    }
}

/// The items that still must be written after a group failed. Waiters get an error; a post becomes
/// a void, because its page is not delivered.
fn undo(entries: Vec<LedgerEntry>, effects: Vec<ItemEffect>) -> Vec<Item> {
    let mut entries = entries.into_iter();
    let mut remaining = Vec::with_capacity(effects.len());
    for (n_entries, effect) in effects {
        let entries: Vec<LedgerEntry> = entries.by_ref().take(n_entries).collect();
        match effect {
            Effect::Reserve
            | Effect::Void { .. }
            | Effect::UndonePost { .. }
            | Effect::UndoneMoney { .. } => {
                remaining.push(Item { entries, effect });
            }
            Effect::Post {
                wallet,
                key,
                source,
                done,
            } => {
                for post in entries {
                    remaining.push(match &source {
                        None => undo_post(&wallet, &key, post),
                        Some(source) => undo_run_post(source, post),
                    });
                }
                let _ignored = done.send(Err(BillingError::Unavailable));
            }
            Effect::Report { payee, done } => {
                if let Some(payee) = payee {
                    remaining.push(Item {
                        entries: Vec::new(),
                        effect: Effect::UndoneMoney { payee, entries },
                    });
                }
                let _ignored = done.send(Err(BillingError::Unavailable));
            }
        }
    }
    remaining
}

fn undo_post(wallet: &Arc<Wallet>, key: &Arc<KeyWallet>, post: LedgerEntry) -> Item {
    settle_reservation(wallet, &post, false);
    let undone_post = Some(UndonePost {
        wallet: Arc::clone(wallet),
        key: Arc::clone(key),
        charge: -post.amount,
        at: post.at,
    });
    let void = LedgerEntry {
        kind: EntryKind::Void,
        amount: Nanodollars::ZERO,
        charge: Charge::default(),
        reason: NOT_ACCEPTED.to_owned(),
        ..post
    };
    Item::one(void, Effect::Void { undone_post })
}

/// The charge is not returned to the allotment until it is known whether the ledger has it. The
/// void has its own id, because the page may be charged later.
fn undo_run_post(source: &Arc<dyn ChargeSource>, post: LedgerEntry) -> Item {
    let void = source.page_void(&post, NOT_ACCEPTED);
    let source = Arc::clone(source);
    let post = Box::new(post);
    Item::one(void, Effect::UndonePost { source, post })
}

fn log_failure(error: &StoreError) {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(error = %error, cause, "the ledger did not accept a group: its posts fail, the rest is retried");
}

fn log_refusal(entry: &LedgerEntry, written: &Written) {
    if let Written::Refused { rule } = written {
        let kind = entry.kind.name();
        tracing::error!(entry.id = %entry.id, entry.kind = kind, rule, "the ledger refused an entry");
    }
}
