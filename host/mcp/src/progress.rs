//! Progress of a call, for clients that ask for it.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};

/// Where the progress of a call is reported.
#[derive(Default)]
pub(crate) struct Progress(Option<(Peer<RoleServer>, ProgressToken)>);

impl Progress {
    /// The client of a call, if it asks for progress.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self(token.map(|token| (context.peer.clone(), token)))
    }

    /// Reports how much of how much is done. Each report must say more than the one before.
    pub(crate) async fn report(&self, done: u64, of: Option<u64>, message: String) {
        let Some((peer, token)) = &self.0 else {
            return;
        };
        let mut report =
            ProgressNotificationParam::new(token.clone(), done as f64).with_message(message);
        if let Some(total) = of {
            report = report.with_total(total as f64);
        }
        if let Err(error) = peer.notify_progress(report).await {
            tracing::debug!(error = %error, "progress cannot be reported");
        }
    }
}
