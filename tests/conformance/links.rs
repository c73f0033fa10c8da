//! Links: what the addresses of a page resolve to. The judge is `a.href` of Chromium.

use serde_json::{Value, json};

use crate::chromium::{Asked, Chromium, PAGES, in_parts};
use crate::draw::Draw;
use crate::pages::escaped;
use crate::trial::{Difference, Exception, Trial};

const EXCEPTIONS: [Exception; 6] = [
    Exception {
        reason: "a label that is not valid Punycode is refused: no such name can be registered",
        covers: |it| is_web(&it.judge) && is_left(it) && host(&it.judge).contains("xn--"),
    },
    Exception {
        reason: "Chromium takes a space in the name of a host; for the standard it is not a URL",
        covers: |it| is_web(&it.judge) && is_left(it) && host(&it.judge).contains("%20"),
    },
    Exception {
        reason: "Chromium escapes `|` in paths and `'` in user names; the standard's sets lack them",
        covers: |it| is_web(&it.judge) && unescaped(&it.judge) == it.trawl,
    },
    Exception {
        reason: "where the scheme is not the web's, Chromium escapes `|`, `^` and `'`, and writes \
                 the query in the page's character set; the standard does neither",
        covers: |it| !is_web(&it.judge) && comparable(&it.judge) == comparable(&it.trawl),
    },
    Exception {
        reason: "Chromium keeps tabs and line feeds of `data:`; the standard drops them",
        covers: |it| {
            let is_kept = it.judge.contains("%09") || it.judge.contains("%0A");
            is_kept && it.judge.starts_with("data:") && it.trawl.starts_with("data:")
        },
    },
    Exception {
        reason: "where the scheme is not the web's, a backslash ends a segment of dots for \
                 Chromium; for the standard it is a letter like any other",
        covers: |it| {
            let is_same = it.judge.split(':').next() == it.trawl.split(':').next();
            let dots = |text: &str| text.replace("%2e", ".").replace("%2E", ".");
            // The input is shown with escapes: a backslash as two, and tabs, which are dropped.
            let shown = ["\\t", "\\n", "\\r"];
            let shown = shown
                .iter()
                .fold(dots(&it.input), |text, one| text.replace(one, ""));
            let is_left = dots(&it.trawl).contains(".\\") || shown.contains(".\\\\");
            !is_web(&it.judge) && is_same && is_left
        },
    },
];

/// Whether a URL is one that may be fetched, or `ftp`, which is read alike.
fn is_web(url: &str) -> bool {
    url.starts_with("http") || url.starts_with("ftp")
}

/// Whether the server left an attribute as it is, since it is not a URL. Its query may be in the
/// page's character set.
fn is_left(it: &Difference) -> bool {
    let front = it
        .trawl
        .split_once('?')
        .map_or(&*it.trawl, |(front, _)| front);
    let written = format!("{front:?}");
    it.input.contains(&written[1..written.len() - 1])
}

/// The host of a URL, with its port and user.
fn host(url: &str) -> &str {
    let behind = url.split("://").nth(1).unwrap_or_default();
    behind.split('/').next().unwrap_or_default()
}

/// A URL of Chromium without what it escapes beyond the standard: `'` in user names, `|` in paths.
fn unescaped(url: &str) -> String {
    let (front, rest) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
    let host_at = front.find("://").map_or(0, |at| at + 3);
    let path_at = front[host_at..]
        .find('/')
        .map_or(front.len(), |at| host_at + at);
    let (authority, path) = front.split_at(path_at);
    let (user, host) = authority.split_at(authority.rfind('@').unwrap_or_default());
    user.replace("%27", "'") + host + &path.replace("%7C", "|") + rest
}

