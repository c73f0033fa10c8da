//! The request objects: which tables each of them has.

use super::define::RequestObject;
use super::routes::Routes;
use super::row::Parameter;
use super::tables::{Batches, Browser, Crawls, Outputs, Pages, Pipelines, Searches};

/// The request object of `/scrape`, `/crawl`, `/links` and everything that shares their parameters.
/// Spec S5.
#[derive(Default)]
pub struct ScrapeRequest {
    /// Which pages, and how they are fetched.
    pub pages: Pages,
    /// What is returned of a page.
    pub outputs: Outputs,
    /// What a crawl visits. A single page has the fields, too, which have no effect on it.
    pub crawls: Crawls,
    /// What a browser does with a page, and screenshots.
    pub browser: Browser,
}

impl RequestObject for ScrapeRequest {
    fn row(name: &str) -> Option<&'static Parameter> {
        let row = Pages::row(name).or_else(|| Outputs::row(name));
        let row = row.or_else(|| Crawls::row(name));
        row.or_else(|| Browser::row(name))
    }

    fn set(&mut self, name: &str, json: &str) -> serde_json::Result<bool> {
        Ok(self.pages.set(name, json)?
            || self.outputs.set(name, json)?
            || self.crawls.set(name, json)?
            || self.browser.set(name, json)?)
    }
}

/// The request object of `/transform`.
#[derive(Default)]
pub struct TransformRequest {
    /// What is returned of a page; only what `/transform` has is set.
    pub outputs: Outputs,
    /// The pages are its `data`.
    pub source: Pipelines,
}

impl RequestObject for TransformRequest {
    fn row(name: &str) -> Option<&'static Parameter> {
        let row = Outputs::row(name).or_else(|| Pipelines::row(name));
        row.filter(|row| !row.routes.is_apart_from(Routes::TRANSFORM))
    }

    fn set(&mut self, name: &str, json: &str) -> serde_json::Result<bool> {
        Ok(self.outputs.set(name, json)? || self.source.set(name, json)?)
    }
}

/// What a pipeline's request object has in addition to a crawl's.
#[derive(Default)]
pub struct PipelineRequest {
    /// The parameters that only pipelines have.
    pub pipelines: Pipelines,
}

impl RequestObject for PipelineRequest {
    fn row(name: &str) -> Option<&'static Parameter> {
        Pipelines::row(name).filter(|row| row.is_of_pipelines())
    }

    fn set(&mut self, name: &str, json: &str) -> serde_json::Result<bool> {
        self.pipelines.set(name, json)
    }
}

/// What the request object of a batch has in addition to that of its pages.
#[derive(Default)]
pub struct BatchRequest {
    /// The parameters that only batches have.
    pub batches: Batches,
}

impl RequestObject for BatchRequest {
    fn row(name: &str) -> Option<&'static Parameter> {
        Batches::row(name)
    }

    fn set(&mut self, name: &str, json: &str) -> serde_json::Result<bool> {
        self.batches.set(name, json)
    }
}

/// What the request object of `/search` has in addition to that of `/scrape`.
#[derive(Default)]
pub struct SearchRequest {
    /// The parameters that only searches have.
    pub searches: Searches,
    /// What searches share with pipelines; only that is set.
    pub shared: Pipelines,
}

