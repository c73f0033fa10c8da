//! The list of cases.

use trawl_sdk::provider::{Abilities, Class};

use super::{Bill, Body, Case, Except, Expected};
use crate::vendors::{
    BAD_KEY, BUSY_KEY, GOOD_KEY, PAGE, PAGE_RENDERED, POOR_KEY, RETRY_AFTER, TURNED_AWAY,
};

const PLAIN: &[bool] = &[false];
const RENDERED: &[bool] = &[true];
const BOTH: &[bool] = &[false, true];

const fn page(status: u16, text: &'static str, bill: Bill) -> Expected {
    with_body(status, Body::Text(text), bill)
}

const fn with_body(status: u16, body: Body, bill: Bill) -> Expected {
    let moved_to = None;
    Expected::Page {
        status,
        body,
        moved_to,
        bill,
    }
}

const fn failure(class: Class, bill: Bill) -> Expected {
    let retry_after = None;
    Expected::Failure {
        class,
        bill,
        retry_after,
    }
}

const fn case(
    name: &'static str,
    url: &'static str,
    javascript: &'static [bool],
    expected: Expected,
    except: &'static [Except],
) -> Case {
    let (key, needs) = (GOOD_KEY, Abilities::SERVES);
    Case {
        name,
        key,
        url,
        javascript,
        needs,
        expected,
        except,
    }
}

const fn but(
    providers: &'static [&'static str],
    javascript: &'static [bool],
    expected: Expected,
    why: &'static str,
) -> Except {
    Except {
        providers,
        javascript,
        expected,
        why,
    }
}

const TIME: &str = "it charges for time and computing, whatever comes of it";
const ONE_STATUS: &str = "it has one status for targets that block and that cannot be reached";