/// What both agree on where the scheme is not the web's. Of a query with more than ASCII that is
/// only that there is one.
fn comparable(url: &str) -> String {
    let escaped = [("%7C", "|"), ("%5E", "^"), ("%27", "'")];
    let url = escaped.iter().fold(url.to_owned(), |url, (code, letter)| {
        url.replace(code, letter)
    });
    let (front, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let (path, query) = front.split_at(front.find('?').unwrap_or(front.len()));
    let is_high = |code: &str| code.starts_with(['8', '9', 'A', 'B', 'C', 'D', 'E', 'F']);
    // What a character set lacks is written as a reference.
    let is_coded = query.contains("%26%23") || query.split('%').skip(1).any(is_high);
    let query = if is_coded { "?" } else { query };
    format!("{path}{query}{fragment}")
}

/// Links a page.
const LINKS: usize = 60;
/// What is not a URL by itself or on the page's base counts as `none`: a browser then gives the
/// attribute as it is.
const ASK: &str =
    "JSON.stringify([...document.querySelectorAll('a')].slice(__FROM__, __TO__).map(it => {
  try { new URL(it.getAttribute('href'), document.baseURI); return it.href } catch { return null }
}))";
/// Links whose addresses fit into the result of one script.
const AT_ONCE: usize = 20;

