//! robots.txt: which paths a file allows. The judge is Google's parser, as the package
//! `jwm.robotstxt` wraps it.

use serde_json::{Value, json};
use trawl_net::robots::{Rules, TOKEN_DEFAULT};

use crate::draw::Draw;
use crate::python::PythonJudge;
use crate::trial::{Exception, Trial};

const EXCEPTIONS: [Exception; 2] = [
    Exception {
        reason: "RFC 9309 section 2.2.2 compares `%61` with `a`; Google's parser does not",
        covers: |it| {
            let is_spelled = |code: &&str| it.input.to_ascii_uppercase().contains(*code);
            ["%61", "%7E", "%2D"].iter().any(is_spelled)
        },
    },
    Exception {
        reason: "RFC 9309 section 2.2.2 compares octets, so `%c3` is `%C3`; Google's parser writes \
                 the digits of patterns in capitals, and leaves those of paths as they are",
        covers: |it| {
            let path = it.input.split(" by ").next().unwrap_or_default();
            path.contains("%c3")
        },
    },
];

/// Names of lines, in spellings that parsers accept or not.
const NAMES: [&str; 14] = [
    "Disallow",
    "Allow",
    "disallow",
    "ALLOW",
    "dissallow",
    "disalow",
    "Disallows",
    "Allowed",
    "Crawl-delay",
    "Sitemap",
    "Noindex",
    "Host",
    "Disallow ",
    " allow",
];
const AGENTS: [&str; 14] = [
    "*",
    "Trawl",
    "trawl",
    "TRAWL/1.0",
    "Trawl bot",
    "Trawler",
    "Googlebot",
    "* ",
    "*bot",
    "Tra",
    "Trawl-news",
    "",
    "other",
    "\"Trawl\"",
];
/// Parts of patterns. Those of paths are the same but for the first: a path is ASCII.
const PARTS: [&str; 20] = [
    "ä",
    "/",
    "a",
    "b",
    "/a",
    "/b/",
    "*",
    "$",
    "?",
    "=",
    "&",
    "index.html",
    "index.htm",
    ".php",
    "%C3%A4",
    "%c3%a4",
    "%61",
    "~",
    "-",
    "%2F",
];
const ENDS: [&str; 5] = ["\n", "\n", "\r\n", "\r", "\n\n"];

#[test]
#[cfg_attr(no_judges, ignore = "no judges: cargo xtask judges")]
fn google_allows_the_same_paths() {
    let mut judge = PythonJudge::start("robots.py");
    let mut trial = Trial::of("robots.txt: Google's parser", &EXCEPTIONS);
    while let Some(mut draw) = trial.round() {
        let file = file(&mut draw);
        let paths: Vec<String> = (0..30).map(|_| path(&mut draw)).collect();
        let question = json!({
            "file": hexadecimal(&file), "token": TOKEN_DEFAULT, "paths": paths,
        });
        let answers = judge.ask(&question);
        let rules = Rules::read(&file, TOKEN_DEFAULT);
        let text = String::from_utf8_lossy(&file);
        for (path, allowed) in paths.iter().zip(answers.as_array().unwrap()) {
            let own = Value::from(rules.allows(path));
            let input = format!("{path} by {text:?}");
            trial.compare(&input, &allowed.to_string(), &own.to_string());
        }
    }
    trial.close();
}

/// A file of a few groups, with lines that belong to none.
fn file(draw: &mut Draw) -> Vec<u8> {
    let mut text = Vec::new();
    if draw.often(10) {
        text.extend_from_slice("\u{feff}".as_bytes());
    }
    for _ in 0..draw.between(0, 12) {
        let line = line(draw);
        text.extend_from_slice(line.as_bytes());
        text.extend_from_slice(draw.one(&ENDS).as_bytes());
    }
    if draw.often(5) {
        // An octet that is not UTF-8.
        text.extend_from_slice(b"Disallow: /a\xe4\n");
    }
    text
}

fn line(draw: &mut Draw) -> String {
    let colon = draw.one(&[":", ":", ": ", ": ", " : ", " ", "\t:\t"]);
    let comment = draw.one(&["", "", "", "", " # Disallow: /", "#"]);
    match draw.below(10) {
        0..4 => {
            let name = draw.one(&["User-agent", "user-agent", "User agent", "useragent"]);
            format!("{name}{colon}{}{comment}", draw.one(&AGENTS))
        }
        4..9 => {
            let n_parts = draw.between(0, 4);
            let pattern = draw.several(n_parts, &PARTS);
            let slash = if draw.often(80) { "/" } else { "" };
            format!("{}{colon}{slash}{pattern}{comment}", draw.one(&NAMES))
        }
        _ => draw
            .one(&["", "# a comment", "nonsense", ":", "Disallow", "/a"])
            .to_owned(),
    }
}

fn path(draw: &mut Draw) -> String {
    let n_parts = draw.between(0, 5);
    format!("/{}", draw.several(n_parts, &PARTS[1..]))
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
