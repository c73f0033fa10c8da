//! Runs an analyst against scripted answers instead of a model.

use serde_json::Value;

use super::Page;
use crate::analyst::{
    Analyst, Finding, MEMO_BYTES_MAX, MESSAGES_MAX, Model, QUESTION_BYTES_MAX, QUESTIONS_MAX,
    Question, Reply, SCHEMA_BYTES_MAX, Step, Subject, Task,
};
use crate::{Failure, options};

/// A small model for tests.
pub const MODEL: Model = Model {
    context_tokens: 8_192,
    answer_tokens: 1_024,
};

/// Record of an analysis: the questions and the outcome.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Questions in order.
    pub questions: Vec<Question>,
    /// The memo that accompanied each question.
    pub memos: Vec<Vec<u8>>,
    /// The answer, or the failure.
    pub outcome: Result<Value, Failure>,
}

impl Analysis {
    /// The answer.
    ///
    /// # Panics
    /// If the analysis failed.
    pub fn answer(&self) -> &Value {
        match &self.outcome {
            Ok(answer) => answer,
            Err(failure) => panic!("expected an answer, got {failure:?}"),
        }
    }
}

/// A finding of an analyst for the page with this URL.
pub fn finding(url: &str, value: Value) -> Finding {
    Finding {
        url: url.to_owned(),
        value,
    }
}

impl Page {
    /// Runs an analyst with these options, without a model.
    ///
    /// # Errors
    /// The plugin's failure, or [`Failure::InvalidOptions`] if its options type rejects them.
    ///
    /// # Panics
    /// If the analyst asks a question.
    pub fn analyse<A: Analyst>(&self, options: Value) -> Result<Value, Failure> {
        self.analyse_as::<A>(options, None, |_| no_model()).outcome
    }

    /// Runs an analyst with these options and [`MODEL`]. `answer` plays the model: it returns the
    /// answer to a question, or the reason why there is none.
    ///
    /// # Panics
    /// If the analyst violates the contract: too many questions, or a question or memo that is too
    /// large.
    pub fn analyse_with<A: Analyst>(
        &self,
        options: Value,
        answer: impl FnMut(&Question) -> Result<Value, String>,
    ) -> Analysis {
        self.analyse_as::<A>(options, Some(MODEL), answer)
    }

    /// Like [`analyse_with`](Self::analyse_with), with another model or without one.
    ///
    /// # Panics
    /// See [`analyse_with`](Self::analyse_with).
    pub fn analyse_as<A: Analyst>(
        &self,
        options: Value,
        model: Option<Model>,
        answer: impl FnMut(&Question) -> Result<Value, String>,
    ) -> Analysis {
        let document = self.document();
        let subject = Subject::Page {
            document: &document,
            source: self.source(&A::info()),
        };
        analyse::<A>(&subject, &options, model, answer)
    }
}

/// Runs an analyst to join these findings, without a model.
///
/// # Errors
/// See [`Page::analyse`].
///
/// # Panics
/// See [`Page::analyse`].
pub fn join<A: Analyst>(findings: Vec<Finding>, options: Value) -> Result<Value, Failure> {
    let subject = Subject::Pages(findings);
    analyse::<A>(&subject, &options, None, |_| no_model()).outcome
}

/// Runs an analyst to join these findings with [`MODEL`], like [`Page::analyse_with`].
///
/// # Panics
/// See [`Page::analyse_with`].
pub fn join_with<A: Analyst>(
    findings: Vec<Finding>,
    options: Value,
    answer: impl FnMut(&Question) -> Result<Value, String>,
) -> Analysis {
    analyse::<A>(&Subject::Pages(findings), &options, Some(MODEL), answer)
}

fn no_model() -> Result<Value, String> {
    Err("there is no model".to_owned())
}

fn analyse<A: Analyst>(
    subject: &Subject<'_>,
    options: &Value,
    model: Option<Model>,
    mut answer: impl FnMut(&Question) -> Result<Value, String>,
) -> Analysis {
    // Each call gets a new task, just as the host uses a new instance for each call.
    let task = || {
        Ok(Task {
            subject: subject.clone(),
            options: options::read(&options.to_string())?,
            model,
        })
    };
    let mut analysis = Analysis {
        questions: Vec::new(),
        memos: Vec::new(),
        outcome: Ok(Value::Null),
    };
    let mut step = task().and_then(|task| A::start(&task));
    loop {
        let (question, memo) = match step {
            Ok(Step::Ask(question, memo)) => (question, memo),
            Ok(Step::Done(value)) => {
                analysis.outcome = Ok(value);
                return analysis;
            }
            Err(failure) => {
                analysis.outcome = Err(failure);
                return analysis;
            }
        };
        assert!(
            model.is_some(),
            "the analyst asked a question without a model"
        );
        check(&question, &memo);
        let answered = answer(&question);
        analysis.questions.push(question);
        assert!(
            analysis.questions.len() <= QUESTIONS_MAX,
            "the analyst asked more than {QUESTIONS_MAX} questions"
        );
        let reply = match &answered {
            Ok(value) => Reply::Answer(value.clone()),
            Err(reason) => Reply::Unavailable(reason),
        };
        step = task().and_then(|task| A::resume(&task, &memo, reply));
        analysis.memos.push(memo);
    }
}

/// Checks the limits that the host enforces for a question.
fn check(question: &Question, memo: &[u8]) {
    let schema = question.schema.to_string();
    assert!(
        (1..=MESSAGES_MAX).contains(&question.messages.len()),
        "a question has {} messages, but must have 1 to {MESSAGES_MAX}",
        question.messages.len()
    );
    for (what, bytes, bytes_max) in [
        ("the question", question.bytes(), QUESTION_BYTES_MAX),
        ("its schema", schema.len(), SCHEMA_BYTES_MAX),
        ("the memo", memo.len(), MEMO_BYTES_MAX),
    ] {
        assert!(
            bytes <= bytes_max,
            "{what} has {bytes} bytes, more than {bytes_max}"
        );
    }
    assert!(
        question.schema.is_object() || question.schema.is_boolean(),
        "the schema must be an object or a boolean: `{schema}`"
    );
    assert!(
        !has_forbidden(&question.schema),
        "the schema contains `$ref`, `pattern` or `patternProperties`: `{schema}`"
    );
}

/// Whether a schema contains a keyword that models do not support.
fn has_forbidden(schema: &Value) -> bool {
    match schema {
        Value::Object(keys) => keys.iter().any(|(key, value)| {
            let is_own = match key.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" | "pattern" => value.is_string(),
                "patternProperties" => value.is_object(),
                _ => false,
            };
            is_own || has_forbidden(value)
        }),
        Value::Array(values) => values.iter().any(has_forbidden),
        _ => false,
    }
}
