//! Pools of upstream proxies, by name, and the choice of a proxy.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Client;

use trawl_model::Nanodollars;

use super::route::{PoolUse, Route};
use super::tunnels::TunnelClient;
use super::upstream::UpstreamProxy;

/// A pool of upstream proxies as configured.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// The proxies, used round-robin.
    pub proxies: Vec<UpstreamProxy>,
    /// Price of a gigabyte (10^9 bytes) through this pool, on top of the ordinary price.
    pub price_per_gigabyte: Nanodollars,
}

/// The configured pools.
pub(super) struct Pools(BTreeMap<String, Pool>);

struct Pool {
    proxies: Vec<Proxy>,
    price_per_gigabyte: Nanodollars,
    next: AtomicUsize,
}

/// A proxy and its client, which is built on first use.
pub(super) struct Proxy {
    pub(super) upstream: UpstreamProxy,
    pub(super) client: OnceLock<Client>,
    /// The client for requests that authenticate their connection.
    pub(super) alone: OnceLock<Client>,
    /// The client if the proxy receives IP addresses.
    pub(super) tunnels: OnceLock<TunnelClient>,
}

/// Pools to fall back to, nearest first and never a more expensive kind. `standard` without proxies
/// is a direct connection.
fn fallbacks(pool: &str) -> &'static [&'static str] {
    match pool {
        "residential" => &["isp", "standard"],
        "standard" => &[],
        _ => &["standard"],
    }
}

impl Pools {
    pub(super) fn new(configured: BTreeMap<String, PoolConfig>) -> Self {
        let pools = configured
            .into_iter()
            .filter(|(_, pool)| !pool.proxies.is_empty())
            .map(|(name, mut pool)| {
                // The ordinary price includes the ordinary pool. Decision D176.
                if name == "standard" {
                    pool.price_per_gigabyte = Nanodollars::ZERO;
                }
                (name, pool)
            });
        Self(pools.map(|(name, pool)| (name, Pool::new(pool))).collect())
    }

    /// The route for a page that requests this pool and country. An unconfigured pool or country is
    /// never an error: the nearest pool serves and the route says so. Decision D30.
    pub(super) fn route(&self, wanted: &str, country: Option<&str>) -> Route {
        let chosen = self.nearest(wanted);
        let name = chosen.map(|(name, _)| name);
        let mut route = Route::default();
        if name != Some(wanted) && wanted != "standard" {
            let used = name.unwrap_or("a direct connection");
            route.ignored.push(format!(
                "proxy ({wanted} is not configured; {used} was used)"
            ));
        }
        if let Some((name, pool)) = chosen {
            let index = pool.next(country);
            let proxy_country = pool.proxies[index].upstream.country.clone();
            route.proxy = Some(index);
            route.pool = Some(PoolUse {
                name: name.to_owned(),
                price_per_gigabyte: pool.price_per_gigabyte,
                country: proxy_country,
            });
        }
        let from = route.pool.as_ref().and_then(|pool| pool.country.as_deref());
        if country.is_some() && from != country {
            route.ignored.push("country_code".to_owned());
        }
        route
    }

    /// Price of a gigabyte for a page that requests this pool.
    pub(super) fn price(&self, wanted: &str) -> Nanodollars {
        self.nearest(wanted)
            .map_or(Nanodollars::ZERO, |(_, pool)| pool.price_per_gigabyte)
    }

    /// Whether the pool that serves a request for this one has a proxy in a country.
    pub(super) fn has_country(&self, wanted: &str, country: &str) -> bool {
        self.nearest(wanted).is_some_and(|(_, pool)| {
            let mut proxies = pool.proxies.iter();
            proxies.any(|proxy| proxy.upstream.country.as_deref() == Some(country))
        })
    }

    /// The pool that serves a request for this one; `None` is a direct connection.
    fn nearest<'a>(&'a self, wanted: &'a str) -> Option<(&'a str, &'a Pool)> {
        std::iter::once(&wanted)
            .chain(fallbacks(wanted))
            .find_map(|name| Some((*name, self.0.get(*name)?)))
    }

    /// The proxy of a route, if it has one.
    pub(super) fn proxy(&self, route: &Route) -> Option<&Proxy> {
        let pool = self.0.get(&route.pool.as_ref()?.name)?;
        pool.proxies.get(route.proxy?)
    }
}

