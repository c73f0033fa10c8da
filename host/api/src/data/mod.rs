//! `GET /data/…`: the stored records of an account, in pages. Decision D68.

pub(crate) mod contacts;
mod rows;
pub(crate) mod tables;
