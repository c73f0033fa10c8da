//! Bodies that are refused, and what the refusals say.

use serde_json::{Value, json};

use trawl_plan::RouterMode;

use super::{plan, plan_of, refused};

#[test]
fn bodies_without_a_url_are_refused() {
    for (body, path) in [
        ("{}", "url: "),
        ("[]", "url: "),
        (" [{}]", "[0].url: "),
        (r#"{"url":""}"#, "url: "),
        (r#"{"url":" , "}"#, "url: "),
        (r#"{"url":null}"#, "url: "),
        (r#"[{"url":"a.com"},{}]"#, "[1].url: "),
    ] {
        let error = plan_of(body).expect_err(body);
        assert!(error.starts_with(path), "{error}");
    }
    let error = plan_of(r#"{"urls":"a.com"}"#).expect_err("another name");
    let expected = "url: is missing or empty, send the URL of a page; `urls` is not a parameter, did \
                    you mean `url`?";
    assert_eq!(error, expected);
    let error = plan_of(r#"{"url":["https://a.com"]}"#).expect_err("a list");
    assert_eq!(
        error,
        "Deserialization error: url: invalid type: list, expected a string: one URL, or several \
         separated by commas; for different parameters send an array of request objects"
    );
}

#[test]
fn an_error_in_an_array_names_the_object() {
    let check = |second: Value, expected: &str| {
        let body = json!([{"url": "a.com"}, second]).to_string();
        let error = plan_of(&body).expect_err("a bad request");
        assert!(error.starts_with(expected), "{error}");
    };
    check(
        json!({"url": "a.com", "limit": "x"}),
        "Deserialization error: [1].limit: invalid type",
    );
    check(
        json!({"url": "a.com", "return_format": ["raw", 3]}),
        "Deserialization error: [1].return_format[1]: ",
    );
    check(json!({"url": "a.com", "request": "curl"}), "[1].request: ");
    check(json!(3), "[1]: ");
    let steps = json!({"/login": [{"Wait": 1}, [{"Click": "#a"}]]});
    check(
        json!({"url": "a.com", "automation_scripts": steps}),
        "[1].automation_scripts./login[1]: is neither an object nor a name",
    );
    let error = refused(json!({"cookies": ["a=b", {"name": "a", "value": "b;"}]}));
    assert!(error.starts_with("cookies[1]: "), "{error}");
}

#[test]
fn wrong_types_name_the_field() {
    let check = |fields: Value, field: &str| {
        let error = refused(fields);
        assert!(
            error.starts_with(&format!("Deserialization error: {field}: ")),
            "{error}"
        );
    };
    check(
        json!({"max_credits_allowed": "many"}),
        "max_credits_allowed",
    );
    check(json!({"max_credits_per_page": -1}), "max_credits_per_page");
    check(json!({"limit": 1.5}), "limit");
    check(json!({"depth": 1e30}), "depth");
    check(json!({"metadata": "yes"}), "metadata");
    check(json!({"return_format": 3}), "return_format");
    check(json!({"return_format": [3]}), "return_format[0]");
    check(json!({"request": {}}), "request");
    check(json!({"headers": []}), "headers");
    check(json!({"headers": {"a": []}}), "headers.a");
    check(json!({"cookies": 3}), "cookies");
    check(json!({"router": "first"}), "router");
    check(json!({"router": {"token": 3}}), "router.token");
    check(json!({"cache": "no"}), "cache");
    check(json!({"cache": {"max_age": "x"}}), "cache.max_age");
    check(json!({"budget": {"*": -1}}), "budget.*");
    check(json!({"wait_for": "x"}), "wait_for");
    check(json!({"external_domains": {}}), "external_domains");
    check(json!({"css_extraction_map": []}), "css_extraction_map");
    check(json!({"link_rewrite": "x"}), "link_rewrite");
    check(json!({"chunking_alg": 3}), "chunking_alg");
    check(json!({"blacklist": "x"}), "blacklist");
    check(json!({"readability": "yes"}), "readability");
    let roles = json!({"readability": {"include": "byline"}});
    check(roles, "readability.include");
}

#[test]
fn values_that_are_not_allowed_name_the_field() {
    let check = |fields: Value, field: &str| {
        let error = refused(fields);
        assert!(error.starts_with(&format!("{field}: ")), "{error}");
    };
    check(json!({"request": "curl"}), "request");
    check(json!({"return_format": "pdf"}), "return_format");
    check(json!({"return_format": ""}), "return_format");
    check(json!({"root_selector": "!"}), "root_selector");
    check(json!({"exclude_selector": "!"}), "exclude_selector");
    check(json!({"chunking_alg": "pages"}), "chunking_alg");
    check(json!({"chunking_alg": {"value": 3}}), "chunking_alg");
    check(
        json!({"chunking_alg": {"type": "ByWords", "value": 0}}),
        "chunking_alg",
    );
    check(json!({"filters": {"nope": {}}}), "filters");
    check(json!({"extractors": {"nope": {}}}), "extractors");
    check(json!({"format_options": {"nope": {}}}), "format_options");
    check(json!({"decoder_options": {"nope": {}}}), "decoder_options");
    check(json!({"pages": "0"}), "pages");
    check(json!({"pages": "5-1"}), "pages");
    check(json!({"headers": {"Host": "b.com"}}), "headers");
    check(json!({"cookies": "a"}), "cookies");
    check(
        json!({"cookies": [{"name": "a;b", "value": ""}]}),
        "cookies[0]",
    );
    check(
        json!({"cookies": [{"nam": "a", "value": "b"}]}),
        "cookies[0]",
    );
    check(json!({"user_agent": "a\r\nb"}), "user_agent");
    check(json!({"locale": "a\nb"}), "locale");
    check(json!({"country_code": "germany"}), "country_code");
    check(json!({"purpose": "sale"}), "purpose");
    check(json!({"router": {"mode": "first"}}), "router");
    check(
        json!({"router": {"mode": "first", "provider": "provider_1", "token": "  "}}),
        "router",
    );
    check(
        json!({"router": {"mode": "first", "provider": "provider_1", "credentials": {"PROVIDER1_API_KEY": "x"}}}),
        "router",
    );
}

#[test]
fn secrets_are_not_in_debug_text_or_errors() {
    let canary = "canary-0123456789";
    let plan = plan(json!({
        "router": {"mode": "first", "provider": "provider_1", "token": canary, "credentials": {"PROVIDER1_API_KEY": canary}},
        "headers": {"Authorization": canary}, "cookies": format!("a={canary}"),
    }));
    assert_eq!(
        plan.pages[0].as_ref().expect("a good URL").router.mode,
        RouterMode::First
    );
    assert!(!format!("{plan:?}").contains("canary"));
    let body = json!({
        "url": format!("https://u:{canary}@a.example/x, ftp://u:{canary}@a.example"),
        "evaluate_on_new_document": canary, "execution_scripts": {"*": canary},
        "automation_scripts": {"*": [{"Fill": {"selector": "#p", "value": canary}}, {"Type": canary}, {"Evaluate": canary}]},
    });
    let plan = plan_of(&body.to_string()).expect("a good request");
    assert!(!format!("{plan:?}").contains("canary"));
    let urls = plan.pages.iter().map(|page| match page {
        Ok(page) => (page.requested.as_str(), page.fetch.headers.len()),
        Err(refused) => (refused.requested.as_str(), 0),
    });
    let urls: Vec<_> = urls.collect();
    assert_eq!(urls, [("https://a.example/x", 1), ("ftp://a.example/", 0)]);
    for fields in [
        json!({"automation_scripts": {"*": canary}}),
        json!({"router": canary}),
        json!({"router": {"token": [canary]}}),
        json!({"headers": canary}),
        json!({"headers": {"X-A": [canary]}}),
        json!({"headers": {"X-A": format!("{canary}\n")}, "cookies": format!("a=b\n{canary}")}),
        json!({"cookies": canary}),
    ] {
        assert!(!refused(fields.clone()).contains("canary"), "{fields}");
    }
}
