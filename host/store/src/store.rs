//! A back end with all stores.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use trawl_model::secret::Secret;

use crate::contacts::ContactStore;
use crate::crawls::CrawlStore;
use crate::future::StoreFuture;
use crate::ledger::LedgerStore;
use crate::outbox::OutboxStore;
use crate::segments::SegmentStore;
use crate::totals::TotalsStore;

/// A back end that implements every store.
///
/// `Arc<dyn Store>` coerces to `Arc<dyn LedgerStore>` and the others: pass each caller only the
/// trait that it needs.
pub trait Store: LedgerStore + CrawlStore + OutboxStore + ContactStore + TotalsStore {
    /// Finishes pending writes and closes the connections.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Resolves once another process has taken the database over, because this one was suspended
    /// or cut off from it for too long: it can write nothing any more. Never in a back end that no
    /// other process can take.
    fn taken_over(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Says where other servers of the same database reach this process by HTTP, once it serves:
    /// `IP:PORT` or `name:PORT`. Does nothing in a back end that has no others.
    fn announce<'a>(&'a self, _address: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// The key of requests between this process and others of the same database, as
    /// [`Serving`](crate::Serving) has it for them; `None` in a back end that has no others.
    fn cluster_key(&self) -> Option<Secret> {
        None
    }

    /// The store of the segments of page logs; `None` in a back end whose page logs are files.
    fn segments(self: Arc<Self>) -> Option<Arc<dyn SegmentStore>> {
        None
    }
}
