//! Which pages, and how they are fetched.

use trawl_plan::Needs;

use super::time;
use crate::routes::Routes;
use crate::row::{Choice, Object, Parameter, Range, Shape};

const NOTHING: Needs = Needs::NOTHING;
const PAGES: Routes = Routes::PAGES;
/// The URLs of `crawl-text` come from a text, and their hosts must not get the caller's headers and
/// cookies.
const NAMED: Routes = PAGES.without(Routes::CRAWL_TEXT);
/// `/screenshot` and `/unblocker` always use a browser.
const CHOOSES_ENGINE: Routes = Routes::SCRAPE.and(Routes::CRAWLS);

const fn name(name: &'static str, aliases: &'static [&'static str]) -> Choice {
    Choice { name, aliases }
}

const CREDITS: Range = Range {
    least: 0,
    most: u64::MAX,
    is_refused: false,
    unit: "credits",
};

const COOKIE: Object = Object {
    name: "Cookie",
    rows: &[
        Parameter::key("name", Shape::Text("name"), NOTHING, "Name.")
            .default("required")
            .example("\"sid\""),
        Parameter::key("value", Shape::Text("value"), NOTHING, "Value.")
            .default("required")
            .example("\"1\""),
    ],
};

const CACHE: Object = Object {
    name: "Cache",
    rows: &[
        Parameter::key(
            "max_age",
            time::MILLIS,
            NOTHING,
            "Maximum age of a cached page; 0 revalidates it with the site every time.",
        )
        .default("two days")
        .example("60000"),
        Parameter::key_switch(
            "allow_stale",
            Needs::PLAIN.and(Needs::HTTP_ANSWER),
            "Serves an older page when the site fails.",
        ),
        Parameter::key_switch(
            "skip_browser",
            Needs::PLAIN,
            "Serves a page cached from plain HTTP instead of rendering it.",
        ),
    ],
};

const ROUTER: Object = Object {
    name: "Router",
    rows: &[
        Parameter::key(
            "mode",
            Shape::Name(&[name("fallback", &[]), name("first", &[]), name("off", &[])]),
            NOTHING,
            "When providers are used: after Trawl's own stack failed, before it, or never. \
             `first` requires `provider` and `token`.",
        )
        .default("fallback")
        .example("\"fallback\""),
        Parameter::key(
            "provider",
            Shape::Text("name of a provider or of its vendor"),
            NOTHING,
            "The preferred provider, as `provider_2` or `scrapingbee`; another one may serve the \
             page. `GET /providers` lists them.",
        )
        .example("\"provider_1\""),
        Parameter::key(
            "token",
            Shape::Text("key"),
            NOTHING,
            "Your key for `provider`.",
        )
        .secret()
        .example("\"your-key\""),
        Parameter::key(
            "credentials",
            Shape::Map("credential names (at most 32)", &Shape::Text("key")),
            NOTHING,
            "Your keys by credential name.",
        )
        .secret()
        .example("{\"PROVIDER2_API_KEY\": \"your-key\"}"),
        Parameter::key(
            "funding",
            Shape::Name(&[name("any", &[]), name("own", &[])]),
            NOTHING,
            "Whose keys may be used: yours and the operator's, or only yours.",
        )
        .default("any")
        .example("\"own\""),
    ],
};

pub(super) const ROWS: &[Parameter] = &[
    Parameter::new(
        "url",
        Shape::Text("one URL, or several separated by commas"),
        NAMED,
        NOTHING,
        "One URL, or several separated by commas: at most 10,000 pages, or 100 seeds of a crawl. \
         The default scheme is `https`. Several seeds form one crawl with one id, and its limits \
         apply to all of them together.",
    )
    .default("required")
    .mistaken(&["urls", "link", "uri", "address", "target"])
    .large()
    .example("\"http://sample.trawl.test/\""),
    Parameter::new(
        "request",
        Shape::Name(&[
            name("smart", &["smart_mode", "smartmode"]),
            name("http", &[]),
            name("browser", &["chrome", "headless"]),
        ]),
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
    .example("\"http\""),
    Parameter::new(
        "request_timeout",
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
    .example("20"),
    Parameter::new(
        "headers",
        Shape::Map("names (at most 100)", &Shape::Scalar),
        NAMED,
        NOTHING,
        "Headers, sent only to the origin of the page.",
    )
    .secret()
    .mistaken(&["custom_headers", "http_headers"])
    .example("{\"Accept\": \"text/html\"}"),
    Parameter::new(
        "cookies",
        Shape::Either(&[
            Shape::Text("`a=b; c=d`"),
            Shape::List(&Shape::Either(&[
                Shape::Text("`a=b`"),
                Shape::Object(&COOKIE),
            ])),
        ]),
        NAMED,
        NOTHING,
        "Cookies, at most 100, sent only to the origin of the page.",
    )
    .secret()
    .mistaken(&["cookie"])
    .example("\"a=b; c=d\""),
    Parameter::new(
        "user_agent",
        Shape::Text("header value"),
        PAGES,
        NOTHING,
        "Value of `User-Agent`.",
    )
    .default("the server's own")
    .mistaken(&["ua"])
    .example("\"Mozilla/5.0\""),
    Parameter::new(
        "locale",
        Shape::Text("language tag"),
        PAGES,
        NOTHING,
        "Value of `Accept-Language`.",
    )
    .mistaken(&["language", "lang"])
    .example("\"de-DE\""),
    Parameter::new(
        "country_code",
        Shape::Text("two letters"),
        PAGES,
        Needs::POOL,
        "Country of the proxy.",
    )
    .mistaken(&["geo", "country_iso", "country"])
    .example("\"de\""),
    Parameter::new(
        "proxy",
        Shape::Name(&[
            name("standard", &["datacenter"]),
            name("isp", &[]),
            name("residential", &["mobile"]),
        ]),
        PAGES,
        Needs::POOL.and(Needs::PAID),
        "The proxy pool. One that is not configured is replaced by the nearest cheaper one.",
    )
    .default("standard; on `/unblocker` the strongest")
    .mistaken(&["proxy_type", "proxy_pool", "premium_proxy"])
    .example("\"isp\""),
    Parameter::switch(
        "respect_robots",
        PAGES,
        NOTHING,
        "Whether robots.txt and `nofollow` are obeyed.",
    )
    .default("true in a crawl, else false")
    .mistaken(&[
        "robots",
        "obey_robots",
        "respect_robots_txt",
        "ignore_robots",
    ]),
    Parameter::new(
        "cache",
        Shape::Either(&[Shape::Switch, Shape::Object(&CACHE)]),
        PAGES,
        Needs::STORABLE,
        "Whether the page may be served from the cache and stored in it; `false` does neither.",
    )
    .default("true, two days")
    .example("{\"max_age\": 0}"),
    Parameter::new(
        "max_credits_per_page",
        Shape::Count(CREDITS),
        PAGES,
        Needs::PAID,
        "Maximum cost of one page; 10,000 credits are one dollar. A page that would cost more \
         fails and costs nothing.",
    )
    .default("no ceiling")
    .example("50"),
    Parameter::new(
        "router",
        Shape::Object(&ROUTER),
        PAGES,
        NOTHING,
        "Use of third-party providers. Unknown values of its keys are ignored.",
    )
    .default("set by the operator")
    .secret()
    .example("{\"mode\": \"fallback\"}"),
];
