//! English country names, for services that do not accept country codes.

/// All codes of ISO 3166-1 with their names, a country a line.
const NAMES: &str = include_str!("countries.txt");

/// Common English name of a country by its ISO 3166-1 alpha-2 code in upper case; `None` for any
/// other text.
pub fn country_name(code: &str) -> Option<&'static str> {
    let mut lines = NAMES.lines().map(|line| line.split_at(2));
    let (_, name) = lines.find(|(known, _)| *known == code)?;
    Some(name.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_code() {
        assert_eq!(NAMES.lines().count(), 249);
        assert!(NAMES.lines().is_sorted());
        let check = |code: &str, expected| assert_eq!(country_name(code), expected, "{code}");
        check("AD", Some("Andorra"));
        check("US", Some("United States"));
        check("GB", Some("United Kingdom"));
        check("KR", Some("South Korea"));
        check("ZW", Some("Zimbabwe"));
        for unknown in ["", "us", "UK", "XX", "USA"] {
            check(unknown, None);
        }
    }
}
