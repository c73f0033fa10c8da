//! Pages that this node extracts for another one.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use trawl_plugins::Registry;

use super::remote::TIME_MAX;
use super::remote::frame::{Asked, Made};
use super::{Workers, used_plugins};

/// Why a node does not extract a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request is none of this program's.
    Malformed,
    /// The plugins are others than those of the node that asks.
    OtherPlugins,
}

/// Extracts a page for another node, and writes the answer.
///
/// # Errors
/// [`Refusal`].
pub async fn answer(
    workers: &Workers,
    registry: Arc<Registry>,
    request: &Bytes,
) -> Result<Vec<u8>, Refusal> {
    let (asked, body) = Asked::read(request).ok_or(Refusal::Malformed)?;
    let input = asked.input(body).ok_or(Refusal::Malformed)?;
    let plugins = used_plugins::hash(&registry, &input, &asked.plan);
    if plugins.is_none_or(|plugins| plugins != asked.plugins) {
        return Err(Refusal::OtherPlugins);
    }
    let deadline = Instant::now() + asked.time_max.min(TIME_MAX);
    let turn = (asked.owner.as_str(), deadline);
    let made = workers.run(registry, input, Arc::new(asked.plan), turn);
    let made = Made::of(made.await).ok_or(Refusal::Malformed)?;
    made.write().ok_or(Refusal::Malformed)
}
