//! What the tests of the whole are made of: a site and a name server on loopback, as odd as the real ones.

#[path = "../support/coding.rs"]
pub mod coding;
#[path = "../support/name_server.rs"]
pub mod name_server;
#[path = "../support/site.rs"]
pub mod site;

pub use name_server::FakeNameServer;
pub use site::FakeSite;
