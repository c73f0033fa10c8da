//! The one task that writes the ledger: takes a group, makes it durable, tells who waits.

use std::sync::Arc;
use std::time::Duration;

use super::BillingError;
use super::account::Wallet;
use super::queue::{Effect, Item, Queue};
use crate::model::{Charge, Nanodollars};
use crate::store::{Entry, EntryKind, Store, StoreError, Written};

/// Pause after the store failed, so that a full disk is not asked a thousand times a second.
const RETRY_DELAY: Duration = Duration::from_millis(200);
const NOT_TAKEN: &str = "the ledger was not available";

/// Writes groups until the queue is closed and empty.
pub(super) async fn run(store: Arc<dyn Store>, queue: Arc<Queue>) {
    while let Some(group) = queue.next_group().await {
        let (entries, effects) = apart(group);
        match post(store.as_ref(), &entries).await {
            Ok(written) => settle(&queue, entries, effects, written),
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

fn settle(queue: &Queue, entries: Vec<Entry>, effects: Vec<Owned>, written: Vec<Written>) {
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
            Effect::Post { wallet, done } => {
                let [entry] = &entries[..] else { continue };
                let outcome = match written[..] {
                    [Written::New | Written::AlreadyThere] => Ok(()),
                    _ => Err(BillingError::Unavailable),
                };
                end_hold(&wallet, entry, outcome.is_ok());
                queue.leave();
                // Nobody listens when the client has gone; the charge stands.
                let _unheard = done.send(outcome);
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
            Effect::Reserve | Effect::Void { .. } => left.push(Item { entries, effect }),
            Effect::Post { wallet, done } => {
                for entry in entries {
                    left.push(undone_post(&wallet, entry));
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
