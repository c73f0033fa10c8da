//! Redirects: which pages a browser asks for, by status and spelling of `Location`. The judge is
//! Chromium.

use serde_json::json;

use crate::chromium::{Chromium, PAGES};
use crate::draw::Draw;
use crate::site::target;
use crate::trial::{Exception, Trial};

/// Several `Location` headers are not drawn, nor names of other hosts.
const EXCEPTIONS: [Exception; 2] = [
    Exception {
        reason: "Chromium escapes `|` in paths; the standard's path percent-encode set lacks it",
        covers: |it| it.judge.replace("%7C", "|") == it.trawl.replace("%7C", "|"),
    },
    Exception {
        reason: "of a circle, Chromium repeats permanent redirects from its cache",
        covers: |it| {
            [&it.judge, &it.trawl]
                .iter()
                .all(|end| end.ends_with(", failed"))
        },
    },
];

const STATUSES: [&str; 8] = [
    "301 Moved Permanently",
    "302 Found",
    "303 See Other",
    "307 Temporary Redirect",
    "308 Permanent Redirect",
    "302",
    "302 Found",
    "301 Moved",
];
/// The place of the page's own address is taken by `__SITE__`, with other spellings of its host.
const STARTS: [&str; 16] = [
    "",
    "",
    "",
    "/",
    "/",
    "http://__SITE__",
    "HTTP://__SITE__/",
    "//__SITE__/",
    "///__SITE__/",
    "\\\\__SITE__\\",
    "http:/__SITE__/",
    "http:",
    "http://127.1:__PORT__/",
    "http://0x7f000001:__PORT__/",
    "http://u:p@__SITE__/",
    " /",
];
const PARTS: [&str; 28] = [
    "a", "b", "/", "/", "..", "../", "./", "%2e%2e/", "?", "q=1", "&", "#", "é", "%C3%A9", "%zz",
    " ", "+", "|", "^", "`", "{", "}", "\"", "<", "'", "\\", "\t", ":",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chromium_follows_the_same_redirects() {
    let chromium = Chromium::start().await;
    let mut trial = Trial::of("redirects: Chromium", &EXCEPTIONS);
    while let Some((mut draw, _turn)) = chromium.round(&mut trial).await {
        // One after the other, since a redirect may lead anywhere on the site.
        for number in 0..PAGES {
            let (status, location) = (draw.one(&STATUSES), location(&mut draw, &chromium));
            let start = format!("/dir/{number}/start?q#f");
            let lines = [
                format!("HTTP/1.1 {status}\r\nLocation: ").as_bytes(),
                &octets(&mut draw, &location),
                b"\r\nContent-Type: text/html\r\n",
            ]
            .concat();
            let mut seen = Vec::new();
            for engine in ["http", "browser"] {
                chromium.site.clear();
                let request = start.trim_end_matches("#f");
                chromium.site.put(request, &lines, "<p>moved");
                let url = chromium.site.url(&start);
                let body = json!({"url": url, "request": engine, "return_format": "empty"});
                let entries = chromium.entries(vec![body]).await;
                let end = if entries[0]["error"].is_null() {
                    ""
                } else {
                    ", failed"
                };
                seen.push(targets(&chromium) + end);
            }
            let input = format!("{status}, {}", lines.escape_ascii());
            trial.compare(&input, &seen[1], &seen[0]);
        }
    }
    chromium.close(trial).await;
}

fn location(draw: &mut Draw, chromium: &Chromium) -> String {
    let address = chromium.site.address;
    let start = draw.one(&STARTS).replace("__SITE__", &address.to_string());
    let start = start.replace("__PORT__", &address.port().to_string());
    // With a host, the path is one.
    let n_parts = draw.between(0, 5);
    let slash = if start.ends_with(|last: char| last.is_ascii_digit()) {
        "/"
    } else {
        ""
    };
    let location = format!("{start}{slash}{}", draw.several(n_parts, &PARTS));
    match !start.contains(':') && names_host(&location) && !names_host(&start) {
        true => format!("a{location}"),
        false => location.replacen("http://", "http:/", usize::from(start == "http:")),
    }
}

/// Whether it begins with a host.
fn names_host(location: &str) -> bool {
    let mut letters = location.trim().chars().filter(|letter| *letter != '\t');
    let is_slash = |letter: Option<char>| matches!(letter, Some('/' | '\\'));
    is_slash(letters.next()) && is_slash(letters.next())
}

/// In UTF-8, or as older servers write it.
fn octets(draw: &mut Draw, text: &str) -> Vec<u8> {
    match draw.often(80) {
        true => text.as_bytes().to_vec(),
        false => text
            .chars()
            .map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'x'))
            .collect(),
    }
}

/// What was requested, in order, without what browsers request on their own.
fn targets(chromium: &Chromium) -> String {
    let heads = chromium.site.heads();
    let targets = heads.iter().map(|head| target(head));
    let own = targets.filter(|target| !["/favicon.ico", "/robots.txt"].contains(target));
    own.collect::<Vec<_>>().join(" -> ")
}
