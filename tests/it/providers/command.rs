//! `trawl provider request` and `trawl provider try`.

use std::process::Output;

use serde_json::{Value, json};
use trawl_tests::vendors::{Answered, BAD_KEY, GOOD_KEY};
use trawl_tests::{VendorServer, World, run_program};

/// A world whose providers are the fake vendors.
async fn stage() -> (World, VendorServer) {
    let vendors = VendorServer::start().await;
    let mut world = World::new();
    world.use_vendors(vendors.address, &[]);
    (world, vendors)
}

/// Runs `trawl provider …`: success, standard output, standard error.
fn provider(world: &World, words: &[&str]) -> (bool, String, String) {
    let manifest = world.plugins();
    let mut all = vec!["provider"];
    all.extend(words);
    all.extend(["--plugins", manifest.to_str().unwrap()]);
    all.extend(["--allow-private", "127.0.0.1/32"]);
    let Output {
        status,
        stdout,
        stderr,
    } = run_program(world, &all, b"");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.success(), text(stdout), text(stderr))
}

fn request(world: &World, name: &str, more: &[&str]) -> (bool, Vec<Value>, String) {
    let mut words = vec!["request", name, "--url", "http://shop.example/", "--json"];
    words.extend(more);
    let (is_good, output, errors) = provider(world, &words);
    let lines = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    (is_good, lines.collect(), errors)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_adapter_cannot_do_is_refused_and_named() {
    let (world, vendors) = stage().await;
    let check = |name: &str, more: &[&str], missing: &str| {
        let (is_good, lines, errors) = request(&world, name, more);
        assert!(!is_good && lines.len() == 1, "{name} {more:?}: {lines:?}");
        let failure = &lines[0]["failure"];
        assert_eq!(failure["class"], "unsupported", "{name} {more:?}");
        let message = failure["message"].as_str().unwrap();
        assert!(message.contains(missing), "{name} {more:?}: {message}");
        assert!(errors.contains(missing), "{name} {more:?}: {errors}");
    };
    check("provider_1", &["--js", "--header", "X-A: 1"], "`headers`");
    for name in ["provider_2", "provider_6"] {
        check(name, &["--country", "de"], "`country` (except");
    }
    for name in ["provider_3", "provider_7", "provider_10", "provider_11"] {
        check(name, &["--js", "--script", "go()"], "`script`");
    }
    check(
        "provider_9",
        &["--header", "X-A: 1"],
        "`headers` without JavaScript; with JavaScript it does",
    );
    check(
        "provider_9",
        &["--method", "post", "--body", "a=1"],
        "`body`",
    );
    for name in ["provider_4", "provider_8"] {
        check(name, &["--js", "--screenshot"], "`screenshot`");
    }
    assert!(vendors.order().is_empty(), "nothing is sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_outcome_of_a_reply_is_printed_without_the_key() {
    let (world, _vendors) = stage().await;
    let credential = format!("PROVIDER2_API_KEY={GOOD_KEY}");
    let reply = world.path("reply");
    let after = |text: String| {
        std::fs::write(&reply, text).unwrap();
        let reply = reply.to_str().unwrap();
        let more = ["--credential", &credential, "--reply", reply];
        // By the vendor's name.
        let (is_good, mut lines, errors) = request(&world, "scrapingbee", &more);
        assert!(is_good, "{errors}");
        lines.pop().unwrap()
    };
    let page = after(format!(
        "HTTP/1.1 404 Gone\r\nSpb-initial-status-code: 404\r\nSpb-cost: 5\r\nSpb-content-type: text/html\r\n\
         Spb-set-cookie: a={GOOD_KEY}\r\nSpb-resolved-url: http://shop.example/b\r\n\r\n<p>{GOOD_KEY}</p>"
    ));
    let shown = &page["page"];
    assert_eq!(shown["status"], 404);
    assert_eq!(shown["bytes"], GOOD_KEY.len() + 7);
    assert_eq!(shown["content_type"], "text/html");
    assert_eq!(shown["cookies"][0][0], "a");
    assert_eq!(shown["headers"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&shown["charged"], &shown["cost_reported"]),
        (&json!("yes"), &json!(true))
    );
    assert_eq!(shown["cost"], "0.00098");
    assert!(!page.to_string().contains(GOOD_KEY), "{page}");
    let failure = after(format!("HTTP/1.1 500 Oops\r\n\r\nyour key is {GOOD_KEY}"));
    let shown = &failure["failure"];
    assert_eq!(shown["class"], "provider_error");
    assert_eq!(
        (&shown["charged"], &shown["retry_helps"]),
        (&json!("no"), &json!(true))
    );
    assert!(!failure.to_string().contains(GOOD_KEY), "{failure}");
    let refused = after("HTTP/1.1 401 No\r\n\r\n{}".to_owned());
    assert_eq!(refused["failure"]["retry_helps"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_page_is_fetched_with_any_method() {
    let (world, vendors) = stage().await;
    let credential = format!("PROVIDER2_API_KEY={GOOD_KEY}");
    let page = ["try", "provider_2", "--url", "http://127.0.0.1:1/echo"];
    let sent = [
        "--method",
        "post",
        "--body",
        "a=1",
        "--format",
        "raw",
        "--credential",
        &credential,
    ];
    let words = [page.as_slice(), sent.as_slice()].concat();
    let (is_good, output, errors) = provider(&world, &words);
    assert!(is_good, "{errors}");
    let entry: Value = serde_json::from_str(&output).unwrap();
    let echo: Value = serde_json::from_str(entry["content"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&echo["method"], &echo["body"]),
        (&json!("POST"), &json!("a=1"))
    );
    assert!(!output.contains(GOOD_KEY));
    // All of the reply: its size, headers and cookies, and what it cost.
    let bytes = entry["content"].as_str().unwrap().len();
    assert_eq!(entry["metadata"]["file_size"], bytes, "{entry}");
    assert!(
        entry["headers"].is_object() && entry["cookies"].is_object(),
        "{entry}"
    );
    assert!(entry["costs"]["vendor"]["vendor_cost"].as_f64().unwrap() > 0.0);
    let asked = &vendors.asked("provider_2")[0];
    assert_eq!(
        asked.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_names_its_cause_alone() {
    let (world, vendors) = stage().await;
    let url = ["--url", "http://127.0.0.1:1/page"];
    let fails = |words: &[&str]| {
        let (is_good, _, errors) = provider(&world, words);
        assert!(!is_good, "{words:?}");
        errors
    };
    let errors = fails(&[["try", "provider_2"].as_slice(), &url].concat());
    assert!(errors.contains("was not called"), "{errors}");
    assert!(errors.contains("`PROVIDER2_API_KEY`"), "{errors}");
    assert!(errors.contains("--credential"), "{errors}");
    let credential = format!("PROVIDER3_API_KEY={GOOD_KEY}");
    let scripted = ["--js", "--script", "go()", "--credential", &credential];
    let errors = fails(&[["try", "provider_3"].as_slice(), &url, &scripted].concat());
    assert!(
        errors.contains("was not called") && errors.contains("`script`"),
        "{errors}"
    );
    assert!(vendors.order().is_empty(), "nothing is sent");
    // A provider that was asked: its own words.
    let credential = format!("PROVIDER2_API_KEY={BAD_KEY}");
    let words = [
        ["try", "provider_2"].as_slice(),
        &url,
        &["--credential", &credential],
    ]
    .concat();
    let errors = fails(&words);
    assert!(
        errors.contains("provider_2: responded with status 401"),
        "{errors}"
    );
    assert!(
        !errors.contains("cannot serve") && !errors.contains(BAD_KEY),
        "{errors}"
    );
    vendors.always("provider_2", Answered::new(500, "text/plain", "oops"));
    let (_, output, _) = provider(&world, &words);
    let entry: Value = serde_json::from_str(&output).unwrap();
    let attempt = &entry["metadata"]["provider_attempts"][0];
    assert_eq!(attempt["outcome"], "provider_error", "{entry}");
    assert_eq!(
        (&attempt["charged"], &attempt["retry_helps"]),
        (&json!(false), &json!(true))
    );
    let errors = fails(&words);
    assert!(
        errors.contains("provider_2: responded with status 500: oops"),
        "{errors}"
    );
}
