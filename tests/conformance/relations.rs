//! Outputs that must agree: a page and the same page written otherwise, one format alone and with
//! others, one page alone and among others. The judge is the server itself.

use serde_json::{Map, Value, json};
use trawl_tests::TestApp;

use crate::draw::Draw;
use crate::pages::{Element, Page, Piece};
use crate::trial::{Exception, Trial};
use crate::world::world;

const EXCEPTIONS: [Exception; 0] = [];

/// Pages a round.
const PAGES: usize = 12;
const ADDRESS: &str = "https://sample.example/dir/page";
/// What only the source has.
const UNSEEN: [&str; 5] = [
    "<!-- only in the source -->",
    "<script>void 0;</script>",
    "<style>.none { color: red }</style>",
    "<template><p>never</p></template>",
    "<!---->",
];

/// A way to write a page otherwise. It changes nothing for a reader.
struct Change {
    name: &'static str,
    write: fn(&Page, &mut Draw) -> String,
}

const CHANGES: [Change; 8] = [
    Change {
        name: "comments, scripts, styles and templates between the children of elements",
        write: |page, draw| edited(page, &mut |element| add_unseen(element, draw)).html(),
    },
    Change {
        name: "attributes in another order",
        write: |page, _| edited(page, &mut |element| element.attributes.reverse()).html(),
    },
    Change {
        name: "names of elements in capitals",
        write: |page, _| in_capitals(&page.html()),
    },
    Change {
        name: "attributes in single quotation marks",
        write: |page, _| in_single_quotes(&page.html()),
    },
    Change {
        name: "texts split by a `span` without attributes",
        write: |page, _| edited(page, &mut split_texts).html(),
    },
    Change {
        name: "texts split by a comment",
        write: |page, _| edited(page, &mut comment_texts).html(),
    },
    Change {
        name: "white space folded, or unfolded, in the source",
        write: |page, draw| {
            let mut page = page.clone();
            refold(&mut page.body, draw);
            page.html()
        },
    },
    Change {
        name: "all in one more `div`",
        write: |page, _| {
            let html = page.html().replacen("</body>", "</div></body>", 1);
            let body = html.find("<body").expect("a body");
            let end = body + html[body..].find('>').expect("the end of a tag") + 1;
            format!("{}<div>{}", &html[..end], &html[end..])
        },
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_the_source_has_changes_nothing() {
    let app = TestApp::of(world()).await;
    let mut trial = Trial::of("relations: the source of a page", &EXCEPTIONS);
    while let Some(mut draw) = trial.round() {
        for change in &CHANGES {
            let pages: Vec<Page> = (0..PAGES).map(|_| Page::draw(&mut draw)).collect();
            let before: Vec<String> = pages.iter().map(Page::html).collect();
            let after: Vec<String> = pages
                .iter()
                .map(|page| (change.write)(page, &mut draw))
                .collect();
            let (ours, theirs) = (outputs(&app, &after).await, outputs(&app, &before).await);
            for (at, after) in after.iter().enumerate() {
                for (name, theirs) in theirs[at].as_object().unwrap() {
                    let input = format!("{name}, {}: {} and {after}", change.name, before[at]);
                    let own = &ours[at][name];
                    trial.compare(&input, &theirs.to_string(), &own.to_string());
                }
            }
        }
    }
    trial.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outputs_agree_alone_and_together() {
    let app = TestApp::of(world()).await;
    let mut trial = Trial::of("relations: outputs alone and together", &EXCEPTIONS);
    while let Some(mut draw) = trial.round() {
        let pages: Vec<String> = (0..PAGES).map(|_| Page::draw(&mut draw).html()).collect();
        let together = transformed(
            &app,
            &pages,
            json!({"return_format": ["text", "markdown", "raw", "xml"]}),
        )
        .await;
        let formats = ["text", "markdown", "raw", "xml"];
        for format in formats {
            let alone = transformed(&app, &pages, json!({"return_format": format})).await;
            for (at, page) in pages.iter().enumerate() {
                let (one, of_all) = (&alone["content"][at], &together["content"][at][format]);
                trial.compare(
                    &format!("{format} of {page}"),
                    &one.to_string(),
                    &of_all.to_string(),
                );
            }
        }
        let among = outputs(&app, &pages).await;
        let chosen = draw.below(pages.len());
        let alone = outputs(&app, &pages[chosen..=chosen]).await;
        let input = format!("alone and among others: {}", pages[chosen]);
        trial.compare(&input, &alone[0].to_string(), &among[chosen].to_string());
    }
    trial.close();
}

/// What a reader gets of each page, an object a page.
async fn outputs(app: &TestApp, pages: &[String]) -> Vec<Value> {
    let parameters = json!({
        "return_format": ["text", "markdown"], "metadata": true, "return_page_links": true,
        "return_json_data": true,
        "css_extraction_map": {"*": [
            {"name": "lines", "selectors": ["p", "h1", "h2", "li", "td"]},
            {"name": "links", "selectors": ["a@href"]},
            {"name": "paths", "selectors": ["//section//p"]},
        ]},
    });
    let answer = transformed(app, pages, parameters).await;
    let page = |at: usize| {
        let mut outputs = Map::new();
        for format in ["text", "markdown"] {
            outputs.insert(format.to_owned(), answer["content"][at][format].clone());
        }
        for name in ["links", "metadata", "json_data", "css_extracted"] {
            outputs.insert(name.to_owned(), answer[name][at].clone());
        }
        Value::Object(outputs)
    };
    (0..pages.len()).map(page).collect()
}

async fn transformed(app: &TestApp, pages: &[String], parameters: Value) -> Value {
    let data = pages
        .iter()
        .map(|html| json!({"html": html, "url": ADDRESS}));
    let mut body = json!({"data": data.collect::<Vec<_>>()});
    let fields = body.as_object_mut().expect("an object");
    fields.extend(parameters.as_object().expect("an object").clone());
    let answer = app.post("/transform", &[], &body).await;
    assert_eq!(
        answer.status,
        200,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    answer.json()
}

/// The page with each element changed.
fn edited(page: &Page, edit: &mut dyn FnMut(&mut Element)) -> Page {
    let mut page = page.clone();
    edit_inside(&mut page.head, edit);
    edit_inside(&mut page.body, edit);
    page
}

fn edit_inside(element: &mut Element, edit: &mut dyn FnMut(&mut Element)) {
    for child in &mut element.children {
        if let Piece::Element(inner) = child {
            edit_inside(inner, edit);
        }
    }
    edit(element);
}

fn add_unseen(element: &mut Element, draw: &mut Draw) {
    // A title has no elements; what is in the head is for the head.
    if element.is_void() || ["title", "head"].contains(&element.name) {
        return;
    }
    let at = draw.below(element.children.len() + 1);
    element
        .children
        .insert(at, Piece::Source(draw.one(&UNSEEN)));
}

fn split_texts(element: &mut Element) {
    split(element, |text| {
        let mut span = Element {
            name: "span",
            attributes: Vec::new(),
            children: Vec::new(),
        };
        span.children.push(Piece::Text(text));
        vec![Piece::Element(span)]
    });
}

fn comment_texts(element: &mut Element) {
    split(element, |text| {
        vec![Piece::Comment("c".to_owned()), Piece::Text(text)]
    });
}

/// Splits each text between two letters; `second` makes pieces of the second half.
fn split(element: &mut Element, second: fn(String) -> Vec<Piece>) {
    if element.name == "title" {
        return;
    }
    let mut pieces = Vec::new();
    for child in std::mem::take(&mut element.children) {
        match child {
            Piece::Text(text) => {
                let letters = text.char_indices().map(|(at, _)| at);
                let between = letters.skip(1).find(|at| {
                    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphabetic);
                    is_letter(text[..*at].chars().last()) && is_letter(text[*at..].chars().next())
                });
                match between {
                    Some(at) => {
                        pieces.push(Piece::Text(text[..at].to_owned()));
                        pieces.extend(second(text[at..].to_owned()));
                    }
                    None => pieces.push(Piece::Text(text)),
                }
            }
            other => pieces.push(other),
        }
    }
    element.children = pieces;
}

/// Writes each run of white space inside an element as another, but for texts that keep theirs.
fn refold(element: &mut Element, draw: &mut Draw) {
    if ["pre", "code"].contains(&element.name) {
        return;
    }
    for child in &mut element.children {
        let text = match child {
            Piece::Text(text) => text,
            Piece::Element(inner) => {
                refold(inner, draw);
                continue;
            }
            Piece::Comment(_) | Piece::Source(_) => continue,
        };
        let mut other = String::new();
        let mut is_blank = false;
        for letter in text.chars() {
            let was_blank = std::mem::replace(&mut is_blank, letter.is_ascii_whitespace());
            match (was_blank, is_blank) {
                (false, true) => other += draw.one(&[" ", "\n", "\t ", "\n      "]),
                (true, true) => {}
                _ => other.push(letter),
            }
        }
        *text = other;
    }
}

/// The source with the names of its elements in capitals.
fn in_capitals(html: &str) -> String {
    let mut source = String::new();
    let mut is_name = false;
    for letter in html.chars() {
        is_name = match letter {
            '<' => true,
            '/' => is_name,
            _ => is_name && letter.is_ascii_alphanumeric(),
        };
        source.push(if is_name {
            letter.to_ascii_uppercase()
        } else {
            letter
        });
    }
    source
}

/// The source with single quotation marks around the values of attributes. In a drawn page, a
/// quotation mark of a text is written as a reference.
fn in_single_quotes(html: &str) -> String {
    let mut source = String::new();
    let mut is_value = false;
    for letter in html.chars() {
        match letter {
            '"' => {
                is_value = !is_value;
                source.push('\'');
            }
            '\'' if is_value => source += "&#39;",
            _ => source.push(letter),
        }
    }
    source
}
