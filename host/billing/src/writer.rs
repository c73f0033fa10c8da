//! The one task that writes the ledger: takes a group, makes it durable, tells who waits.

use std::sync::Arc;
use std::time::Duration;

use super::BillingError;
use super::account::Wallet;
use super::purse::Allotment;
use super::queue::{Effect, Item, Queue};
use trawl_model::{Charge, Nanodollars};
use trawl_store::{Entry, EntryKind, Store, StoreError, Written};

/// Pause after the store failed, so that a full disk is not asked a thousand times a second.
const RETRY_DELAY: Duration = Duration::from_millis(200);
const NOT_TAKEN: &str = "the ledger was not available";

/// Writes groups until the queue is closed and empty.
pub(super) async fn run(store: Arc<dyn Store>, queue: Arc<Queue>) {
    while let Some(mut group) = queue.next_group().await {
        let found = find_undone(store.as_ref(), &mut group).await;
        let (entries, effects) = apart(group);
        let written = match found {
            Ok(()) => post(store.as_ref(), &entries).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(written) => settle(store.as_ref(), &queue, entries, effects, written).await,
            Err(error) => {
                log_failure(&error);
                queue.put_back(undo(entries, effects));
                if queue.is_closed() {
                    queue.end();
                    break;
                }
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

/// Asks whether posts that failed have reached the disk after all: those stand.
async fn find_undone(store: &dyn Store, group: &mut [Item]) -> Result<(), StoreError> {
    for item in group {
        let Effect::UndonePost { slice, post } = &item.effect else {
            continue;
        };
        let found = store.entry(&post.id).await?;
        // A post of another slice is that of an earlier process, for the same page.
        if found.is_some_and(|found| found.entry.hold == post.hold) {
            end_hold(slice.wallet(), post, true);
            *item = Item {
                entries: Vec::new(),
                effect: Effect::Void { undone_post: None },
            };
        }
    }
    Ok(())
}

/// An item's effect and how many of the group's entries are its own.
type Owned = (usize, Effect);

fn apart(group: Vec<Item>) -> (Vec<Entry>, Vec<Owned>) {
    let mut entries = Vec::with_capacity(group.len());
    let mut effects = Vec::with_capacity(group.len());
    for item in group {
        effects.push((item.entries.len(), item.effect));
        entries.extend(item.entries);
    }
    (entries, effects)
}

async fn post(store: &dyn Store, entries: &[Entry]) -> Result<Vec<Written>, StoreError> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    store.post_group(entries).await
}

async fn settle(
    store: &dyn Store,
    queue: &Queue,
    entries: Vec<Entry>,
    effects: Vec<Owned>,
    written: Vec<Written>,
) {
    let mut both = entries.into_iter().zip(written);
    for (n_entries, effect) in effects {
        let (entries, written): (Vec<Entry>, Vec<Written>) = both.by_ref().take(n_entries).unzip();
        for (entry, written) in entries.iter().zip(&written) {
            log_refusal(entry, written);
        }
        match effect {
            Effect::Reserve => {}
            Effect::Void { undone_post } => {
                if let (Some((wallet, charge)), [Written::AlreadyThere]) = (undone_post, &*written)
                {
                    // The failed commit had reached the disk: the post stands, and the balance says so.
                    wallet.change(|funds| funds.balance = funds.balance - charge);
                }
                queue.leave();
            }
            Effect::Post {
                wallet,
                slice,
                done,
            } => {
                let ([entry], [written]) = (&entries[..], &written[..]) else {
                    continue;
                };
                let outcome = match slice {
                    None => end_plain(&wallet, entry, written),
                    Some(slice) => end_share(store, &slice, entry, written).await,
                };
                queue.leave();
                // Nobody listens when the client has gone; the charge stands.
                let _unheard = done.send(outcome);
            }
            Effect::UndonePost { slice, post } => {
                slice.uncharge(-post.amount);
                queue.leave();
            }
            Effect::Told { wallet, done } => {
                if let Some(wallet) = wallet {
                    add_new(&wallet, &entries, &written);
                }
                let _unheard = done.send(Ok(written));
            }
        }
    }
}

fn end_plain(wallet: &Wallet, post: &Entry, written: &Written) -> Result<Charge, BillingError> {
    let is_posted = matches!(written, Written::New | Written::AlreadyThere);
    end_hold(wallet, post, is_posted);
    match is_posted {
        true => Ok(post.charge),
        false => Err(BillingError::Unavailable),
    }
}

/// A page of a run has one post for ever. When it was paid before, the slice keeps its money.
async fn end_share(
    store: &dyn Store,
    slice: &Allotment,
    post: &Entry,
    written: &Written,
) -> Result<Charge, BillingError> {
    if *written == Written::New {
        end_hold(slice.wallet(), post, true);
        return Ok(post.charge);
    }
    slice.uncharge(-post.amount);
    match written {
        Written::AlreadyThere => {
            let standing = store.entry(&post.id).await?;
            standing
                .map(|posted| posted.entry.charge)
                .ok_or(BillingError::Unavailable)
        }
        _ => Err(BillingError::Unavailable),
    }
}

fn end_hold(wallet: &Wallet, entry: &Entry, is_posted: bool) {
    wallet.change(|funds| {
        funds.held += entry.held;
        if is_posted {
            funds.balance += entry.amount;
        }
    });
}

fn add_new(wallet: &Wallet, entries: &[Entry], written: &[Written]) {
    let new = entries
        .iter()
        .zip(written)
        .filter(|(_, written)| **written == Written::New);
    let amount: Nanodollars = new.map(|(entry, _)| entry.amount).sum();
    wallet.change(|funds| funds.balance += amount);
}

/// What is left to write of a group that failed. Who waits is told so; a post becomes a void, because its page is not
/// delivered.
fn undo(entries: Vec<Entry>, effects: Vec<Owned>) -> Vec<Item> {
    let mut entries = entries.into_iter();
    let mut left = Vec::with_capacity(effects.len());
    for (n_entries, effect) in effects {
        let entries: Vec<Entry> = entries.by_ref().take(n_entries).collect();
        match effect {
            Effect::Reserve | Effect::Void { .. } | Effect::UndonePost { .. } => {
                left.push(Item { entries, effect });
            }
            Effect::Post {
                wallet,
                slice,
                done,
            } => {
                for post in entries {
                    left.push(match &slice {
                        None => undone_post(&wallet, post),
                        Some(slice) => undone_share(slice, post),
                    });
                }
                let _unheard = done.send(Err(BillingError::Unavailable));
            }
            Effect::Told { done, .. } => {
                let _unheard = done.send(Err(BillingError::Unavailable));
            }
        }
    }
    left
}

fn undone_post(wallet: &Arc<Wallet>, post: Entry) -> Item {
    end_hold(wallet, &post, false);
    let undone_post = Some((Arc::clone(wallet), -post.amount));
    let void = Entry {
        kind: EntryKind::Void,
        amount: Nanodollars::ZERO,
        charge: Charge::default(),
        reason: NOT_TAKEN.to_owned(),
        ..post
    };
    Item::one(void, Effect::Void { undone_post })
}

/// The charge stays out of the slice until it is known whether the ledger has it. The void has an id of its own: the page may
/// be paid later.
fn undone_share(slice: &Arc<Allotment>, post: Entry) -> Item {
    let void = slice.page_void(&post, NOT_TAKEN);
    let slice = Arc::clone(slice);
    let post = Box::new(post);
    Item::one(void, Effect::UndonePost { slice, post })
}

fn log_failure(error: &StoreError) {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(error = %error, cause, "the ledger did not take a group: its posts fail, the rest is tried again");
}

fn log_refusal(entry: &Entry, written: &Written) {
    if let Written::Refused { rule } = written {
        let kind = entry.kind.name();
        tracing::error!(entry.id = %entry.id, entry.kind = kind, rule, "the ledger refused an entry");
    }
}
