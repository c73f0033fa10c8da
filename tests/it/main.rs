//! End-to-end tests of the server's parts, one module per subject.
#![allow(
    clippy::unwrap_used,
    reason = "a test panics when an expectation is not met"
)]

mod admin;
mod api;
mod backup;
mod batch;
mod bundle;
mod cache;
mod canaries;
mod command;
mod connection_auth;
mod connections;
mod console;
mod console_pages;
mod console_views;
mod console_ways;
mod crawl;
mod crawl_kill;
mod crawl_resume;
mod crawl_scope;
mod crawl_sitemaps;
mod dashboard;
mod documentation;
mod drain;
mod egress;
mod extraction;
mod fetch;
mod identity;
mod limits;
mod map;
mod mcp;
mod money;
mod nodes;
mod outputs;
mod packaging;
mod pipelines;
mod plugins;
mod postgres;
mod postgres_move;
mod providers;
mod quotas;
mod reload;
mod render;
mod rights;
mod robots_and_webhooks;
mod scrape;
mod search;
mod traces;
mod unlimited;
mod unread_logs;
