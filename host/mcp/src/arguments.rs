//! The arguments of a call.

use serde_json::{Map, Value, json};

use crate::ask::Refusal;
use crate::cursor::Cursor;
use crate::own::{ID_BYTES_MAX, MAX_TOKENS, MAX_TOKENS_DEFAULT, OwnArgument, WAIT_SECONDS_MAX};
use crate::tools::ToolRow;
use crate::write::Part;

/// The arguments of a call, sorted.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// Parameters of the interface, with the defaults of the tool.
    pub(crate) parameters: Map<String, Value>,
    own: Map<String, Value>,
}

impl Arguments {
    /// Reads the arguments of a call of a tool. Null is not set.
    ///
    /// # Errors
    /// The tool does not have one of them, or one that it needs is missing.
    pub(crate) fn read(row: &ToolRow, given: Map<String, Value>) -> Result<Self, Refusal> {
        let mut parameters: Map<String, Value> = Map::new();
        parameters.extend(row.defaults().map(|(name, value)| (name.to_owned(), value)));
        let mut own = Map::new();
        for (name, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
            if row.has_parameter(&name) {
                parameters.insert(name, value);
            } else if row.own.iter().any(|argument| argument.name() == name) {
                own.insert(name, value);
            } else {
                let names: Vec<_> = row.arguments().collect();
                return Err(Refusal::new(format!(
                    "{name}: `{}` has no such argument; it has {}",
                    row.name,
                    names.join(", ")
                )));
            }
        }
        let is_given = |name: &str| parameters.contains_key(name) || own.contains_key(name);
        match row.required.iter().find(|name| !is_given(name)) {
            Some(name) => Err(Refusal::new(format!("{name}: is missing"))),
            None => Ok(Self { parameters, own }),
        }
    }

    /// The part of the answer that is asked for.
    ///
    /// # Errors
    /// `max_tokens` or `cursor` is not valid.
    pub(crate) fn part(&self) -> Result<Part, Refusal> {
        let max_tokens = self.count(OwnArgument::MaxTokens, MAX_TOKENS)?;
        let cursor =
            match self.text(OwnArgument::Cursor)? {
                None => None,
                Some(text) => Some(Cursor::read(text).ok_or_else(|| {
                    Refusal::new("cursor: must be the `next_cursor` of an answer")
                })?),
            };
        let max_tokens = max_tokens.unwrap_or(MAX_TOKENS_DEFAULT);
        Ok(Part {
            cursor,
            max_tokens: usize::try_from(max_tokens).unwrap_or(usize::MAX),
        })
    }

    /// How long to wait, in seconds.
    ///
    /// # Errors
    /// It is too long, or no number.
    pub(crate) fn wait_seconds(&self) -> Result<u64, Refusal> {
        let bounds = (0, WAIT_SECONDS_MAX);
        Ok(self.count(OwnArgument::WaitSeconds, bounds)?.unwrap_or(0))
    }

    /// The id of the crawl.
    ///
    /// # Errors
    /// It can be the id of none.
    pub(crate) fn id(&self) -> Result<&str, Refusal> {
        let id = self.text(OwnArgument::Id)?.unwrap_or_default().trim();
        match is_id(id) {
            true => Ok(id),
            false => Err(Refusal::new("id: must be the id of a crawl")),
        }
    }

    /// The HTML, and its URL if it is given.
    ///
    /// # Errors
    /// One is no text.
    pub(crate) fn document(&self) -> Result<Value, Refusal> {
        let html = self.text(OwnArgument::Html)?.unwrap_or_default();
        let mut document = json!({ "html": html });
        if let Some(url) = self.text(OwnArgument::BaseUrl)? {
            document["url"] = url.into();
        }
        Ok(document)
    }

    fn text(&self, argument: OwnArgument) -> Result<Option<&str>, Refusal> {
        let name = argument.name();
        match self.own.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::new(format!("{name}: must be a string"))),
        }
    }

    fn count(&self, argument: OwnArgument, bounds: (u64, u64)) -> Result<Option<u64>, Refusal> {
        let name = argument.name();
        let Some(value) = self.own.get(name) else {
            return Ok(None);
        };
        match value.as_u64().filter(|n| (bounds.0..=bounds.1).contains(n)) {
            Some(count) => Ok(Some(count)),
            None => Err(Refusal::new(format!(
                "{name}: must be an integer from {} to {}",
                bounds.0, bounds.1
            ))),
        }
    }
}

/// Whether a text may be the id of a crawl: it becomes a part of a path.
pub(crate) fn is_id(text: &str) -> bool {
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"-_".contains(&c);
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::object;

    fn read(tool: &str, given: Value) -> Result<Arguments, String> {
        let row = ToolRow::named(tool).expect("a tool");
        Arguments::read(row, object(given)).map_err(|refusal| refusal.text)
    }

    #[test]
    fn defaults_of_the_tool_stand_for_what_is_not_given() {
        let arguments = read("scrape", json!({"url": "a.example", "metadata": null}));
        let parameters = Value::Object(arguments.expect("arguments").parameters);
        let expected = json!({"url": "a.example", "return_format": "markdown"});
        assert_eq!(parameters, expected);
        let arguments = read("scrape", json!({"url": "a", "return_format": "text"}));
        assert_eq!(
            arguments.expect("arguments").parameters["return_format"],
            "text"
        );
    }

    #[test]
    fn unknown_and_missing_arguments_are_named() {
        let unknown = read("scrape", json!({"url": "a", "webhooks": {}})).expect_err("unknown");
        assert!(
            unknown.starts_with("webhooks: `scrape` has no such"),
            "{unknown}"
        );
        assert!(unknown.contains("readability"), "{unknown}");
        // What a tool fixes is no argument.
        assert!(read("crawl", json!({"url": "a", "run_in_background": false})).is_err());
        assert_eq!(
            read("scrape", json!({})).expect_err("missing"),
            "url: is missing"
        );
        let missing = read("extract", json!({"url": "a"})).expect_err("missing");
        assert_eq!(missing, "css_extraction_map: is missing");
    }

    #[test]
    fn own_arguments_have_bounds() {
        let part = |given: Value| {
            let arguments = read("scrape", given).expect("arguments");
            arguments.part().map_err(|refusal| refusal.text)
        };
        let default = part(json!({"url": "a"})).expect("a part");
        assert_eq!((default.cursor, default.max_tokens), (None, 20_000));
        assert!(part(json!({"url": "a", "max_tokens": 500, "cursor": "1"})).is_ok());
        for wrong in [json!(499), json!(200_001), json!("many"), json!(-1)] {
            let text = part(json!({"url": "a", "max_tokens": wrong})).expect_err("refused");
            assert_eq!(text, "max_tokens: must be an integer from 500 to 200000");
        }
        let text = part(json!({"url": "a", "cursor": "x"})).expect_err("refused");
        assert_eq!(text, "cursor: must be the `next_cursor` of an answer");
        let text = part(json!({"url": "a", "cursor": 1})).expect_err("refused");
        assert_eq!(text, "cursor: must be a string");
    }

    #[test]
    fn an_id_is_no_path() {
        let id = |id: &str| read("crawl_stop", json!({ "id": id })).expect("arguments");
        assert_eq!(id(" c-1_A ").id().expect("an id"), "c-1_A");
        for wrong in ["", "../admin", "a/pages?x=1", "a b", &"a".repeat(101)] {
            assert!(id(wrong).id().is_err(), "{wrong}");
        }
    }
}
