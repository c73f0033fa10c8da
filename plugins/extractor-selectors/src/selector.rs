//! A selector of a map: CSS or XPath, with an optional attribute.

use trawl_sdk::Selector;
use trawl_xpath::{XPath, is_function};

/// Maximum length of a CSS selector in bytes. Matching recurses for each combinator, and the stack
/// of a plugin is small.
const CSS_BYTES_MAX: usize = 2_000;

/// A parsed selector of a field.
#[derive(Debug)]
pub struct FieldSelector {
    pub(crate) query: Query,
    /// The attribute in the suffix `@name`.
    pub(crate) attribute: Option<String>,
}

/// The query for elements.
#[derive(Debug)]
pub(crate) enum Query {
    Css(Selector),
    XPath(XPath),
}

impl FieldSelector {
    /// Parses a selector.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_ascii();
        if text.trim() != text {
            return Err("it begins or ends with a no-break space or the like".to_owned());
        }
        if is_xpath(text) {
            Self::parse_xpath(text)
        } else {
            Self::parse_css(text)
        }
    }

    fn parse_css(text: &str) -> Result<Self, String> {
        if text.len() > CSS_BYTES_MAX {
            return Err(format!("it is longer than {CSS_BYTES_MAX} bytes"));
        }
        let (css, attribute) = split_attribute(text);
        let selector = Selector::parse(css).map_err(|error| {
            if css.contains("//") {
                format!("{error} (an XPath expression begins with `/`, `.` or `(`)")
            } else {
                error.to_string()
            }
        })?;
        Ok(Self {
            query: Query::Css(selector),
            attribute: attribute.map(str::to_owned),
        })
    }

    /// In XPath an attribute is a step of its own (`//a/@href`). The suffix (`//a@href`) is not
    /// XPath, but is accepted with the same meaning.
    fn parse_xpath(text: &str) -> Result<Self, String> {
        let error = match XPath::parse(text) {
            Ok(xpath) => {
                return Ok(Self {
                    query: Query::XPath(xpath),
                    attribute: None,
                });
            }
            Err(error) => error,
        };
        if let (path, Some(attribute)) = split_attribute(text)
            && let Ok(xpath) = XPath::parse(path)
        {
            let attribute = Some(attribute.to_owned());
            return Ok(Self {
                query: Query::XPath(xpath),
                attribute,
            });
        }
        Err(error.to_string())
    }
}

/// Whether a selector is XPath, judged by its start. No CSS selector starts with a function name or
/// a parenthesis.
fn is_xpath(text: &str) -> bool {
    let calls_function = || {
        let (name, _) = text.split_once('(').unwrap_or_default();
        is_function(name.trim_end())
    };
    let starts = ["/", "./", "..", "("];
    starts.iter().any(|start| text.starts_with(start)) || calls_function()
}

/// Splits off `@name` at the end. An at sign in a string, in brackets or after a backslash belongs
/// to the selector, and one before what is not a name makes it invalid.
fn split_attribute(text: &str) -> (&str, Option<&str>) {
    let (mut quote, mut depth, mut is_escaped, mut at_sign) = (None, 0_usize, false, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            _ if is_escaped => is_escaped = false,
            (_, '\\') => is_escaped = true,
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[' | '(') => depth += 1,
            (None, ']' | ')') => depth = depth.saturating_sub(1),
            (None, '@') if depth == 0 => at_sign = Some(at),
            _ => {}
        }
    }
    let Some(at) = at_sign else {
        return (text, None);
    };
    let name = text[at + 1..].trim_ascii();
    if is_attribute_name(name) {
        (text[..at].trim_end(), Some(name))
    } else {
        (text, None)
    }
}

/// Whether an attribute may have this name: words, also with a prefix or of the kind that templates
/// use (`v-on:click.prevent`).
fn is_attribute_name(name: &str) -> bool {
    let is_part = |c: char| {
        c.is_ascii_alphanumeric() || "-_.:".contains(c) || (!c.is_ascii() && !c.is_whitespace())
    };
    !name.is_empty() && !name.contains("::") && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit::Random;

    use super::{FieldSelector, is_xpath, split_attribute};

    #[test]
    fn a_selector_is_xpath_by_its_beginning() {
        for text in [
            "//h1",
            "/html",
            "./p",
            ".//p",
            "(//p)[1]",
            "(/html)",
            "(.//p)[1]",
            "( //p)",
            "../p",
            "count(//p)",
            "normalize-space (//p)",
        ] {
            assert!(is_xpath(text), "{text}");
        }
        for text in [
            "h1", ".price", "*", "#id", ":is(a)", "a:not(/)", "", "count", "a(b)", "[a]",
        ] {
            assert!(!is_xpath(text), "{text}");
        }
    }

    #[test]
    fn an_attribute_is_what_follows_the_last_free_at_sign() {
        for (text, expected) in [
            ("a@href", ("a", Some("href"))),
            ("a.more @href ", ("a.more", Some("href"))),
            (r#"a[href*="@"]"#, (r#"a[href*="@"]"#, None)),
            (r#"a[href*="@"]@title"#, (r#"a[href*="@"]"#, Some("title"))),
            ("a[b='@c']@data-x", ("a[b='@c']", Some("data-x"))),
            (r".\@md", (r".\@md", None)),
            (r".\@md@xlink:href", (r".\@md", Some("xlink:href"))),
            (":has(a@href)", (":has(a@href)", None)),
            ("a@b c", ("a@b c", None)),
            ("a@*", ("a@*", None)),
            ("a@{", ("a@{", None)),
            ("a@href::text", ("a@href::text", None)),
            ("a@v-on:click.prevent", ("a", Some("v-on:click.prevent"))),
            ("a@", ("a@", None)),
            ("@href", ("", Some("href"))),
            ("//a/@href", ("//a/", Some("href"))),
        ] {
            assert_eq!(split_attribute(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_neither_selector_nor_attribute_is_refused() {
        for text in [
            "a@*",
            "a@{",
            "a@href::text",
            "a@",
            "(.//p",
            "\u{a0}h1",
            "h1\u{a0}",
            "//h1\u{3000}",
        ] {
            assert!(FieldSelector::parse(text).is_err(), "{text:?}");
        }
        assert!(FieldSelector::parse("(.//p)[1]").is_ok());
    }

    #[test]
    fn any_text_can_be_parsed_or_refused() {
        let pieces = "a¦h1¦.x¦#y¦*¦ ¦>¦~¦+¦,¦[¦]¦(¦)¦:not(¦:has(¦:nth-child(2n of p)¦=¦\"¦'¦@¦@href¦\\¦\
            //¦/¦::¦count(¦é¦😀¦\u{0}¦|¦./";
        let pieces: Vec<&str> = pieces.split('¦').collect();
        let mut random = Random::new(1);
        let mut n_valid = 0;
        for _ in 0..50_000 {
            let n_pieces = random.below(8);
            let text = random.text(&pieces, n_pieces);
            n_valid += usize::from(FieldSelector::parse(&text).is_ok());
        }
        assert!(n_valid > 1_000, "only {n_valid} were selectors");
    }
}
