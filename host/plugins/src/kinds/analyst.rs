//! Analysts: what a page says, one step between questions to a model at a time.

use std::fmt;

use serde_json::Value;

use trawl_model::ModelSize;

use super::question::{Asked, Question};
use crate::call::plugin::{Core, Measured};
use crate::call::trial;
use crate::call::view::PageView;
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// Most bytes of a memo: what an analyst found before it asked, which is a fraction of a page.
const MEMO_BYTES_MAX: usize = trawl_sdk::analyst::MEMO_BYTES_MAX;

/// An analyst in the words of one contract version.
pub(crate) trait Analyse: Send + Sync {
    fn start(&self, task: &AnalystTask<'_>) -> Measured<Said>;
    fn resume(&self, task: &AnalystTask<'_>, memo: &[u8], reply: &ModelReply) -> Measured<Said>;
}

/// A step as the analyst gave it, unchecked.
pub(crate) enum Said {
    Ask(Asked, Vec<u8>),
    Done(String),
}

/// What is wanted of an analyst, borrowed for one call.
#[derive(Clone, Copy, Debug)]
pub struct AnalystTask<'a> {
    /// What is to be analysed.
    pub subject: AnalystSubject<'a>,
    /// A JSON object that fits the analyst's schema.
    pub options: &'a str,
    /// The model, if there is one. Without, a question is a broken contract.
    pub model: Option<ModelSize>,
}

/// What is to be analysed.
#[derive(Clone, Copy, Debug)]
pub enum AnalystSubject<'a> {
    /// One page.
    Page(&'a PageView<'a>),
    /// What the analyst made of a run's pages, to be joined into one answer.
    Pages(&'a [Finding]),
}

/// What an analyst made of one page of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Address of the page, absolute.
    pub url: String,
    /// The answer of that page, as JSON text.
    pub value: String,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelReply {
    /// A value that [`Question::check`] has accepted.
    Answer(Value),
    /// There is none; says why, in one sentence for people.
    Unavailable(String),
}

/// What is next in an analysis.
#[derive(Clone, Debug)]
pub enum AnalystStep {
    /// Ask the model, then call [`AnalystPlugin::resume`] with these bytes and its reply.
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
    /// Begins an analysis.
    ///
    /// # Errors
    /// [`PluginError`] when the analyst fails, misbehaves or exceeds a limit, answers with something that is not JSON, asks without a
    /// model, or asks or remembers more than the contract allows.
    pub fn start(&self, task: &AnalystTask<'_>) -> Result<AnalystStep, PluginError> {
        let run = || self.backend.start(task);
        self.core
            .run(self.size(task), run, |said| self.checked(task, said))
    }

    /// Goes on with it: the task that it began with, the memo of the step before, the reply to its question.
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
        self.core.run(size, run, |said| self.checked(task, said))
    }

    /// What is known of it.
    pub fn info(&self) -> &PluginInfo {
        &self.core.info
    }

    /// Checks options against the plugin's schema, then asks the plugin itself. A call unless they are empty: make it on a thread
    /// that may block.
    ///
    /// # Errors
    /// A sentence with what is wrong, and where.
    pub fn check_options(&self, options: &Value) -> Result<(), String> {
        self.core.check_options(options)?;
        trial::ask(options, |page, options| {
            self.start(&AnalystTask {
                subject: AnalystSubject::Page(page),
                options,
                model: None,
            })
        })
    }

    /// [`start`](Self::start) outside its counters, for the first call after loading: an analyst that asks without a model is found
    /// out here.
    pub(crate) fn try_start(&self, task: &AnalystTask<'_>) -> Measured<AnalystStep> {
        let Measured {
            result,
            elapsed,
            memory_peak,
        } = self.backend.start(task);
        Measured {
            result: result.and_then(|said| self.checked(task, said)),
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

    fn checked(&self, task: &AnalystTask<'_>, said: Said) -> Result<AnalystStep, Fault> {
        match said {
            Said::Done(answer) => {
                self.core.check_output(answer.len())?;
                serde_json::from_str(&answer)
                    .map(AnalystStep::Done)
                    .map_err(|error| Fault::Lied(format!("not one JSON value: {error}")))
            }
            Said::Ask(asked, memo) => {
                let model = task.model.ok_or_else(|| {
                    Fault::Lied("a question although there is no model".to_owned())
                })?;
                if memo.len() > MEMO_BYTES_MAX {
                    let reason =
                        format!("a memo of {} bytes, allowed {MEMO_BYTES_MAX}", memo.len());
                    return Err(Fault::Lied(reason));
                }
                let question = Question::check_asked(asked, model).map_err(Fault::Lied)?;
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
