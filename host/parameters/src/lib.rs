//! The parameters of requests: each with its shape, default, range, and where it has an effect.
//!
//! The tables are the single source. From them come the check of a request object (types, unknown
//! keys, the closest right name), the names in `X-Ignored-Parameters` and in a page's
//! `metadata.ignored`, `docs/reference.md`, and the help of the command line. Every field that the
//! wire format reads has a row, and every row is such a field: a test of the wire crate compares
//! them.
//!
//! What a parameter does is in other crates. They are below this one, so that a changed sentence of
//! the documentation is compiled once, here, and not again with everything that fetches pages.

mod condition;
mod define;
mod forms;
mod header;
mod nearest;
mod reference;
mod requests;
mod routes;
mod row;
mod statuses;
mod tables;

pub use condition::condition;
pub use define::RequestObject;
pub use forms::{
    CacheForm, ChunkingForm, ClipForm, CookieForm, CookiesForm, DomainsForm, FormatNames,
    HeaderMap, ITEMS_MAX, List, RouterForm, SourceForm, WaitForForm,
};
pub use header::{Header, with_headers};
pub use nearest::nearest;
pub use reference::reference;
pub use requests::PipelineRequest;
pub use routes::{Route, Routes};
pub use row::{Choice, Object, Parameter, Range, Shape};
pub use statuses::{CAUSES, CauseRow, Status};
pub use tables::{GROUPS, Group, Pipelines, STEPS, StepKind, TransformItem, step_kind};

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
