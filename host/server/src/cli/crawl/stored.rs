//! The options of an interrupted crawl, which it keeps when it is resumed.

use serde_json::Value;

use trawl_model::Nanodollars;
use trawl_parameters as parameters;
use trawl_plan::crawl::DEPTH_DEFAULT;

use super::Request;
use super::args::PARAMETERS;
use super::output::extension;

/// The stored request of a crawl.
pub(super) struct StoredOptions(Value);

impl StoredOptions {
    /// Reads a stored request.
    pub(super) fn read(request: &str) -> Self {
        Self(serde_json::from_str(request).unwrap_or_default())
    }

    /// File extension of the content. Several formats, and chunks, are JSON.
    pub(super) fn extension(&self) -> &'static str {
        let is_whole = match &self.0["chunking_alg"] {
            Value::Null => true,
            chunking => chunking.as_str() == Some("none"),
        };
        match self.0["return_format"].as_str() {
            Some(format) if is_whole => extension(format),
            _ => "json",
        }
    }

    /// Maximum number of pages.
    pub(super) fn limit(&self) -> Option<u64> {
        self.0["limit"].as_u64().filter(|limit| *limit > 0)
    }

    /// Maximum number of hops from the seed.
    pub(super) fn depth(&self) -> u64 {
        self.0["depth"].as_u64().unwrap_or(DEPTH_DEFAULT.into())
    }

    /// Maximum cost.
    pub(super) fn max_cost(&self) -> Option<Nanodollars> {
        let credits = self.0["max_credits_allowed"].as_i64()?;
        Some(Nanodollars::from_credits(credits))
    }

    /// A sentence for each given parameter that differs from the stored one and has no effect. A
    /// crawl that was parked has got its secrets again.
    pub(super) fn without_effect(&self, given: &Request, was_parked: bool) -> Vec<String> {
        let line = |(name, source): (&String, &String)| {
            let is_secret = parameters::find(name).is_some_and(|row| row.is_secret);
            let stored = &self.0[name.as_str()];
            let is_same = given.get(name) == stored || is_secret && was_parked;
            if is_same || name == PARAMETERS.argument {
                return None;
            }
            let stored = match stored {
                _ if is_secret => "as it was".to_owned(),
                // What holds then is the default, of which the first clause is the general one.
                Value::Null => parameters::find(name)
                    .and_then(|row| row.default.split(';').next())
                    .unwrap_or("unset")
                    .to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(format!(
                "`{source}` has no effect with `--resume`: the crawl keeps its own options, {name} is {stored}"
            ))
        };
        given.sources.iter().filter_map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::tests::sent;
    use super::*;

    fn stored(words: &[&str]) -> StoredOptions {
        StoredOptions::read(&sent(words).1.to_string())
    }

    #[test]
    fn other_options_than_the_stored_ones_are_named() {
        let first = ["--limit", "40", "--exclude", "/x", "--max-cost", "0.5"];
        let stored = stored(&first);
        assert_eq!((stored.limit(), stored.depth()), (Some(40), 25));
        assert_eq!(stored.max_cost(), Nanodollars::parse_dollars("0.5"));
        let lines = |words: &[&str], was_parked| stored.without_effect(&sent(words).0, was_parked);
        assert_eq!(lines(&first, false), Vec::<String>::new());
        assert_eq!(lines(&[], false), Vec::<String>::new());
        let other = ["--limit", "4", "--format", "html", "--depth", "1"];
        let lines = lines(&[&other[..], &["--set", "tld"]].concat(), false);
        assert_eq!(lines.len(), 4, "{lines:?}");
        for (line, begin, end) in [
            (&lines[0], "`--depth` has no effect", "depth is 25"),
            (&lines[1], "`--limit` has no effect", "limit is 40"),
            (
                &lines[2],
                "`--format` has no effect",
                "return_format is markdown",
            ),
            (&lines[3], "`--set tld` has no effect", "tld is false"),
        ] {
            assert!(line.starts_with(begin) && line.ends_with(end), "{line}");
        }
    }

    #[test]
    fn secrets_are_not_shown_and_taken_by_a_crawl_that_waits_for_them() {
        let stored = stored(&[]);
        let (given, _) = sent(&["--set", "cookies=a=canary"]);
        let lines = stored.without_effect(&given, false);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("cookies") && !lines[0].contains("canary"));
        assert_eq!(stored.without_effect(&given, true), Vec::<String>::new());
    }

    #[test]
    fn the_extension_is_that_of_the_format() {
        let check = |words: &[&str], expected: &str| {
            assert_eq!(stored(words).extension(), expected, "{words:?}");
        };
        check(&[], "md");
        check(&["--format", "HTML"], "html");
        check(&["--format", "screenshot"], "png");
        check(&["--set", "return_format=[\"markdown\", \"text\"]"], "json");
        check(&["--set", "chunking_alg=words"], "json");
        check(&["--set", "chunking_alg=none"], "md");
    }
}
