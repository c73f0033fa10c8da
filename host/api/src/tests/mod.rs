//! The interface in process: requests to the router, and the responses.

mod admin;
mod admin_refusals;
mod begun;
mod budgets;
mod console;
mod cors;
mod data;
mod errors;
mod hang_ups;
mod held;
mod limits;
mod maps;
mod mcp;
mod monitoring;
mod open_routes;
mod problems;
mod responses;
mod searches;
mod server;
mod sockets;
mod unlimited;
