//! The decoder `bibtex`: bibliographies as an article for each entry.
//!
//! It is written from the guide of the SDK alone, as a plugin of a third party is, and is built,
//! tested and checked as the skeletons of new plugins are.

use std::collections::HashMap;

use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html};
use trawl_sdk::{Info, Needs};

/// Decodes bibliographies.
pub struct Bibtex;

/// Most entries; further ones are left out.
const ENTRIES_MAX: usize = 50_000;
/// Most fields of an entry.
const FIELDS_MAX: usize = 200;

trawl_sdk::export!(decoder: Bibtex);

impl Decoder for Bibtex {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "bibtex",
            env!("CARGO_PKG_VERSION"),
            "BibTeX: an article for each entry",
        )
        .needs(Needs::SOURCE)
    }

    fn decode(file: &File<'_>, (): ()) -> Result<Decoded, Failure> {
        if !file.text.contains('@') {
            return Err(Failure::Unsupported("it has no entry".to_owned()));
        }
        let name = file.name().unwrap_or("bibliography");
        let mut html = Html::new(name, None);
        let mut reader = Reader {
            rest: &file.text,
            strings: HashMap::new(),
        };
        let (mut n_written, mut n_left_out) = (0, 0);
        while let Some(entry) = reader.entry()? {
            if n_written < ENTRIES_MAX {
                write(&mut html, &entry);
                n_written += 1;
            } else {
                n_left_out += 1;
            }
        }
        let decoded = Decoded::new(html.finish())
            .with("title", name)
            .with("entries", n_written);
        Ok(match n_left_out {
            0 => decoded,
            count => decoded.warn(format!("{count} entries are left out")),
        })
    }
}

/// An entry: its type, its key, and its fields in order.
struct Entry {
    kind: String,
    key: String,
    fields: Vec<(String, String)>,
}

impl Entry {
    fn get(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(own, _)| own == name);
        field.map(|(_, value)| value.as_str())
    }
}

fn write(html: &mut Html, entry: &Entry) {
    html.open_with("article", &[("id", &entry.key), ("class", &entry.kind)]);
    let doi = entry.get("doi").map(|doi| format!("https://doi.org/{doi}"));
    let url = entry.get("url").or(doi.as_deref());
    html.open("h2")
        .link(url, entry.get("title").unwrap_or(&entry.key))
        .close();
    html.open("dl");
    for (name, value) in entry.fields.iter().filter(|(name, _)| name != "title") {
        html.element("dt", name);
        match name.as_str() {
            "author" | "editor" => {
                for person in value.split(" and ") {
                    html.element("dd", person.trim());
                }
            }
            _ => {
                html.element("dd", value);
            }
        }
    }
    html.close().close();
}

struct Reader<'a> {
    rest: &'a str,
    /// Values of `@string`.
    strings: HashMap<String, String>,
}

impl<'a> Reader<'a> {
    /// The next entry; `None` at the end. Text between entries is a comment.
    fn entry(&mut self) -> Result<Option<Entry>, Failure> {
        loop {
            let Some((_, rest)) = self.rest.split_once('@') else {
                return Ok(None);
            };
            self.rest = rest;
            let kind = self.word().to_lowercase();
            let Some(rest) = self.after(&['{', '(']) else {
                continue;
            };
            match kind.as_str() {
                "comment" | "preamble" => continue,
                "string" => {
                    self.rest = rest;
                    let field = self.field()?;
                    self.strings.extend(field);
                }
                _ => {
                    self.rest = rest;
                    let key = self.word().to_owned();
                    let mut fields = Vec::new();
                    while let Some(rest) = self.after(&[',']) {
                        self.rest = rest;
                        let Some(field) = self.field()? else { break };
                        if fields.len() < FIELDS_MAX {
                            fields.push(field);
                        }
                    }
                    return Ok(Some(Entry { kind, key, fields }));
                }
            }
        }
    }