impl RequestObject for SearchRequest {
    fn row(name: &str) -> Option<&'static Parameter> {
        let row = Searches::row(name).or_else(|| Pipelines::row(name));
        row.filter(|row| row.is_of_search())
    }

    fn set(&mut self, name: &str, json: &str) -> serde_json::Result<bool> {
        Ok(self.searches.set(name, json)? || self.shared.set(name, json)?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Map, Value, json};

    use super::*;
    use crate::{Shape, Time, all};

    /// Whether a request object has the parameter, under all of its names. Then its field reads the
    /// example of the row, and every form that its shape has.
    fn has<T: RequestObject>(row: &Parameter) -> bool {
        for name in std::iter::once(&row.name).chain(row.aliases) {
            if T::row(name).map(|known| known.name) != Some(row.name) {
                return false;
            }
            let forms = forms(&row.shape).into_iter().map(|form| form.to_string());
            for json in forms.chain([row.example.to_owned()]) {
                let set = T::default().set(name, &json);
                assert!(matches!(set, Ok(true)), "{name}: {json}: {set:?}");
            }
        }
        true
    }

    /// A value of each form that a shape has.
    fn forms(shape: &Shape) -> Vec<Value> {
        match shape {
            Shape::Switch => vec![json!(true), json!(false)],
            Shape::Count(range) => vec![
                json!(range.least),
                json!(range.most.min(i64::MAX.unsigned_abs())),
            ],
            Shape::Number(_) => vec![json!(1.5)],
            Shape::Text(_) => vec![json!("a")],
            Shape::Name(choices) => choices.iter().map(|choice| json!(choice.name)).collect(),
            Shape::Scalar => vec![json!("a"), json!(1.5), json!(true)],
            Shape::List(item) => {
                let items = forms(item).into_iter().map(|item| json!([item]));
                items.chain([json!([])]).collect()
            }
            Shape::Bytes => vec![json!([0, 255]), json!([])],
            Shape::Object(object) => {
                let key = |row: &Parameter| Some((row.name.to_owned(), forms(&row.shape).pop()?));
                vec![
                    object
                        .rows
                        .iter()
                        .filter_map(key)
                        .collect::<Map<_, _>>()
                        .into(),
                ]
            }
            Shape::Map(_, of) => {
                let values = forms(of).into_iter().map(|value| json!({"a": value}));
                values.chain([json!({})]).collect()
            }
            Shape::Either(shapes) => shapes.iter().flat_map(forms).collect(),
            Shape::Steps => vec![json!([])],
            Shape::Options(_) => vec![json!({})],
            Shape::Any(_, types) => types.iter().map(|name| of_type(name)).collect(),
        }
    }

    fn of_type(name: &str) -> Value {
        match name {
            "string" => json!("a"),
            "integer" => json!(1),
            "number" => json!(0.5),
            "boolean" => json!(true),
            "array" => json!([]),
            _ => json!({}),
        }
    }

    #[test]
    fn every_row_is_a_field_of_the_objects_of_its_routes() {
        for row in all() {
            let name = row.name;
            let is_of_transform = !row.routes.is_apart_from(Routes::TRANSFORM);
            let is_only_of_transform = Routes::TRANSFORM.has_all(row.routes);
            let is_only_of_batches = Routes::BATCH.has_all(row.routes);
            // Parameters that no ordinary crawl shares are read by an object of their own.
            let is_of_search = row.is_of_search();
            let is_shared = !is_only_of_transform
                && !is_only_of_batches
                && !row.is_of_pipelines()
                && !is_of_search;
            assert_eq!(has::<ScrapeRequest>(row), is_shared, "{name}");
            assert_eq!(has::<TransformRequest>(row), is_of_transform, "{name}");
            assert_eq!(has::<PipelineRequest>(row), row.is_of_pipelines(), "{name}");
            assert_eq!(has::<BatchRequest>(row), is_only_of_batches, "{name}");
            assert_eq!(has::<SearchRequest>(row), is_of_search, "{name}");
        }
    }

    #[test]
    fn a_bare_number_counts_what_its_row_says() {
        let mut request = ScrapeRequest::default();
        for name in ["scroll", "delay", "crawl_timeout", "request_timeout"] {
            assert!(matches!(request.set(name, "20"), Ok(true)), "{name}");
        }
        let ScrapeRequest {
            pages,
            crawls,
            browser,
            ..
        } = request;
        for (name, unit, time) in [
            ("scroll", "ms", read(browser.scroll)),
            ("delay", "ms", read(crawls.delay)),
            ("crawl_timeout", "seconds", read(crawls.crawl_timeout)),
            ("request_timeout", "seconds", read(pages.request_timeout)),
        ] {
            let phrase = ScrapeRequest::row(name).map(|row| row.shape.phrase());
            let phrase = phrase.expect("a row");
            let begin = format!("a whole number of {unit}");
            assert!(phrase.starts_with(&begin), "{name}: {phrase}");
            let expected = match unit {
                "ms" => Duration::from_millis(20),
                _ => Duration::from_secs(20),
            };
            assert_eq!(time, Some(expected), "{name}");
        }
    }

    fn read<T: Time>(sent: Option<T>) -> Option<Duration> {
        sent?.duration().ok()?
    }

    #[test]
    fn a_field_takes_null_and_its_type() {
        let mut request = PipelineRequest::default();
        assert!(matches!(request.set("prompt", "\"a\""), Ok(true)));
        assert_eq!(request.pipelines.prompt.as_deref(), Some("a"));
        assert_eq!(request.pipelines.custom_prompt, None, "a field of its own");
        assert!(matches!(request.set("prompt", "null"), Ok(true)));
        assert_eq!(request.pipelines.prompt, None);
        assert!(request.set("prompt", "3").is_err());
        assert!(matches!(request.set("no_such_field", "3"), Ok(false)));
    }
}
