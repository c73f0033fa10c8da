//! The conversation with a provider adapter: task, requests, replies, and how it ends. The contract
//! is `wit/provider/1`.
//!
//! The types are the records of the contract with what a Rust program makes of them: a builder for
//! each, `Option<bool>` for three states, and the forms in which services take a task's parts.

mod bindings;
mod cost;
mod countries;
mod describe;
mod objects;
mod outcome;
mod parameters;
mod proxy_status;
mod reply;
mod request;
mod task;
#[cfg(test)]
mod tests;

pub use cost::{Charged, Cost, Quantity, USD};
pub use countries::country_name;
pub use describe::{Abilities, Description, Mode};
pub use objects::{Named, header_object, header_pairs, json_text};
pub use outcome::{Class, Content, Failure, Page, Step};
pub use proxy_status::ProxyStatus;
pub use reply::Reply;
pub use request::{Credential, Exchange, MEMO_BYTES_MAX, Request, base64, base64_url};
pub use task::{Pool, Screenshot, Task, WaitFor};
