//! How services that run Chromium and Node.js name a target that they could not reach.

/// Names of errors, in lower case.
const ERRORS: [&str; 17] = [
    // Node.js, by the names of the operating system.
    "eai_again",
    "econnrefused",
    "ehostunreach",
    "enetunreach",
    "enotfound",
    "etimedout",
    // Chromium.
    "err_address_unreachable",
    "err_connection_refused",
    "err_connection_timed_out",
    "err_internet_disconnected",
    "err_name_not_resolved",
    "err_timed_out",
    // Playwright, Puppeteer, Crawlee and Got: the page took too long to load.
    "page.goto: timeout",
    "navigation timeout",
    "navigation timed out",
    "request timed out",
    "timeout awaiting",
];

/// Whether an error text of a service says that the target has no DNS record, no connection, or
/// took too long: [`Class::TargetUnreachable`](super::Class::TargetUnreachable).
pub fn names_unreachable(text: &str) -> bool {
    let text = text.to_lowercase();
    ERRORS.iter().any(|error| text.contains(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_browsers_and_of_node_are_known() {
        for text in [
            "getaddrinfo ENOTFOUND shop.example",
            "connect ETIMEDOUT 192.0.2.1:443",
            "page.goto: net::ERR_NAME_NOT_RESOLVED at https://shop.example/",
            "page.goto: Timeout 60000ms exceeded.",
            "Navigation timeout of 30000 ms exceeded",
            "request timed out after 60 seconds.",
        ] {
            assert!(names_unreachable(text), "{text}");
        }
        for text in [
            "",
            "page.waitForSelector: Timeout 5000ms exceeded.",
            "net::ERR_TUNNEL_CONNECTION_FAILED",
            "the session timed out",
        ] {
            assert!(!names_unreachable(text), "{text}");
        }
    }
}
