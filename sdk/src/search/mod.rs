//! Search adapters: the protocol of one web search service.
//!
//! An adapter is a type that implements [`Search`] and does no I/O. [`start`](Search::start) turns
//! a query into a request; [`resume`](Search::resume) turns the reply into results or a failure.
//! The host sends the request. Adapters reference credentials only by name: the host inserts them
//! into requests and removes them from replies.
//!
//! ```
//! use serde::Deserialize;
//! use trawl_sdk::search::{
//!     Class, Cost, Description, Failure, Query, Reply, Request, Results, Search, marked_up_hit,
//! };
//!
//! struct Acme;
//!
//! #[derive(Deserialize)]
//! struct Found {
//!     url: String,
//!     title: String,
//! }
//!
//! impl Search for Acme {
//!     type Settings = ();
//!
//!     fn describe() -> Description {
//!         let version = env!("CARGO_PKG_VERSION");
//!         Description::new("acme", version, "Acme (Search API)", "https://api.acme.example")
//!             .credentials(&["ACME_KEY"])
//!             .hosts(&["api.acme.example"])
//!             .takes(&["country"])
//!             .units(&["query"])
//!     }
//!
//!     fn start(query: &Query, _: ()) -> Result<Request, Failure> {
//!         let request = Request::get(query.at("/search")).bearer("ACME_KEY");
//!         Ok(request
//!             .query("q", &query.text)
//!             .query("n", query.count)
//!             .query_some("country", query.country.as_deref()))
//!     }
//!
//!     fn resume(_: &Query, _: (), reply: &Reply) -> Result<Results, Failure> {
//!         if reply.status != 200 {
//!             return Err(Failure::of_reply(Class::of_status(reply.status), reply));
//!         }
//!         let found: Vec<Found> = reply.json()?;
//!         let hits = found.into_iter().map(|hit| marked_up_hit(hit.url, &hit.title, None));
//!         Ok(Results::free(hits.collect()).cost(Cost::listed("query")))
//!     }
//! }
//!
//! trawl_sdk::export!(search: Acme);
//! ```

mod google;
mod text;

use serde::de::DeserializeOwned;

#[doc(inline)]
pub use trawl_contract::provider::{
    Charged, Class, Cost, Credential, Failure, Quantity, Reply, Request, USD, country_name,
    json_text,
};
#[doc(inline)]
pub use trawl_contract::search::{COUNT_MAX, Description, Freshness, Hit, Query, Results};

#[doc(inline)]
pub use crate::provider::{Problem, mentions};

pub use google::{google_language, google_place, google_tbs};
pub use text::{marked_up_hit, plain_text};

/// An adapter for one web search service. The contract is `wit/search/1`.
pub trait Search {
    /// Operator settings under `settings` in `plugins.toml`; `()` for none.
    type Settings: DeserializeOwned + Default;

    /// Describes the service's abilities and requirements. Must always return the same value.
    fn describe() -> Description;

    /// The request of a search.
    ///
    /// # Errors
    /// A [`Failure`] of class [`Class::Unsupported`] if the service cannot search for this; nothing
    /// is sent.
    fn start(query: &Query, settings: Self::Settings) -> Result<Request, Failure>;

    /// The results in the reply to the request of the same query.
    ///
    /// # Errors
    /// Any [`Failure`].
    fn resume(
        query: &Query,
        settings: Self::Settings,
        reply: &Reply<'_>,
    ) -> Result<Results, Failure>;
}

/// Calls [`Search::start`] with the settings parsed from the query.
#[doc(hidden)]
pub fn start<S: Search>(query: &Query) -> Result<Request, Failure> {
    S::start(query, settings(query)?)
}

/// Calls [`Search::resume`] with the settings parsed from the query.
#[doc(hidden)]
pub fn resume<S: Search>(query: &Query, reply: &Reply<'_>) -> Result<Results, Failure> {
    S::resume(query, settings(query)?, reply)
}

fn settings<T: DeserializeOwned + Default>(query: &Query) -> Result<T, Failure> {
    crate::options::read(&query.settings)
        .map_err(|failure| Failure::new(Class::Unsupported, format!("search settings: {failure}")))
}
