//! Changes of a page that change nothing for its reader: how often its main body changes with them.

use std::sync::Arc;

use serde_json::json;
use trawl_plan::OutputPlan;

use super::pages::Page;
use super::words::Score;
use crate::transformer::Transformer;

/// Goal for the share of pages whose main body changes.
const CHANGED_MAX: f64 = 0.02;
/// Goal for the share of pages whose main body is not its own main body, and the share of its words
/// that may be missing from that.
const UNSTABLE_MAX: f64 = 0.05;
const LOST_MAX: f64 = 0.1;

/// What is added to the body of a page.
struct Change {
    name: &'static str,
    at_start: &'static str,
    at_end: &'static str,
}

const CHANGES: [Change; 5] = [
    Change {
        name: "a footer",
        at_start: "",
        at_end: "<footer><a href=\"/imprint\">Imprint</a> <a href=\"/terms\">Terms of use</a></footer>",
    },
    Change {
        name: "an aside",
        at_start: "",
        at_end: "<aside><h3>See also</h3><ul><li><a href=\"/a\">The weather tomorrow</a></li>\
                 <li><a href=\"/b\">All bus lines</a></li></ul></aside>",
    },
    Change {
        name: "a nav",
        at_start: "<nav><a href=\"/\">Home</a> <a href=\"/about\">About us</a></nav>",
        at_end: "",
    },
    Change {
        name: "a wrapping div",
        at_start: "<div>",
        at_end: "</div>",
    },
    Change {
        name: "all of them",
        at_start: "<nav><a href=\"/\">Home</a> <a href=\"/about\">About us</a></nav><div>",
        at_end: "</div><aside><a href=\"/a\">The weather tomorrow</a></aside>\
                 <footer><a href=\"/imprint\">Imprint</a></footer>",
    },
];

/// Prints the share of pages whose main body changes when something is added that is not part of
/// it, and when everything is left out that is not part of it.
pub(super) fn run(transformer: &Transformer, pages: &[Page]) -> anyhow::Result<()> {
    let text = transformer.plan(json!({"return_format": "text", "readability": true}))?;
    let html = transformer.plan(json!({"return_format": "html", "readability": true}))?;
    let (mut n_changed, mut n_unstable, mut n_pages) = ([0; CHANGES.len()], 0, 0);
    for page in pages {
        let Some(body) = body_of(&page.body) else {
            continue;
        };
        n_pages += 1;
        let content = |body: &[u8], plan: &Arc<OutputPlan>| {
            let (content, _) = transformer.text(&page.url, body, plan)?;
            anyhow::Ok(content)
        };
        let expected = content(&page.body, &text)?;
        for (change, n_changed) in CHANGES.iter().zip(&mut n_changed) {
            let changed = change.of(&page.body, body);
            *n_changed += u32::from(content(&changed, &text)? != expected);
        }
        let again = content(content(&page.body, &html)?.as_bytes(), &text)?;
        n_unstable += u32::from(Score::of(&expected, &again).recall < 1.0 - LOST_MAX);
    }
    println!("{n_pages} pages: share of them whose main body changes");
    for (change, n) in CHANGES.iter().zip(n_changed) {
        print_share(&format!("with {}", change.name), n, n_pages, CHANGED_MAX);
    }
    print_share("without everything else", n_unstable, n_pages, UNSTABLE_MAX);
    Ok(())
}

fn print_share(name: &str, n: u32, n_pages: u32, goal: f64) {
    let share = f64::from(n) / f64::from(n_pages.max(1));
    let verdict = if share > goal { ", MISSED" } else { "" };
    println!("  {name:<24} {share:>7.3}   goal: at most {goal}{verdict}");
}

impl Change {
    /// The page with this change.
    fn of(&self, html: &[u8], (start, end): (usize, usize)) -> Vec<u8> {
        [
            &html[..start],
            self.at_start.as_bytes(),
            &html[start..end],
            self.at_end.as_bytes(),
            &html[end..],
        ]
        .concat()
    }
}

/// Where the content of a page's body begins and ends in its source; `None` without both tags.
fn body_of(html: &[u8]) -> Option<(usize, usize)> {
    let tags = |tag: &'static [u8]| {
        let places = html.windows(tag.len()).enumerate();
        places.filter_map(move |(at, bytes)| bytes.eq_ignore_ascii_case(tag).then_some(at))
    };
    let tag = tags(b"<body").next()?;
    let end = tags(b"</body>").next_back()?;
    let mut quote = None;
    let length = html[tag..].iter().position(|&byte| {
        match (quote, byte) {
            (None, b'>') => return true,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
        false
    });
    let start = tag + length? + 1;
    (start <= end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::{CHANGES, body_of};

    #[test]
    fn the_change_is_inside_the_body() {
        let html = b"<html><BODY class='a>b'><p>c</p></Body></html>";
        let body = body_of(html).expect("a body");
        assert_eq!(&html[body.0..body.1], b"<p>c</p>");
        let wrapped = CHANGES[3].of(html, body);
        let expected = b"<html><BODY class='a>b'><div><p>c</p></div></Body></html>";
        assert_eq!(wrapped, expected);
        assert_eq!(body_of(b"<p>c"), None);
    }
}
