//! Hostile pages and addresses through the joined server: each is a failure at no charge, or a page, and the server goes on.

mod addresses;
mod bombs;
