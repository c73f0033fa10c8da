//! Parameters as request headers of `/fetch`, whose URL has no room for them: `return_format` is
//! `X-Return-Format`. Decision D236.

use super::routes::Route;
use super::row::Parameter;
use super::{all, find, nearest};

/// What precedes the name of a parameter, in lower case.
const PREFIX: &str = "x-";
/// Headers of other software that resemble a parameter's.
const FOREIGN: [&str; 1] = ["x-request-id"];

/// What a request header is, by its name.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// A parameter.
    Of(&'static Parameter),
    /// It has no effect: it is misspelt, or of a parameter that `/fetch` does not take from
    /// headers. The parameter that is probably meant.
    Idle(Option<&'static Parameter>),
    /// Not a parameter.
    Foreign,
}

impl Header {
    /// The header with this name, which is in lower case.
    pub fn named(name: &str) -> Self {
        let Some(rest) = name
            .strip_prefix(PREFIX)
            .filter(|_| !FOREIGN.contains(&name))
        else {
            return Self::Foreign;
        };
        let parameter = rest.replace('-', "_");
        let known = find(&parameter);
        if let Some(row) = known.filter(|row| has_header(row)) {
            return Self::Of(row);
        }
        let meant = nearest(&parameter, all().filter(|row| has_header(row)));
        match (known, meant) {
            (None, None) => Self::Foreign,
            _ => Self::Idle(meant),
        }
    }
}

/// The parameters that `/fetch` takes from headers.
pub fn with_headers() -> impl Iterator<Item = &'static Parameter> {
    all().filter(|row| has_header(row))
}

/// The URL is in the path. Nothing else of a scrape is too large for a header.
fn has_header(row: &Parameter) -> bool {
    row.routes.has(Route::Scrape) && !row.is_large
}

impl Parameter {
    /// The name of its header: `X-Return-Format`.
    pub fn header(&self) -> String {
        let mut name = PREFIX.to_ascii_uppercase();
        let mut is_first = true;
        for letter in self.name.chars() {
            match letter {
                '_' => name.push('-'),
                letter if is_first => name.push(letter.to_ascii_uppercase()),
                letter => name.push(letter),
            }
            is_first = letter == '_';
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_leads_to_its_parameter_and_back() {
        let mut n_headers = 0;
        for row in with_headers() {
            let name = row.header().to_ascii_lowercase();
            let found = Header::named(&name);
            assert!(
                matches!(found, Header::Of(other) if other.name == row.name),
                "{name}: {found:?}"
            );
            n_headers += 1;
        }
        assert!(n_headers > 40, "{n_headers}");
        let wait_for = find("wait_for").map(Parameter::header);
        assert_eq!(wait_for.as_deref(), Some("X-Wait-For"));
    }

    #[test]
    fn headers_without_effect_differ_from_those_of_others() {
        let idle = |name: &str, meant: Option<&str>| match Header::named(name) {
            Header::Idle(row) => assert_eq!(row.map(|row| row.name), meant, "{name}"),
            other => panic!("{name}: {other:?}"),
        };
        idle("x-retrun-format", Some("return_format"));
        idle("x-timeout", Some("request_timeout"));
        idle("x-target-selector", Some("root_selector"));
        idle("x-remove-selector", Some("exclude_selector"));
        idle("x-wait-for-selector", Some("wait_for"));
        idle("x-country", Some("country_code"));
        idle("x-url", None);
        idle("x-limit", None);
        for foreign in [
            "accept",
            "return-format",
            "x-",
            "x-amzn-trace-id",
            "x-api-key",
            "x-b3-traceid",
            "x-client-ip",
            "x-cloud-trace-context",
            "x-correlation-id",
            "x-csrf-token",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-port",
            "x-forwarded-proto",
            "x-http-method-override",
            "x-original-url",
            "x-real-ip",
            "x-request-id",
            "x-request-start",
            "x-requested-with",
            "x-scheme",
        ] {
            let found = Header::named(foreign);
            assert!(matches!(found, Header::Foreign), "{foreign}: {found:?}");
        }
    }
}
