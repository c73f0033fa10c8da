//! Pathological pages: whatever a page consists of, plugin time must grow linearly with its size.

use serde_json::{Value, json};

use crate::table;
use crate::transformer::Transformer;

/// Largest acceptable ratio of the times at 4n and n: linear growth gives 4, the rest allows for
/// CPU cache misses.
const GROWTH_MAX: f64 = 6.0;
/// Shorter times are not judged: small pages fit into CPU caches and resident memory.
const MEANINGFUL_MS: f64 = 10.0;

/// Builds a page of `n` parts.
type Generator = fn(usize) -> String;

/// Prints the time of every output for every shape at three sizes, without the parse.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let transformer = Transformer::new(folder.path())?;
    println!("time in ms                                   n        n       2n       4n");
    for (shape, n, page) in shapes() {
        let pages = [n, 2 * n, 4 * n].map(page);
        for (output, request) in outputs() {
            let plan = transformer.plan(request)?;
            let mut times = [0.0; 3];
            let mut failure = None;
            for (time, page) in times.iter_mut().zip(&pages) {
                let mut runs = Vec::new();
                for _ in 0..3 {
                    let (outputs, cpu) =
                        transformer.run("https://a.example/", page.as_bytes(), &plan)?;
                    runs.push(cpu.transform);
                    failure = failure.or(outputs.failure);
                }
                *time = table::ms(table::median(runs));
            }
            println!(
                "{shape:<22} {output:<14} {n:>9} {}",
                verdict(times, failure.map(|it| it.message))
            );
        }
    }
    Ok(())
}

/// The three times, and the plugin's failure or the growth factor that misses the goal.
fn verdict([one, two, four]: [f64; 3], failure: Option<String>) -> String {
    let grows = four > MEANINGFUL_MS && four / one > GROWTH_MAX;
    let note = match failure {
        Some(failure) => failure,
        None if grows => format!("growth {:.1}, MISSED", four / one),
        None => String::new(),
    };
    format!("{one:8.1} {two:8.1} {four:8.1}  {note}")
}

/// The measured outputs: a name and the request parameters that produce it.
fn outputs() -> Vec<(&'static str, Value)> {
    let fields = json!({
        "css": "div p:last-child > a",
        "path": "//p[position() = last()]/a/@href",
        "following": "count(//p[1]/following::a)",
    });
    vec![
        ("markdown", json!({"return_format": "markdown"})),
        ("text", json!({"return_format": "text"})),
        ("xml", json!({"return_format": "xml"})),
        (
            "main body",
            json!({"return_format": "text", "readability": true}),
        ),
        (
            "links",
            json!({"return_format": "empty", "return_page_links": true}),
        ),
        (
            "metadata",
            json!({"return_format": "empty", "metadata": true}),
        ),
        (
            "json_data",
            json!({"return_format": "empty", "return_json_data": true}),
        ),
        (
            "hidden_text",
            json!({"return_format": "empty", "return_hidden_text": true}),
        ),
        (
            "selectors",
            json!({"return_format": "empty", "css_extraction_map": fields}),
        ),
        (
            "words",
            json!({"return_format": "text", "chunking_alg": "words"}),
        ),
        (
            "sentences",
            json!({"return_format": "text", "chunking_alg": "sentences"}),
        ),
        (
            "characters",
            json!({"return_format": "markdown", "chunking_alg": "ByCharacterLength"}),
        ),
    ]
}

/// The measured shapes: a name, n and the generator.
fn shapes() -> Vec<(&'static str, usize, Generator)> {
    vec![
        ("nested elements", 25_000, |n| "<div><p>a".repeat(n)),
        ("siblings", 200_000, |n| "<p>a".repeat(n)),
        ("links", 25_000, |n| {
            "<p><a href=/x>word</a> and another".repeat(n)
        }),
        ("list items", 25_000, |n| {
            format!("<ul>{}", "<li>an item".repeat(n))
        }),
        ("table cells", 50_000, |n| {
            format!("<table>{}", "<tr><td>a<td>b".repeat(n / 2))
        }),
        ("bytes of an attribute", 1_000_000, |n| {
            format!(
                "<p style='{}' class='{}'>a",
                "x".repeat(n / 2),
                "a b ".repeat(n / 8)
            )
        }),
        ("bytes of one word", 1_000_000, |n| {
            format!("<p>{}", "x".repeat(n))
        }),
        ("markdown syntax", 250_000, |n| {
            format!("<p>{}", "*_[`\\".repeat(n / 5))
        }),
        ("bytes of a script", 1_000_000, |n| {
            format!("<script>{}</script>", "x={a:[".repeat(n / 6))
        }),
        ("bytes of invalid JSON", 1_000_000, |n| {
            format!(
                "<script type='application/ld+json'>{}</script>",
                "[{\"a\":'".repeat(n / 7)
            )
        }),
        ("microdata", 10_000, |n| {
            "<div itemscope itemprop=a itemref='a b'><i itemprop=b id=a>x</i>".repeat(n)
        }),
    ]
}
