//! Separates the page's title from the name of the site.

/// Separators between a title and the name of a site.
const MARKS: [&str; 11] = [
    " | ", " - ", " – ", " — ", " · ", " • ", " :: ", " » ", " « ", " ‹ ", " › ",
];

/// How often the site's name is removed from the end of a title.
const SITES_MAX: usize = 3;

/// Maximum number of words compared.
const WORDS_MAX: usize = 60;

/// Minimum number of words that must remain when an unknown part is removed.
const WORDS_MIN: usize = 3;

/// Removes the site's name from the start or end of the title. `site` is its name, if known, and
/// `domain` the host name.
pub(crate) fn without_site<'t>(
    title: &'t str,
    site: Option<&str>,
    domain: Option<&str>,
) -> &'t str {
    let is_site = |part: &str| {
        let part = letters(part);
        let is_named = site.is_some_and(|site| letters(site) == part);
        is_named || domain.is_some_and(|domain| is_of_domain(&part, domain))
    };
    let mut title = title.trim();
    for _ in 0..SITES_MAX {
        match last_split(title) {
            Some((head, tail)) if is_site(tail) => title = head.trim(),
            _ => break,
        }
    }
    match first_split(title) {
        Some((head, tail)) if is_site(head) => tail.trim(),
        _ => title,
    }
}

/// Removes the last part of the title if it is no longer than the rest and enough remains.
pub(crate) fn without_tail(title: &str) -> &str {
    match last_split(title) {
        Some((head, tail)) if head.split(' ').count() >= WORDS_MIN.max(tail.split(' ').count()) => {
            head.trim()
        }
        _ => title,
    }
}

/// The last part of a title of several parts.
pub(crate) fn tail_of(title: &str) -> Option<&str> {
    last_split(title).map(|(_, tail)| tail.trim())
}

fn last_split(title: &str) -> Option<(&str, &str)> {
    let places = MARKS
        .iter()
        .filter_map(|mark| Some((title.rfind(mark)?, mark.len())));
    let (at, length) = places.max()?;
    Some((&title[..at], &title[at + length..]))
}

fn first_split(title: &str) -> Option<(&str, &str)> {
    let places = MARKS
        .iter()
        .filter_map(|mark| Some((title.find(mark)?, mark.len())));
    let (at, length) = places.min()?;
    Some((&title[..at], &title[at + length..]))
}

/// Whether a part of a title (letters only) occurs in the host name.
fn is_of_domain(part: &str, domain: &str) -> bool {
    const LETTERS_MIN: usize = 3;
    let domain = domain.strip_prefix("www.").unwrap_or(domain);
    let is_label = |label: &str| label.len() >= LETTERS_MIN && letters(label) == part;
    part.len() >= LETTERS_MIN && (letters(domain) == part || domain.split('.').any(is_label))
}

/// Similarity of a visible headline and a title in percent: common words relative to the longer
/// one; 100 if the title starts with the headline.
pub(crate) fn likeness(headline: &str, title: &str) -> usize {
    let words = |text: &str| {
        let text = text.to_lowercase();
        let words = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        words.take(WORDS_MAX).map(str::to_owned).collect::<Vec<_>>()
    };
    let (headline, title) = (words(headline), words(title));
    let n_common = headline.iter().filter(|word| title.contains(word)).count();
    let n_most = headline.len().max(title.len()).max(1);
    if !headline.is_empty() && title.starts_with(&headline) {
        100
    } else {
        n_common * 100 / n_most
    }
}

/// Only the letters and digits, in lower case.
pub(crate) fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{without_site, without_tail};

    #[test]
    fn the_name_of_the_site_is_cut_off_at_either_end() {
        let cut = |title| without_site(title, Some("The Site"), Some("www.example.com"));
        assert_eq!(
            cut("A title - with a dash | The Site"),
            "A title - with a dash"
        );
        assert_eq!(cut("Example » A title"), "A title");
        assert_eq!(cut("A title | Example.com | The Site"), "A title");
        assert_eq!(cut("A title - of two parts"), "A title - of two parts");
        assert_eq!(cut("The Site"), "The Site");
    }

    #[test]
    fn an_unknown_last_part_is_removed_if_it_is_shorter() {
        assert_eq!(
            without_tail("A title of some words - Site"),
            "A title of some words"
        );
        assert_eq!(
            without_tail("A title - of many more words"),
            "A title - of many more words"
        );
    }
}
