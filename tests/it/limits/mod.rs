//! Hostile pages, addresses and requests through the API: each is a page, or a failure that costs
//! nothing, and the server keeps working.

mod addresses;
mod bombs;
mod expressions;
mod held;
mod memory;
mod queued;