const SCHEMES: [&str; 12] = [
    "",
    "",
    "",
    "",
    "http:",
    "https:",
    "HTTP:",
    "mailto:",
    "data:",
    "ftp:",
    "javascript:",
    "foo:",
];
const HOSTS: [&str; 18] = [
    "",
    "",
    "",
    "//a.example",
    "//A.Example:80",
    "//a.example:8080",
    "//u:p@b.example",
    "//127.1",
    "//0x7f.0.0.1",
    "//[::1]:81",
    "///c.example",
    "\\\\d.example",
    "//bücher.example",
    "//a.example.",
    "/\\e.example",
    "//xn--bcher-kva.example",
    "//a%62.example",
    "//%41.example:",
];
const PARTS: [&str; 40] = [
    "/", "/", "/", "a", "b", ".", "..", "./", "../", "%2e", "%2E%2e", "/..", "\\", "?", "&", "=",
    "#", "#", "é", "日", "😀", " ", "\t", "\n", "%", "%zz", "%C3%A9", "+", "|", "^", "`", "{", "}",
    "\"", "<", "'", ":", "@", ";", "~",
];
const BASES: [&str; 8] = [
    "",
    "",
    "",
    "/base/",
    "x/y?z",
    "//other.example/p/q",
    "https://other.example",
    "?only",
];
const CHARACTER_SETS: [&str; 6] = [
    "utf-8",
    "utf-8",
    "windows-1251",
    "shift_jis",
    "iso-8859-1",
    "gb18030",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chromium_resolves_links_alike() {
    let chromium = Chromium::start().await;
    let mut trial = Trial::of("links: Chromium", &EXCEPTIONS);
    while let Some((mut draw, _turn)) = chromium.round(&mut trial).await {
        let (mut drawn, mut asked, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..PAGES {
            let links: Vec<String> = (0..LINKS).map(|_| link(&mut draw)).collect();
            let (head, html) = page(&mut draw, &links);
            let lines = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
            let target = format!("/dir/{number}/page?q=1");
            let url = chromium.site.put(&target, lines, html);
            asked.push(Asked {
                url: url.clone(),
                scripts: in_parts(ASK, LINKS, AT_ONCE),
            });
            bodies.push(fields(&url));
            drawn.push((url, head, links));
        }
        let ours = chromium.entries(bodies).await;
        let theirs = chromium.ask(asked).await;
        for (((url, head, links), theirs), ours) in drawn.iter().zip(theirs).zip(ours) {
            let theirs = theirs.iter().flat_map(|some| some.as_array().unwrap());
            for ((at, link), theirs) in links.iter().enumerate().zip(theirs) {
                // Without a URL, the value of the attribute is as good as any.
                let Some(theirs) = theirs.as_str() else {
                    continue;
                };
                let own = &ours["css_extracted"][format!("l{at}")][0];
                let own = own.as_str().map_or_else(|| ours.to_string(), str::to_owned);
                let input = format!("{link:?} on {url} with {head}");
                trial.compare(&input, theirs, &own);
            }
        }
    }
    chromium.close(trial).await;
}

/// A request over plain HTTP for the addresses of all links.
fn fields(url: &str) -> Value {
    let field =
        |at: usize| json!({"name": format!("l{at}"), "selectors": [format!("#l{at}@href")]});
    let fields: Vec<Value> = (0..LINKS).map(field).collect();
    json!({
        "url": url, "request": "http", "return_format": "empty",
        "css_extraction_map": {"*": fields},
    })
}

fn link(draw: &mut Draw) -> String {
    let n_parts = draw.between(0, 6);
    let start = format!("{}{}", draw.one(&SCHEMES), draw.one(&HOSTS));
    start + &draw.several(n_parts, &PARTS)
}

/// What the head says of addresses, and the page. It is ASCII, so that its character set matters
/// to queries alone.
fn page(draw: &mut Draw, links: &[String]) -> (String, String) {
    let mut head = format!("<meta charset=\"{}\">", draw.one(&CHARACTER_SETS));
    let base = draw.one(&BASES);
    if !base.is_empty() {
        head += &format!("<base href=\"{base}\">");
    }
    let mut html = format!("<!DOCTYPE html><html><head>{head}<title>Links</title></head><body>");
    for (at, link) in links.iter().enumerate() {
        html += &format!(
            "<p><a id=\"l{at}\" href=\"{}\">link</a></p>",
            ascii(&escaped(link))
        );
    }
    (head, html + "</body></html>")
}

/// With references for all letters beyond ASCII.
fn ascii(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        match letter.is_ascii() {
            true => plain.push(letter),
            false => plain += &format!("&#{};", u32::from(letter)),
        }
    }
    plain
}

#[test]
fn exceptions_cover_what_they_are_for() {
    for (link, judge, trawl, is_covered) in [
        ("//a b/", "http://a%20b/", "//a b/", true),
        ("//a b/", "http://a%20b/", "http://ab/", false),
        ("//a b?\u{e9}", "http://a%20b/?%E9", "//a b?%E9", true),
        ("//a b?\u{e9}", "http://a%20b/?%E9", "//ab?%E9", false),
        ("//xn--9/x", "http://xn--9/x", "//xn--9/x", true),
        ("//xn--9/x", "http://xn--9/x", "http://xn--9/", false),
        ("//u'@a/|", "http://u%27@a/%7C", "http://u'@a/|", true),
        ("//u'@a/|", "http://u'@a/|", "http://u%27@a/%7C", false),
        ("//|'@a/|", "http://%7C%27@a/%7C", "http://%7C'@a/|", true),
        ("/|@b", "http://a/%7C@b", "http://a/|@b", true),
        ("mailto:^?\u{e9}", "mailto:%5E?%E9", "mailto:^?%C3%A9", true),
        ("mailto:a", "mailto:a", "http://127.0.0.1/mailto:a", false),
        ("mailto:a#b", "mailto:a#b", "mailto:a", false),
        ("data:\tx", "data:%09x", "data:x", true),
        ("data:x", "data:x", "data:", false),
        ("foo:/a/..\\b", "foo:/b", "foo:/a/..\\b", true),
        ("foo:/a/../b", "foo:/b", "foo:/a/../b", false),
        ("foo://a//..\\&/..", "foo://a/", "foo://a//", true),
        ("foo://a/..\t\\", "foo://a/", "foo://a/..\\", true),
    ] {
        let difference = Difference {
            input: format!("{link:?} on a page"),
            judge: judge.to_owned(),
            trawl: trawl.to_owned(),
        };
        let found = EXCEPTIONS.iter().any(|row| (row.covers)(&difference));
        assert_eq!(found, is_covered, "{difference:?}");
    }
}
