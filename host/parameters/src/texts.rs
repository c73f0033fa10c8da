//! Kinds of texts: what the documentation says of them, and the part of their rules that a JSON
//! Schema can express.

use std::borrow::Cow;

/// One or several URLs.
pub(crate) const URLS: &str = "one URL, or several separated by commas";
/// The value of a header.
pub(crate) const HEADER_VALUE: &str = "header value";
/// The value of `Accept-Language`.
pub(crate) const LANGUAGE: &str = "language tag";
/// The language of what is searched for.
pub(crate) const LANGUAGE_TAG: &str = "language tag of at most 35 letters, digits and `-`";
/// What is searched for.
pub(crate) const WORDS: &str = "words, at most 2,000 bytes";
/// A country.
pub(crate) const COUNTRY: &str = "two letters";
/// A cookie in one text.
pub(crate) const COOKIE: &str = "`a=b`";
/// The cookies of a `Cookie` header.
pub(crate) const COOKIES: &str = "`a=b; c=d`";
/// The name of a cookie.
pub(crate) const COOKIE_NAME: &str = "name";
/// The value of a cookie.
pub(crate) const COOKIE_VALUE: &str = "value";
/// A CSS selector.
pub(crate) const SELECTOR: &str = "CSS selector";
/// A regular expression.
pub(crate) const EXPRESSION: &str = "regular expression";
/// Paths of a site.
pub(crate) const PATH_OR_EXPRESSION: &str = "path prefix or regular expression";
/// What `prefer` has: a beginning of paths, or words.
pub(crate) const PATH_OR_WORD: &str = "path that begins with `/`, or word";
/// Hosts.
pub(crate) const HOST_OR_EXPRESSION: &str = "host or regular expression";
/// A URL that may be relative.
pub(crate) const PATH_OR_URL: &str = "path or URL";
/// A URL.
pub(crate) const URL: &str = "URL";

/// A header's value, as `trawl_model::header` checks it.
pub const HEADER_VALUE_PATTERN: &str = r"^[^\x00-\x08\x0A-\x1F\x7F]*$";
/// A cookie's name.
const NAME_PATTERN: &str = r"[^=;\x00-\x1F\x7F-\x9F]*";
/// A cookie's value.
const VALUE_PATTERN: &str = r"[^;\x00-\x1F\x7F-\x9F]*";

/// What a JSON Schema can say of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextRule {
    /// It matches this regular expression.
    Pattern(Cow<'static, str>),
    /// It has this format, which is one of Trawl's own: it needs a parser.
    Format(&'static str),
}

/// The rule of texts that the tables describe in these words, if a schema can express it.
pub fn text_rule(words: &str) -> Option<TextRule> {
    let rule = match words {
        URLS => TextRule::Pattern(r"[^\s,]".into()),
        HEADER_VALUE | LANGUAGE => TextRule::Pattern(HEADER_VALUE_PATTERN.into()),
        LANGUAGE_TAG => TextRule::Pattern(
            r"^\s*((?=.{1,35}\s*$)[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8})*)?\s*$".into(),
        ),
        WORDS => TextRule::Pattern(r"\S".into()),
        COUNTRY => TextRule::Pattern(r"^\s*([A-Za-z]{2})?\s*$".into()),
        COOKIE | COOKIES => {
            let one = format!(r"\s*{NAME_PATTERN}={VALUE_PATTERN}(;|$)");
            TextRule::Pattern(format!(r"^({one}|\s*;)*\s*$").into())
        }
        COOKIE_NAME => TextRule::Pattern(format!("^{NAME_PATTERN}$").into()),
        COOKIE_VALUE => TextRule::Pattern(format!("^{VALUE_PATTERN}$").into()),
        PATH_OR_WORD => TextRule::Pattern(r"^\s*/|^[^/]*$".into()),
        SELECTOR => TextRule::Format("css-selector"),
        EXPRESSION => TextRule::Format("regular-expression"),
        PATH_OR_EXPRESSION => TextRule::Format("path-or-expression"),
        HOST_OR_EXPRESSION => TextRule::Format("host-or-expression"),
        PATH_OR_URL => TextRule::Format("path-or-url"),
        URL => TextRule::Format("url"),
        _ => return None,
    };
    Some(rule)
}
