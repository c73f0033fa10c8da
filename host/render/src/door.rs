//! What the room needs of the way out: one channel for each page, which only that page's context can use.

use std::io;
use std::net::SocketAddr;

use futures_util::future::BoxFuture;

/// Opens channels to the network.
pub trait Door: Send + Sync {
    /// A proxy of its own for one page. It ends when the channel is dropped.
    fn open<'a>(&'a self, opening: Opening<'a>) -> BoxFuture<'a, io::Result<Box<dyn Channel>>>;
}

/// What a channel is opened for.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The pool of upstream proxies asked for.
    pub pool: &'a str,
    /// ISO 3166 code of the country asked for.
    pub country: Option<&'a str>,
}

/// An HTTP proxy on loopback for one page.
pub trait Channel: Send + Sync {
    /// Where it listens.
    fn address(&self) -> SocketAddr;
    /// The user name and password it wants.
    fn credentials(&self) -> (String, String);
    /// What it did not let through, oldest first.
    fn refused(&self) -> Vec<Refused>;
}

/// A destination that was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Host and port.
    pub destination: String,
    /// Status of the page if the destination was its own.
    pub status: u16,
    /// Why.
    pub reason: String,
}
