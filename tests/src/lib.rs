//! Fixtures of the end-to-end tests: the server in process and as a child process, and the servers
//! it talks to (sites, name servers, vendors, search services, a language model, a collector of
//! spans), all on loopback.

pub mod app;
pub mod browser;
pub mod caller;
pub mod canary;
pub mod coding;
pub mod collector;
pub mod conformance;
pub mod http_server;
pub mod model_server;
pub mod name_server;
pub mod process;
pub mod receiver;
mod search_google;
pub mod search_server;
pub mod site;
pub mod trap;
pub mod vendor_server;
pub mod vendors;
pub mod world;

pub use app::TestApp;
pub use browser::WatchedBrowser;
pub use caller::{Answer, Caller};
pub use collector::Collector;
pub use model_server::{ModelServer, ScriptedReply};
pub use name_server::FakeNameServer;
pub use process::{ServerProcess, program, run_program};
pub use receiver::{Delivery, Receiver};
pub use search_server::SearchServer;
pub use site::FakeSite;
pub use trap::TrapSite;
pub use trawl_test_postgres::Server as PostgresServer;
pub use vendor_server::VendorServer;
pub use world::{LogTo, World};
