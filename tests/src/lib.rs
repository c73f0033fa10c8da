//! What the tests of the whole are made of: a site and a name server on loopback, as odd as the real ones.

#[path = "../support/app.rs"]
pub mod app;
#[path = "../support/browser.rs"]
pub mod browser;
#[path = "../support/caller.rs"]
pub mod caller;
#[path = "../support/coding.rs"]
pub mod coding;
#[path = "../support/conformance.rs"]
pub mod conformance;
#[path = "../support/model_server.rs"]
pub mod model_server;
#[path = "../support/name_server.rs"]
pub mod name_server;
#[path = "../support/process.rs"]
pub mod process;
#[path = "../support/site.rs"]
pub mod site;
#[path = "../support/trap.rs"]
pub mod trap;
#[path = "../support/vendor_server.rs"]
pub mod vendor_server;
#[path = "../support/vendors/mod.rs"]
pub mod vendors;
#[path = "../support/world.rs"]
pub mod world;

pub use app::TestApp;
pub use browser::WatchedBrowser;
pub use caller::{Answer, Caller};
pub use model_server::{ModelServer, Saying};
pub use name_server::FakeNameServer;
pub use process::{ServerProcess, run_program};
pub use site::FakeSite;
pub use trap::TrapSite;
pub use vendor_server::VendorServer;
pub use world::World;
