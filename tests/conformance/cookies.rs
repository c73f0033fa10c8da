//! Cookies: which ones a site gets back that set them on the way. The judge is Chromium.

use serde_json::{Value, json};

use crate::chromium::{Chromium, PAGES};
use crate::draw::Draw;
use crate::site::{header, target};
use crate::trial::{Exception, Trial};

const EXCEPTIONS: [Exception; 5] = [
    Exception {
        reason: "browsers trust a loopback address as they trust https",
        covers: |it| it.input.to_ascii_lowercase().contains("secure"),
    },
    Exception {
        reason: "RFC 6265bis section 5.7 keeps the place of a cookie whose value changes; Chromium \
                 moves it behind those that were created since",
        covers: |it| sets_a_name_twice(&it.input) && sorted(&it.judge) == sorted(&it.trawl),
    },
    Exception {
        reason: "RFC 6265bis sections 5.6.1 and 5.6.2 ignore a time that cannot be read; Chromium \
                 forgets an earlier one for it, and reads `+5`",
        covers: |it| {
            let is_odd = |line: &str| {
                let line = line.to_ascii_lowercase();
                let is_twice = |name: &&str| line.matches(*name).count() > 1;
                ["max-age=", "expires="].iter().any(is_twice) || line.contains("max-age=+")
            };
            it.input.lines().any(is_odd)
        },
    },
    Exception {
        reason: "RFC 6265bis section 5.1.1 knows no year before 1601 and ignores the date; Chromium \
                 takes it for a time that is over",
        covers: |it| it.input.contains("Jun 1600"),
    },
    Exception {
        reason: "RFC 6265bis section 5.6 takes a tab inside a name or a value; Chromium ignores such \
                 a cookie",
        covers: |it| it.input.contains("x\ty"),
    },
];

