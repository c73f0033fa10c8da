//! Page analyses on worker threads: suspended for the model's reply, resumed, joined.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_engine::extract::{Analysis, Input, Outputs, PendingQuestion, Workers};
use trawl_model::{ModelSize, PageFailure};
use trawl_plan::{AnalystChoice, Format, FormatChoice, OutputPlan};
use trawl_plugins::{Finding, ModelReply, Plugins, PluginsConfig, Registry};
use trawl_test_guests::{Guest, hostile};

const MODEL: ModelSize = ModelSize {
    context_tokens: 1_000,
    answer_tokens: 100,
};

/// A registry with these components.
fn registry(guests: &[Guest]) -> Arc<Registry> {
    let folder = tempfile::tempdir().unwrap();
    let mut manifest = String::new();
    for guest in guests {
        let (kind, name) = (guest.kind, &guest.name);
        std::fs::write(folder.path().join(format!("{name}.wasm")), guest.build()).unwrap();
        manifest += &format!("[[{kind}]]\nname = \"{name}\"\ncomponent = \"{name}.wasm\"\n");
    }
    let path = folder.path().join("plugins.toml");
    std::fs::write(&path, manifest).unwrap();
    let plugins = Plugins::start(PluginsConfig {
        manifest: path,
        cache_dir: folder.path().join("compiled"),
    });
    plugins.unwrap().snapshot()
}

/// An analyst that answers a reply with the size of the page's source, the size of its mask, and
/// the first letter of its text.
fn remembering() -> Guest {
    let mut guest = Guest::asking_analyst("who");
    guest.needs = 1;
    guest.resume = "(i32.store8 (i32.const 512) (i32.const 34)) \
         (i32.store8 (i32.const 513) (i32.add (i32.const 48) (i32.load offset=148 (local.get $args)))) \
         (i32.store8 (i32.const 514) (i32.add (i32.const 48) (i32.load offset=140 (local.get $args)))) \
         (i32.store8 (i32.const 515) (i32.load8_u (i32.load offset=128 (local.get $args)))) \
         (i32.store8 (i32.const 516) (i32.const 34)) \
         (call $done (i32.const 512) (i32.const 5))"
        .to_owned();
    guest
}

fn plan(model: Option<ModelSize>) -> OutputPlan {
    let empty = FormatChoice {
        name: "empty".to_owned(),
        format: Format::Empty,
        options: json!({}),
    };
    OutputPlan {
        analyst: Some(choice(model)),
        ..OutputPlan::of(empty)
    }
}

fn choice(model: Option<ModelSize>) -> AnalystChoice {
    AnalystChoice {
        name: "who".to_owned(),
        options: json!({}),
        model,
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

async fn run(registry: &Arc<Registry>, html: &'static str, plan: OutputPlan) -> Outputs {
    let input = Input {
        url: "https://site.example/".parse().unwrap(),
        body: html.into(),
        content_type: "text/html".to_owned(),
        is_serialised: false,
        screenshot: None,
    };
    let workers = Workers::new();
    let (outputs, cpu) = workers
        .run(Arc::clone(registry), input, Arc::new(plan), ("", soon()))
        .await;
    assert!(cpu.transform > Duration::ZERO);
    outputs
}

async fn resume(asking: PendingQuestion, reply: ModelReply) -> Result<Analysis, PageFailure> {
    let (analysis, cpu) = Workers::new().resume(asking, reply, ("", soon())).await;
    assert!(cpu.transform > Duration::ZERO && cpu.parse == Duration::ZERO);
    analysis
}

fn asking(analysis: Option<Analysis>) -> PendingQuestion {
    match analysis {
        Some(Analysis::Ask(asking)) => asking,
        other => panic!("not a question: {other:?}"),
    }
}

fn answer(analysis: Option<Analysis>) -> Value {
    match analysis {
        Some(Analysis::Done(answer)) => answer,
        other => panic!("not an answer: {other:?}"),
    }
}

#[tokio::test]
async fn a_suspended_analysis_keeps_page_mask_and_source() {
    let guests = [remembering(), Guest::keeping_filter("all")];
    let registry = registry(&guests);
    let mut plan = plan(Some(MODEL));
    plan.filters = vec![("all".to_owned(), json!({}))];
    let outputs = run(&registry, "Zzz", plan).await;
    assert_eq!(outputs.failure, None);
    let asking = asking(outputs.analysis);
    assert_eq!(asking.question().messages[0].text, "who?");
    // The question holds on to its analyst, whatever is loaded meanwhile.
    drop(registry);
    let answer = answer(resume(asking, ModelReply::Answer(json!("x"))).await.ok());
    // Three bytes of source, one of mask, and the first letter of the text.
    assert_eq!(answer, "31Z");
}

#[tokio::test]
async fn an_analysis_without_a_model_is_not_suspended() {
    let registry = registry(&[Guest::asking_analyst("who")]);
    let outputs = run(&registry, "x", plan(None)).await;
    assert_eq!(answer(outputs.analysis), "no model");
}

#[tokio::test]
async fn findings_are_joined_on_a_worker() {
    let registry = registry(&[Guest::asking_analyst("who")]);
    let findings = vec![Finding {
        url: "https://site.example/".to_owned(),
        value: "[1,2]".to_owned(),
    }];
    let workers = Workers::new();
    let (joined, cpu) = workers
        .join(registry, choice(Some(MODEL)), findings, ("", soon()))
        .await;
    assert_eq!(answer(joined.ok()), json!([1, 2]));
    assert!(cpu.transform > Duration::ZERO);
}

#[tokio::test]
async fn more_than_four_questions_are_a_fault_of_the_analyst() {
    let guest = Guest::asking_analyst("who").when_resumed(hostile::ASK);
    let registry = registry(&[guest]);
    let mut asked = asking(run(&registry, "x", plan(Some(MODEL))).await.analysis);
    for _ in 1..4 {
        let next = resume(asked, ModelReply::Answer(json!("x"))).await;
        asked = asking(next.ok());
    }
    let failure = resume(asked, ModelReply::Answer(json!("x")))
        .await
        .unwrap_err();
    assert!(failure.message.contains("analyst `who`"), "{failure:?}");
    assert!(failure.message.contains("allowed 4"), "{failure:?}");
}

#[tokio::test]
async fn an_analyst_that_fails_does_not_affect_other_outputs() {
    let guest = Guest::asking_analyst("who").when_asked(hostile::TRAP);
    let registry = registry(&[guest, Guest::constant_format("shout", "HELLO")]);
    let mut plan = plan(Some(MODEL));
    plan.analyst.as_mut().unwrap().options = json!({"a": 1});
    plan.formats[0].format = Format::Plugin("shout".to_owned());
    let outputs = run(&registry, "x", plan).await;
    assert!(outputs.analysis.is_none());
    let failure = outputs.failure.unwrap();
    assert!(
        failure.message.contains("analyst `who` crashed"),
        "{failure:?}"
    );
    let content = format!("{:?}", outputs.content);
    assert!(content.contains("HELLO"), "{content}");
}

#[tokio::test]
async fn an_analyst_that_is_not_loaded_is_an_error() {
    let registry = registry(&[]);
    let failure = run(&registry, "x", plan(None)).await.failure.unwrap();
    assert!(
        failure.message.contains("analyst `who` is not loaded"),
        "{failure:?}"
    );
}
