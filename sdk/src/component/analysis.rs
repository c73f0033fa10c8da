//! Implements the analyst world for authors' types; conversions only.

use super::analyst::exports::trawl::analyst::analyst as wit;
use super::format::trawl::types::types;
use super::{Exported, borrow};
use crate::analyst::{self as sdk, Analyst, Finding, Model, Reply, Role, Subject, Task};
use crate::{Document, Failure, options};

impl<P: Analyst> wit::Guest for Exported<P> {
    fn describe() -> types::Info {
        P::info().into()
    }

    fn start(task: wit::Task) -> Result<wit::Step, types::Failure> {
        with_task::<P>(task, |task| P::start(task))
    }

    fn resume(
        task: wit::Task,
        memo: Vec<u8>,
        reply: wit::Reply,
    ) -> Result<wit::Step, types::Failure> {
        let reply = match &reply {
            wit::Reply::Answer(answer) => Reply::Answer(json(answer, "the model's answer")?),
            wit::Reply::Unavailable(reason) => Reply::Unavailable(reason),
        };
        with_task::<P>(task, |task| P::resume(task, &memo, reply))
    }
}

/// Calls `run` with the task converted to the author's types.
fn with_task<P: Analyst>(
    task: wit::Task,
    run: impl FnOnce(&Task<'_, P::Options>) -> Result<sdk::Step, Failure>,
) -> Result<wit::Step, types::Failure> {
    let options = options::read(&task.options)?;
    let model = task.model.map(|model| Model {
        context_tokens: model.context_tokens,
        answer_tokens: model.answer_tokens,
    });
    let step = match task.subject {
        wit::Subject::Page(page) => {
            let document = Document::new(borrow(&page.document));
            let subject = Subject::Page {
                document: &document,
                source: page.source.into(),
            };
            run(&Task {
                subject,
                options,
                model,
            })
        }
        wit::Subject::Pages(findings) => {
            let findings: Result<Vec<_>, _> = findings.into_iter().map(finding).collect();
            run(&Task {
                subject: Subject::Pages(findings?),
                options,
                model,
            })
        }
    };
    Ok(step?.into())
}

fn finding(finding: wit::Finding) -> Result<Finding, Failure> {
    let value = json(&finding.value, "a finding")?;
    let url = finding.url;
    Ok(Finding { url, value })
}

fn json(text: &str, what: &str) -> Result<serde_json::Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Failed(format!("{what} is not valid JSON: {error}")))
}

impl From<sdk::Step> for wit::Step {
    fn from(step: sdk::Step) -> Self {
        match step {
            sdk::Step::Ask(question, memo) => Self::Ask(wit::Exchange {
                question: question.into(),
                memo,
            }),
            sdk::Step::Done(answer) => Self::Done(answer.to_string()),
        }
    }
}

impl From<sdk::Question> for wit::Question {
    fn from(question: sdk::Question) -> Self {
        let lower = |message: sdk::Message| wit::Message {
            role: match message.role {
                Role::System => wit::Role::System,
                Role::User => wit::Role::User,
            },
            text: message.text,
        };
        Self {
            messages: question.messages.into_iter().map(lower).collect(),
            schema: question.schema.to_string(),
            answer_tokens: question.answer_tokens,
        }
    }
}
