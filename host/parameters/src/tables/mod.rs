//! The tables.

mod browser;
mod crawls;
mod outputs;
mod pages;
mod pipelines;
mod steps;
mod time;

use super::row::Parameter;

pub use pipelines::{Pipelines, TransformItem};
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
        rows: pages::ROWS,
    },
    Group {
        title: "Outputs",
        rows: outputs::ROWS,
    },
    Group {
        title: "Crawls",
        rows: crawls::ROWS,
    },
    Group {
        title: "Browser and screenshots",
        rows: browser::ROWS,
    },
    Group {
        title: "Pipelines and `/transform`",
        rows: Pipelines::ROWS,
    },
];
