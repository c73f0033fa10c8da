//! Analysts: their steps between questions, and violations of the protocol.

use serde_json::{Value, json};
use trawl_document::Document;
use trawl_model::ModelSize;
use trawl_plugins::{
    AnalystPlugin, AnalystStep, AnalystSubject, AnalystTask, Fault, Finding, ModelReply,
    PluginError, PluginKind, Question,
};
use trawl_test_guests::{Guest, hostile};

use super::{PluginFolder, document, entry, view};

const MODEL: Option<ModelSize> = Some(ModelSize {
    context_tokens: 1_000,
    answer_tokens: 100,
});
/// Options that make the test component misbehave.
const MISBEHAVE: &str = r#"{"misbehave":true}"#;

fn load(guest: &Guest, limits: &str) -> std::sync::Arc<AnalystPlugin> {
    let folder = PluginFolder::new();
    folder.put(guest);
    folder.manifest(&entry(guest, limits));
    let plugins = folder.start().unwrap();
    plugins.snapshot().analyst(&guest.name).unwrap()
}

fn start(
    analyst: &AnalystPlugin,
    page: &Document,
    options: &str,
    model: Option<ModelSize>,
) -> Result<AnalystStep, PluginError> {
    analyst.start(&AnalystTask {
        subject: AnalystSubject::Page(&view(page)),
        options,
        model,
    })
}

fn resume(
    analyst: &AnalystPlugin,
    memo: &[u8],
    reply: &ModelReply,
) -> Result<AnalystStep, PluginError> {
    let page = document("x");
    let task = AnalystTask {
        subject: AnalystSubject::Page(&view(&page)),
        options: "{}",
        model: MODEL,
    };
    analyst.resume(&task, memo, reply)
}

fn join(analyst: &AnalystPlugin, findings: &[Finding]) -> Result<AnalystStep, PluginError> {
    analyst.start(&AnalystTask {
        subject: AnalystSubject::Pages(findings),
        options: "{}",
        model: None,
    })
}

fn asks(step: Result<AnalystStep, PluginError>) -> (Box<Question>, Vec<u8>) {
    match step {
        Ok(AnalystStep::Ask(question, memo)) => (question, memo),
        other => panic!("not a question: {other:?}"),
    }
}

fn answer(step: Result<AnalystStep, PluginError>) -> Value {
    match step {
        Ok(AnalystStep::Done(answer)) => answer,
        other => panic!("not an answer: {other:?}"),
    }
}

fn finding(value: &str) -> Finding {
    Finding {
        url: "https://site.example/a".to_owned(),
        value: value.to_owned(),
    }
}

#[test]
fn a_reply_to_a_question_completes_the_analysis() {
    let analyst = load(&Guest::asking_analyst("who"), "");
    let page = document("x");
    let (question, memo) = asks(start(&analyst, &page, "{}", MODEL));
    assert_eq!(question.messages[0].text, "who?");
    assert_eq!(question.schema, json!({"type": "string"}));
    assert_eq!(question.answer_tokens, 9);
    assert_eq!(memo, b"memo");
    assert!(question.check(&json!(1)).is_err());
    let said = json!("Zoë \"Z\"");
    assert_eq!(question.check(&said), Ok(()));
    let reply = ModelReply::Answer(said.clone());
    assert_eq!(answer(resume(&analyst, &memo, &reply)), said);
    let reply = ModelReply::Unavailable("it is busy".to_owned());
    assert_eq!(answer(resume(&analyst, &memo, &reply)), "no reply");
}

#[test]
fn without_a_model_the_analysis_completes_at_once() {
    let analyst = load(&Guest::asking_analyst("who"), "");
    let step = start(&analyst, &document("x"), "{}", None);
    assert_eq!(answer(step), "no model");
}

