//! Pages that other nodes extract. What [`run`](super::run) makes of a page is a pure function of
//! the page, the plan and the plugins, so a node of the same program with the same plugins makes
//! the same of it. All that decides stays here: what is fetched, when, and who pays for it. A page
//! is never lost with a node: what does not come back in time is made here.

pub(super) mod frame;
mod nodes;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use trawl_plan::OutputPlan;
use trawl_plugins::Registry;

use super::{CpuTime, Input, Outputs, shows_screenshot, used_plugins};
use frame::{Asked, Made};
use nodes::Nodes;

pub(super) use nodes::Place;

/// Largest page that is sent to a node. Pages on their way are copies, so this bounds the memory
/// that they take.
pub const BODY_BYTES_MAX: usize = 2 << 20;
/// Largest request between nodes: a page, its plan and its URL.
pub const REQUEST_BYTES_MAX: usize = BODY_BYTES_MAX + (1 << 20);
/// How long a node may take before the page is made here: it may be cut off. Half of the time that
/// the page has left, if that is less.
pub(super) const TIME_MAX: Duration = Duration::from_secs(5);

/// How requests get to nodes.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Sends a request to the node at this address; `None` if it has no good answer.
    fn send(&self, address: Arc<str>, request: Vec<u8>) -> BoxFuture<'_, Option<Bytes>>;
}

/// The nodes that extract pages for this one.
#[derive(Debug)]
pub struct RemoteWorkers {
    nodes: Arc<Nodes>,
    transport: Box<dyn Transport>,
}

/// A page for a node.
pub(super) struct RemotePage<'a> {
    owner: &'a str,
    input: &'a Input,
    plan: &'a OutputPlan,
    plugins: blake3::Hash,
    deadline: Instant,
}

impl RemoteWorkers {
    /// No nodes yet; they are reached by this transport.
    pub fn new(transport: Box<dyn Transport>) -> Self {
        Self {
            nodes: Arc::default(),
            transport,
        }
    }

    /// Takes note of a node with so many threads, for a few seconds.
    pub fn announced(&self, address: &str, n_threads: usize) {
        self.nodes.announced(address, n_threads);
    }

    /// How many nodes have announced themselves lately.
    pub fn n_nodes(&self) -> usize {
        self.nodes.n_announced()
    }

    /// Whether a node is known.
    pub(super) fn has_nodes(&self) -> bool {
        self.nodes.is_any_known()
    }

    /// Room on a node, if one has any.
    pub(super) fn try_place(&self) -> Option<Place> {
        self.nodes.try_place()
    }

    /// Waits for room on a node.
    pub(super) async fn place(&self) -> Place {
        self.nodes.place().await
    }

    /// The outputs that a node makes of a page; `None` if it has to be made here.
    pub(super) async fn extract(
        &self,
        page: &RemotePage<'_>,
        place: Place,
    ) -> Option<(Outputs, CpuTime)> {
        let asked = Instant::now();
        // The other half is left to make it here.
        let time_left = page.deadline.saturating_duration_since(asked) / 2;
        let time_max = time_left.min(TIME_MAX);
        let request = page.request(time_max)?;
        let address = Arc::clone(&place.address);
        let answer = tokio::time::timeout(time_max, self.transport.send(address, request)).await;
        let answer = answer.ok().flatten();
        let made = answer.and_then(|answer| Made::read(&answer)?.outputs());
        match made {
            Some(_) => place.succeeded(),
            None => place.failed(),
        }
        // What failed there may have lacked time or memory.
        let made = made.filter(|(outputs, _)| outputs.failure.is_none());
        count(if made.is_some() { "made" } else { "failed" });
        made.map(|(outputs, cpu)| (outputs, cpu.at_most(asked.elapsed())))
    }
}

impl<'a> RemotePage<'a> {
    /// A page that a node may extract; `None` if something of the result is bound to this process,
    /// or a native plugin has a part in it.
    pub(super) fn new(
        registry: &Registry,
        input: &'a Input,
        plan: &'a OutputPlan,
        (owner, deadline): (&'a str, Instant),
    ) -> Option<Self> {
        let may_leave =
            is_portable(plan) && input.screenshot.is_none() && input.body.len() <= BODY_BYTES_MAX;
        let plugins = may_leave.then(|| used_plugins::hash(registry, input, plan));
        Some(Self {
            owner,
            input,
            plan,
            plugins: plugins.flatten()?,
            deadline,
        })
    }

    fn request(&self, time_max: Duration) -> Option<Vec<u8>> {
        let input = self.input;
        let asked = Asked {
            owner: self.owner.to_owned(),
            url: input.url.as_str().to_owned(),
            content_type: input.content_type.clone(),
            is_serialised: input.is_serialised,
            plan: self.plan.clone(),
            plugins: *self.plugins.as_bytes(),
            time_max,
        };
        asked.write(&input.body)
    }
}

/// Whether a plan means the same on another node.
fn is_portable(plan: &OutputPlan) -> bool {
    // The steps of a timed page are noted where they happen.
    !plan.timing && plan.analyst.is_none() && plan.link_rewrite.is_none() && !shows_screenshot(plan)
}

fn count(outcome: &'static str) {
    metrics::counter!("trawl_node_pages_total", "outcome" => outcome).increment(1);
}

#[cfg(test)]
mod tests;
