//! Which pages, and how they are fetched.

use std::collections::BTreeMap;

use serde::Deserialize;

use trawl_plan::router::{self, RouterOptions};
use trawl_plan::{Needs, fetching};

use super::time;
use crate::define::{object, parameters};
use crate::forms::{HeaderMap, List, Millis, Seconds, SecretText};
use crate::option::{CommandOption, OptionForm};
use crate::routes::Routes;
use crate::row::{Choice, Range, Shape, choices};
use crate::texts;

const NOTHING: Needs = Needs::NOTHING;
const PAGES: Routes = Routes::PAGES;
/// The URLs of `crawl-text` come from a text, and their hosts must not get the caller's headers and
/// cookies.
const NAMED: Routes = PAGES.without(Routes::CRAWL_TEXT);
/// A batch has `urls`.
const NAMED_BY_URL: Routes = NAMED.without(Routes::BATCH);
/// `/screenshot` and `/unblocker` always use a browser.
const CHOOSES_ENGINE: Routes = Routes::SCRAPE.and(Routes::SITES).and(Routes::BATCH);

const ENGINES: [Choice; 3] = choices(&fetching::ENGINES);
const POOLS: [Choice; 3] = choices(&fetching::POOLS);
const MODES: [Choice; 3] = choices(&router::MODES);
const PURPOSES: [Choice; 3] = choices(&fetching::PURPOSES);
const FUNDINGS: [Choice; 2] = choices(&router::FUNDINGS);

const CREDITS: Range = Range {
    least: 0,
    most: u64::MAX,
    is_refused: false,
    unit: "credits",
};

object! {
    /// One cookie. Other attributes of it are ignored.
    pub struct Cookie;

    name: Option<String> = key(Shape::Text(texts::COOKIE_NAME), NOTHING, "Name.")
        .default("required")
        .example("\"sid\"");
    value: Option<String> = key(Shape::Text(texts::COOKIE_VALUE), NOTHING, "Value.")
        .default("required")
        .example("\"1\"");
}

/// `cookies`: the line of a `Cookie` header, or a list.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum CookiesForm {
    /// `a=b; c=d`
    Line(String),
    /// One item for each cookie.
    List(List<CookieForm>),
}

/// One cookie.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum CookieForm {
    /// `a=b`
    Line(String),
    /// Name and value, both required.
    Pair(Cookie),
}

object! {
    /// `cache` with parts.
    pub struct Cache;

    max_age: Option<Millis> = key(
        time::MILLIS,
        NOTHING,
        "Maximum age of a cached page; 0 revalidates it with the site every time.",
    )
    .default("two days")
    .example("60000");
    allow_stale: Option<bool> = key_switch(
        Needs::PLAIN.and(Needs::HTTP_ANSWER),
        "Serves an older page when the site fails.",
    );
    skip_browser: Option<bool> = key_switch(
        Needs::PLAIN,
        "Serves a page cached from plain HTTP instead of rendering it.",
    );
}

/// `cache`: on or off, or with its parts.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a boolean or an object with `max_age`, `allow_stale`, `skip_browser`"
)]
pub enum CacheForm {
    /// On or off.
    Switch(bool),
    /// On, with parts.
    Parts(Cache),
}

object! {
    /// `router`: provider routing.
    pub struct Router;

    mode: Option<String> = key(
        Shape::Name(&MODES),
        NOTHING,
        "When providers are used: after Trawl's own stack failed, before it, or never. \
         `first` requires `provider` and `token`.",
    )
    .default("fallback")
    .example("\"fallback\"");
    provider: Option<String> = key(
        Shape::Text("name of a provider or of its vendor"),
        NOTHING,
        "The preferred provider, as `provider_2` or `scrapingbee`; another one may serve the \
         page. `GET /providers` lists them.",
    )
    .example("\"provider_1\"");
    token: Option<SecretText> = key(Shape::Text("key"), NOTHING, "Your key for `provider`.")
        .secret()
        .example("\"your-key\"");
    credentials: Option<BTreeMap<String, Option<SecretText>>> = key(
        Shape::Map("credential names (at most 32)", &Shape::Text("key")),
        NOTHING,
        "Your keys by credential name.",
    )
    .secret()
    .example("{\"PROVIDER2_API_KEY\": \"your-key\"}");
    funding: Option<String> = key(
        Shape::Name(&FUNDINGS),
        NOTHING,
        "Whose keys may be used: yours and the operator's, or only yours.",
    )
    .default("any")
    .example("\"own\"");
}

impl Router {
    /// What it says to the rules of routing; blank secrets count as absent.
    pub fn into_options(self) -> RouterOptions {
        let sent = self.credentials.unwrap_or_default().into_iter();
        let credentials = sent.filter_map(|(name, secret)| Some((name, secret?.0?)));
        RouterOptions {
            mode: self.mode,
            provider: self.provider,
            funding: self.funding,
            token: self.token.and_then(|token| token.0),
            credentials: credentials.collect(),
        }
    }
}

const IGNORE_ROBOTS: CommandOption = CommandOption::switch("--ignore-robots")
    .form(OptionForm::Off)
    .note("Sets it to false");