const NAMES: [&str; 13] = [
    "a",
    "b",
    "a",
    "c",
    "A",
    "",
    "__Host-a",
    "__Secure-b",
    "__host-c",
    "a b",
    "a\"",
    "é",
    "$Version",
];
const VALUES: [&str; 13] = [
    "1", "2", "3", "", "\"q\"", " x ", "x y", "a=b", "é", "x,y", "\"x;y\"", "x\ty", "%20",
];
const ATTRIBUTES: [&str; 40] = [
    "Path=/",
    "Path=__BASE__",
    "Path=__BASE__/",
    "Path=__BASE__/deep",
    "Path=__BASE__/dee",
    "path=/other",
    "Path=",
    "Path=relative",
    "Path=\"__BASE__\"",
    "Max-Age=100",
    "Max-Age=0",
    "Max-Age=-1",
    "max-age=x",
    "Max-Age=+5",
    "Max-Age= 7",
    "Max-Age=99999999999999999999",
    "Max-Age=\"5\"",
    "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    "Expires=Wed, 09 Jun 2094 10:18:14 GMT",
    "Expires=Wednesday, 09-Jun-94 10:18:14 GMT",
    "Expires=Wed Jun  9 10:18:14 2094",
    "Expires=0",
    "expires=09 Jun 2094",
    "Expires=10:18:14 9 june 2037",
    "Expires=2037-06-09T10:18:14Z",
    "Expires=Wed, 31 Feb 2037 10:18:14 GMT",
    "Expires=Wed, 09 Jun 1600 10:18:14 GMT",
    "Domain=127.0.0.1",
    "Domain=.127.0.0.1",
    "Domain=example.org",
    "Domain=",
    "domain=0.0.1",
    "HttpOnly",
    "SameSite=Strict",
    "SameSite=Lax",
    "SameSite=None",
    "samesite=other",
    "Secure",
    "unknown=1",
    "",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chromium_sends_the_same_cookies() {
    let chromium = Chromium::start().await;
    let mut trial = Trial::of("cookies: Chromium", &EXCEPTIONS);
    while let Some((mut draw, _turn)) = chromium.round(&mut trial).await {
        let chains: Vec<Vec<String>> = (0..PAGES).map(|_| chain(&mut draw)).collect();
        for engine in ["http", "browser"] {
            let bodies = chains.iter().enumerate().map(|(number, chain)| {
                let url = put(&chromium, &base(engine, number), chain);
                json!({"url": url, "request": engine, "return_format": "empty"})
            });
            let entries = chromium.entries(bodies.collect()).await;
            entries.iter().for_each(must_be_fine);
        }
        let heads = chromium.site.heads();
        for (number, chain) in chains.iter().enumerate() {
            let [ours, theirs] =
                ["http", "browser"].map(|engine| sent(&heads, &base(engine, number)));
            trial.compare(&chain.join("\n    "), &theirs, &ours);
        }
    }
    chromium.close(trial).await;
}

/// Whether two of these lines set a cookie of one name.
fn sets_a_name_twice(chain: &str) -> bool {
    let lines = chain.lines().filter(|line| !line.trim().is_empty());
    let mut names: Vec<&str> = lines.map(name_of).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// The name of the cookie that a line sets.
fn name_of(line: &str) -> &str {
    let pair = line.split(';').next().unwrap_or_default();
    pair.split_once('=').map_or("", |(name, _)| name.trim())
}

/// The cookies of a header, sorted.
fn sorted(header: &str) -> Vec<&str> {
    let mut cookies: Vec<&str> = header.split("; ").collect();
    cookies.sort_unstable();
    cookies
}

fn base(engine: &str, number: usize) -> String {
    // Of one length: longer paths are sent first.
    format!("/{}{number}", &engine[..1])
}

fn must_be_fine(entry: &Value) {
    assert!(entry["error"].is_null(), "{entry}");
}

/// The cookies that one page sets, one line each; an empty line is the next redirect.
fn chain(draw: &mut Draw) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..draw.between(1, 8) {
        if draw.often(20) {
            lines.push(String::new());
        }
        lines.push(cookie(draw));
    }
    lines
}

fn cookie(draw: &mut Draw) -> String {
    let mut text = match draw.below(12) {
        0 => draw.one(&VALUES).to_owned(),
        1 => format!("{} = {}", draw.one(&NAMES), draw.one(&VALUES)),
        2 => format!(
            "{}={}",
            draw.one(&["a", "b"]),
            "x".repeat(draw.between(4_080, 4_100))
        ),
        _ => format!("{}={}", draw.one(&NAMES), draw.one(&VALUES)),
    };
    for _ in 0..draw.below(4) {
        text += draw.one(&[";", "; ", "; ", " ; "]);
        text += draw.one(&ATTRIBUTES);
    }
    text
}

/// Puts the redirects and the page behind them on the site; the URL of the first.
fn put(chromium: &Chromium, base: &str, chain: &[String]) -> String {
    let hops: Vec<&[String]> = chain.split(|line| line.is_empty()).collect();
    for (at, cookies) in hops.iter().enumerate() {
        let next = match at + 1 == hops.len() {
            true => format!("{base}/deep/end"),
            false => format!("{base}/{}", at + 1),
        };
        let mut lines = format!("HTTP/1.1 302 Found\r\nLocation: {next}\r\n");
        for cookie in *cookies {
            lines += &format!("Set-Cookie: {}\r\n", cookie.replace("__BASE__", base));
        }
        chromium
            .site
            .put(&format!("{base}/{at}"), lines.as_bytes(), "");
    }
    chromium.site.url(&format!("{base}/0"))
}

/// What the last page was sent.
fn sent(heads: &[String], base: &str) -> String {
    let end = format!("{base}/deep/end");
    let head = heads.iter().find(|head| target(head) == end);
    let head = head.unwrap_or_else(|| panic!("{end} was not requested: {heads:?}"));
    header(head, "cookie")
        .unwrap_or("none")
        .replace(base, "__BASE__")
}
