//! Runs an analyst, with answers that a test has written down in the place of a model.

use serde_json::Value;

use super::Page;
use crate::analyst::{
    Analyst, Finding, MEMO_BYTES_MAX, MESSAGES_MAX, Model, QUESTION_BYTES_MAX, QUESTIONS_MAX,
    Question, Reply, SCHEMA_BYTES_MAX, Step, Subject, Task,
};
use crate::{Failure, options};

/// The model of tests: a small one.
pub const MODEL: Model = Model {
    context_tokens: 8_192,
    answer_tokens: 1_024,
};

/// An analysis: what the analyst asked, and how it ended.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The questions in order.
    pub questions: Vec<Question>,
    /// The memo that was left with each question.
    pub memos: Vec<Vec<u8>>,
    /// The answer, or why there is none.
    pub outcome: Result<Value, Failure>,
}

impl Analysis {
    /// The answer.
    ///
    /// # Panics
    /// There is none.
    pub fn answer(&self) -> &Value {
        match &self.outcome {
            Ok(answer) => answer,
            Err(failure) => panic!("expected an answer, got {failure:?}"),
        }
    }
}

/// What an analyst made of the page at this address.
pub fn finding(url: &str, value: Value) -> Finding {
    Finding {
        url: url.to_owned(),
        value,
    }
}

impl Page {
    /// Calls an analyst with these options, without a model.
    ///
    /// # Errors
    /// What the plugin answered, or [`Failure::InvalidOptions`] when its options type does not take them.
    ///
    /// # Panics
    /// The analyst asked a question.
    pub fn analyse<A: Analyst>(&self, options: Value) -> Result<Value, Failure> {
        self.analyse_as::<A>(options, None, |_| unasked()).outcome
    }

    /// Calls an analyst with these options and [`MODEL`], whose words are what `answer` says to a question: an answer, or why there
    /// is none.
    ///
    /// # Panics
    /// The analyst broke a rule of the contract: too many questions, too large ones, too large a memo.
    pub fn analyse_with<A: Analyst>(
        &self,
        options: Value,
        answer: impl FnMut(&Question) -> Result<Value, String>,
    ) -> Analysis {
        self.analyse_as::<A>(options, Some(MODEL), answer)
    }

    /// [`analyse_with`](Self::analyse_with) a model of another size, or without one.
    ///
    /// # Panics
    /// As [`analyse_with`](Self::analyse_with).
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

/// Calls an analyst to join these findings, without a model.
///
/// # Errors
/// As [`Page::analyse`].
///
/// # Panics
/// As [`Page::analyse`].
pub fn join<A: Analyst>(findings: Vec<Finding>, options: Value) -> Result<Value, Failure> {
    let subject = Subject::Pages(findings);
    analyse::<A>(&subject, &options, None, |_| unasked()).outcome
}

/// Calls an analyst to join these findings with [`MODEL`], as [`Page::analyse_with`] does.
///
/// # Panics
/// As [`Page::analyse_with`].
pub fn join_with<A: Analyst>(
    findings: Vec<Finding>,
    options: Value,
    answer: impl FnMut(&Question) -> Result<Value, String>,
) -> Analysis {
    analyse::<A>(&Subject::Pages(findings), &options, Some(MODEL), answer)
}

fn unasked() -> Result<Value, String> {
    Err("there is no model".to_owned())
}

fn analyse<A: Analyst>(
    subject: &Subject<'_>,
    options: &Value,
    model: Option<Model>,
    mut answer: impl FnMut(&Question) -> Result<Value, String>,
) -> Analysis {
    // Each call has a fresh task, as in the host, where it is a fresh instance.
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
        assert!(model.is_some(), "asked although there is no model");
        check(&question, &memo);
        let said = answer(&question);
        analysis.questions.push(question);
        assert!(
            analysis.questions.len() <= QUESTIONS_MAX,
            "asked more than {QUESTIONS_MAX} questions"
        );
        let reply = match &said {
            Ok(value) => Reply::Answer(value.clone()),
            Err(reason) => Reply::Unavailable(reason),
        };
        step = task().and_then(|task| A::resume(&task, &memo, reply));
        analysis.memos.push(memo);
    }
}

/// The bounds that the host holds a question to.
fn check(question: &Question, memo: &[u8]) {
    let schema = question.schema.to_string();
    assert!(
        (1..=MESSAGES_MAX).contains(&question.messages.len()),
        "a question of {} messages, 1 to {MESSAGES_MAX} are allowed",
        question.messages.len()
    );
    for (what, bytes, bytes_max) in [
        ("the question", question.bytes(), QUESTION_BYTES_MAX),
        ("its schema", schema.len(), SCHEMA_BYTES_MAX),
        ("the memo", memo.len(), MEMO_BYTES_MAX),
    ] {
        assert!(
            bytes <= bytes_max,
            "{what} has {bytes} bytes, {bytes_max} are allowed"
        );
    }
    assert!(
        question.schema.is_object() || question.schema.is_boolean(),
        "the schema is `{schema}`"
    );
    assert!(
        !has_forbidden(&question.schema),
        "the schema has `$ref`, `pattern` or `patternProperties`: `{schema}`"
    );
}

/// Whether a schema has a keyword that no model has to know.
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
