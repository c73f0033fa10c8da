//! Analyses: an analyst's steps on a page or on a run's findings, and what is kept of the page while a model thinks.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::outputs::{failure_of, not_loaded, options_text};
use super::{Input, Source};
use trawl_document::Document;
use trawl_model::{ModelSize, PageFailure};
use trawl_plan::AnalystChoice;
use trawl_plugins::{
    AnalystPlugin, AnalystStep, AnalystSubject, AnalystTask, Fault, Finding, ModelReply, PageView,
    PluginError, PluginKind, Question, Registry,
};

/// Most questions of one task: each costs the caller a request to a model, and a page waits for it.
const QUESTIONS_MAX: usize = trawl_sdk::analyst::QUESTIONS_MAX;

/// What an analyst came to.
#[derive(Clone, Debug)]
pub enum Analysis {
    /// Its answer.
    Done(Value),
    /// A question for the model. Its reply goes to [`Workers::resume`](super::Workers::resume).
    Asks(Asking),
}

/// A question of an analyst, with all that is needed to go on once there is a reply: nothing of the page has to be made again. It holds
/// the page's document in memory until it is dropped.
#[derive(Clone, Debug)]
pub struct Asking {
    question: Box<Question>,
    memo: Vec<u8>,
    /// Questions of this task so far, this one included.
    n_asked: usize,
    task: Arc<Kept>,
}

impl Asking {
    /// What is asked.
    pub fn question(&self) -> &Question {
        &self.question
    }
}

/// A task that outlives the call it began with.
#[derive(Debug)]
struct Kept {
    /// Of the run's snapshot, so that a reload in between changes nothing.
    analyst: Arc<AnalystPlugin>,
    options: String,
    model: Option<ModelSize>,
    subject: KeptSubject,
}

#[derive(Debug)]
enum KeptSubject {
    Page(Box<KeptPage>),
    Pages(Vec<Finding>),
}

/// A page as it was lent to the analyst; text and body only when the analyst reads them.
#[derive(Debug)]
struct KeptPage {
    document: Document,
    kept: Vec<u8>,
    text: String,
    body: Bytes,
    content_type: String,
    charset: &'static str,
}

/// The first step on a page whose document is still lent to others.
pub(super) enum Begun {
    Done(Value),
    Asks(Box<Opening>),
}

/// A first question, before the page is kept for its reply.
pub(super) struct Opening {
    analyst: Arc<AnalystPlugin>,
    options: String,
    model: Option<ModelSize>,
    question: Box<Question>,
    memo: Vec<u8>,
    kept: Vec<u8>,
}

/// Begins an analysis of a page as filters left it.
pub(super) fn begin(
    registry: &Registry,
    choice: &AnalystChoice,
    view: &PageView<'_>,
) -> Result<Begun, PageFailure> {
    let analyst = find(registry, choice)?;
    let options = options_text(&choice.options);
    let step = analyst.start(&AnalystTask {
        subject: AnalystSubject::Page(view),
        options: &options,
        model: choice.model,
    });
    Ok(match step.map_err(failure_of)? {
        AnalystStep::Done(answer) => Begun::Done(answer),
        AnalystStep::Ask(question, memo) => Begun::Asks(Box::new(Opening {
            analyst,
            options,
            model: choice.model,
            question,
            memo,
            kept: view.kept.to_vec(),
        })),
    })
}

impl Opening {
    /// Keeps the page until the reply is there.
    pub(super) fn on_page(self, document: Document, source: Source<'_>, input: &Input) -> Analysis {
        let needs = self.analyst.info().needs;
        let page = KeptPage {
            document,
            kept: self.kept,
            text: match needs.source {
                true => source.text.into_owned(),
                false => String::new(),
            },
            body: match needs.body {
                true => input.body.clone(),
                false => Bytes::new(),
            },
            content_type: input.content_type.clone(),
            charset: source.charset,
        };
        Analysis::Asks(Asking {
            question: self.question,
            memo: self.memo,
            n_asked: 1,
            task: Arc::new(Kept {
                analyst: self.analyst,
                options: self.options,
                model: self.model,
                subject: KeptSubject::Page(Box::new(page)),
            }),
        })
    }
}

/// Begins to join what an analyst found on the pages of a run.
pub(super) fn join(
    registry: &Registry,
    choice: &AnalystChoice,
    findings: Vec<Finding>,
) -> Result<Analysis, PageFailure> {
    let task = Arc::new(Kept {
        analyst: find(registry, choice)?,
        options: options_text(&choice.options),
        model: choice.model,
        subject: KeptSubject::Pages(findings),
    });
    let step = task.with(|lent| task.analyst.start(lent));
    after(step, task, 0)
}

/// Goes on with an analysis.
pub(super) fn resume(asking: Asking, reply: &ModelReply) -> Result<Analysis, PageFailure> {
    let Asking { memo, task, .. } = asking;
    let step = task.with(|lent| task.analyst.resume(lent, &memo, reply));
    after(step, task, asking.n_asked)
}

fn after(
    step: Result<AnalystStep, PluginError>,
    task: Arc<Kept>,
    n_asked: usize,
) -> Result<Analysis, PageFailure> {
    match step.map_err(failure_of)? {
        AnalystStep::Done(answer) => Ok(Analysis::Done(answer)),
        AnalystStep::Ask(question, memo) if n_asked < QUESTIONS_MAX => Ok(Analysis::Asks(Asking {
            question,
            memo,
            n_asked: n_asked + 1,
            task,
        })),
        AnalystStep::Ask(..) => Err(failure_of(PluginError {
            kind: PluginKind::Analyst,
            plugin: task.analyst.info().name.clone(),
            fault: Fault::Lied(format!("one more question, allowed {QUESTIONS_MAX}")),
        })),
    }
}

impl Kept {
    /// Lends the task for one call.
    fn with<R>(&self, call: impl FnOnce(&AnalystTask<'_>) -> R) -> R {
        let lend = |subject| {
            call(&AnalystTask {
                subject,
                options: &self.options,
                model: self.model,
            })
        };
        match &self.subject {
            KeptSubject::Pages(findings) => lend(AnalystSubject::Pages(findings)),
            KeptSubject::Page(page) => lend(AnalystSubject::Page(&PageView {
                document: &page.document,
                kept: &page.kept,
                text: &page.text,
                body: &page.body,
                content_type: &page.content_type,
                charset: page.charset,
            })),
        }
    }
}

fn find(registry: &Registry, choice: &AnalystChoice) -> Result<Arc<AnalystPlugin>, PageFailure> {
    registry
        .analyst(&choice.name)
        .ok_or_else(|| not_loaded("analyst", &choice.name))
}
