//! A pipeline's analyst on one page, and its questions to the model within the page's reservation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use trawl_model::{AnalystFinding, Nanodollars, PageFailure, Usage};
use trawl_plan::{AnalystChoice, Format, FormatChoice, OutputPlan, PagePlan};
use trawl_plugins::{ModelReply, Question};

use super::context::RunContext;
use super::extraction::input;
use crate::extract::{Analysis, Outputs, PendingQuestion};
use crate::page_budget::PageBudget;
use crate::routing::Served;

/// How long a step of an analysis may wait for a core and run.
const STEP_TIME_MAX: Duration = Duration::from_secs(30);
/// CPU time that the reservation must still cover when a question is answered: what analysts need
/// to read the answer.
const RESERVED_CPU: Duration = Duration::from_secs(5);
/// How long a question waits for money that other pages hold.
const MONEY_WAIT_MAX: Duration = Duration::from_secs(5);
/// Why the model was not used where the operator has configured none.
const NO_MODEL: &str = "no model is configured";

/// The same plan without its analyst.
pub(super) fn without_analyst(output: &Arc<OutputPlan>) -> Arc<OutputPlan> {
    match output.analyst {
        None => Arc::clone(output),
        Some(_) => Arc::new(OutputPlan {
            analyst: None,
            ..OutputPlan::clone(output)
        }),
    }
}

/// Adds to a finding that the model was not asked, and why. Decision D220.
fn note_unused_model(finding: &mut Value, has_model: bool) {
    let reason = if has_model {
        "the analyst had no question for the model"
    } else {
        NO_MODEL
    };
    if let Some(finding) = finding.as_object_mut() {
        let unused = || json!({"used": false, "reason": reason});
        finding.entry("model").or_insert_with(unused);
    }
}

/// A page that is being analysed.
pub(super) struct AnalysedPage<'a> {
    pub(super) run: &'a RunContext,
    pub(super) plan: &'a PagePlan,
    pub(super) served: &'a Served,
    /// The money of the page.
    pub(super) page_budget: &'a PageBudget<'a>,
}

impl AnalysedPage<'_> {
    /// Adds what the analyst found, if the page has one and its outputs were made.
    pub(super) async fn add_finding(&self, outputs: &mut Outputs, usage: &mut Usage) {
        let analysis = outputs.analysis.take();
        let Some(analysis) = analysis.filter(|_| outputs.failure.is_none()) else {
            return;
        };
        match self.finish(analysis, usage).await {
            Ok(finding) => outputs.fields.finding = Some(finding),
            Err(failure) => outputs.failure = Some(failure),
        }
    }

    /// Runs an analysis to its end. If the analyst fails on a reply of the model, it runs again
    /// without a model: the result that needs none is always available.
    ///
    /// # Errors
    /// The analyst fails without a model too; then the page has failed.
    async fn finish(
        &self,
        analysis: Analysis,
        usage: &mut Usage,
    ) -> Result<AnalystFinding, PageFailure> {
        let mut analysis = analysis;
        let mut has_asked = false;
        let mut value = loop {
            let pending = match analysis {
                Analysis::Done(value) => break value,
                Analysis::Ask(pending) => pending,
            };
            has_asked = true;
            match self.step(pending, usage).await {
                Ok(next) => analysis = next,
                Err(failure) => {
                    usage.ai = Nanodollars::ZERO;
                    break self.embedded(&failure.message, usage).await?;
                }
            }
        };
        let choice = self.plan.output.analyst.as_ref();
        if !has_asked {
            let has_model = choice.is_some_and(|choice| choice.model.is_some());
            note_unused_model(&mut value, has_model);
        }
        Ok(AnalystFinding {
            analyst: choice.map(|choice| choice.name.clone()).unwrap_or_default(),
            value,
        })
    }

    async fn step(
        &self,
        pending: PendingQuestion,
        usage: &mut Usage,
    ) -> Result<Analysis, PageFailure> {
        let reply = self.ask(pending.question(), usage).await;
        let turn = (self.run.owner.as_str(), Instant::now() + STEP_TIME_MAX);
        let (next, cpu) = self.run.engine.workers.resume(pending, reply, turn).await;
        usage.transform += cpu.transform;
        next
    }

    async fn ask(&self, question: &Question, usage: &mut Usage) -> ModelReply {
        let unavailable = |reason: String| ModelReply::Unavailable(reason);
        let Some(ai) = &self.run.engine.ai else {
            return unavailable(NO_MODEL.to_owned());
        };
        let planned = Usage {
            ai: usage.ai + ai.max_cost_of(question),
            transform: usage.transform + RESERVED_CPU,
            ..*usage
        };
        let wait_until = Instant::now() + MONEY_WAIT_MAX;
        if let Err(failure) = self.page_budget.try_reserve_for(&planned, wait_until).await {
            return unavailable(failure.message);
        }
        match ai.ask(question).await {
            Ok(answered) => {
                usage.ai += answered.cost;
                ModelReply::Answer(answered.value)
            }
            Err(reason) => unavailable(reason.to_string()),
        }
    }

    /// The analyst's result without a model, with the reason.
    async fn embedded(&self, reason: &str, usage: &mut Usage) -> Result<Value, PageFailure> {
        let plan = &self.plan.output;
        let nothing = FormatChoice {
            name: "empty".to_owned(),
            format: Format::Empty,
            options: json!({}),
        };
        let output = OutputPlan {
            filters: plan.filters.clone(),
            analyst: plan.analyst.clone().map(|choice| AnalystChoice {
                model: None,
                ..choice
            }),
            ..OutputPlan::of(nothing)
        };
        let deadline = Instant::now() + STEP_TIME_MAX;
        let turn = (self.run.owner.as_str(), deadline);
        let (registry, input) = (Arc::clone(&self.run.registry), input(self.served, None));
        let workers = &self.run.engine.workers;
        let (outputs, cpu) = workers.run(registry, input, Arc::new(output), turn).await;
        usage.transform += cpu.transform;
        match (outputs.analysis, outputs.failure) {
            (_, Some(failure)) => Err(failure),
            (Some(Analysis::Done(mut value)), None) => {
                if let Some(found) = value.as_object_mut() {
                    found.insert("model".to_owned(), json!({"used": false, "reason": reason}));
                }
                Ok(value)
            }
            // Without a model the plugins crate refuses questions.
            (Some(Analysis::Ask(_)) | None, None) => Ok(Value::Null),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_why_no_model_was_used() {
        let noted = |mut finding: Value, has_model| {
            note_unused_model(&mut finding, has_model);
            finding
        };
        let reason = |finding: &Value| finding["model"]["reason"].clone();
        let none = noted(json!({"emails": []}), false);
        assert_eq!(none["model"]["used"], false);
        assert_eq!(reason(&none), NO_MODEL);
        let unasked = noted(json!({"emails": []}), true);
        assert_eq!(
            reason(&unasked),
            "the analyst had no question for the model"
        );
        let own = json!({"model": {"used": false, "reason": "its own"}});
        assert_eq!(noted(own.clone(), true), own);
        assert_eq!(noted(json!("text"), true), "text");
    }
}
