//! `link_rewrite`: one rule that changes the URLs a page links to, before a crawl follows them and
//! before `links` shows them.
//!
//! Decision D34: the parameter is named and not described. It is
//! `{"type": "replace", "find", "replace"}` or `{"type": "regex", "pattern", "replace"}` (with `$1`
//! for groups), each with an optional `host` that links must have.

use std::collections::HashSet;

use regex::bytes::Regex;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use url::Url;

use trawl_model::{Discovered, urls};

use super::PlanError;
use super::expression::Allowance;

const FIELD: &str = "link_rewrite";
/// Longest `replace`: as long as the longest URL that a crawl follows.
const REPLACE_BYTES_MAX: usize = 2_000;
/// Longest URL that is changed, and that a rule may make. With [`REPLACE_BYTES_MAX`] it bounds the
/// memory that a rule takes for one link: each letter of a URL may become a `replace`.
const URL_BYTES_MAX: usize = 8 * 1024;

/// How the URLs of a page's links are changed.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRewrite {
    /// The only host whose links are changed, lower case; `None` is every host.
    host: Option<String>,
    rule: Rule,
}

#[derive(Clone, Debug, Serialize)]
enum Rule {
    /// Every occurrence of a text becomes another.
    Replace { find: String, replace: String },
    /// Every match becomes another text, with `$1` or `${name}` for what groups matched.
    Regex {
        #[serde(serialize_with = "as_written")]
        pattern: Regex,
        replace: String,
    },
}

impl LinkRewrite {
    /// Reads the rule.
    ///
    /// # Errors
    /// The type is unknown, a part is missing, the expression does not compile, or the expressions
    /// exceed what one request may have.
    pub fn read(form: &Map<String, Value>, allowance: &mut Allowance) -> Result<Self, PlanError> {
        let text = |name: &str| match form.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(PlanError::new(FIELD, format!("`{name}` is not a string"))),
        };
        let needed = |name: &str| {
            let is_there = |text: &String| !text.is_empty();
            let found = text(name)?.filter(is_there);
            found.ok_or_else(|| PlanError::new(FIELD, format!("`{name}` is missing or empty")))
        };
        let replace = text("replace")?.unwrap_or_default();
        if replace.len() > REPLACE_BYTES_MAX {
            let reason = format!("`replace` is longer than {REPLACE_BYTES_MAX} bytes, shorten it");
            return Err(PlanError::new(FIELD, reason));
        }
        let rule = match text("type")?
            .as_deref()
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            Some("replace") => Rule::Replace {
                find: needed("find")?,
                replace,
            },
            Some("regex") => {
                let written = needed("pattern")?;
                Rule::Regex {
                    pattern: allowance.single(FIELD, &written)?,
                    replace,
                }
            }
            _ => {
                return Err(PlanError::new(FIELD, "`type` must be `replace` or `regex`"));
            }
        };
        let host = text("host")?.map(|host| host.trim().to_ascii_lowercase());
        Ok(Self {
            host: host.filter(|host| !host.is_empty()),
            rule,
        })
    }

    /// The URLs after the rule, each once, in their order.
    pub fn rewrite(&self, found: &Discovered) -> Discovered {
        let mut seen = HashSet::with_capacity(found.len());
        let mut rewritten = Discovered::default();
        rewritten.n_dropped = found.n_dropped;
        rewritten.robots_tags.clone_from(&found.robots_tags);
        rewritten.canonical = found.canonical.as_deref().map(|url| self.apply(url));
        for (number, (link, nofollow)) in found.iter().enumerate() {
            let mut url = self.apply(link);
            if let Some(hash) = url.find('#') {
                url.truncate(hash);
            }
            if seen.insert(url.clone()) {
                rewritten.push(&url, nofollow);
                if let Some(text) = found.anchor(number) {
                    rewritten.set_anchor(text.to_owned());
                }
            }
        }
        rewritten
    }

    /// [`rewrite`](Self::rewrite) for a JSON list of URLs; anything else is unchanged.
    pub fn rewrite_list(&self, links: Value) -> Value {
        let Value::Array(links) = links else {
            return links;
        };
        let mut seen = HashSet::with_capacity(links.len());
        let rewritten = links.iter().filter_map(Value::as_str);
        let rewritten = rewritten.map(|link| self.apply(link));
        let rewritten = rewritten.filter(|link| seen.insert(link.clone()));
        rewritten.map(Value::String).collect()
    }

    /// One URL. It is unchanged if the rule would make it something other than a web URL, or one
    /// that is too long.
    fn apply(&self, link: &str) -> String {
        if link.len() > URL_BYTES_MAX {
            return link.to_owned();
        }
        let is_meant = self.host.as_ref().is_none_or(|host| {
            Url::parse(link).is_ok_and(|url| url.host_str() == Some(host.as_str()))
        });
        if !is_meant {
            return link.to_owned();
        }
        let changed = match &self.rule {
            Rule::Replace { find, replace } => link.replace(find, replace),
            Rule::Regex { pattern, replace } => {
                let changed = pattern.replace_all(link.as_bytes(), replace.as_bytes());
                // Not UTF-8 only if a link that is not a URL was cut within a character.
                String::from_utf8(changed.into_owned()).unwrap_or_default()
            }
        };
        if changed.len() > URL_BYTES_MAX {
            return link.to_owned();
        }
        match urls::parse(&changed) {
            Ok(url) if changed != link && matches!(url.scheme(), "http" | "https") => url.into(),
            _ => link.to_owned(),
        }
    }
}

