//! Three servers on one PostgreSQL database with a standby and an object store, all on loopback and
//! all real, and what may happen to them: `cargo xtask cluster`, `cargo xtask chaos` and
//! `cargo xtask bench cluster`.

pub mod check;
pub mod cluster;
pub mod draw;
pub mod faults;
pub mod http;
pub mod node;
pub mod postgres;
pub mod proxy;
pub mod s3;
pub mod site;
