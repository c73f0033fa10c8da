//! Analyses: an analyst's steps on a page or on the findings of a run, and the page state that
//! waits for a model.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use trawl_document::Document;
use trawl_model::{ModelSize, PageFailure};
use trawl_plan::AnalystChoice;
use trawl_plugins::{
    AnalystPlugin, AnalystStep, AnalystSubject, AnalystTask, Fault, Finding, ModelReply, PageView,
    PluginError, PluginKind, Question, Registry,
};

use super::calls::{failure_of, not_loaded, options_text};
use super::{Input, PageText};

/// Most questions of one task: each costs the caller a request to a model, and a page waits for it.
const QUESTIONS_MAX: usize = trawl_contract::analyst::QUESTIONS_MAX;

/// The state of an analysis.
#[derive(Clone, Debug)]
pub enum Analysis {
    /// The analyst's answer.
    Done(Value),
    /// A question for the model. Its reply goes to [`Workers::resume`](super::Workers::resume).
    Ask(PendingQuestion),
}

/// A question of an analyst, with everything needed to resume: no part of the page is made again.
/// It has the page's document in memory until it is dropped.
#[derive(Clone, Debug)]
pub struct PendingQuestion {
    question: Box<Question>,
    memo: Vec<u8>,
    /// Questions of this task so far, this one included.
    n_asked: usize,
    task: Arc<OwnedTask>,
}

impl PendingQuestion {
    /// The question.
    pub fn question(&self) -> &Question {
        &self.question
    }
}

/// A task that outlives the call that started it.
#[derive(Debug)]
struct OwnedTask {
    /// Of the run's snapshot, so that a reload in between changes nothing.
    analyst: Arc<AnalystPlugin>,
    options: String,
    model: Option<ModelSize>,
    subject: OwnedSubject,
}

#[derive(Debug)]
enum OwnedSubject {
    Page(Box<OwnedPage>),
    Pages(Vec<Finding>),
}

/// A page as the analyst saw it; text and body only if the analyst reads them.
#[derive(Debug)]
struct OwnedPage {
    document: Document,
    kept: Vec<u8>,
    text: String,
    body: Bytes,
    content_type: String,
    charset: &'static str,
}

/// The first step on a page whose document is still borrowed.
pub(super) enum FirstStep {
    Done(Value),
    Ask(Box<FirstQuestion>),
}

/// A first question, before it owns the page.
pub(super) struct FirstQuestion {
    analyst: Arc<AnalystPlugin>,
    options: String,
    model: Option<ModelSize>,
    question: Box<Question>,
    memo: Vec<u8>,
    kept: Vec<u8>,
}

/// Starts an analysis of a page as filters left it.
pub(super) fn begin(
    registry: &Registry,
    choice: &AnalystChoice,
    view: &PageView<'_>,
) -> Result<FirstStep, PageFailure> {
    let analyst = find(registry, choice)?;
    let options = options_text(&choice.options);
    let step = analyst.start(&AnalystTask {
        subject: AnalystSubject::Page(view),
        options: &options,
        model: choice.model,
    });
    Ok(match step.map_err(failure_of)? {
        AnalystStep::Done(answer) => FirstStep::Done(answer),
        AnalystStep::Ask(question, memo) => FirstStep::Ask(Box::new(FirstQuestion {
            analyst,
            options,
            model: choice.model,
            question,
            memo,
            kept: view.kept.to_vec(),
        })),
    })
}

impl FirstQuestion {
    /// Takes ownership of the page until the reply arrives.
    pub(super) fn own_page(
        self,
        document: Document,
        source: PageText<'_>,
        input: &Input,
    ) -> Analysis {
        let needs = self.analyst.info().needs;
        let page = OwnedPage {
            document,
            kept: self.kept,
            text: if needs.source {
                source.text.into_owned()
            } else {
                String::new()
            },
            body: if needs.body {
                input.body.clone()
            } else {
                Bytes::new()
            },
            content_type: input.content_type.clone(),
            charset: source.charset,
        };
        Analysis::Ask(PendingQuestion {
            question: self.question,
            memo: self.memo,
            n_asked: 1,
            task: Arc::new(OwnedTask {
                analyst: self.analyst,
                options: self.options,
                model: self.model,
                subject: OwnedSubject::Page(Box::new(page)),
            }),
        })
    }
}

/// Starts joining what an analyst found on the pages of a run.
pub(super) fn join(
    registry: &Registry,
    choice: &AnalystChoice,
    findings: Vec<Finding>,
) -> Result<Analysis, PageFailure> {
    let task = Arc::new(OwnedTask {
        analyst: find(registry, choice)?,
        options: options_text(&choice.options),
        model: choice.model,
        subject: OwnedSubject::Pages(findings),
    });
    let step = task.with(|lent| task.analyst.start(lent));
    after(step, task, 0)
}

/// Resumes an analysis.
pub(super) fn resume(
    pending: PendingQuestion,
    reply: &ModelReply,
) -> Result<Analysis, PageFailure> {
    let PendingQuestion { memo, task, .. } = pending;
    let step = task.with(|lent| task.analyst.resume(lent, &memo, reply));
    after(step, task, pending.n_asked)
}

fn after(
    step: Result<AnalystStep, PluginError>,
    task: Arc<OwnedTask>,
    n_asked: usize,
) -> Result<Analysis, PageFailure> {
    match step.map_err(failure_of)? {
        AnalystStep::Done(answer) => Ok(Analysis::Done(answer)),
        AnalystStep::Ask(question, memo) if n_asked < QUESTIONS_MAX => {
            Ok(Analysis::Ask(PendingQuestion {
                question,
                memo,
                n_asked: n_asked + 1,
                task,
            }))
        }
        AnalystStep::Ask(..) => Err(failure_of(PluginError {
            kind: PluginKind::Analyst,
            plugin: task.analyst.info().name.clone(),
            fault: Fault::Lied(format!("one more question, allowed {QUESTIONS_MAX}")),
        })),
    }
}

impl OwnedTask {
    /// Lends the task to one call.
    fn with<R>(&self, call: impl FnOnce(&AnalystTask<'_>) -> R) -> R {
        let lend = |subject| {
            call(&AnalystTask {
                subject,
                options: &self.options,
                model: self.model,
            })
        };
        match &self.subject {
            OwnedSubject::Pages(findings) => lend(AnalystSubject::Pages(findings)),
            OwnedSubject::Page(page) => lend(AnalystSubject::Page(&PageView {
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
