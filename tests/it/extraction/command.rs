//! `trawl transform`: converts a file or standard input offline.

use serde_json::{Value, json};
use trawl_tests::{World, run_program};

use super::SHOP;

fn transform(world: &World, arguments: &[&str], input: &str) -> (bool, String, String) {
    let manifest = world.plugins();
    let mut all = vec!["transform", "--plugins", manifest.to_str().unwrap()];
    all.extend(arguments);
    let output = run_program(world, &all, input.as_bytes());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn standard_input_becomes_content() {
    let world = World::new();
    let (is_good, content, error) = transform(
        &world,
        &[
            "-",
            "--readability",
            "--format",
            "markdown",
            "--url",
            "https://shop.example/shop/kettle",
        ],
        SHOP,
    );
    assert!(is_good, "{error}");
    assert!(content.starts_with("# Kettle K2\n"), "{content}");
    assert!(
        !content.contains("Home") && content.contains("boils a litre"),
        "{content}"
    );
}

#[test]
fn fields_are_printed_as_an_entry() {
    let world = World::new();
    world.write("page.html", SHOP.as_bytes());
    world.write(
        "map.json",
        br#"{"title": "h1", "link": "//a[@class='more']/@href"}"#,
    );
    let [page, map] =
        ["page.html", "map.json"].map(|name| world.path(name).to_str().unwrap().to_owned());
    let arguments = [
        &page,
        "--url",
        "shop.example/shop/kettle",
        "--format",
        "empty",
        "--selectors",
        &map,
        "--json-data",
        "--metadata",
        "--links",
        "--hidden-text",
    ];
    let (is_good, printed, error) = transform(&world, &arguments, "");
    assert!(is_good, "{error}");
    let entry: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        entry["css_extracted"],
        json!({"title": "Kettle K2", "link": "https://shop.example/shop/spec?a=1#x"})
    );
    assert_eq!(entry["json_data"]["product"]["name"], "Kettle K2");
    assert_eq!(entry["metadata"]["title"], "Kettle K2");
    assert_eq!(entry["metadata"]["hidden_text"][0]["by"], "display");
    assert_eq!(entry["links"][0], "https://shop.example/home");
}

#[test]
fn wrong_arguments_are_named_in_the_error() {
    let world = World::new();
    world.write("map.json", br#"{"title": "h1["}"#);
    world.write("broken.json", b"{");
    let file = |name: &str| world.path(name).to_str().unwrap().to_owned();
    for (arguments, expected) in [
        (
            vec!["-".to_owned(), "--selectors".to_owned(), file("map.json")],
            "title",
        ),
        (
            vec![
                "-".to_owned(),
                "--selectors".to_owned(),
                file("broken.json"),
            ],
            "broken.json",
        ),
        (vec![file("nothing.html")], "nothing.html"),
        (
            vec!["-".to_owned(), "--format".to_owned(), "pdf".to_owned()],
            "pdf",
        ),
        (
            vec!["-".to_owned(), "--url".to_owned(), "file:///x".to_owned()],
            "--url",
        ),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (is_good, _, error) = transform(&world, &arguments, "<p>x");
        assert!(
            !is_good && error.contains(expected),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn a_file_that_is_not_text_is_decoded_or_refused() {
    let world = World::new();
    let tides = include_bytes!("../../../plugins/decoder-pdf/src/__fuzz__/pdf/corpus/tides.pdf");
    for (name, bytes, expected) in [
        ("tides.pdf", &tides[..], Ok("# Tides of the harbour")),
        ("tides", &tides[..], Ok("# Tides of the harbour")),
        (
            "dot.png",
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            Err("it may be cut off"),
        ),
        (
            "program",
            &b"\x7fELF\x02\x01\x01\0\0\0"[..],
            Err("ask for `bytes`"),
        ),
    ] {
        world.write(name, bytes);
        let file = world.path(name);
        let arguments = [file.to_str().unwrap(), "--format", "markdown"];
        let (is_good, content, error) = transform(&world, &arguments, "");
        match expected {
            Ok(begin) => assert!(
                is_good && content.contains(begin),
                "{name}: {content} {error}"
            ),
            Err(reason) => assert!(
                !is_good && error.contains(reason),
                "{name}: {content} {error}"
            ),
        }
    }
}