parameters! {
    /// Which pages, and how they are fetched.
    pub struct Pages;

    url: String = new(
        Shape::Text(texts::URLS),
        NAMED_BY_URL,
        NOTHING,
        "One URL, or several separated by commas: at most 10,000 pages, or 100 seeds of a crawl. \
         The default scheme is `https`. Several seeds form one crawl with one id, and its limits \
         apply to all of them together.",
    )
    .default("required")
    .mistaken(&["urls", "link", "uri", "address", "target"])
    .large()
    .example("\"http://sample.trawl.test/\"");
    request: String = new(
        Shape::Name(&ENGINES),
        CHOOSES_ENGINE,
        NOTHING,
        "The engine: plain HTTP, a browser, or `smart`, which renders only the pages that need a \
         browser.",
    )
    .default("smart")
    .mistaken(&[
        "mode",
        "engine",
        "render",
        "renderer",
        "headless",
        "render_js",
        "js_render",
        "javascript",
    ])
    .example("\"http\"")
    .option(CommandOption::new("--request", "REQUEST"))
    .schema("Engine", "An engine; upper case is accepted, too.");
    request_timeout: Seconds = new(
        time::PAGE,
        PAGES,
        NOTHING,
        "Timeout for the whole page, redirects and providers included. Values out of range are \
         set to the nearest bound; a number above 255 is in milliseconds. Without it, providers \
         have time of their own after or before the 30 s: 240 s in all, unless the operator sets \
         another.",
    )
    .default("30 s")
    .mistaken(&["timeout", "page_timeout"])
    .example("20");
    headers: HeaderMap = new(
        Shape::Map("names (at most 100)", &Shape::Scalar),
        NAMED,
        NOTHING,
        "Headers, sent only to the origin of the page.",
    )
    .secret()
    .mistaken(&["custom_headers", "http_headers"])
    .example("{\"Accept\": \"text/html\"}");
    cookies: CookiesForm = new(
        Shape::Either(&[
            Shape::Text(texts::COOKIES),
            Shape::List(&Shape::Either(&[
                Shape::Text(texts::COOKIE),
                Shape::Object(&Cookie::OBJECT),
            ])),
        ]),
        NAMED,
        NOTHING,
        "Cookies, at most 100, sent only to the origin of the page.",
    )
    .secret()
    .mistaken(&["cookie"])
    .example("\"a=b; c=d\"");
    user_agent: String = new(
        Shape::Text(texts::HEADER_VALUE),
        PAGES,
        NOTHING,
        "Value of `User-Agent`.",
    )
    .default("the server's own")
    .mistaken(&["ua"])
    .example("\"Mozilla/5.0\"");
    locale: String = new(
        Shape::Text(texts::LANGUAGE),
        PAGES,
        NOTHING,
        "Value of `Accept-Language`.",
    )
    .mistaken(&["language", "lang"])
    .example("\"de-DE\"");
    country_code: String = new(
        Shape::Text(texts::COUNTRY),
        PAGES,
        Needs::POOL,
        "Country of the proxy.",
    )
    .mistaken(&["geo", "country_iso", "country"])
    .example("\"de\"");
    proxy: String = new(
        Shape::Name(&POOLS),
        PAGES,
        Needs::POOL.and(Needs::PAID),
        "The proxy pool. One that is not configured is replaced by the nearest cheaper one.",
    )
    .default("standard; on `/unblocker` the strongest")
    .mistaken(&["proxy_type", "proxy_pool", "premium_proxy"])
    .example("\"isp\"");
    respect_robots: bool = switch(PAGES, NOTHING, "Whether robots.txt and `nofollow` are obeyed.")
        .default("true in a crawl or a map, else false")
        .mistaken(&["robots", "obey_robots", "respect_robots_txt", "ignore_robots"])
        .option(IGNORE_ROBOTS);
    purpose: String = new(
        Shape::Name(&PURPOSES),
        PAGES,
        NOTHING,
        "What the pages are used for. Where a site refuses that, a page fails and costs nothing, \
         and a crawl skips it.",
    )
    .mistaken(&["usage", "use"])
    .example("\"ai-train\"");
    cache: CacheForm = new(
        Shape::Either(&[Shape::Switch, Shape::Object(&Cache::OBJECT)]),
        PAGES,
        Needs::STORABLE,
        "Whether the page may be served from the cache and stored in it; `false` does neither.",
    )
    .default("true, two days")
    .example("{\"max_age\": 0}");
    max_credits_per_page: u64 = new(
        Shape::Count(CREDITS),
        PAGES,
        Needs::PAID,
        "Maximum cost of one page; 10,000 credits are one dollar. A page that would cost more \
         fails and costs nothing.",
    )
    .default("no ceiling")
    .example("50");
    router: Router = new(
        Shape::Object(&Router::OBJECT),
        PAGES,
        NOTHING,
        "Use of third-party providers. Unknown values of its keys are ignored.",
    )
    .default("set by the operator")
    .secret()
    .example("{\"mode\": \"fallback\"}");
}
