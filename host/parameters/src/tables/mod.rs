//! The tables.

mod batches;
mod browser;
mod crawls;
mod outputs;
mod pages;
mod pipelines;
mod searches;
mod steps;
mod time;

use super::row::Parameter;

pub use batches::Batches;
pub use browser::{Browser, Clip};
pub use crawls::Crawls;
pub use outputs::{Outputs, Readability, ReadabilityForm};
pub use pages::{Cache, CacheForm, Cookie, CookieForm, CookiesForm, Pages, Router};
pub use pipelines::{Pipelines, TransformItem};
pub use searches::Searches;
pub use steps::{STEPS, StepKind, step_kind};

/// Parameters that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Its heading.
    pub title: &'static str,
    /// The rows.
    pub rows: &'static [Parameter],
}

/// All parameters of request objects.
pub const GROUPS: &[Group] = &[
    Group {
        title: "Pages",
        rows: Pages::ROWS,
    },
    Group {
        title: "Outputs",
        rows: Outputs::ROWS,
    },
    Group {
        title: "Crawls",
        rows: Crawls::ROWS,
    },
    Group {
        title: "Batches",
        rows: Batches::ROWS,
    },
    Group {
        title: "Browser and screenshots",
        rows: Browser::ROWS,
    },
    Group {
        title: "Pipelines and `/transform`",
        rows: Pipelines::ROWS,
    },
    Group {
        title: "Searches",
        rows: Searches::ROWS,
    },
];
