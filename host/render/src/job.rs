//! One page to render, and what became of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value};
use url::Url;

use trawl_model::FetchedPage;
use trawl_net::fetch::RedirectPolicy;
use trawl_plan::{FetchPlan, RenderPlan};

use super::exchanges::Unstorable;

/// A rendered page and what rendering it used.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The page; its body is the final document, as UTF-8 HTML.
    pub page: FetchedPage,
    /// Decoded bytes of the main document and of all its resources.
    pub loaded_bytes: u64,
    /// The browser's CPU time for this page.
    pub cpu: Duration,
    /// A PNG screenshot, if requested.
    pub screenshot: Option<Bytes>,
    /// Metadata for the caller: `automation_data`, and `incomplete` for a page that was read before
    /// it was ready.
    pub metadata: Map<String, Value>,
    /// Why no other caller may get this page; `None` if nothing that went into it speaks against
    /// it.
    pub unstorable: Option<Unstorable>,
}

/// Whether an answer is a bot wall's challenge, by status, headers and HTML.
pub type IsChallenge = fn(u16, &[(String, String)], &[u8]) -> bool;

/// On whose behalf a page is rendered, and its limits.
#[derive(Clone, Copy)]
pub struct RenderJob<'a> {
    /// The account that pays: tabs are shared fairly among owners.
    pub owner: &'a str,
    /// Decoded bytes that the page may load, capped at
    /// [`LOADED_BYTES_MAX`](crate::LOADED_BYTES_MAX).
    pub bytes_max: u64,
    /// When the page must be finished.
    pub deadline: Instant,
    /// Tells a challenge, whose scripts get time to pass it.
    pub is_challenge: IsChallenge,
    /// Asked before the page navigates to another URL; `None` allows all that egress allows.
    pub redirects: Option<&'a Arc<dyn RedirectPolicy>>,
}

/// One page to render: its URL, its plans, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Visit<'a> {
    pub(crate) url: &'a Url,
    pub(crate) fetch: &'a FetchPlan,
    pub(crate) plan: &'a RenderPlan,
    pub(crate) job: RenderJob<'a>,
}
