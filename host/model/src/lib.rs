//! Plain values that every crate shares: URLs, pages, money, usage, failures. No I/O and no wire
//! format; only [`fair`] and [`memory`] wait.

pub mod analysis;
pub mod clock;
pub mod content;
pub mod crawl;
pub mod failure;
pub mod fair;
pub mod header;
pub mod lru;
pub mod memory;
pub mod money;
pub mod nearest;
pub mod outcome;
pub mod page;
pub mod plugin;
pub mod redact;
pub mod rights;
pub mod secret;
pub mod terms;
pub mod timing;
pub mod trace;
pub mod urls;
pub mod usage;

pub use analysis::ModelSize;
pub use content::{AnalystFinding, Content, ContentHash, Fields, Piece};
pub use crawl::{Discovered, SkipReason, StopReason, UrlRow, UrlState};
pub use failure::{Cause, PageFailure};
pub use money::Nanodollars;
pub use page::{FetchedPage, Hop, MediaKind};
pub use plugin::{Catalog, PluginKind};
pub use rights::{Purpose, Rights};
pub use terms::Terms;
pub use trace::{RequestTrace, TraceContext};
pub use usage::{Charge, Usage, VendorUse};
