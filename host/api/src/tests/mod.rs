//! The interface in process: requests to the router, and the responses.

mod admin;
mod admin_refusals;
mod data;
mod errors;
mod hang_ups;
mod limits;
mod responses;
mod server;
mod sockets;
mod unlimited;
