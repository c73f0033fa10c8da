//! Analysts: analyse pages in steps, between which the host queries a language model.

use std::fmt;

use serde_json::Value;

use trawl_model::ModelSize;

use super::question::{Question, RawQuestion};
use crate::call::plugin::{Core, Measured};
use crate::call::trial;
use crate::call::view::PageView;
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// Largest memo, in bytes: intermediate results, a fraction of a page.
const MEMO_BYTES_MAX: usize = trawl_contract::analyst::MEMO_BYTES_MAX;

/// An analyst behind one version of the contract.
pub(crate) trait Analyse: Send + Sync {
    fn start(&self, task: &AnalystTask<'_>) -> Measured<RawStep>;
    fn resume(&self, task: &AnalystTask<'_>, memo: &[u8], reply: &ModelReply) -> Measured<RawStep>;
}

/// A step as the analyst returned it, unchecked.
pub(crate) enum RawStep {
    Ask(RawQuestion, Vec<u8>),
    Done(String),
}

/// The task of an analyst, borrowed for one call.
#[derive(Clone, Copy, Debug)]
pub struct AnalystTask<'a> {
    /// The subject of the analysis.
    pub subject: AnalystSubject<'a>,
    /// A JSON object, valid by the analyst's schema.
    pub options: &'a str,
    /// Size of the model. Without a model, a question violates the contract.
    pub model: Option<ModelSize>,
}

/// The subject of the analysis.
#[derive(Clone, Copy, Debug)]
pub enum AnalystSubject<'a> {
    /// One page.
    Page(&'a PageView<'a>),
    /// The analyst's results for the pages of a run, to be combined into one answer.
    Pages(&'a [Finding]),
}

/// An analyst's result for one page of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Absolute URL of the page.
    pub url: String,
    /// The answer for that page, as JSON text.
    pub value: String,
}

/// The outcome of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelReply {
    /// A value that [`Question::check`] has accepted.
    Answer(Value),
    /// There is no answer; the reason in one sentence for people.
    Unavailable(String),
}

/// The next step of an analysis.
#[derive(Clone, Debug)]
pub enum AnalystStep {
    /// Query the model, then call [`AnalystPlugin::resume`] with this memo and the reply.
    Ask(Box<Question>, Vec<u8>),
    /// The answer: any JSON value, its keys in the analyst's order.
    Done(Value),
}

/// A loaded analyst.
pub struct AnalystPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Analyse>,
}

impl AnalystPlugin {
    /// Starts an analysis.
    ///
    /// # Errors
    /// [`PluginError`] when the analyst fails, misbehaves or exceeds a limit, returns something
    /// that is not JSON, asks a question without a model, or exceeds a limit of the contract.
    pub fn start(&self, task: &AnalystTask<'_>) -> Result<AnalystStep, PluginError> {
        let run = || self.backend.start(task);
        self.core
            .run(self.size(task), run, |step| self.checked(task, step))
    }

    /// Continues an analysis: the task it started with, the memo of its last step, the reply.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn resume(
        &self,
        task: &AnalystTask<'_>,
        memo: &[u8],
        reply: &ModelReply,
    ) -> Result<AnalystStep, PluginError> {
        let reply_bytes = match reply {
            ModelReply::Answer(answer) => answer.to_string().len(),
            ModelReply::Unavailable(reason) => reason.len(),
        };
        let size = self.size(task) + (memo.len() + reply_bytes) as u64;
        let run = || self.backend.resume(task, memo, reply);
        self.core.run(size, run, |step| self.checked(task, step))
    }

    /// Its description and limits.
    pub fn info(&self) -> &PluginInfo {
        &self.core.info
    }

    /// Validates options against the plugin's schema, then with a trial call unless they are empty.
    /// Call it on a thread that may block.
    ///
    /// # Errors
    /// A message with what is wrong, and where.
    pub fn check_options(&self, options: &Value) -> Result<(), String> {
        self.core.check_options(options)?;
        trial::check(options, |page, options| {
            self.start(&AnalystTask {
                subject: AnalystSubject::Page(page),
                options,
                model: None,
            })
        })
    }

    /// [`start`](Self::start) without counting, for the first call after loading. It detects an
    /// analyst that asks questions without a model.
    pub(crate) fn try_start(&self, task: &AnalystTask<'_>) -> Measured<AnalystStep> {
        let Measured {
            result,
            elapsed,
            memory_peak,
        } = self.backend.start(task);
        Measured {
            result: result.and_then(|step| self.checked(task, step)),
            elapsed,
            memory_peak,
        }
    }

    fn size(&self, task: &AnalystTask<'_>) -> u64 {
        match task.subject {
            AnalystSubject::Page(page) => page.size(self.core.info.needs, task.options),
            AnalystSubject::Pages(findings) => {
                let bytes = findings
                    .iter()
                    .map(|finding| finding.url.len() + finding.value.len());
                (bytes.sum::<usize>() + task.options.len()) as u64
            }
        }
    }

    fn checked(&self, task: &AnalystTask<'_>, step: RawStep) -> Result<AnalystStep, Fault> {
        match step {
            RawStep::Done(answer) => {
                self.core.check_output(answer.len())?;
                serde_json::from_str(&answer)
                    .map(AnalystStep::Done)
                    .map_err(|error| Fault::Lied(format!("not one JSON value: {error}")))
            }
            RawStep::Ask(question, memo) => {
                let model = task.model.ok_or_else(|| {
                    Fault::Lied("a question although there is no model".to_owned())
                })?;
                if memo.len() > MEMO_BYTES_MAX {
                    let reason =
                        format!("a memo of {} bytes, allowed {MEMO_BYTES_MAX}", memo.len());
                    return Err(Fault::Lied(reason));
                }
                let question = Question::check_raw(question, model).map_err(Fault::Lied)?;
                Ok(AnalystStep::Ask(Box::new(question), memo))
            }
        }
    }
}

impl fmt::Debug for AnalystPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnalystPlugin")
            .field("name", &self.core.info.name)
            .finish_non_exhaustive()
    }
}
