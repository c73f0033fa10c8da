//! The browser's way out: a proxy channel of the egress room for each page.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use trawl_net::egress::{Egress, ProxyChannel, ProxyLimits};
use trawl_render::{Channel, Door, Opening, Refused};

/// Lets pages out through the egress room alone.
pub(super) struct EgressDoor(pub(super) Arc<Egress>);

struct Open(ProxyChannel);

impl Door for EgressDoor {
    fn open<'a>(&'a self, opening: Opening<'a>) -> BoxFuture<'a, io::Result<Box<dyn Channel>>> {
        async move {
            let route = self.0.route(opening.pool, opening.country);
            let channel = self.0.open_proxy(route, ProxyLimits::default()).await?;
            Ok(Box::new(Open(channel)) as Box<dyn Channel>)
        }
        .boxed()
    }
}

impl Channel for Open {
    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    fn credentials(&self) -> (String, String) {
        let (user, password) = self.0.credentials();
        (user.to_owned(), password.to_owned())
    }

    fn refused(&self) -> Vec<Refused> {
        let refusals = self.0.refused().into_iter();
        let refused = refusals.map(|refusal| Refused {
            destination: refusal.destination,
            status: refusal.status,
            reason: refusal.reason,
        });
        refused.collect()
    }
}