/// All cases.
pub const CASES: &[Case] = &[
    case(
        "page",
        "http://site.example/page",
        PLAIN,
        page(200, PAGE, Bill::Usual),
        &[],
    ),
    case(
        "page with scripts",
        "http://site.example/page",
        RENDERED,
        page(200, PAGE_RENDERED, Bill::Usual),
        &[],
    ),
    Case {
        key: BAD_KEY,
        ..case(
            "wrong key",
            "http://site.example/page",
            BOTH,
            failure(Class::BadKey, Bill::Free),
            &[],
        )
    },
    Case {
        key: POOR_KEY,
        ..case(
            "no credit",
            "http://site.example/page",
            BOTH,
            failure(Class::NoCredit, Bill::Free),
            &[],
        )
    },
    Case {
        key: BUSY_KEY,
        ..case(
            "too often",
            "http://site.example/page",
            BOTH,
            Expected::Failure {
                class: Class::RateLimited,
                bill: Bill::Free,
                retry_after: Some(RETRY_AFTER),
            },
            &[but(
                &["provider_3", "provider_5", "provider_6", "provider_10"],
                BOTH,
                failure(Class::RateLimited, Bill::Free),
                "it has no Retry-After",
            )],
        )
    },
    case(
        "missing page",
        "http://site.example/missing",
        BOTH,
        page(404, "<h1>Not here</h1>", Bill::Usual),
        &[],
    ),
    case(
        "target's 503",
        "http://site.example/busy",
        BOTH,
        page(503, "<h1>Busy</h1>", Bill::Usual),
        &[
            but(
                &[
                    "provider_2",
                    "provider_4",
                    "provider_5",
                    "provider_6",
                    "provider_10",
                ],
                BOTH,
                page(503, "<h1>Busy</h1>", Bill::Free),
                "it does not charge for a target that failed",
            ),
            but(
                &["provider_3"],
                BOTH,
                failure(Class::TargetFailed, Bill::Free),
                "it delivers 200 and 404 only",
            ),
            but(
                &["provider_8"],
                BOTH,
                failure(Class::TargetFailed, Bill::Usual),
                "its actors throw on 5xx",
            ),
        ],
    ),
    case(
        "target's 403",
        "http://site.example/forbidden",
        BOTH,
        page(403, "<h1>Forbidden</h1>", Bill::Usual),
        &[
            but(
                &["provider_5", "provider_6"],
                BOTH,
                page(403, "<h1>Forbidden</h1>", Bill::Free),
                "it does not charge for a 403",
            ),
            but(
                &["provider_3"],
                BOTH,
                failure(Class::TargetBlocked, Bill::Free),
                "it delivers 200 and 404 only",
            ),
            but(
                &["provider_7"],
                BOTH,
                failure(Class::TargetBlocked, Bill::Free),
                "it keeps the page of a 403",
            ),
            but(
                &["provider_8"],
                BOTH,
                failure(Class::TargetBlocked, Bill::Usual),
                "its actors throw on 403",
            ),
        ],
    ),
    case(
        "redirect",
        "http://site.example/moved",
        BOTH,
        Expected::Page {
            status: 200,
            body: Body::Text(PAGE),
            moved_to: Some("http://site.example/page"),
            bill: Bill::Usual,
        },
        &[],
    ),
    case(
        "blocked",
        "http://site.example/blocked",
        BOTH,
        failure(Class::TargetBlocked, Bill::Free),
        &[
            but(
                &["provider_2"],
                BOTH,
                page(403, TURNED_AWAY, Bill::Usual),
                "it delivers what the target shows",
            ),
            but(
                &["provider_9"],
                RENDERED,
                page(403, TURNED_AWAY, Bill::Usual),
                "it delivers what the target shows",
            ),
            but(
                &["provider_8", "provider_9"],
                BOTH,
                failure(Class::TargetBlocked, Bill::Usual),
                TIME,
            ),
        ],
    ),
    case(
        "unreachable",
        "http://a.nowhere.example/",
        BOTH,
        failure(Class::TargetUnreachable, Bill::Free),
        &[
            but(
                &["provider_5", "provider_10", "provider_11"],
                BOTH,
                failure(Class::TargetBlocked, Bill::Free),
                ONE_STATUS,
            ),
            but(
                &["provider_8", "provider_9"],
                BOTH,
                failure(Class::TargetUnreachable, Bill::Usual),
                TIME,
            ),
        ],
    ),
    case(
        "slow",
        "http://site.example/slow",
        BOTH,
        failure(Class::ProviderTimeout, Bill::Free),
        &[
            but(
                &["provider_2"],
                BOTH,
                failure(Class::ProviderError, Bill::Free),
                "a 5xx of its own is all it says",
            ),
            but(
                &["provider_3"],
                BOTH,
                failure(Class::TargetUnreachable, Bill::Free),
                "it takes a slow target for a dead one",
            ),
            but(
                &["provider_5"],
                BOTH,
                failure(Class::TargetBlocked, Bill::Free),
                ONE_STATUS,
            ),
            but(
                &["provider_8", "provider_9"],
                BOTH,
                failure(Class::ProviderTimeout, Bill::Usual),
                TIME,
            ),
        ],
    ),
    case(
        "vendor down",
        "http://site.example/breaks",
        BOTH,
        failure(Class::ProviderError, Bill::Free),
        &[
            but(
                &["provider_8"],
                BOTH,
                failure(Class::ProviderError, Bill::Usual),
                TIME,
            ),
            but(
                &["provider_9"],
                PLAIN,
                failure(Class::ProviderError, Bill::Usual),
                TIME,
            ),
        ],
    ),
    case(
        "garbage",
        "http://site.example/garbage",
        BOTH,
        failure(Class::Drift, Bill::Free),
        &[but(
            &["provider_8", "provider_9"],
            BOTH,
            failure(Class::Drift, Bill::Usual),
            TIME,
        )],
    ),
    case(
        "refused",
        "http://site.example/refused",
        BOTH,
        failure(Class::BadRequest, Bill::Free),
        &[],
    ),
    Case {
        needs: Abilities::BINARY,
        ..case(
            "picture",
            "http://site.example/image",
            BOTH,
            with_body(200, Body::Image, Bill::Usual),
            &[],
        )
    },
    case(
        "large page",
        "http://site.example/large",
        PLAIN,
        with_body(200, Body::Large, Bill::Usual),
        &[but(
            &["provider_4"],
            PLAIN,
            with_body(200, Body::Large, Bill::Credits("52")),
            "it charges by size beyond 1 MB",
        )],
    ),
];
