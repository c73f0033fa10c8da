//! Parameters of Google's search, which several services pass on.

use super::{Failure, Freshness, Query, country_name};

/// Subtags of Chinese in the traditional script: the script's own, and those of its places.
const TRADITIONAL: [&str; 4] = ["hant", "hk", "mo", "tw"];

/// Google's code of a language: the first part of its tag, with one for each script of Chinese.
pub fn google_language(tag: &str) -> String {
    let tag = tag.to_lowercase();
    let parts: Vec<&str> = tag.split('-').collect();
    let is_traditional =
        !parts.contains(&"hans") && parts.iter().any(|part| TRADITIONAL.contains(part));
    let code = match parts[0] {
        "zh" if is_traditional => "zh-TW",
        "zh" => "zh-CN",
        // Norwegian Bokmål.
        "nb" => "no",
        first => first,
    };
    code.to_owned()
}

/// Google's `tbs` for a maximum age.
pub const fn google_tbs(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Hour => "qdr:h",
        Freshness::Day => "qdr:d",
        Freshness::Week => "qdr:w",
        Freshness::Month => "qdr:m",
        Freshness::Year => "qdr:y",
    }
}

/// The place that is searched from, by the names of Google's geographical targets: the location as
/// it stands, otherwise the English name of the country.
///
/// # Errors
/// A [`Failure`] of class [`Class::Unsupported`](super::Class::Unsupported) if the country has no
/// name.
pub fn google_place(query: &Query) -> Result<Option<String>, Failure> {
    let (None, Some(code)) = (&query.location, query.country.as_deref()) else {
        return Ok(query.location.clone());
    };
    match country_name(code) {
        Some(name) => Ok(Some(name.to_owned())),
        None => Err(Failure::unsupported(format!(
            "the service does not know the country `{code}`, name a `location` instead"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_names() {
        let place = |location: Option<&str>, country: Option<&str>| {
            google_place(&Query {
                location: location.map(str::to_owned),
                country: country.map(str::to_owned),
                ..Query::new("tides", "")
            })
        };
        let check = |location, country, expected: Option<&str>| {
            assert_eq!(place(location, country), Ok(expected.map(str::to_owned)));
        };
        check(None, None, None);
        check(None, Some("DE"), Some("Germany"));
        check(Some("Kiel"), None, Some("Kiel"));
        check(Some("Kiel"), Some("DE"), Some("Kiel"));
        assert!(place(None, Some("XX")).is_err_and(|failure| failure.message.contains("`XX`")));
    }

    #[test]
    fn languages_have_googles_codes() {
        let check = |tag: &str, expected: &str| assert_eq!(google_language(tag), expected, "{tag}");
        check("en", "en");
        check("de-AT", "de");
        check("PT-BR", "pt");
        check("nb-NO", "no");
        check("zh", "zh-CN");
        check("zh-Hans-HK", "zh-CN");
        check("zh-Hant", "zh-TW");
        check("zh-HK", "zh-TW");
        check("", "");
    }
}
