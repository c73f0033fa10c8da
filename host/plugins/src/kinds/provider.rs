//! Provider adapters: one step of a conversation with a scraping service.

use trawl_contract::provider::{Class, Description, Failure, Reply, Step, Task};

use super::grant::Grant;
use crate::call::plugin::{Core, Measured};
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// Largest memo, in bytes.
const MEMO_BYTES_MAX: usize = trawl_contract::provider::MEMO_BYTES_MAX;

/// An adapter behind one version of the contract.
pub(crate) trait Converse: Send + Sync {
    fn start(&self, task: &Task) -> Measured<Step>;
    fn resume(&self, task: &Task, memo: &[u8], reply: &Reply<'_>) -> Measured<Step>;
}

/// A loaded provider adapter.
pub struct ProviderPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Converse>,
    pub(crate) description: Description,
    pub(crate) grant: Grant,
}

impl ProviderPlugin {
    /// Begins a conversation about a page.
    ///
    /// # Errors
    /// [`PluginError`] when the adapter misbehaves or exceeds a limit. A page that it does not
    /// support is a [`Step::Failed`].
    pub fn start(&self, task: &Task) -> Result<Step, PluginError> {
        let run = || self.backend.start(task);
        self.core
            .run(task_bytes(task), run, |step| self.checked(step))
    }

    /// Continues the conversation. A response of the service that exceeds the adapter's input limit
    /// is a failure of the service.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn resume(&self, task: &Task, memo: &[u8], reply: &Reply<'_>) -> Result<Step, PluginError> {
        let size = task_bytes(task) + (memo.len() + reply.body.len()) as u64;
        if size > self.core.info.limits.input_bytes() {
            let message = format!(
                "its reply has {} bytes, more than its adapter takes",
                reply.body.len()
            );
            return Ok(Step::Failed(Box::new(Failure::new(
                Class::ProviderError,
                message,
            ))));
        }
        let run = || self.backend.resume(task, memo, reply);
        self.core.run(size, run, |step| self.checked(step))
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

    fn checked(&self, step: Step) -> Result<Step, Fault> {
        let Step::Send(exchange) = &step else {
            return Ok(step);
        };
        if exchange.memo.len() > MEMO_BYTES_MAX {
            let reason = format!(
                "a memo of {} bytes, allowed {MEMO_BYTES_MAX}",
                exchange.memo.len()
            );
            return Err(Fault::Lied(reason));
        }
        Ok(step)
    }
}

fn task_bytes(task: &Task) -> u64 {
    (task.url.len() + task.body.len() + task.settings.len()) as u64
}
