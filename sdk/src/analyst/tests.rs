//! An analyst as an author writes one: it asks one question and falls back to its own answer.

use serde_json::{Value, json};

use super::{Analyst, Question, Reply, Role, Step, Subject, Task, recall};
use crate::testkit::{self, finding};
use crate::{Failure, Info};

/// Lists the names on a page in upper case; a model decides which ones count.
struct Names;

#[derive(serde::Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    prompt: Option<String>,
}

impl Names {
    fn list(task: &Task<'_, Options>) -> Vec<String> {
        match &task.subject {
            Subject::Page { document, .. } => {
                let text = document.text();
                text.split_whitespace().map(str::to_uppercase).collect()
            }
            Subject::Pages(findings) => {
                let of = |value: &Value| value["names"].as_array().cloned().unwrap_or_default();
                let all = findings.iter().flat_map(|finding| of(&finding.value));
                let mut names: Vec<String> = all
                    .filter_map(|name| name.as_str().map(str::to_owned))
                    .collect();
                names.sort();
                names.dedup();
                names
            }
        }
    }
}

impl Analyst for Names {
    type Options = Options;

    fn info() -> Info {
        Info::new("names", "0.1.0", "Names in a page")
    }

    fn start(task: &Task<'_, Options>) -> Result<Step, Failure> {
        let names = Self::list(task);
        match (&task.options.prompt, task.model) {
            (Some(prompt), Some(_)) => Question::new(json!({"type": "array"}))
                .system("Which of these count?")
                .user(prompt)
                .answer_tokens(50)
                .ask_with(&names),
            _ => Ok(Step::Done(json!({"names": names}))),
        }
    }

    fn resume(_: &Task<'_, Options>, memo: &[u8], reply: Reply<'_>) -> Result<Step, Failure> {
        let mut names: Vec<String> = recall(memo)?;
        if let Reply::Answer(Value::Array(chosen)) = &reply {
            names.retain(|name| chosen.iter().any(|said| said == name));
        }
        Step::done(&json!({"names": names, "model": reply.note()}))
    }
}

#[test]
fn without_a_model_nothing_is_asked() {
    let page = testkit::page("<p>ann bob</p>");
    let answer = page.analyse::<Names>(json!({"prompt": "people"}));
    assert_eq!(answer, Ok(json!({"names": ["ANN", "BOB"]})));
}

#[test]
fn answers_that_are_not_in_the_page_are_dropped() {
    let page = testkit::page("<p>ann bob</p>");
    let analysis = page.analyse_with::<Names>(json!({"prompt": "people"}), |question| {
        assert_eq!(question.messages[1].role, Role::User);
        assert_eq!(question.messages[1].text, "people");
        Ok(json!(["BOB", "EVE"]))
    });
    assert_eq!(
        analysis.answer(),
        &json!({"names": ["BOB"], "model": {"used": true}})
    );
    assert_eq!(analysis.memos, [br#"["ANN","BOB"]"#]);
    assert_eq!(analysis.questions[0].answer_tokens, 50);
}

#[test]
fn the_rule_based_answer_is_the_fallback() {
    let page = testkit::page("<p>ann</p>");
    let options = json!({"prompt": "people"});
    let analysis = page.analyse_with::<Names>(options, |_| Err("it is busy".to_owned()));
    let note = json!({"used": false, "reason": "it is busy"});
    assert_eq!(analysis.answer(), &json!({"names": ["ANN"], "model": note}));
}

#[test]
fn findings_of_pages_are_joined() {
    let findings = vec![
        finding("https://example.com/a", json!({"names": ["BOB", "ANN"]})),
        finding("https://example.com/b", json!({"names": ["ANN"]})),
    ];
    let answer = testkit::join::<Names>(findings.clone(), json!({}));
    assert_eq!(answer, Ok(json!({"names": ["ANN", "BOB"]})));
    let options = json!({"prompt": "people"});
    let analysis = testkit::join_with::<Names>(findings, options, |_| Ok(json!([])));
    assert_eq!(analysis.answer()["names"], json!([]));
}

#[test]
fn invalid_options_and_memos_are_failures() {
    let refused = testkit::page("").analyse::<Names>(json!({"prompt": 1}));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("`prompt`"), "{refused}");
    let lost = recall::<Vec<String>>(b"{").unwrap_err().to_string();
    assert!(lost.contains("memo"), "{lost}");
}
