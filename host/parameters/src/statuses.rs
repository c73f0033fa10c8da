//! The causes of failed pages with their statuses, and the statuses of HTTP responses, with what to
//! do about each.

use trawl_model::failure::Cause;

/// A status with its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The number.
    pub code: u16,
    /// What happened.
    pub meaning: &'static str,
    /// What to do.
    pub advice: &'static str,
}

/// A cause of failed pages with its meaning. Its status is [`Cause::status`].
#[derive(Clone, Copy, Debug)]
pub struct CauseRow {
    /// The cause.
    pub cause: Cause,
    /// What happened.
    pub meaning: &'static str,
    /// What to do.
    pub advice: &'static str,
}

const fn status(code: u16, meaning: &'static str, advice: &'static str) -> Status {
    Status {
        code,
        meaning,
        advice,
    }
}

const fn row(cause: Cause, meaning: &'static str, advice: &'static str) -> CauseRow {
    CauseRow {
        cause,
        meaning,
        advice,
    }
}

/// Causes of pages whose site sent no response, or whose response could not be used, in the order
/// of their statuses.
pub const CAUSES: &[CauseRow] = &[
    row(
        Cause::TooManyRedirects,
        "More redirects than are followed.",
        "Send the URL at the end of the chain; a loop often needs `cookies`.",
    ),
    row(
        Cause::ConnectionRefused,
        "The site refused the connection.",
        "Check the port; try again later.",
    ),
    row(
        Cause::ConnectionClosed,
        "The connection ended before the response was complete, or the response is malformed.",
        "Try again.",
    ),
    row(
        Cause::Incomplete,
        "The body is shorter than announced, or its end is missing.",
        "Try again.",
    ),
    row(
        Cause::BadEncoding,
        "The body does not decode: it is not what its content coding says.",
        "Tell the site's owner; try `\"request\": \"browser\"`.",
    ),
    row(
        Cause::TooLarge,
        "The body is larger than what is fetched of one page.",
        "Ask for a smaller file; nothing raises the limit.",
    ),
    row(
        Cause::BadRedirect,
        "A redirect leads to something that is not a URL.",
        "Send the URL that the page should lead to.",
    ),
    row(
        Cause::ConnectionReset,
        "The connection was reset.",
        "Try again, or through another `proxy`.",
    ),
    row(
        Cause::Timeout,
        "The page took longer than `request_timeout`.",
        "Raise `request_timeout`; load less with `block_images`.",
    ),
    row(
        Cause::ConnectionTimeout,
        "Connecting to the site took too long.",
        "Try again later; check the host and the port.",
    ),
    row(
        Cause::Stalled,
        "The body stopped arriving.",
        "Try again later.",
    ),
    row(
        Cause::RateLimited,
        "The site asked for a pause that is longer than the page may wait.",
        "Try again later; crawl more slowly with `delay`.",
    ),
    row(
        Cause::Dns,
        "The host name does not resolve.",
        "Check the spelling of the host.",
    ),
    row(
        Cause::DnsTimeout,
        "The name servers did not answer in time.",
        "Try again later.",
    ),
    row(
        Cause::BadUrl,
        "The URL is invalid, or its scheme is not `http` or `https`.",
        "Correct it; `error` names the mistake.",
    ),
    row(
        Cause::PrivateAddress,
        "The IP address is private, loopback or otherwise not public.",
        "Send a public URL; only the operator can allow others (`allow_private`).",
    ),
    row(
        Cause::Robots,
        "robots.txt does not allow the page.",
        "Send `\"respect_robots\": false` if you may.",
    ),
    row(
        Cause::RobotsUnavailable,
        "The site answered 429 or 5xx when its robots.txt was requested, so nothing is allowed.",
        "Try again later; send `\"respect_robots\": false` if you may.",
    ),
    row(
        Cause::Rights,
        "The site refuses the use that `purpose` names; `error` says where.",
        "Leave the page out, or get a licence: `metadata.rights` of a request without `purpose` lists `licenses`.",
    ),
    row(
        Cause::Tls,
        "The site's certificate is not trusted, or TLS failed.",
        "Check the host name and the certificate; try `http://`.",
    ),
    row(
        Cause::Unreachable,
        "The IP address cannot be reached.",
        "Check the host; try again later.",
    ),
    row(
        Cause::Proxy,
        "The upstream proxy did not connect to the site.",
        "Try again, or through another `proxy`.",
    ),
    row(
        Cause::RedirectRefused,
        "A redirect leads to a page that robots.txt or the crawl's scope excludes.",
        "Widen the scope with `subdomains` or `external_domains`; `error` names the URL.",
    ),
    row(
        Cause::NoBrowser,
        "The page needs a browser, and none is installed or was used.",
        "Ask for `\"request\": \"http\"`, or for `browser` if there is one (`GET /health`).",
    ),
    row(
        Cause::BrowserBusy,
        "No browser tab became free in time.",
        "Try again later.",
    ),
    row(
        Cause::BrowserFailed,
        "The browser did not start, crashed or failed.",
        "Try again; try `\"request\": \"http\"`.",
    ),
    row(
        Cause::PageLimit,
        "The page has or loads more than one page may in a browser.",
        "Try `\"request\": \"http\"`; block resources that you do not need.",
    ),
    row(
        Cause::Download,
        "The URL is a download, which a browser does not show.",
        "Ask for `\"request\": \"http\"`.",
    ),
    row(
        Cause::Screenshot,
        "The screenshot was not captured in time.",
        "Try again; ask for a smaller one, without `full_page`.",
    ),
    row(
        Cause::Funds,
        "The balance, the budget of the key or a ceiling does not cover the page.",
        "Top up, or raise what `error` names: `max_credits_per_page`, `max_credits_allowed`, the \
         budget of the key.",
    ),
    row(
        Cause::Memory,
        "The server had no memory for the page in time.",
        "Try again later; ask for fewer pages at once.",
    ),
    row(
        Cause::Provider,
        "The one provider that the request allows did not serve the page.",
        "`metadata.provider_attempts` says why; correct the key, or allow other providers.",
    ),
    row(
        Cause::DocumentLimit,
        "The document is too large or too complex to be parsed.",
        "Ask for `bytes` or `raw` alone.",
    ),
    row(
        Cause::UnsupportedMedia,
        "The requested format cannot render the page's media type.",
        "Ask for `bytes`.",
    ),
    row(
        Cause::PluginMissing,
        "A plugin that the request needs is not loaded.",
        "Leave it out, or ask the operator to load it; `GET /plugins` lists those that are loaded.",
    ),
    row(
        Cause::PluginFailed,
        "A plugin failed on the page.",
        "Ask for another format; tell the operator.",
    ),
    row(
        Cause::BadHeader,
        "A header of the request cannot be sent.",
        "Remove line breaks and control characters from it.",
    ),
    row(
        Cause::NoSitemap,
        "A crawl with `sitemap_only` found no page in the sitemaps.",
        "Check `sitemap_path`, or crawl without `sitemap_only`.",
    ),
    row(
        Cause::NoPages,
        "The crawl of a pipeline ended without any page.",
        "Change what `error` names, or try again.",
    ),
    row(
        Cause::Internal,
        "The server failed.",
        "Try again; tell the operator.",
    ),
    row(
        Cause::HttpStatus,
        "The site answered with a status of 400 or more, which may be a block.",
        "Correct the URL for a 404 or 410, send `cookies` or `headers` for a 401, try again later for \
         a 5xx; against a block as below.",
    ),
    row(
        Cause::Blocked,
        "The site answered with a bot wall's challenge and a good status, or blocked every route.",
        "Try `router`, another `proxy` or `/unblocker`.",
    ),
];

