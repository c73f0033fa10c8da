//! Roles by how a short text begins, in several languages.

use super::role::Role;

/// Beginnings of lines that recommend another page.
const READ_MORE: [&str; 34] = [
    "also read",
    "also on",
    "click here to read",
    "czytaj także",
    "czytaj też",
    "further reading",
    "keep reading",
    "lea también",
    "lee también",
    "leggi anche",
    "leia mais",
    "leia também",
    "lees ook",
    "lesen sie auch",
    "lire aussi",
    "à lire aussi",
    "les også",
    "läs mer",
    "läs också",
    "lue myös",
    "læs også",
    "mehr zum thema",
    "more on this",
    "more stories",
    "read also",
    "read more",
    "read next",
    "recommended",
    "related",
    "see also",
    "te puede interesar",
    "también te puede interesar",
    "читайте также",
    "相关阅读",
];

/// Beginnings of lines that say who took a picture.
const CREDIT: [&str; 13] = [
    "photo:",
    "photo by",
    "photograph:",
    "photography by",
    "picture:",
    "image:",
    "image credit",
    "image source",
    "credit:",
    "credits:",
    "foto:",
    "fotos:",
    "crédit photo",
];

/// Beginnings of lines that ask for an e-mail address.
const NEWSLETTER: [&str; 9] = [
    "sign up for",
    "sign up to",
    "subscribe to our",
    "subscribe to the",
    "get our newsletter",
    "join our newsletter",
    "newsletter",
    "abonnez-vous",
    "suscríbete",
];

/// Beginnings of lines that offer to read the text aloud.
const PLAYER: [&str; 4] = [
    "listen to this article",
    "listen to this story",
    "artikel anhören",
    "écouter l'article",
];

/// Smallest share of links in a line that recommends another page.
const LINKS_MIN: f32 = 0.4;
/// Longest beginning of a line, in bytes.
const BEGINNING_BYTES_MAX: usize = 60;

/// The role of a short text with this share of links.
pub(super) fn role_of(text: &str, links: f32) -> Option<Role> {
    let end = text.floor_char_boundary(BEGINNING_BYTES_MAX);
    let start = text[..end].to_lowercase();
    let start = start.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = |phrases: &[&str]| phrases.iter().any(|phrase| begins_with(start, phrase));
    if begins(&READ_MORE) && (links >= LINKS_MIN || is_label(text)) {
        Some(Role::Related)
    } else if begins(&CREDIT) {
        Some(Role::Credit)
    } else if begins(&NEWSLETTER) {
        Some(Role::Newsletter)
    } else if begins(&PLAYER) {
        Some(Role::Player)
    } else {
        None
    }
}

/// Whether a text begins with a phrase and not with a longer word.
fn begins_with(text: &str, phrase: &str) -> bool {
    text.strip_prefix(phrase)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric) || phrase.ends_with(':'))
}

/// Whether a text is nothing but a label for what follows.
fn is_label(text: &str) -> bool {
    let text = text.trim();
    text.ends_with(':') && text.split_whitespace().count() <= 4
}

#[cfg(test)]
mod tests {
    use super::{Role, role_of};

    #[test]
    fn lines_are_known_by_their_beginning() {
        for (text, links, role) in [
            (
                "Read more: why the mayor resigned",
                0.8,
                Some(Role::Related),
            ),
            ("» Lesen Sie auch: Der Damm", 0.7, Some(Role::Related)),
            ("Related:", 0.0, Some(Role::Related)),
            ("Photo: Ada Person", 0.0, Some(Role::Credit)),
            (
                "Sign up for our morning letter",
                0.1,
                Some(Role::Newsletter),
            ),
            ("Listen to this article", 0.0, Some(Role::Player)),
            ("Read more books than you own, she said.", 0.0, None),
            ("Related problems were found by the engineers.", 0.0, None),
            ("Relatedness is hard to measure", 1.0, None),
            ("Photographs of the dam", 0.0, None),
            ("", 0.0, None),
        ] {
            assert_eq!(role_of(text, links), role, "{text}");
        }
    }
}
