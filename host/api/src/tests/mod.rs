//! The interface in process: a request in, an answer out.

mod admin;
mod admin_refusals;
mod answers;
mod data;
mod errors;
mod sockets;
mod unlimited;
mod world;
