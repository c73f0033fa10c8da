//! The HTTP interface: the only user of axum and of the wire types.

mod wire;