impl Pool {
    fn new(config: PoolConfig) -> Self {
        let proxies = config.proxies.into_iter().map(|upstream| Proxy {
            upstream,
            client: OnceLock::new(),
            alone: OnceLock::new(),
            tunnels: OnceLock::new(),
        });
        Self {
            proxies: proxies.collect(),
            price_per_gigabyte: config.price_per_gigabyte,
            next: AtomicUsize::new(0),
        }
    }

    /// Index of the next proxy, round-robin, among those of this country if there are any.
    fn next(&self, country: Option<&str>) -> usize {
        let of_country: Vec<usize> = (0..self.proxies.len())
            .filter(|index| {
                country.is_some() && self.proxies[*index].upstream.country.as_deref() == country
            })
            .collect();
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        match of_country.as_slice() {
            [] => turn % self.proxies.len(),
            indices => indices[turn % indices.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::upstream::Resolve;
    use super::*;

    /// A proxy's URL and its country.
    type Listed = (&'static str, Option<&'static str>);

    fn pools(configured: &[(&str, &[Listed])]) -> Pools {
        let configured = configured.iter().map(|(name, proxies)| {
            let proxies = proxies.iter().map(|(url, country)| UpstreamProxy {
                url: url.parse().expect("a URL"),
                country: country.map(str::to_owned),
                resolve: Resolve::default(),
            });
            let config = PoolConfig {
                proxies: proxies.collect(),
                price_per_gigabyte: Nanodollars(7),
            };
            ((*name).to_owned(), config)
        });
        Pools::new(configured.collect())
    }

    fn used(pools: &Pools, wanted: &str, country: Option<&str>) -> (String, Vec<String>) {
        let route = pools.route(wanted, country);
        let host = pools
            .proxy(&route)
            .and_then(|proxy| proxy.upstream.url.host_str());
        (host.unwrap_or("direct").to_owned(), route.ignored)
    }

    #[test]
    fn without_pools_every_connection_is_direct() {
        let pools = pools(&[("isp", &[])]);
        assert_eq!(
            used(&pools, "standard", None),
            ("direct".to_owned(), vec![])
        );
        let (host, ignored) = used(&pools, "residential", Some("DE"));
        assert_eq!(host, "direct");
        assert_eq!(
            ignored,
            [
                "proxy (residential is not configured; a direct connection was used)",
                "country_code"
            ]
        );
    }

    #[test]
    fn a_missing_pool_falls_back_to_the_nearest_cheaper_one() {
        let pools = pools(&[("isp", &[("http://i.example", None)])]);
        assert_eq!(used(&pools, "isp", None), ("i.example".to_owned(), vec![]));
        let (host, ignored) = used(&pools, "residential", None);
        assert_eq!(host, "i.example");
        assert_eq!(
            ignored,
            ["proxy (residential is not configured; isp was used)"]
        );
        assert_eq!(used(&pools, "standard", None).0, "direct");
        assert_eq!(used(&pools, "unlimited", None).0, "direct");
    }

    #[test]
    fn proxies_are_used_round_robin_and_countries_are_honoured() {
        let pools = pools(&[(
            "standard",
            &[
                ("http://a.example", Some("DE")),
                ("http://b.example", Some("FR")),
                ("http://c.example", Some("DE")),
            ],
        )]);
        let all: Vec<_> = (0..4).map(|_| used(&pools, "standard", None).0).collect();
        assert_eq!(all, ["a.example", "b.example", "c.example", "a.example"]);
        for _ in 0..4 {
            let (host, ignored) = used(&pools, "standard", Some("DE"));
            assert!(host != "b.example" && ignored.is_empty());
        }
        let (_, ignored) = used(&pools, "standard", Some("US"));
        assert_eq!(ignored, ["country_code"]);
        let has = |country: &str| pools.has_country("isp", country);
        assert_eq!([has("DE"), has("US")], [true, false], "it falls back");
        let route = pools.route("standard", Some("FR"));
        assert_eq!(
            route.pool.map(|pool| pool.price_per_gigabyte),
            Some(Nanodollars::ZERO),
            "the ordinary pool adds nothing to the price"
        );
        assert_eq!(pools.price("isp"), Nanodollars::ZERO, "it falls back");
        let isp = super::tests::pools(&[("isp", &[("http://i.example", None)])]);
        assert_eq!(isp.price("isp"), Nanodollars(7));
    }
}
