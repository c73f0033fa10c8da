//! Analysts in version 1 of their contract: conversions between the host's types and the bindings'.

use trawl_contract::analyst::{Message, Role};

use super::bindings::exports::trawl::analyst::analyst as wit;
use super::{Export, lend, source};
use crate::call::plugin::Measured;
use crate::error::Fault;
use crate::info::Needs;
use crate::kinds::analyst::{Analyse, AnalystSubject, AnalystTask, Finding, ModelReply, RawStep};
use crate::kinds::question::RawQuestion;

impl Analyse for Export<wit::GuestIndices> {
    fn start(&self, task: &AnalystTask<'_>) -> Measured<RawStep> {
        let findings = findings(task);
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let task = lower(task, &findings, self.needs);
            Ok(lift(exports.call_start(store, task)?))
        })
    }

    fn resume(&self, task: &AnalystTask<'_>, memo: &[u8], reply: &ModelReply) -> Measured<RawStep> {
        let findings = findings(task);
        let answer = match reply {
            ModelReply::Answer(answer) => answer.to_string(),
            ModelReply::Unavailable(_) => String::new(),
        };
        let reply = match reply {
            ModelReply::Answer(_) => wit::Reply::Answer(&answer),
            ModelReply::Unavailable(reason) => wit::Reply::Unavailable(reason),
        };
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let task = lower(task, &findings, self.needs);
            Ok(lift(exports.call_resume(store, task, memo, reply)?))
        })
    }
}

/// The findings of a task, borrowed as the bindings require.
fn findings<'a>(task: &AnalystTask<'a>) -> Vec<wit::Finding<'a>> {
    let AnalystSubject::Pages(findings) = task.subject else {
        return Vec::new();
    };
    let lower = |finding: &'a Finding| wit::Finding {
        url: &finding.url,
        value: &finding.value,
    };
    findings.iter().map(lower).collect()
}

fn lower<'a>(
    task: &AnalystTask<'a>,
    findings: &'a [wit::Finding<'a>],
    needs: Needs,
) -> wit::Task<'a> {
    wit::Task {
        subject: match task.subject {
            AnalystSubject::Page(page) => wit::Subject::Page(wit::Page {
                document: lend(page),
                source: source(page, needs),
            }),
            AnalystSubject::Pages(_) => wit::Subject::Pages(findings),
        },
        options: task.options,
        model: task.model.map(|model| wit::Model {
            context_tokens: model.context_tokens,
            answer_tokens: model.answer_tokens,
        }),
    }
}

fn lift(step: Result<wit::Step, super::Failure>) -> Result<RawStep, Fault> {
    Ok(match step? {
        wit::Step::Ask(exchange) => {
            let question = RawQuestion {
                messages: exchange
                    .question
                    .messages
                    .into_iter()
                    .map(message)
                    .collect(),
                schema: exchange.question.schema,
                answer_tokens: exchange.question.answer_tokens,
            };
            RawStep::Ask(question, exchange.memo)
        }
        wit::Step::Done(answer) => RawStep::Done(answer),
    })
}

fn message(message: wit::Message) -> Message {
    Message {
        role: match message.role {
            wit::Role::System => Role::System,
            wit::Role::User => Role::User,
        },
        text: message.text,
    }
}
