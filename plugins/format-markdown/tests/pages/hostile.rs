//! Hostile pages: rendering never panics, and its time is linear in the page size.

use std::time::{Duration, Instant};

use format_markdown::Markdown;
use serde_json::json;
use trawl_sdk::testkit;

fn markdown(html: &str) -> String {
    testkit::page(html).render_text::<Markdown>(json!({}))
}

fn time(html: &str) -> Duration {
    let page = testkit::page(html);
    let document = page.document();
    drop(document);
    let start = Instant::now();
    page.render_text::<Markdown>(json!({}));
    start.elapsed()
}

/// A page sixteen times as large may take eighty times as long; quadratic time would take 256
/// times. One good measurement suffices: other work on the machine can slow any of them, but makes
/// none of quadratic time look linear.
fn check_linear(name: &str, page: impl Fn(usize) -> String) {
    const SMALL: usize = 500;
    const MEASUREMENTS_MAX: usize = 10;
    let fastest = |n: usize| (0..3).map(|_| time(&page(n))).min().unwrap_or_default();
    let (mut small, mut large) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..MEASUREMENTS_MAX {
        (small, large) = (fastest(SMALL), fastest(SMALL * 16));
        if large <= small * 80 + Duration::from_millis(20) {
            return;
        }
    }
    panic!("{name}: {small:?} for {SMALL}, {large:?} for sixteen times as many");
}

#[test]
fn time_grows_with_the_page() {
    check_linear("siblings", |n| "<p>a <b>b</b> c".repeat(n));
    check_linear("text", |n| "a*b_c[d]&lt;e ".repeat(n));
    check_linear("underscores", |n| format!("a{}b", "_".repeat(n * 10)));
    check_linear("brackets", |n| "[".repeat(n * 10));
    check_linear("backticks", |n| format!("<code>{}</code>", "`".repeat(n)));
    check_linear("marks that need tags", |n| "a<b>.</b>b".repeat(n));
    check_linear("breaks", |n| format!("<p>{}", "a<br>".repeat(n)));
    check_linear("items", |n| format!("<ul>{}", "<li>a".repeat(n)));
    check_linear("rows", |n| format!("<table>{}", "<tr><td>a<td>b".repeat(n)));
    check_linear("links", |n| "<a href=x>a</a> ".repeat(n));
    check_linear("cards", |n| {
        "<a href=x><div>a</div><h3>b</h3><p>c</a>".repeat(n)
    });
    check_linear("a card of headings", |n| {
        format!("<a href=x>{}</a>", "<h3></h3><div>a</div>".repeat(n))
    });
    check_linear("a long card", |n| {
        format!("<a href=x>{}</a>", "<div>a</div>".repeat(n))
    });
    check_linear("marks in code", |n| {
        format!("<code>{}</code>", "a <b>b</b> <i>c</i>".repeat(n))
    });
    check_linear("hard blanks", |n| "a<b>&nbsp;&nbsp;b&nbsp;</b>".repeat(n));
    check_linear("a run of hard blanks", |n| {
        format!("<b>a{}</b>", "&nbsp;<b></b>".repeat(n))
    });
    check_linear("styles", |n| {
        "<p style='color:#fff;background:#fff'><i>a</i><b style='font-size:0'>b</b>".repeat(n)
    });
    check_linear("a long style", |n| {
        let style = "a:b;color:#fff;".repeat(n);
        format!("<p style='{style}'><b style='color:#fff'>a</b>")
    });
    check_linear("definitions", |n| {
        format!("<dl>{}", "<dt>a<dd>b<ul><li>c</ul>".repeat(n))
    });
    check_linear("code lines", |n| {
        format!("<pre>{}</pre>", "a ` b\n".repeat(n))
    });
    check_linear("tildes", |n| format!("<s>{}</s>~", "~ ~".repeat(n * 10)));
    check_linear("closing brackets", |n| {
        format!("<b>a{}</b>b", "»".repeat(n * 10))
    });
    check_linear("signs without width", |n| {
        format!("<h2>a<a href='#a'>{}</a></h2>", "\u{200b}".repeat(n * 10))
    });
    check_linear("gutters", |n| {
        "<div class=gutter>1</div><pre>a</pre>".repeat(n)
    });
    check_linear("gutters without code", |n| {
        "<div class=gutter>1</div><wbr>".repeat(n)
    });
}

#[test]
fn spans_do_not_fill_the_memory() {
    let wide = "<tr><td colspan=1000 rowspan=60000>a<td>b".repeat(2_000);
    let text = markdown(&format!("<table>{wide}</table>"));
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
}

#[test]
fn deep_nesting_is_answered() {
    for tag in [
        "div",
        "ul><li",
        "blockquote",
        "b",
        "i",
        "sup",
        "span",
        "table><tr><td",
        "dl><dd",
        "a href=x",
        "code",
    ] {
        let html = format!("{}deep", format!("<{tag}>").repeat(600));
        let text = markdown(&html);
        assert!(text.contains("deep"), "{tag}: {text:?}");
        assert!(text.len() < 100_000, "{tag}: {} bytes", text.len());
    }
}

#[test]
fn any_text_keeps_its_letters() {
    let alphabet = [
        "*",
        "_",
        "`",
        "[",
        "]",
        "(",
        ")",
        "!",
        "&lt;",
        "&gt;",
        "&amp;",
        "\\",
        "#",
        "-",
        "+",
        "1.",
        "~",
        "|",
        " ",
        "\n",
        "é",
        "字",
        "\u{a0}",
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<a href='(x'>",
        "</a>",
        "<br>",
        "<code>",
        "</code>",
        "<p>",
        "<li>",
        "<td>",
        "<table><tr><td>",
        "</table>",
        "<pre>",
        "</pre>",
        "<h2>",
        "</h2>",
        "x",
    ];
    let mut seed = 7_u64;
    for _ in 0..3_000 {
        let mut html = String::new();
        for _ in 0..24 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            html.push_str(alphabet[(seed >> 33) as usize % alphabet.len()]);
        }
        let text = markdown(&html);
        let letters = |text: &str, letter: char| text.chars().filter(|&c| c == letter).count();
        assert_eq!(
            letters(&text, '字'),
            letters(&html, '字'),
            "{html:?} gave {text:?}"
        );
        assert!(
            text.is_empty() || text.ends_with('\n') && !text.ends_with("\n\n"),
            "{html:?} gave {text:?}"
        );
    }
}
