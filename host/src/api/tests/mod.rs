//! The interface in process: a request in, an answer out.

mod answers;
mod errors;
mod sockets;
mod unlimited;
mod world;
