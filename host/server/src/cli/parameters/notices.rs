//! Sentences on standard error about parameters without effect. Decision D224.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use trawl_parameters::{Parameter, Route};
use trawl_plan::Ignored;

use super::row_at;

/// Prints sentences to standard error, one a line.
pub(in crate::cli) fn print(sentences: impl IntoIterator<Item = String>) {
    for sentence in sentences {
        trawl_telemetry::say(sentence);
    }
}

/// A sentence for each parameter of a request that has no effect on this route.
pub(in crate::cli) fn ignored(ignored: &Ignored, route: Route) -> Vec<String> {
    let hint = |path: &str| {
        let mut hints = ignored.hints().iter();
        hints.find_map(|hint| hint.strip_prefix(path)?.strip_prefix('='))
    };
    let names = ignored.names().iter();
    names
        .map(|path| match (row_at(path), hint(path)) {
            (Some(row), _) if !row.routes.has(route) => format!(
                "`{path}` has no effect on this command: it is a parameter of {}.",
                row.routes
            ),
            (Some(row), _) => format!("`{path}` has no effect on this request{}.", needs(row)),
            (None, Some(meant)) => {
                format!("`{path}` is not a parameter and was ignored, did you mean `{meant}`?")
            }
            (None, None) if is_path_of_scripts(path) => {
                format!("`{path}` had no effect: no page of the request has such a path.")
            }
            (None, None) => {
                format!("`{path}` is not a parameter and was ignored, `--help` lists all.")
            }
        })
        .collect()
}

/// Whether this is the path of pages in a parameter with scripts, rather than a key of a step.
/// Decision D259.
fn is_path_of_scripts(path: &str) -> bool {
    let scripts = ["automation_scripts.", "execution_scripts."];
    let below = scripts.iter().find_map(|name| path.strip_prefix(name));
    below.is_some_and(|below| !below.contains("[]"))
}

/// What the parameter needs, as the end of a sentence.
fn needs(row: &Parameter) -> String {
    match row.condition().as_str() {
        "" => String::new(),
        needs => format!("; it has one {needs}"),
    }
}

/// Counts the pages on which parameters had no effect, as only their metadata shows.
#[derive(Debug, Default)]
pub(in crate::cli) struct PageNotices {
    n_pages: u64,
    ignored: BTreeMap<String, u64>,
}

/// The part of a page entry that is read here.
#[derive(Deserialize)]
struct PageEntry {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    ignored: Value,
}

impl PageNotices {
    /// Counts a page with this `metadata.ignored`.
    pub(in crate::cli) fn add(&mut self, ignored: Option<&Value>) {
        self.n_pages += 1;
        let names = ignored.and_then(Value::as_array).into_iter().flatten();
        for name in names.filter_map(Value::as_str) {
            // The paths are the request's, which has few.
            *self.ignored.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// Counts the page of an entry as JSON.
    pub(in crate::cli) fn add_entry(&mut self, entry: &[u8]) {
        let entry = serde_json::from_slice::<PageEntry>(entry).ok();
        let metadata = entry.and_then(|entry| entry.metadata);
        self.add(metadata.as_ref().map(|metadata| &metadata.ignored));
    }

    /// A sentence for each of these parameters.
    pub(in crate::cli) fn sentences(&self) -> Vec<String> {
        let n_pages = self.n_pages;
        let sentence = |(path, n): (&String, &u64)| {
            let needs = row_at(path).map(needs).unwrap_or_default();
            match n_pages {
                1 => format!("`{path}` had no effect on this page{needs}."),
                _ => format!("`{path}` had no effect on {n} of {n_pages} pages{needs}."),
            }
        };
        self.ignored.iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_parameter_without_effect_has_a_sentence() {
        let mut sent = Ignored::default();
        sent.add("limit");
        sent.add("readability");
        sent.add_unknown("viewport.wdth", || Some("viewport.width"));
        sent.add_unknown("cron", || None);
        sent.add_unknown("execution_scripts./login", || None);
        sent.add_unknown("automation_scripts./a[].selectr", || None);
        let sentences = ignored(&sent, Route::Scrape);
        let begins = [
            "`limit` has no effect on this command: it is a parameter of ",
            "`readability` has no effect on this request; it has one ",
            "`viewport.wdth` is not a parameter and was ignored, did you mean `viewport.width`?",
            "`cron` is not a parameter and was ignored, `--help` lists all.",
            "`execution_scripts./login` had no effect: no page of the request has such a path.",
            "`automation_scripts./a[].selectr` is not a parameter and was ignored",
        ];
        assert_eq!(sentences.len(), begins.len(), "{sentences:?}");
        for (sentence, begin) in sentences.iter().zip(begins) {
            assert!(sentence.starts_with(begin), "{sentence}");
        }
        // What each needs is what its row says.
        let row = row_at("readability").expect("a row");
        assert!(sentences[1].contains(&row.condition()), "{}", sentences[1]);
    }

    #[test]
    fn pages_without_effect_are_counted() {
        let mut pages = PageNotices::default();
        pages.add(Some(&json!(["viewport"])));
        let sentence = &pages.sentences()[0];
        let begin = "`viewport` had no effect on this page; it has one ";
        assert!(sentence.starts_with(begin), "{sentence}");
        let entry = |metadata: Value| json!({"url": "x", "metadata": metadata}).to_string();
        for metadata in [
            json!({"ignored": ["viewport"]}),
            json!({"ignored": "of the page itself"}),
            json!({"title": "x"}),
            Value::Null,
        ] {
            pages.add_entry(entry(metadata).as_bytes());
        }
        pages.add_entry(br#"{"url": "x"}"#);
        let sentence = &pages.sentences()[0];
        assert!(sentence.contains(" on 2 of 6 pages; "), "{sentence}");
        assert!(PageNotices::default().sentences().is_empty());
    }
}
