//! Search adapters: the request of a search, and the results in its reply.

use trawl_contract::provider::{Class, Failure, Reply, Request};
use trawl_contract::search::{Description, Query, Results};

use super::grant::Grant;
use crate::call::plugin::{Core, Measured};
use crate::error::PluginError;
use crate::info::PluginInfo;

/// What an adapter returns: a value, or why there is none.
pub(crate) type Answered<T> = Result<T, Failure>;

/// An adapter behind one version of the contract.
pub(crate) trait Seek: Send + Sync {
    fn start(&self, query: &Query) -> Measured<Answered<Request>>;
    fn resume(&self, query: &Query, reply: &Reply<'_>) -> Measured<Answered<Results>>;
}

/// A loaded search adapter.
pub struct SearchPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Seek>,
    pub(crate) description: Description,
    pub(crate) grant: Grant,
}

impl SearchPlugin {
    /// The request of a search, or why the service cannot search for it.
    ///
    /// # Errors
    /// [`PluginError`] when the adapter misbehaves or exceeds a limit.
    pub fn start(&self, query: &Query) -> Result<Answered<Request>, PluginError> {
        let run = || self.backend.start(query);
        self.core.run(query_bytes(query), run, Ok)
    }

    /// The results in a reply. A reply that exceeds the adapter's input limit is a failure of the
    /// service.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn resume(
        &self,
        query: &Query,
        reply: &Reply<'_>,
    ) -> Result<Answered<Results>, PluginError> {
        let size = query_bytes(query) + reply.body.len() as u64;
        if size > self.core.info.limits.input_bytes() {
            let message = format!(
                "its reply has {} bytes, more than its adapter takes",
                reply.body.len()
            );
            return Ok(Err(Failure::new(Class::ProviderError, message)));
        }
        let run = || self.backend.resume(query, reply);
        self.core.run(size, run, Ok)
    }

    /// Its description and limits.
    pub fn info(&self) -> &PluginInfo {
        &self.core.info
    }

    /// The adapter's description of itself.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// What the operator grants it.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }
}

fn query_bytes(query: &Query) -> u64 {
    let location = query.location.as_deref().map_or(0, str::len);
    (query.text.len() + location + query.settings.len()) as u64
}
