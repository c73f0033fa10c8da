//! What services write in the messages of their failures.

/// Names of errors, in lower case.
const UNREACHABLE: [&str; 17] = [
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

/// Whether a text contains one of these words, which are in lower case.
pub fn mentions(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// Whether an error text of a service says that the target has no DNS record, no connection, or
/// took too long: [`Class::TargetUnreachable`](super::Class::TargetUnreachable). It knows the names
/// of services that run Chromium and Node.js.
pub fn names_unreachable(text: &str) -> bool {
    mentions(text, &UNREACHABLE)
}

/// The first number in a text that is an HTTP error status.
pub fn error_status_in(text: &str) -> Option<u16> {
    let mut numbers = text.split(|one: char| !one.is_ascii_digit());
    numbers.find_map(|digits| digits.parse().ok().filter(|n| (400..600).contains(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case() {
        assert!(mentions("No CREDIT left", &["quota", "credit"]));
        assert!(!mentions("No credit left", &["quota"]));
    }

    #[test]
    fn the_first_error_status_is_found() {
        let check = |text: &str, expected| assert_eq!(error_status_in(text), expected, "{text}");
        check("200 of 5030, then 503 and 404", Some(503));
        check("received 99999999 at 399", None);
        check("", None);
    }

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
