//! Provider adapters: the protocol of one third-party scraping service, as a state machine.
//!
//! An adapter is a type that implements [`Provider`] and does no I/O. [`start`](Provider::start)
//! turns a task into the first request; [`resume`](Provider::resume) turns the reply into the page,
//! a failure, or another request. The host sends the requests. Adapters reference credentials only
//! by name: the host inserts them into requests and removes them from replies.
//!
//! ```
//! use trawl_sdk::provider::{
//!     Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
//! };
//!
//! struct Acme;
//!
//! impl Provider for Acme {
//!     type Settings = ();
//!
//!     fn describe() -> Description {
//!         let version = env!("CARGO_PKG_VERSION");
//!         Description::new("acme", version, "Acme (Fetch API)", "https://api.acme.example")
//!             .credentials(&["ACME_KEY"])
//!             .hosts(&["api.acme.example"])
//!             .plain(Abilities::SERVES | Abilities::BINARY)
//!             .units(&["page"])
//!     }
//!
//!     fn start(task: &Task, _: ()) -> Result<Step, Failure> {
//!         let request = Request::get(task.at("/fetch"));
//!         Ok(request.query("url", &task.url).bearer("ACME_KEY").send())
//!     }
//!
//!     fn resume(task: &Task, _: (), _memo: &[u8], reply: &Reply) -> Result<Step, Failure> {
//!         match reply.status {
//!             200 => Ok(Page::of_reply(task).status(200).cost(Cost::listed("page")).done()),
//!             401 => Err(Failure::of_reply(Class::BadKey, reply)),
//!             _ => Err(Failure::of_reply(Class::ProviderError, reply)),
//!         }
//!     }
//! }
//!
//! trawl_sdk::export!(provider: Acme);
//! ```

mod problem;
mod words;

use serde::de::DeserializeOwned;

pub use problem::Problem;
#[doc(inline)]
pub use trawl_contract::provider::{
    Abilities, Charged, Class, Content, Cost, Credential, Description, Exchange, Failure,
    MEMO_BYTES_MAX, Mode, Named, Page, Pool, ProxyStatus, Quantity, Reply, Request, Screenshot,
    Step, Task, USD, WaitFor, base64, base64_url, country_name, header_object, header_pairs,
    json_text,
};
pub use words::{error_status_in, mentions, names_unreachable};

/// An adapter for one third-party scraping service. The contract is `wit/provider/1`.
pub trait Provider {
    /// Operator settings under `settings` in `plugins.toml`; `()` for none.
    type Settings: DeserializeOwned + Default;

    /// Describes the service's abilities and requirements. Must always return the same value.
    fn describe() -> Description;

    /// Starts a conversation about a page that matches the abilities in
    /// [`describe`](Self::describe).
    ///
    /// # Errors
    /// A [`Failure`] of class [`Class::Unsupported`] if the page cannot be fetched after all;
    /// nothing has been sent.
    fn start(task: &Task, settings: Self::Settings) -> Result<Step, Failure>;

    /// Continues a conversation: `memo` is what the previous step passed on, `reply` is the
    /// response to its request.
    ///
    /// # Errors
    /// Any [`Failure`].
    fn resume(
        task: &Task,
        settings: Self::Settings,
        memo: &[u8],
        reply: &Reply<'_>,
    ) -> Result<Step, Failure>;
}

/// Calls [`Provider::start`] with the settings parsed from the task.
#[doc(hidden)]
pub fn start<P: Provider>(task: &Task) -> Step {
    let first = settings(task).and_then(|settings| P::start(task, settings));
    first.unwrap_or_else(|failure| Step::Failed(Box::new(failure)))
}

/// Calls [`Provider::resume`] with the settings parsed from the task.
#[doc(hidden)]
pub fn resume<P: Provider>(task: &Task, memo: &[u8], reply: &Reply<'_>) -> Step {
    let next = settings(task).and_then(|settings| P::resume(task, settings, memo, reply));
    next.unwrap_or_else(|failure| Step::Failed(Box::new(failure)))
}

fn settings<T: DeserializeOwned + Default>(task: &Task) -> Result<T, Failure> {
    crate::options::read(&task.settings).map_err(|failure| {
        Failure::new(Class::Unsupported, format!("provider settings: {failure}"))
    })
}