fn as_written<S: Serializer>(pattern: &Regex, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(pattern.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(form: Value) -> Result<LinkRewrite, String> {
        let form = form.as_object().expect("an object");
        LinkRewrite::read(form, &mut Allowance::default()).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(form: Value, links: Value, expected: Value) {
        let rule = rule(form).expect("a rule");
        assert_eq!(rule.rewrite_list(links.clone()), expected);
        let mut found = Discovered::default();
        for link in links.as_array().expect("a list") {
            found.push(link.as_str().expect("a string"), false);
        }
        found.robots_tags.push("noindex".to_owned());
        let rewritten = rule.rewrite(&found);
        assert_eq!(rewritten.robots_tags, found.robots_tags);
        let rewritten: Vec<&str> = rewritten.iter().map(|(link, _)| link).collect();
        assert_eq!(json!(rewritten), expected);
    }

    #[test]
    fn a_text_becomes_another_and_twins_become_one() {
        check(
            json!({"type": "replace", "find": "/old/", "replace": "/new/"}),
            json!([
                "https://a.com/old/x",
                "https://a.com/new/x",
                "https://a.com/y"
            ]),
            json!(["https://a.com/new/x", "https://a.com/y"]),
        );
        check(
            json!({"type": "Replace", "find": "?utm=1", "host": "A.com"}),
            json!(["https://a.com/?utm=1", "https://b.com/?utm=1"]),
            json!(["https://a.com/", "https://b.com/?utm=1"]),
        );
    }

    #[test]
    fn an_expression_has_groups() {
        check(
            json!({"type": "regex", "pattern": "^https://m\\.([^/]+)/(.*)$", "replace": "https://$1/$2"}),
            json!(["https://m.a.com/x", "https://a.com/x", "https://a.com/m"]),
            json!(["https://a.com/x", "https://a.com/m"]),
        );
    }

    #[test]
    fn a_result_that_is_no_web_url_is_discarded() {
        check(
            json!({"type": "replace", "find": "https://", "replace": "file:///"}),
            json!(["https://a.com/"]),
            json!(["https://a.com/"]),
        );
    }

    #[test]
    fn a_result_that_is_too_long_is_discarded() {
        let link = format!("https://a.com/{}", "x".repeat(100));
        let replace = "y".repeat(REPLACE_BYTES_MAX);
        check(
            json!({"type": "replace", "find": "x", "replace": replace}),
            json!([link]),
            json!([link]),
        );
        check(
            json!({"type": "regex", "pattern": "x+", "replace": "$0".repeat(900)}),
            json!([link]),
            json!([link]),
        );
        let longer = format!("{replace}y");
        let error = rule(json!({"type": "replace", "find": "x", "replace": longer}));
        assert!(error.is_err_and(|error| error.contains("longer than 2000 bytes")));
    }

    #[test]
    fn a_bad_rule_is_refused_by_its_part() {
        for (form, expected) in [
            (json!({}), "link_rewrite: `type` must be"),
            (json!({"type": "swap"}), "link_rewrite: `type` must be"),
            (
                json!({"type": "replace"}),
                "link_rewrite: `find` is missing",
            ),
            (
                json!({"type": "replace", "find": 3}),
                "link_rewrite: `find` is not a string",
            ),
            (
                json!({"type": "regex", "pattern": "("}),
                "link_rewrite: `(` is not a regular expression",
            ),
        ] {
            let error = rule(form).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }
}
