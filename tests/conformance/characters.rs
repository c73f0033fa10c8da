//! Character sets: what octets mean, by what headers, marks and `meta` elements say. The judge is
//! Chromium.

use serde_json::{Value, json};

use crate::chromium::{Asked, Chromium, PAGES};
use crate::draw::Draw;
use crate::trial::{Exception, Trial};

/// A page that says nothing is not drawn: browsers guess, each in its own way.
const EXCEPTIONS: [Exception; 2] = [
    Exception {
        reason: "in a header, single quotes are none: where the page declares nothing, browsers guess \
                 and the server takes the label",
        covers: |it| it.input.contains("charset='") && it.input.contains("meta ``"),
    },
    Exception {
        reason: "Chromium's decoder of Big5 knows other characters than the standard's, and replaces \
                 malformed octets otherwise",
        covers: |it| it.input.to_ascii_lowercase().contains("big5"),
    },
];

/// Texts a page.
const TEXTS: usize = 12;
/// As characters' numbers, so that nothing is lost on the way.
const ASK: &str = r"JSON.stringify([...document.querySelectorAll('p')].map(it =>
  it.textContent.replace(/[ \t\n\r\f]+/g, ' ').replace(/^ | $/g, '')))";

const LABELS: [&str; 34] = [
    "utf-8",
    "UTF8",
    "unicode-1-1-utf-8",
    "windows-1251",
    "cp1251",
    "windows-1252",
    "iso-8859-1",
    "latin1",
    "ascii",
    "iso-8859-2",
    "iso-8859-5",
    "iso-8859-7",
    "iso-8859-8-i",
    "iso-8859-15",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "x-mac-cyrillic",
    "ibm866",
    "windows-874",
    "windows-1254",
    "windows-1255",
    "shift_jis",
    "x-sjis",
    "euc-jp",
    "iso-2022-jp",
    "gbk",
    "gb2312",
    "gb18030",
    "big5",
    "big5-hkscs",
    "euc-kr",
    "ks_c_5601-1987",
    "utf-16",
];
/// Octets that mean something in many character sets.
const SAMPLES: [&[u8]; 12] = [
    b"caf\xc3\xa9",
    b"caf\xe9",
    b"\x93\xfa\x96\x7b",
    b"\xc6\xfc\xcb\xdc",
    b"\xa4\xe9\xa5\xbb",
    b"\xc7\xd1\xb1\xdb",
    b"\x1b$BF|K\\\x1b(B",
    b"\xcf\xf0\xe8\xe2\xe5\xf2",
    b"\x80\x85\x99",
    b"\xf0\x9f\x98\x80",
    b"\x81\x30\x81\x30",
    b"\xed\xa0\x80",
];

/// What a page says of its character set, and how.
struct Declared {
    header: String,
    mark: &'static [u8],
    meta: String,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chromium_reads_the_same_characters() {
    let chromium = Chromium::start().await;
    let mut trial = Trial::of("character sets: Chromium", &EXCEPTIONS);
    while let Some((mut draw, _turn)) = chromium.round(&mut trial).await {
        let (mut drawn, mut asked, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..PAGES {
            let declared = declared(&mut draw);
            let texts: Vec<Vec<u8>> = (0..TEXTS).map(|_| text(&mut draw)).collect();
            let url = put(&chromium, &format!("/{number}"), &declared, &texts);
            asked.push(Asked {
                url: url.clone(),
                scripts: vec![ASK.to_owned()],
            });
            bodies.push(json!({
                "url": url, "request": "http", "return_format": "empty",
                "css_extraction_map": {"*": [{"name": "texts", "selectors": ["p"]}]},
            }));
            drawn.push((declared, texts));
        }
        let ours = chromium.entries(bodies).await;
        let theirs = chromium.ask(asked).await;
        for (((declared, texts), theirs), ours) in drawn.iter().zip(theirs).zip(ours) {
            let written: Vec<String> = texts
                .iter()
                .map(|text| text.escape_ascii().to_string())
                .collect();
            let input = format!(
                "header `{}`, mark {:?}, meta `{}`, texts {written:?}",
                declared.header, declared.mark, declared.meta
            );
            // A page without texts lacks the field.
            let ours = ours["css_extracted"].get("texts");
            let ours = ours.map_or_else(|| "[]".to_owned(), Value::to_string);
            trial.compare(&input, &theirs[0].to_string(), &ours);
        }
    }
    chromium.close(trial).await;
}

fn declared(draw: &mut Draw) -> Declared {
    let mut declared = Declared {
        header: "text/html".to_owned(),
        mark: b"",
        meta: String::new(),
    };
    // One at least.
    let which = draw.between(1, 7);
    let label = draw.one(&LABELS);
    if which & 1 > 0 {
        let spelling = draw.one(&[
            "; charset=",
            ";charset=",
            "; Charset=",
            "; x=y; charset=\"",
            "; charset='",
        ]);
        let end = match spelling.chars().last() {
            Some(quote @ ('"' | '\'')) => quote.to_string(),
            _ => String::new(),
        };
        declared.header += &format!("{spelling}{label}{end}");
    }
    if which & 2 > 0 || which == 4 {
        let label = draw.one(&LABELS);
        let far = "<!-- far -->".repeat(draw.one(&["", "", "x"]).len() * 120);
        let meta = match draw.below(5) {
            0 => format!("<meta charset={label}>"),
            1 => format!("<META CHARSET=' {label} '>"),
            2 => format!("<meta content='text/html; charset={label}' http-equiv=Content-Type>"),
            3 => {
                format!("<meta http-equiv=content-type content=\"text/html;charset = '{label}'\">")
            }
            _ => format!("<meta charset=\"{label}\"/><meta charset=\"koi8-r\">"),
        };
        declared.meta = far + &meta;
    }
    if which & 4 > 0 && draw.often(30) {
        declared.mark = b"\xef\xbb\xbf";
    }
    declared
}

/// Octets, few of them ASCII, none that belongs to a tag.
fn text(draw: &mut Draw) -> Vec<u8> {
    let mut text = b"x ".to_vec();
    for _ in 0..draw.between(1, 4) {
        match draw.below(3) {
            0 => text.extend_from_slice(SAMPLES[draw.below(SAMPLES.len())]),
            1 => text.push(draw.between(0x80, 0xff) as u8),
            _ => {
                text.push(draw.between(0x80, 0xff) as u8);
                text.push(draw.between(0x40, 0x7e) as u8);
            }
        }
        if draw.often(30) {
            text.push(b' ');
        }
    }
    // The last octet must not swallow what follows.
    text.extend_from_slice(b" y z");
    text
}

/// Puts the page on the site.
fn put(chromium: &Chromium, target: &str, declared: &Declared, texts: &[Vec<u8>]) -> String {
    let mut body = declared.mark.to_vec();
    let head = format!(
        "<!DOCTYPE html><html><head>{}<title>x</title></head><body>",
        declared.meta
    );
    body.extend_from_slice(head.as_bytes());
    for text in texts {
        body.extend_from_slice(b"<p>");
        body.extend_from_slice(text);
        // A set that is switched by escapes is switched back.
        body.extend_from_slice(b"\x1b(B</p>\n");
    }
    let lines = format!("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n", declared.header);
    chromium.site.put(target, lines.as_bytes(), body)
}
