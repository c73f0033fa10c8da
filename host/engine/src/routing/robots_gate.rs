//! Where a page may be redirected to.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use url::Url;

use trawl_net::robots::Robots;
use trawl_plan::RedirectGate;

/// Lets a page be redirected to where robots.txt allows it, and whoever else has a say.
pub(super) struct RobotsGate {
    robots: Arc<Robots>,
    gate: Option<Arc<dyn RedirectGate>>,
}

impl RobotsGate {
    pub(super) fn new(robots: Arc<Robots>, gate: Option<Arc<dyn RedirectGate>>) -> Self {
        Self { robots, gate }
    }
}

impl RedirectGate for RobotsGate {
    fn may_follow<'a>(&'a self, page: &'a Url, to: &'a Url) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            if let Some(gate) = &self.gate
                && !gate.may_follow(page, to).await
            {
                return false;
            }
            self.robots.verdict(to).await.is_allowed
        })
    }
}
