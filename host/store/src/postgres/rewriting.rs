//! Writes again what a promoted server lacks, also while nothing else is written.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tokio::task::JoinHandle;

use super::doubts::Doubts;
use super::entries;
use super::recent::Recent;

/// Delay before the entries are written again that could not be.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A task that runs until it is dropped.
#[derive(Debug)]
pub(super) struct Rewriting(JoinHandle<()>);

impl Rewriting {
    pub(super) fn start(recent: Arc<Recent>, doubts: Arc<Doubts>, writers: PgPool) -> Self {
        Self(tokio::spawn(run(recent, doubts, writers)))
    }

    pub(super) fn end(&self) {
        self.0.abort();
    }
}

impl Drop for Rewriting {
    fn drop(&mut self) {
        self.end();
    }
}

async fn run(recent: Arc<Recent>, doubts: Arc<Doubts>, writers: PgPool) {
    loop {
        recent.changed().await;
        while recent.is_behind() {
            if let Err(error) = entries::post_group(&writers, &recent, &doubts, &[]).await {
                tracing::error!(error = %error, "ledger entries that the promoted server lacks are not written yet");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}
