//! The parameters of requests: each with its shape, default, range, and where it has an effect.
//!
//! A row is the only place where a parameter is written down. From it come the field of the request
//! object and what reads it (`define`, `requests`), the check of its type, the names in
//! `X-Ignored-Parameters` and in a page's `metadata.ignored`, the closest right name of an unknown
//! one, the header of `/fetch`, the OpenAPI document, the options and the help of the command line,
//! and `docs/reference.md`. A new parameter is a row, its use in the wire crate, and a test.
//!
//! What a parameter does is in other crates. They are below this one, so that a changed sentence of
//! the documentation is compiled once, here, and not again with everything that fetches pages.

mod condition;
mod define;
mod forms;
mod header;
mod nearest;
mod option;
mod reference;
mod requests;
mod routes;
mod row;
mod statuses;
mod tables;
mod texts;

pub use condition::condition;
pub use define::RequestObject;
pub use forms::{
    ChunkingForm, DomainsForm, FormatNames, HeaderMap, ITEMS_MAX, List, Millis, Seconds,
    SecretText, SourceForm, Time, WaitForForm,
};
pub use header::{Header, with_headers};
pub use nearest::nearest;
pub use option::{COMMAND_FORMAT, CommandOption, OptionForm};
pub use reference::reference;
pub use requests::{BatchRequest, PipelineRequest, ScrapeRequest, SearchRequest, TransformRequest};
pub use routes::{Route, Routes};
pub use row::{Choice, NamedSchema, Object, Parameter, Range, Shape};
pub use statuses::{CAUSES, CauseRow, Status};
pub use tables::{
    Batches, Browser, Cache, CacheForm, Clip, Cookie, CookieForm, CookiesForm, Crawls, GROUPS,
    Group, Outputs, Pages, Pipelines, Readability, ReadabilityForm, Router, STEPS, Searches,
    StepKind, TransformItem, step_kind,
};
pub use texts::{HEADER_VALUE_PATTERN, TextRule, text_rule};

/// All parameters of request objects, without the keys of nested objects.
pub fn all() -> impl Iterator<Item = &'static Parameter> {
    GROUPS.iter().flat_map(|group| group.rows)
}

/// The parameter of a request object with this name or alias.
pub fn find(name: &str) -> Option<&'static Parameter> {
    all().find(|row| row.is_called(name))
}

#[cfg(test)]
mod tests;
