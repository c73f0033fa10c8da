//! Plans for the tests of other rooms.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::{CachePlan, Engine, FetchPlan, Format, FormatChoice, OutputPlan, Pace, PagePlan, Pool};
use crate::model::Nanodollars;

/// A page by plain HTTP, without any output.
pub(crate) fn page_plan(url: &str) -> PagePlan {
    PagePlan {
        requested: url.to_owned(),
        url: Ok(Url::parse(url).expect("an address")),
        engine: Engine::Http,
        fetch: Arc::new(FetchPlan {
            timeout: Duration::from_secs(10),
            headers: Vec::new(),
            cookies: Vec::new(),
            user_agent: None,
            locale: None,
            country_code: None,
            pool: Pool::Standard,
            respect_robots: false,
            cache: CachePlan {
                enabled: false,
                max_age: Duration::ZERO,
                allow_stale: false,
                skip_browser: false,
            },
            pace: Pace::default(),
            gate: None,
        }),
        output: Arc::new(OutputPlan::of(FormatChoice {
            name: "empty".to_owned(),
            format: Format::Empty,
            options: Value::Null,
        })),
        ceiling: Nanodollars::MAX,
        router: Arc::default(),
        render: Arc::default(),
    }
}