#[test]
fn findings_of_pages_are_joined() {
    let analyst = load(&Guest::asking_analyst("who"), "");
    let findings = [finding(r#"{"b":1,"a":["ü"]}"#), finding("2")];
    assert_eq!(
        answer(join(&analyst, &findings)),
        json!({"b": 1, "a": ["ü"]})
    );
}

#[test]
fn an_analyst_is_listed_and_its_calls_are_counted() {
    let folder = PluginFolder::of(&[Guest::asking_analyst("who")]);
    let plugins = folder.start().unwrap();
    let registry = plugins.snapshot();
    assert_eq!(registry.names(PluginKind::Analyst), ["who"]);
    assert!(registry.extractor("who").is_none() && registry.analyst("x").is_none());
    let analyst = registry.analyst("who").unwrap();
    answer(start(&analyst, &document("x"), "{}", None));
    let status = serde_json::to_value(plugins.status()).unwrap();
    let plugin = &status["plugins"][0];
    assert_eq!(plugin["kind"], "analyst");
    assert_eq!(plugin["contract"], "trawl:analyst@1.0.0");
    assert_eq!((&plugin["calls"], &plugin["traps"]), (&json!(1), &json!(0)));
}

#[test]
fn options_are_checked_against_the_schema_and_by_the_analyst() {
    const REFUSES: &str = "(return (call $fail (i32.const 0) (i32.const 784) (i32.const 4)))";
    let guest = Guest {
        schema: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.to_owned(),
        ..Guest::asking_analyst("who").when_asked(REFUSES)
    };
    let analyst = load(&guest, "");
    assert_eq!(analyst.check_options(&json!({})), Ok(()));
    assert_eq!(
        analyst.check_options(&json!({"n": 1})),
        Err("who?".to_owned())
    );
    let wrong = analyst.check_options(&json!({"n": "x"})).unwrap_err();
    assert!(wrong.starts_with("`/n`: "), "{wrong}");
}

#[test]
fn an_analyst_that_asks_without_a_model_is_not_loaded() {
    let guest = Guest::new("analyst", "pushy", hostile::ASK);
    let folder = PluginFolder::new();
    folder.put(&guest);
    folder.manifest(&entry(&guest, ""));
    let refusal = folder.refusal();
    assert!(
        refusal.contains("analyst `pushy`") && refusal.contains("there is no model"),
        "{refusal}"
    );
}

/// Makes `start` misbehave, and checks that the analyst works afterwards.
fn misbehave(misbehavior: &str, limits: &str, model: Option<ModelSize>) -> Fault {
    let analyst = load(
        &Guest::asking_analyst("bad").when_asked(misbehavior),
        limits,
    );
    let fault = start(&analyst, &document("x"), MISBEHAVE, model)
        .unwrap_err()
        .fault;
    asks(start(&analyst, &document("x"), "{}", MODEL));
    fault
}

#[test]
fn steps_that_violate_the_contract_are_faults() {
    for (misbehavior, says) in [
        (hostile::ANSWER_NOT_JSON, "not one JSON value"),
        (hostile::HUGE_MEMO, "a memo of 1048577 bytes"),
        (hostile::HUGE_QUESTION, "a question of 1048577 bytes"),
        (hostile::LYING_SCHEMA, "schema is not JSON"),
        (hostile::NO_MESSAGE, "0 messages"),
    ] {
        match misbehave(misbehavior, "", MODEL) {
            Fault::Lied(reason) => assert!(reason.contains(says), "{misbehavior}: {reason}"),
            other => panic!("{misbehavior}: {other:?}"),
        }
    }
}

#[test]
fn asking_without_a_model_is_a_fault() {
    match misbehave(hostile::ASK, "", None) {
        Fault::Lied(reason) => assert!(reason.contains("there is no model"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn endless_loops_and_allocations_are_stopped() {
    let fault = misbehave(hostile::ENDLESS_LOOP, "limits = { time_ms = 500 }", MODEL);
    assert!(matches!(fault, Fault::OutOfTime { .. }), "{fault:?}");
    let fault = misbehave(hostile::MEMORY_GRAB, "limits = { memory_mib = 4 }", MODEL);
    assert!(matches!(fault, Fault::OutOfMemory { .. }), "{fault:?}");
}

#[test]
fn a_fault_on_a_reply_affects_no_other_call() {
    let analyst = load(
        &Guest::asking_analyst("bad").when_resumed(hostile::TRAP),
        "",
    );
    let (_, memo) = asks(start(&analyst, &document("x"), "{}", MODEL));
    let reply = ModelReply::Answer(json!("x"));
    let error = resume(&analyst, &memo, &reply).unwrap_err();
    assert!(error.fault.is_trap());
    let text = error.to_string();
    assert!(text.starts_with("analyst `bad` crashed"), "{text}");
    asks(start(&analyst, &document("x"), "{}", MODEL));
}

#[test]
fn inputs_and_outputs_are_limited() {
    let analyst = load(
        &Guest::asking_analyst("small"),
        "limits = { input_mib = 1, output_mib = 1 }",
    );
    let half = format!("\"{}\"", "x".repeat(700_000));
    let too_large = |step: Result<AnalystStep, PluginError>| match step.unwrap_err().fault {
        Fault::InputTooLarge { used_bytes, .. } => assert!(used_bytes > 1 << 20),
        other => panic!("{other:?}"),
    };
    assert!(join(&analyst, &[finding(&half)]).is_ok());
    too_large(join(&analyst, &[finding(&half), finding(&half)]));
    let memo = vec![0; 1 << 20];
    too_large(resume(&analyst, &memo, &ModelReply::Answer(json!("x"))));
    too_large(resume(
        &analyst,
        b"memo",
        &ModelReply::Unavailable("x".repeat(1 << 20)),
    ));
}

#[test]
fn an_analyst_is_never_a_shared_library() {
    let folder = PluginFolder::new();
    folder.manifest("allow_native = true\n[[analyst]]\nname = \"x\"\nnative = \"x.so\"\n");
    let refusal = folder.refusal();
    assert!(
        refusal.contains("analyst `x`") && refusal.contains("never native"),
        "{refusal}"
    );
}

#[test]
fn the_error_for_a_wrong_kind_names_the_right_one() {
    let guest = Guest::asking_analyst("who");
    let folder = PluginFolder::new();
    folder.put(&guest);
    folder.manifest("[[extractor]]\nname = \"who\"\ncomponent = \"who.wasm\"\n");
    let refusal = folder.refusal();
    assert!(
        refusal.contains("move it to a `[[analyst]]` entry"),
        "{refusal}"
    );
}
