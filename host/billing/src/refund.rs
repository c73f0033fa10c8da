//! Refunds: a page that was charged and has failed when it was fetched again costs nothing. The
//! ledger only grows, so its charge is taken back by another entry.

use std::sync::Arc;

use trawl_model::{Charge, Nanodollars};
use trawl_store::{Consumed, EntryKind, LedgerEntry, LedgerStore, StoreError};

use crate::allotment::Allotment;
use crate::reservation::{REASON_BYTES_MAX, URL_BYTES_MAX, truncated};

/// A refund in the name of a run: a post of the opposite amounts. Its id follows from that of the
/// post, so that a page is refunded once, and is among those of the run, whose sums it reduces.
pub(crate) fn entry(
    allotment: &Allotment,
    post_id: &str,
    (url, reason): (&str, &str),
    charge: &Charge,
) -> LedgerEntry {
    LedgerEntry {
        id: refund_id(post_id),
        account: allotment.wallet.account.id.clone(),
        kind: EntryKind::Post,
        amount: charge.total(),
        held: Nanodollars::ZERO,
        reservation: String::new(),
        run: Arc::clone(&allotment.run),
        url: Arc::from(truncated(url, URL_BYTES_MAX)),
        key: allotment.key.prefix(),
        charge: opposite(charge),
        consumed: Consumed::default(),
        reason: truncated(reason, REASON_BYTES_MAX).to_owned(),
        at: allotment.clock.now(),
    }
}

/// What the page of a post was charged; nothing if that was refunded. `None` if there is no such
/// post.
///
/// # Errors
/// The store failed.
pub(crate) async fn charge_of_post(
    store: &dyn LedgerStore,
    post_id: &str,
) -> Result<Option<Charge>, StoreError> {
    let found = store.entry(post_id).await?;
    let Some(post) = found.filter(|found| found.entry.kind == EntryKind::Post) else {
        return Ok(None);
    };
    let refund = store.entry(&refund_id(post_id)).await?;
    Ok(Some(match refund {
        Some(_) => Charge::default(),
        None => post.entry.charge,
    }))
}

fn refund_id(post_id: &str) -> String {
    format!("{post_id}/refund")
}

fn opposite(charge: &Charge) -> Charge {
    Charge {
        ai: -charge.ai,
        compute: -charge.compute,
        file: -charge.file,
        bytes_transferred: -charge.bytes_transferred,
        transform: -charge.transform,
        vendor_billed: -charge.vendor_billed,
    }
}