/// Whether a page that failed with this cause always has a response, and so the site's status.
pub(super) const fn has_site_status(cause: Cause) -> bool {
    matches!(cause, Cause::HttpStatus | Cause::Blocked)
}

/// Statuses of HTTP responses. Errors are JSON objects with an `error`.
pub(super) const ANSWERS: &[Status] = &[
    status(
        200,
        "The request was accepted; pages that failed are entries with `error`.",
        "",
    ),
    status(
        400,
        "The body or a parameter is wrong.",
        "Correct the parameter; `error` begins with its path.",
    ),
    status(
        401,
        "The key is missing, unknown, or not of the kind that the endpoint needs.",
        "Send `Authorization: Bearer KEY`; `hint` says what is wrong.",
    ),
    status(
        402,
        "There is no money for the request: the balance is zero or does not cover what is asked for, \
         a ceiling of the request does not, or the budget of the key is used up. Of `/ai/…`: this \
         server has no AI endpoints.",
        "`error` says what is missing and what the request needs, `hint` what to do: top up, raise \
         `max_credits_per_page`, `max_credits_allowed` or the budget of the key. The refused request \
         costs nothing.",
    ),
    status(
        403,
        "The account has no active Unlimited plan; or the key has a monthly budget, so it changes \
         nothing of the account.",
        "Ask the operator for seats, or use the routes without `/unlimited`; use a key without a \
         budget.",
    ),
    status(
        404,
        "There is no such path or object.",
        "`GET /openapi.json` lists the paths, `GET /crawl` the crawls, `GET /account/keys` the keys.",
    ),
    status(
        405,
        "The path does not support this method.",
        "Use a method that the error names.",
    ),
    status(
        408,
        "The request took too long to arrive.",
        "Send it without pauses.",
    ),
    status(
        409,
        "The `Idempotency-Key` is in use or belongs to another request, or the state of what the \
         request names does not allow it: a crawl that is not parked, a name that is taken, as many \
         keys as there may be.",
        "Wait for the first request, or send a new `Idempotency-Key`; otherwise do what `error` says.",
    ),
    status(
        413,
        "The body, or the decoded text in it, is too large.",
        "Split the request; `error` names the limit.",
    ),
    status(
        414,
        "The path and query are too long.",
        "Send the parameters in a JSON body.",
    ),
    status(
        415,
        "The `Content-Type` is not JSON.",
        "Send `Content-Type: application/json`.",
    ),
    status(
        429,
        "Too many requests per minute, or a limit of the account is reached.",
        "Try again after the seconds in `Retry-After`; `GET /account` shows the limits, which the \
         operator can raise.",
    ),
    status(
        431,
        "The headers are too large.",
        "Send at most 100 headers and 64 KiB together.",
    ),
    status(
        500,
        "An internal error; undelivered pages are not charged.",
        "Try again; if it repeats, tell the operator the `X-Request-Id`.",
    ),
    status(
        501,
        "This server does not offer the endpoint.",
        "`error` names what is missing; `GET /openapi.json` lists the others.",
    ),
    status(
        502,
        "The page of a `/fetch` that asks for its content alone failed, or every search service that \
         `/search` asked.",
        "Do what the table of causes says of the `cause`; `error` has the details.",
    ),
    status(
        503,
        "The server is shutting down or overloaded.",
        "Try again after the seconds in `Retry-After`.",
    ),
    status(
        507,
        "The account's storage or the server's disk is full.",
        "Wait until stored crawls (7 days) and answers (24 hours) expire, or ask the operator for \
         more.",
    ),
];
