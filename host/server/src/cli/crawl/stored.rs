//! The options of an interrupted crawl, which it keeps when it is resumed.

use serde_json::{Value, json};

use trawl_plan::crawl::DEPTH_DEFAULT;

use super::{CrawlArgs, FORMAT_DEFAULT, credits};

/// The stored request of a crawl.
pub(super) struct StoredOptions(Value);

impl StoredOptions {
    /// Reads a stored request.
    pub(super) fn read(request: &str) -> Self {
        Self(serde_json::from_str(request).unwrap_or_default())
    }

    /// Format of the content.
    pub(super) fn format(&self) -> &str {
        self.0["return_format"].as_str().unwrap_or(FORMAT_DEFAULT)
    }

    /// Maximum number of pages.
    pub(super) fn limit(&self) -> Option<u64> {
        self.0["limit"].as_u64().filter(|limit| *limit > 0)
    }

    /// Maximum number of hops from the seed.
    pub(super) fn depth(&self) -> u64 {
        self.0["depth"].as_u64().unwrap_or(DEPTH_DEFAULT.into())
    }

    /// A line for each given option that differs from the stored one and has no effect.
    pub(super) fn without_effect(&self, args: &CrawlArgs) -> Vec<String> {
        let line = |(flag, name, value): (&str, &str, Value)| {
            let stored = &self.0[name];
            (!value.is_null() && *stored != value).then(|| {
                let stored = match stored {
                    Value::Null => "unset".to_owned(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                format!(
                    "`{flag}` has no effect with `--resume`: the crawl keeps its own options, {name} is {stored}"
                )
            })
        };
        given(args).into_iter().filter_map(line).collect()
    }
}

/// The options with the parameters that they set; null for one that is not given.
fn given(args: &CrawlArgs) -> [(&'static str, &'static str, Value); 12] {
    let list = |entries: &[String]| match entries {
        [] => Value::Null,
        entries => json!(entries),
    };
    let switch = |is_given: bool, value: bool| json!(is_given.then_some(value));
    [
        ("--format", "return_format", json!(args.format)),
        (
            "--request",
            "request",
            json!(args.request.map(|mode| mode.name())),
        ),
        ("--limit", "limit", json!(args.limit)),
        ("--depth", "depth", json!(args.depth)),
        ("--delay", "delay", json!(args.delay)),
        (
            "--concurrency",
            "concurrency_limit",
            json!(args.concurrency),
        ),
        ("--max-cost", "max_credits_allowed", json!(credits(args))),
        ("--sitemap", "sitemap", switch(args.sitemap, true)),
        ("--subdomains", "subdomains", switch(args.subdomains, true)),
        ("--exclude", "blacklist", list(&args.exclude)),
        ("--include", "whitelist", list(&args.include)),
        (
            "--ignore-robots",
            "respect_robots",
            switch(args.ignore_robots, false),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::request;
    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: CrawlArgs,
    }

    fn parsed(words: &[&str]) -> CrawlArgs {
        let words = ["crawl", "a.example"].iter().chain(words);
        Command::try_parse_from(words).expect("options").args
    }

    #[test]
    fn other_options_than_the_stored_ones_are_named() {
        let first = parsed(&["--limit", "40", "--exclude", "/x", "--max-cost", "0.5"]);
        let stored = StoredOptions::read(&request(&first).to_string());
        assert_eq!(
            (stored.limit(), stored.depth(), stored.format()),
            (Some(40), 25, "markdown")
        );
        assert_eq!(stored.without_effect(&first), Vec::<String>::new());
        assert_eq!(stored.without_effect(&parsed(&[])), Vec::<String>::new());
        let other = parsed(&["--limit", "4", "--format", "html", "--depth", "1"]);
        let lines = stored.without_effect(&other);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].starts_with("`--limit` has no effect"), "{lines:?}");
        assert!(lines[1].ends_with("limit is 40"), "{lines:?}");
        assert!(lines[2].ends_with("depth is unset"), "{lines:?}");
    }

    #[test]
    fn the_help_names_the_defaults() {
        use clap::CommandFactory;
        let help = Command::command().render_long_help().to_string();
        assert!(
            help.contains(&format!("[default: {DEPTH_DEFAULT}]")),
            "{help}"
        );
    }
}
