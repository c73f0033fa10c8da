//! Writes what was found into an answer, cut to its budget.

use serde_json::{Map, Value};

use crate::ask::Refusal;
use crate::budget::Budget;
use crate::cursor::Cursor;
use crate::found::{Costs, Found, Item};

/// Tokens of text that an answer has at least after the head of its first item, so that it always
/// gets on.
const TEXT_TOKENS_MIN: usize = 100;

/// An answer of a tool.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// The text.
    pub(crate) text: String,
    /// A PNG file in base64.
    pub(crate) image: Option<String>,
    /// The same for programs.
    pub(crate) structured: Map<String, Value>,
    /// Whether nothing of it succeeded.
    pub(crate) is_error: bool,
}

impl Reply {
    /// An answer that cost nothing.
    pub(crate) fn free(text: String, mut structured: Map<String, Value>) -> Self {
        let costs = || Costs::default().json();
        structured.entry("costs").or_insert_with(costs);
        Self {
            text,
            image: None,
            structured,
            is_error: false,
        }
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self {
            is_error: true,
            ..Self::free(refusal.text, refusal.fields)
        }
    }
}

/// The part of an answer that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where it begins; `None` for the beginning.
    pub(crate) cursor: Option<Cursor>,
    /// Most tokens of its text.
    pub(crate) max_tokens: usize,
}

/// Writes the part of what was found.
///
/// # Errors
/// The cursor is of another answer.
pub(crate) fn write(found: &Found, part: &Part) -> Result<Reply, Refusal> {
    let start = match &part.cursor {
        Some(cursor) => cursor.clone(),
        None => Cursor::start(found.first),
    };
    let mut writer = Writer {
        budget: Budget::new(part.max_tokens),
        texts: Vec::new(),
        shown: Vec::new(),
        next: None,
    };
    let items = (found.first..).zip(&found.items);
    for (number, item) in items.skip_while(|(number, _)| *number < start.item) {
        let from = match number == start.item {
            true => start.clone(),
            false => Cursor::start(number),
        };
        if !writer.add(item, from)? {
            break;
        }
    }
    if writer.next.is_none() && found.has_more {
        let end = found.first + found.items.len();
        writer.next = Some(Cursor::start(end));
    }
    Ok(writer.reply(found))
}

struct Writer {
    budget: Budget,
    texts: Vec<String>,
    shown: Vec<Map<String, Value>>,
    next: Option<Cursor>,
}

impl Writer {
    /// Adds an item from a place on, as far as there is room; whether it has all of it.
    fn add(&mut self, item: &Item, from: Cursor) -> Result<bool, Refusal> {
        if self.shown.is_empty() {
            // A head is never cut.
            let _ = self.budget.take(&item.head);
            self.budget.ensure(TEXT_TOKENS_MIN);
        } else if self.budget.is_used_up() || self.budget.take(&item.head) != item.head {
            self.next = Some(from);
            return Ok(false);
        }
        let Some(rest) = from.rest(&item.text) else {
            return Err(Refusal::new(
                "cursor: what it continues has changed meanwhile, or it is of another answer: call \
                 again without it",
            ));
        };
        let text = self.budget.take(rest);
        let heads = [item.head.as_str(), text].into_iter();
        let parts: Vec<&str> = heads.filter(|part| !part.is_empty()).collect();
        self.texts.push(parts.join("\n\n"));
        let is_complete = text.len() == rest.len();
        if is_complete && from.at == 0 {
            self.shown.push(item.whole.clone());
        } else {
            let mut shown = item.part.clone();
            shown.insert("content".to_owned(), text.into());
            shown.insert("is_cut".to_owned(), true.into());
            self.shown.push(shown);
        }
        if !is_complete {
            let at = from.at + text.len();
            self.next = Some(Cursor::within(from.item, at, &item.text));
        }
        Ok(is_complete)
    }

