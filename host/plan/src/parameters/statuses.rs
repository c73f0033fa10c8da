//! The statuses of page entries and of HTTP responses, with what to do about each.

/// A status with its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The number.
    pub code: u16,
    /// What happened.
    pub meaning: &'static str,
    /// What to do.
    pub advice: &'static str,
    /// The causes that share the number, distinguished by `error`; empty if there is only one.
    pub causes: &'static [Cause],
}

/// One of several causes of a status.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
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
        causes: &[],
    }
}

const fn cause(meaning: &'static str, advice: &'static str) -> Cause {
    Cause { meaning, advice }
}

/// Statuses of page entries whose site sent no response. They are never the status of an HTTP
/// response.
pub const STATUSES: &[Status] = &[
    status(
        310,
        "More redirects than are followed.",
        "Send the URL at the end of the chain; a loop often needs `cookies`.",
    ),
    status(
        520,
        "Not used by Trawl.",
        "Nothing: similar services use it, so clients may expect it.",
    ),
    status(
        521,
        "The site refused the connection.",
        "Check the port; try again later.",
    ),
    status(
        522,
        "The connection was aborted, or the response was truncated, malformed or too large.",
        "Try again; ask for a smaller file.",
    ),
    status(
        523,
        "The connection was reset.",
        "Try again, or through another `proxy`.",
    ),
    status(
        524,
        "The page took longer than `request_timeout`, or its body stalled.",
        "Raise `request_timeout`; load less with `block_images`.",
    ),
    status(
        525,
        "The host name does not resolve.",
        "Check the spelling of the host.",
    ),
    Status {
        causes: &[
            cause(
                "The URL is invalid, or its scheme is not `http` or `https`.",
                "Correct it; `error` names the mistake.",
            ),
            cause(
                "The IP address is private, loopback or otherwise not public.",
                "Only the operator can allow it.",
            ),
            cause(
                "robots.txt does not allow the page.",
                "Send `\"respect_robots\": false` if you may.",
            ),
            cause(
                "The site's certificate is not trusted, or TLS failed.",
                "Check the host name and the certificate; try `http://`.",
            ),
            cause(
                "The IP address cannot be reached, or a redirect leaves the crawl's scope.",
                "Check the host; widen the scope with `subdomains` or `external_domains`.",
            ),
        ],
        ..status(
            526,
            "The site was not contacted or not trusted; `error` says which of these causes it was.",
            "",
        )
    },
    status(
        598,
        "The browser failed or is not installed, or the page exceeds a limit.",
        "Try `\"request\": \"http\"`; block resources that you do not need.",
    ),
    status(
        599,
        "Anything else: money, memory, a bot wall, a failed provider.",
        "`error` says which. Against a bot wall try `router`, another `proxy` or `/unblocker`.",
    ),
];

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
        "The text begins with the parameter's path.",
    ),
    status(
        401,
        "The key is missing or unknown.",
        "Send `Authorization: Bearer KEY`.",
    ),
    status(
        402,
        "The balance is zero, or does not cover the ceiling.",
        "Top up, or lower `max_credits_allowed`.",
    ),
    status(
        403,
        "The account has no active Unlimited plan.",
        "Buy seats, or use the routes without `/unlimited`.",
    ),
    status(
        404,
        "There is no such path or object.",
        "`GET /openapi.json` lists the paths.",
    ),
    status(
        405,
        "The path does not support this method.",
        "See the header `Allow`.",
    ),
    status(
        408,
        "The request took too long to arrive.",
        "Send it without pauses.",
    ),
    status(
        409,
        "The `Idempotency-Key` is in use or belongs to another request, or the crawl is not in the \
         state that the call needs.",
        "Use a new key; read the state of the crawl.",
    ),
    status(
        413,
        "The body, or the decoded text in it, is too large.",
        "Split the request.",
    ),
    status(
        414,
        "The path and query are too long.",
        "Send the parameters in a JSON body.",
    ),
    status(
        415,
        "The `Content-Type` is not JSON.",
        "Send `application/json`.",
    ),
    status(
        429,
        "Too many requests per minute, or a limit of the account is reached.",
        "Wait for the seconds in `Retry-After`.",
    ),
    status(
        431,
        "The headers are too large.",
        "Send at most 100 headers and 64 KiB together.",
    ),
    status(
        500,
        "An internal error; undelivered pages are not charged.",
        "Try again.",
    ),
    status(501, "The endpoint is not built or not configured.", ""),
    status(
        502,
        "The page of a `/fetch` that asks for its content alone failed.",
        "See `error`.",
    ),
    status(
        503,
        "The server is shutting down or overloaded.",
        "Wait for `Retry-After`.",
    ),
    status(
        507,
        "The account's storage or the server's disk is full.",
        "Wait until stored crawls expire.",
    ),
];
