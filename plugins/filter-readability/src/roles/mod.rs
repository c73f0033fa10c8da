//! Roles: what stands around the text of a page, and is part of its main content for one reader and
//! not for another.
//!
//! `outline` measures the elements of a page once. `find` gives roles to them, by what they
//! are, by `names` of their classes, and by what the metadata says: the headline, the author and
//! the date of the page are those that the metadata has. `apply` adds and removes them.

mod apply;
mod find;
mod names;
mod outline;
mod phrases;
mod role;
#[cfg(test)]
mod tests;

pub(crate) use apply::apply;
pub(crate) use find::find;
pub(crate) use outline::Outline;
pub use role::{Options, Role};
pub(crate) use role::{SCHEMA, Wanted};