    /// A name and its value; `None` after the last comma.
    fn field(&mut self) -> Result<Option<(String, String)>, Failure> {
        let name = self.word().to_lowercase();
        let Some(rest) = self.after(&['=']) else {
            return Ok(None);
        };
        self.rest = rest;
        let mut value = String::new();
        loop {
            value += &self.value()?;
            match self.after(&['#']) {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        let words: Vec<&str> = value.split_whitespace().collect();
        Ok(Some((name, words.join(" "))))
    }

    /// A text in braces or quotes, without the braces in it; a number; or the name of a text.
    fn value(&mut self) -> Result<String, Failure> {
        let text = self.rest.trim_start();
        let quote = match text.chars().next() {
            Some('{') => '}',
            Some('"') => '"',
            _ => {
                let word = self.word();
                let known = self.strings.get(&word.to_lowercase());
                return Ok(known.map_or(word, String::as_str).to_owned());
            }
        };
        let mut depth = 0_usize;
        let mut value = String::new();
        for (at, character) in text.char_indices().skip(1) {
            match character {
                _ if character == quote && depth == 0 => {
                    self.rest = &text[at + 1..];
                    return Ok(value);
                }
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                other => value.push(other),
            }
        }
        let line = text.chars().take(40).collect::<String>();
        Err(Failure::Damaged(format!("a value does not end: `{line}`")))
    }

    /// What is left after one of these signs, if it comes next.
    fn after(&self, signs: &[char]) -> Option<&'a str> {
        self.rest.trim_start().strip_prefix(signs)
    }

    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let ends = |c: char| c.is_whitespace() || "{}(),=#\"@".contains(c);
        let (word, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
        self.rest = rest;
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use trawl_sdk::testkit;

    fn decode(text: &str) -> Result<Decoded, Failure> {
        let document = testkit::document("application/x-bibtex", text);
        document
            .url("https://tides.example/ships.bib")
            .decode::<Bibtex>(json!({}))
    }

    #[test]
    fn entries_are_articles_with_links() {
        let decoded = decode(include_str!("../cases/ships.bib")).expect("a bibliography");
        let (_, body) = decoded.html.split_once("<body>").expect("a body");
        assert_eq!(
            body,
            "<article id=\"mueller2019\" class=\"book\"><h2>\
             <a href=\"https://tides.example/ships?a=1&amp;b=2\">Ships &amp; Tides</a></h2><dl>\
             <dt>author</dt><dd>M\\&quot;uller, Anna</dd><dd>Bert Low</dd>\
             <dt>publisher</dt><dd>Harbour Press Kiel</dd><dt>year</dt><dd>2019</dd>\
             <dt>url</dt><dd>https://tides.example/ships?a=1&amp;b=2</dd></dl></article>\
             <article id=\"low2021\" class=\"article\"><h2>\
             <a href=\"https://doi.org/10.1000/182\">Mud, only at noon</a></h2><dl>\
             <dt>doi</dt><dd>10.1000/182</dd></dl></article></body></html>"
        );
        assert_eq!(decoded.metadata["title"], "ships.bib");
        assert_eq!(decoded.metadata["entries"], 2);
    }

    #[test]
    fn what_is_damaged_ends_with_a_sentence() {
        assert!(matches!(decode("no entry"), Err(Failure::Unsupported(_))));
        let open = decode("@book{a, title = {b");
        assert_eq!(
            open,
            Err(Failure::Damaged("a value does not end: `{b`".to_owned()))
        );
        let deep = decode(&format!("@book{{a, title = {{{}", "{".repeat(1_000_000)));
        assert!(matches!(deep, Err(Failure::Damaged(_))));
        let many = decode(&"@a{b,}".repeat(ENTRIES_MAX + 2)).expect("a bibliography");
        assert_eq!(many.warnings, ["2 entries are left out"]);
    }

    #[test]
    fn other_plugins_get_a_page() {
        let document =
            testkit::document("application/x-bibtex", include_str!("../cases/ships.bib"));
        let page = document.page::<Bibtex>(json!({}));
        let page = page.document();
        let titles = page.select("article h2 a").expect("a selector");
        assert_eq!(titles.count(), 2);
    }
}
