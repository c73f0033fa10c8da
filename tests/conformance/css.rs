//! CSS: which elements a selector finds. The judge is `document.querySelectorAll` of Chromium.

use serde_json::json;

use crate::chromium::{Asked, Chromium, PAGES};
use crate::draw::Draw;
use crate::pages::{CLASSES, Page};
use crate::parsed::Parsed;
use crate::trial::{Exception, Trial};

const EXCEPTIONS: [Exception; 1] = [Exception {
    reason: "Chromium forgives a bracket that closes nothing in `:is()` and `:where()`",
    covers: |it| {
        let is_forgiving = it.input.contains(":is(") || it.input.contains(":where(");
        it.trawl == "error" && is_forgiving && it.input.contains("p]")
    },
}];

/// Selectors a page, and those whose answers fit into the result of one script.
const SELECTORS: usize = 75;
const AT_ONCE: usize = 15;
const ASK: &str = "JSON.stringify(__SELECTORS__.map(selector => {
  try { return [...document.querySelectorAll(selector)].map(it => it.id).join(' ') }
  catch { return 'error' }
}))";

const NAMES: [&str; 16] = [
    "*", "div", "p", "span", "li", "ul", "td", "tr", "a", "b", "h2", "DIV", "dt", "br", "title",
    "section",
];
const STATES: [&str; 16] = [
    ":first-child",
    ":last-child",
    ":only-child",
    ":first-of-type",
    ":last-of-type",
    ":only-of-type",
    ":empty",
    ":root",
    ":link",
    ":any-link",
    ":scope",
    ":nth-child(2n+1)",
    ":read-only",
    ":defined",
    ":checked",
    ":FIRST-CHILD",
];
const STEPS: [&str; 12] = [
    "1", "2", "odd", "even", "2n", "n+2", "-n+3", "3n-1", "0", "-2n+5", "n", "+2n + 1",
];
const ATTRIBUTES: [&str; 6] = ["id", "class", "title", "lang", "data-x", "href"];
const OPERATORS: [&str; 6] = ["=", "~=", "|=", "^=", "$=", "*="];
const VALUES: [&str; 10] = [
    "a", "'a b'", "\"de\"", "'PRICE'", "Price", "''", "'n1'", "de-DE", "'x\"y'", "'\\61'",
];
const COMBINATORS: [&str; 6] = [" ", " ", ">", " > ", "+", " ~ "];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chromium_finds_the_same_elements() {
    let chromium = Chromium::start().await;
    let mut trial = Trial::of("CSS: Chromium", &EXCEPTIONS);
    while let Some((mut draw, _turn)) = chromium.round(&mut trial).await {
        let mut drawn = Vec::new();
        let mut asked = Vec::new();
        for number in 0..PAGES {
            let html = Page::draw(&mut draw).html();
            let selectors: Vec<String> = (0..SELECTORS).map(|_| list(&mut draw, 2)).collect();
            let scripts = selectors.chunks(AT_ONCE);
            let scripts =
                scripts.map(|some| ASK.replace("__SELECTORS__", &json!(some).to_string()));
            asked.push(Asked {
                url: chromium.site.page(&format!("/{number}"), &html),
                scripts: scripts.collect(),
            });
            drawn.push((html, selectors));
        }
        let answers = chromium.ask(asked).await;
        for ((html, selectors), theirs) in drawn.iter().zip(answers) {
            let theirs = theirs.iter().flat_map(|some| some.as_array().unwrap());
            let page = Parsed::of(html);
            for (selector, theirs) in selectors.iter().zip(theirs) {
                let ours = found(&page, selector);
                let input = format!("{selector} on {html}");
                trial.compare(&input, theirs.as_str().unwrap(), &ours);
            }
        }
    }
    chromium.close(trial).await;
}

fn found(page: &Parsed, selector: &str) -> String {
    let document = page.document();
    let Ok(elements) = document.select(selector) else {
        return "error".to_owned();
    };
    let ids = elements.map(|element| element.id().unwrap_or_default());
    ids.collect::<Vec<_>>().join(" ")
}

/// A list of selectors, mostly of one, with lists inside so deep.
fn list(draw: &mut Draw, depth: usize) -> String {
    if draw.often(3) {
        return draw
            .one(&[
                "",
                ">",
                "p >",
                "p,,b",
                "[",
                "[a",
                "p:",
                ":unknown",
                "p..a",
                "#1",
                ".1",
                "p]",
                ":not()",
                ":is()",
                ":nth-child(x)",
                "[a=b c]",
                "p:first-child()",
                ":has(:has(p))",
                ", p",
                "*|p",
                "|p",
                "[*|id]",
                "p /**/ b",
                "\\70",
                ".\\61",
                "p:not(b",
                "[id='n1'",
                "a:is(b, !, a)",
            ])
            .to_owned();
    }
    let mut text = complex(draw, depth);
    if draw.often(15) {
        text += &format!("{}{}", draw.one(&[",", ", ", " , "]), complex(draw, depth));
    }
    text
}

fn complex(draw: &mut Draw, depth: usize) -> String {
    let mut text = compound(draw, depth);
    for _ in 0..draw.below(3) {
        text += draw.one(&COMBINATORS);
        text += &compound(draw, depth);
    }
    text
}

fn compound(draw: &mut Draw, depth: usize) -> String {
    let mut text = String::new();
    if draw.often(60) {
        text += draw.one(&NAMES);
    }
    let n_more = draw.below(3) + usize::from(text.is_empty());
    for _ in 0..n_more {
        text += &part(draw, depth);
    }
    text
}

fn part(draw: &mut Draw, depth: usize) -> String {
    match draw.below(if depth == 0 { 8 } else { 11 }) {
        0 | 1 => format!(".{}", draw.one(&CLASSES)),
        2 => format!("#n{}", draw.below(20)),
        3 => draw.one(&STATES).to_owned(),
        4 | 5 => {
            let name = draw.one(&ATTRIBUTES);
            // Chromium lacks the flag `s`.
            let flag = draw.one(&["", "", " i"]);
            let (operator, value) = (draw.one(&OPERATORS), draw.one(&VALUES));
            format!("[{name}{operator}{value}{flag}]")
        }
        6 => format!("[{}]", draw.one(&ATTRIBUTES)),
        7 => {
            let name = draw.one(&[
                "nth-child",
                "nth-last-child",
                "nth-of-type",
                "nth-last-of-type",
            ]);
            format!(":{name}({})", draw.one(&STEPS))
        }
        8 => {
            let name = draw.one(&["not", "is", "where", "not"]);
            format!(":{name}({})", list(draw, depth - 1))
        }
        9 => {
            let combinator = draw.one(&["", "", "> ", "+ ", "~ "]);
            // `:has` may not be in another.
            format!(":has({combinator}{})", complex(draw, 0))
        }
        _ => {
            let name = draw.one(&["nth-child", "nth-last-child"]);
            format!(":{name}({} of {})", draw.one(&STEPS), complex(draw, 0))
        }
    }
}