    fn reply(self, found: &Found) -> Reply {
        let Self {
            mut texts,
            shown,
            next,
            ..
        } = self;
        let mut structured = match found.list {
            Some(list) => Map::from_iter([(list.to_owned(), shown.into())]),
            None => shown.into_iter().next().unwrap_or_default(),
        };
        let mut notes = found.notes.clone();
        if let Some(next) = &next {
            notes.push(format!(
                "The answer goes on: call again with `cursor` \"{next}\"."
            ));
            structured.insert("next_cursor".to_owned(), next.to_string().into());
        }
        notes.push(format!("Cost: ${}", found.costs.total().dollars_text()));
        structured.insert("costs".to_owned(), found.costs.json());
        if !found.notes.is_empty() {
            structured.insert("notes".to_owned(), found.notes.clone().into());
        }
        texts.push(notes.join("\n"));
        Reply {
            text: texts.join("\n\n---\n\n"),
            image: None,
            structured,
            is_error: found.has_failed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pages(texts: &[&str]) -> Found {
        let entry = |text: &&str| json!({"content": text, "costs": {"total_cost": 0.5}});
        Found::pages(texts.iter().map(entry).collect())
    }

    fn part(cursor: Option<&str>, max_tokens: usize) -> Part {
        Part {
            cursor: cursor.map(|text| Cursor::read(text).expect("a cursor")),
            max_tokens,
        }
    }

    #[test]
    fn all_parts_together_are_the_whole() {
        let words: Vec<String> = (0..1_000).map(|n| format!("word{n} ")).collect();
        let (long, short) = (words.concat(), "short".to_owned());
        let found = pages(&[&short, &long, &short]);
        let mut read = [String::new(), String::new(), String::new()];
        let (mut cursor, mut first): (Option<String>, usize) = (None, 0);
        for _ in 0..100 {
            let reply = write(&found, &part(cursor.as_deref(), 300)).expect("a part");
            let shown = reply.structured["pages"].as_array().expect("pages");
            for (n, page) in shown.iter().enumerate() {
                read[first + n] += page["content"].as_str().expect("a text");
                let is_cut = page.get("is_cut").is_some();
                assert_eq!(is_cut, page["content"] != short && page["content"] != long);
            }
            let Some(next) = reply.structured.get("next_cursor") else {
                break;
            };
            let next = next.as_str().expect("a text").to_owned();
            assert!(reply.text.contains(&next));
            first = Cursor::read(&next).expect("a cursor").item;
            cursor = Some(next);
        }
        assert_eq!(read, [short.clone(), long, short]);
    }

    #[test]
    fn a_cursor_of_another_text_is_refused() {
        let long = "a b ".repeat(500);
        let reply = write(&pages(&[&long]), &part(None, 500)).expect("a part");
        let next = reply.structured["next_cursor"].as_str().expect("a text");
        let refusal = write(&pages(&[&format!("{long}c")]), &part(Some(next), 500));
        let refusal = refusal.expect_err("another text");
        assert!(refusal.text.starts_with("cursor: "), "{refusal:?}");
    }

    #[test]
    fn items_are_numbered_from_the_first_and_others_may_follow() {
        let found = Found {
            first: 7,
            has_more: true,
            ..pages(&["a", "b"])
        };
        let reply = write(&found, &part(Some("7"), 500)).expect("a part");
        assert_eq!(reply.structured["pages"].as_array().map(Vec::len), Some(2));
        assert_eq!(reply.structured["next_cursor"], "9");
        assert_eq!(reply.structured["costs"], json!({"total_cost": 1.0}));
        assert!(reply.text.ends_with("Cost: $1"), "{}", reply.text);
    }

    #[test]
    fn an_answer_gets_on_whatever_its_head_is() {
        let mut found = pages(&[&"a b ".repeat(500)]);
        found.items[0].head = "head ".repeat(900);
        let reply = write(&found, &part(None, 500)).expect("a part");
        let next = reply.structured["next_cursor"].as_str().expect("a text");
        assert!(Cursor::read(next).is_some_and(|next| next.at > 0), "{next}");
    }
}
