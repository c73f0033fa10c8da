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

/// Headings of lists of other pages, in full.
#[rustfmt::skip]
const RELATED_HEADINGS: [&str; 106] = [
    "related", "related articles", "related stories", "related news", "related posts",
    "related content", "related topics", "related links", "related coverage", "more stories",
    "more news", "more on this story", "more on this topic", "most read", "most popular",
    "recommended", "recommended for you", "you may also like", "you might also like", "read next",
    "latest news", "top stories", "trending", "trending now", "don't miss", "editors' picks",
    "up next", "see also",
    "mehr zum thema", "lesen sie auch", "weitere artikel", "weitere meldungen",
    "ähnliche artikel", "auch interessant", "das könnte sie auch interessieren",
    "verwandte artikel", "verwandte themen", "meistgelesen",
    "à lire aussi", "lire aussi", "sur le même sujet", "articles liés", "articles similaires",
    "les plus lus", "dans la même rubrique", "vous aimerez aussi",
    "noticias relacionadas", "artículos relacionados", "te puede interesar",
    "también te puede interesar", "lo más leído", "más noticias",
    "leggi anche", "articoli correlati", "ti potrebbe interessare", "i più letti",
    "leia também", "notícias relacionadas", "mais lidas", "veja também",
    "lees ook", "gerelateerde artikelen", "meest gelezen",
    "läs också", "läs mer", "mest läst", "les også", "læs også", "lue myös", "aiheesta lisää",
    "czytaj także", "zobacz także", "polecane", "ilgili haberler", "baca juga", "berita terkait",
    "tin liên quan", "đọc thêm",
    "читайте также", "читайте також", "материалы по теме", "по теме", "похожие новости",
    "διαβάστε επίσης", "σχετικά άρθρα",
    "مقالات ذات صلة", "أخبار ذات صلة", "مواضيع ذات صلة", "اقرأ أيضا", "اقرأ أيضاً", "اخترنا لكم",
    "الأكثر قراءة", "مطالب مرتبط", "כתבות נוספות",
    "यह भी पढ़ें", "ये भी पढ़ें", "संबंधित खबरें", "ข่าวที่เกี่ยวข้อง",
    "関連記事", "関連ニュース", "関連リンク", "おすすめ記事", "あわせて読みたい",
    "相关阅读", "相关新闻", "관련기사",
];
/// Longest of them with what stands around, in bytes.
const HEADING_BYTES_MAX: usize = 120;

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

/// Whether a heading says that what follows leads to other pages.
pub(super) fn heads_related(text: &str) -> bool {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    text.len() <= HEADING_BYTES_MAX && RELATED_HEADINGS.contains(&text.to_lowercase().as_str())
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
    use super::{Role, heads_related, role_of};

    #[test]
    fn headings_of_other_pages_are_known_as_a_whole() {
        for heading in [
            "Related Articles",
            " » Lesen Sie auch:",
            "مقالات ذات صلة",
            "関連記事",
        ] {
            assert!(heads_related(heading), "{heading}");
        }
        for text in ["Related work in biology", "", "The most read of his books"] {
            assert!(!heads_related(text), "{text}");
        }
    }

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
