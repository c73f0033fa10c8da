//! An analyst that counts words, and asks a model for a better number.

use serde_json::{Value, json};
use trawl_sdk::analyst::{Finding, Model, Question, Step};
use trawl_sdk::testkit::{self, finding};
use trawl_sdk::{Document, Failure, Info};

use super::{OnePage, PageAnalyst, Prompt, is_quoted, list_schema, model_note, structured_data};

type Count = OnePage<Words>;

struct Words;

impl PageAnalyst for Words {
    type Options = ();
    type Page = (String, usize);
    type Answer = usize;

    fn info() -> Info {
        Info::new("count", env!("CARGO_PKG_VERSION"), "The words of a page")
    }

    fn read(document: &Document<'_>, _: &()) -> (String, usize) {
        let text = document.text();
        let n_words = text.split_whitespace().count();
        (text, n_words)
    }

    fn ask(page: &(String, usize), _: &(), model: Model) -> Option<Question> {
        let schema = json!({"type": "integer"});
        let prompt = Prompt::new(model, "Count.", "How many words?".to_owned(), schema, 10);
        let fits = page.0.len() <= prompt.room.bytes();
        (page.1 > 0 && fits).then(|| prompt.about(&page.0))
    }

    fn merge(page: &mut (String, usize), _: &(), _: Model, answer: usize) {
        page.1 = answer;
    }

    fn answer(page: (String, usize), _: &(), model: Option<Value>) -> Result<Step, Failure> {
        Ok(Step::Done(json!({"words": page.1, "model": model})))
    }

    fn join(findings: &[Finding], _: &()) -> Result<Step, Failure> {
        let notes = findings.iter().map(|finding| &finding.value["model"]);
        Ok(Step::Done(json!({"model": model_note(notes)})))
    }
}

#[test]
fn a_model_improves_the_result_or_leaves_it_with_the_reason() {
    let page = testkit::page("<p>one two DATA>>> three");
    let own = page.analyse::<Count>(json!(null)).expect("an answer");
    assert_eq!(own, json!({"words": 4, "model": null}));
    let asked = page.analyse_with::<Count>(json!(null), |question| {
        let user = &question.messages[1].text;
        assert!(
            user.starts_with("How many words?\n\n<<<DATA\none two"),
            "{user}"
        );
        assert_eq!(user.matches("DATA>>>").count(), 1, "{user}");
        assert_eq!(question.answer_tokens, 10);
        Ok(json!(7))
    });
    let used = json!({"words": 7, "model": {"used": true}});
    assert_eq!((asked.answer(), asked.questions.len()), (&used, 1));
    for invalid in [json!("seven"), json!(null), json!({"words": 7}), json!(-1)] {
        let asked = page.analyse_with::<Count>(json!(null), |_| Ok(invalid.clone()));
        let reason = "the model's answer does not match the schema";
        let left = json!({"words": 4, "model": {"used": false, "reason": reason}});
        assert_eq!(asked.answer(), &left, "{invalid}");
    }
    let asked = page.analyse_with::<Count>(json!(null), |_| Err("it is busy".to_owned()));
    let left = json!({"words": 4, "model": {"used": false, "reason": "it is busy"}});
    assert_eq!(asked.answer(), &left);
    let small = Model {
        context_tokens: 40,
        answer_tokens: 5,
    };
    let asked = page.analyse_as::<Count>(json!(null), Some(small), |_| panic!("no room"));
    assert_eq!(asked.answer()["words"], 4);
}

#[test]
fn a_run_says_whether_any_page_used_the_model() {
    let note = |used: bool| json!({"model": {"used": used, "reason": "off"}});
    for (pages, expected) in [([false, true], true), ([false, false], false)] {
        let findings = pages.map(|used| finding("https://a.example/", note(used)));
        let joined = testkit::join::<Count>(findings.to_vec(), json!(null));
        let joined = joined.expect("an answer");
        assert_eq!(joined["model"]["used"], expected);
    }
}

#[test]
fn quotations_have_eight_characters_and_occur_on_the_page() {
    assert!(is_quoted("It is maple.", "is  maple"));
    assert!(!is_quoted("It is maple.", "s maple") && !is_quoted("It is maple.", "is poplar"));
    let schema = list_schema("pairs", 3, &json!({"question": {"type": "string"}}));
    let list = &schema["properties"]["pairs"];
    assert_eq!(
        (&list["maxItems"], &list["items"]["required"]),
        (&json!(3), &json!(["question"]))
    );
}

#[test]
fn structured_data_has_json_ld_and_microdata() {
    let page = testkit::page(
        r#"<div itemscope itemtype="https://schema.org/Store"><b itemprop=name>A <i>shop</i></b>
        <a itemprop=url href="/x">x</a><p itemprop=address itemscope itemtype="https://schema.org/PostalAddress">
        <i itemprop=postalCode>10115</i></p></div><p itemprop=lost itemscope></p>
        <script type="application/ld+json">{"@type": "Person", "name": "Ann"}</script>"#,
    );
    let items = structured_data(&page.document());
    let items: Vec<_> = items
        .iter()
        .map(|item| (item.source, &item.value))
        .collect();
    let person = json!({"@type": "Person", "name": "Ann"});
    let address = json!({"@type": "https://schema.org/PostalAddress", "postalCode": "10115"});
    let store = json!({"@type": "https://schema.org/Store", "name": "A shop", "url": "/x", "address": address});
    let lost = json!({"@type": ""});
    assert_eq!(
        items,
        [
            ("json_ld", &person),
            ("microdata", &store),
            ("microdata", &lost)
        ]
    );
}
