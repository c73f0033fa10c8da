//! Roles by the words of classes, ids and microdata properties.

use super::role::Role;

/// Words and pairs of words with their roles, sorted.
const WORDS: [(&str, Role); 148] = [
    ("about-author", Role::Biography),
    ("about-the", Role::Biography),
    ("addthis", Role::Share),
    ("also-like", Role::Related),
    ("also-read", Role::Related),
    ("article-description", Role::Standfirst),
    ("article-excerpt", Role::Standfirst),
    ("article-image", Role::LeadImage),
    ("article-intro", Role::Standfirst),
    ("article-lead", Role::Standfirst),
    ("article-summary", Role::Standfirst),
    ("article-tags", Role::Tags),
    ("article-title", Role::Headline),
    ("audio-player", Role::Player),
    ("author", Role::Byline),
    ("author-bio", Role::Biography),
    ("author-box", Role::Biography),
    ("author-card", Role::Biography),
    ("author-description", Role::Biography),
    ("author-details", Role::Biography),
    ("author-info", Role::Biography),
    ("author-name", Role::Byline),
    ("authorbio", Role::Biography),
    ("authors", Role::Byline),
    ("bio", Role::Biography),
    ("biography", Role::Biography),
    ("by-line", Role::Byline),
    ("byline", Role::Byline),
    ("bylines", Role::Byline),
    ("caption", Role::Caption),
    ("caption-text", Role::Caption),
    ("captions", Role::Caption),
    ("cmp", Role::Consent),
    ("comment", Role::Comments),
    ("comment-list", Role::Comments),
    ("comment-section", Role::Comments),
    ("comments", Role::Comments),
    ("consent", Role::Consent),
    ("contributor", Role::Byline),
    ("contributors", Role::Byline),
    ("cookie", Role::Consent),
    ("cookies", Role::Consent),
    ("credit", Role::Credit),
    ("credits", Role::Credit),
    ("date", Role::Date),
    ("date-modified", Role::Date),
    ("date-published", Role::Date),
    ("dateline", Role::Date),
    ("datemodified", Role::Date),
    ("datepublished", Role::Date),
    ("dek", Role::Standfirst),
    ("disclaimer", Role::Disclaimer),
    ("disclaimers", Role::Disclaimer),
    ("disclosure", Role::Disclaimer),
    ("disqus", Role::Comments),
    ("email-signup", Role::Newsletter),
    ("entry-date", Role::Date),
    ("entry-tags", Role::Tags),
    ("entry-title", Role::Headline),
    ("feature-image", Role::LeadImage),
    ("featured-image", Role::LeadImage),
    ("figcaption", Role::Caption),
    ("follow-us", Role::Share),
    ("gdpr", Role::Consent),
    ("headline", Role::Headline),
    ("hero-image", Role::LeadImage),
    ("hero-media", Role::LeadImage),
    ("image-credit", Role::Credit),
    ("image-source", Role::Credit),
    ("jwplayer", Role::Player),
    ("keywords", Role::Tags),
    ("lead-image", Role::LeadImage),
    ("lead-media", Role::LeadImage),
    ("lede", Role::Standfirst),
    ("listen", Role::Player),
    ("listen-to", Role::Player),
    ("mailing-list", Role::Newsletter),
    ("more-articles", Role::Related),
    ("more-news", Role::Related),
    ("more-stories", Role::Related),
    ("most-popular", Role::Related),
    ("most-read", Role::Related),
    ("newsletter", Role::Newsletter),
    ("newsletters", Role::Newsletter),
    ("nickname", Role::Byline),
    ("onetrust", Role::Consent),
    ("outbrain", Role::Related),
    ("photo-credit", Role::Credit),
    ("photocredit", Role::Credit),
    ("photographer", Role::Credit),
    ("player", Role::Player),
    ("popular", Role::Related),
    ("post-date", Role::Date),
    ("post-excerpt", Role::Standfirst),
    ("post-tags", Role::Tags),
    ("post-thumbnail", Role::LeadImage),
    ("post-title", Role::Headline),
    ("posted-on", Role::Date),
    ("promo", Role::Related),
    ("pubdate", Role::Date),
    ("publish-date", Role::Date),
    ("published", Role::Date),
    ("published-date", Role::Date),
    ("read-more", Role::Related),
    ("read-next", Role::Related),
    ("recirc", Role::Related),
    ("recirculation", Role::Related),
    ("recommendations", Role::Related),
    ("recommended", Role::Related),
    ("related", Role::Related),
    ("respond", Role::Comments),
    ("share", Role::Share),
    ("share-bar", Role::Share),
    ("share-buttons", Role::Share),
    ("sharebar", Role::Share),
    ("sharedaddy", Role::Share),
    ("sharethis", Role::Share),
    ("sharing", Role::Share),
    ("sign-up", Role::Newsletter),
    ("signup", Role::Newsletter),
    ("social", Role::Share),
    ("social-links", Role::Share),
    ("social-media", Role::Share),
    ("social-share", Role::Share),
    ("socials", Role::Share),
    ("standfirst", Role::Standfirst),
    ("subhead", Role::Standfirst),
    ("subheadline", Role::Standfirst),
    ("subscribe", Role::Newsletter),
    ("subtitle", Role::Standfirst),
    ("taboola", Role::Related),
    ("tag-cloud", Role::Tags),
    ("tag-links", Role::Tags),
    ("tag-list", Role::Tags),
    ("taglist", Role::Tags),
    ("tags", Role::Tags),
    ("teaser", Role::Related),
    ("teasers", Role::Related),
    ("time-stamp", Role::Date),
    ("timestamp", Role::Date),
    ("transcript", Role::Transcript),
    ("transcripts", Role::Transcript),
    ("trending", Role::Related),
    ("user-comments", Role::Comments),
    ("username", Role::Byline),
    ("video-player", Role::Player),
    ("writer", Role::Byline),
    ("you-may", Role::Related),
];

/// Words for walls that ask for money or an account. They have the role of a notice, but what is
/// behind a wall is named after it, too.
const WALLS: [&str; 2] = ["paywall", "regwall"];
/// Most bytes of a name that are read: the rest is utility classes.
const NAME_BYTES_MAX: usize = 160;
/// Longest word, in bytes.
const WORD_BYTES_MAX: usize = 16;

/// The role that a class list, an id or a property names: that of its first pair of words which has
/// one, or else of its first word. Words are separated by non-letters and by a capital after a
/// small letter.
pub(super) fn role_of(name: &str) -> Option<Role> {
    let (mut single, mut last) = (None, String::new());
    for word in words(name) {
        let pair = format!("{last}-{word}");
        if let Some(role) = find(&pair) {
            return Some(role);
        }
        single = single.or_else(|| find(&word));
        last = word;
    }
    single
}

/// Whether a word of a class list, an id or a property is that of a wall.
pub(super) fn names_wall(name: &str) -> bool {
    words(name).any(|word| is_wall(&word))
}

fn is_wall(word: &str) -> bool {
    WALLS.contains(&word)
}

fn find(word: &str) -> Option<Role> {
    if is_wall(word) {
        return Some(Role::Consent);
    }
    let found = WORDS.binary_search_by(|(known, _)| (*known).cmp(word));
    found.ok().map(|at| WORDS[at].1)
}

/// The words of a name in lower case. A word that is too long to be known is empty.
fn words(name: &str) -> impl Iterator<Item = String> {
    let name = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
    name.split(|c: char| !c.is_ascii_alphabetic())
        .flat_map(|part| {
            let bytes = part.as_bytes();
            let begins = (1..part.len())
                .filter(|&at| bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase());
            let ends: Vec<usize> = begins.chain([part.len()]).collect();
            let mut start = 0;
            ends.into_iter().map(move |end| {
                let word = &part[start..end];
                start = end;
                if word.len() > WORD_BYTES_MAX {
                    String::new()
                } else {
                    word.to_ascii_lowercase()
                }
            })
        })
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Role, WALLS, WORDS, names_wall, role_of};

    #[test]
    fn words_are_sorted_and_found() {
        assert!(WORDS.is_sorted_by(|a, b| a.0 < b.0));
        for (word, role) in WORDS {
            assert_eq!(role_of(word), Some(role), "{word}");
            assert!(!names_wall(word), "{word}");
        }
    }

    #[test]
    fn walls_are_notices() {
        for word in WALLS {
            for name in [word.to_owned(), format!("article {word}-box")] {
                assert_eq!(role_of(&name), Some(Role::Consent), "{name}");
                assert!(names_wall(&name), "{name}");
            }
        }
        assert!(!names_wall("wall walls cookie-wall"));
    }

    #[test]
    fn pairs_come_before_words() {
        for (name, role) in [
            ("article__author-bio x", Some(Role::Biography)),
            ("postByline", Some(Role::Byline)),
            ("c-share-bar related", Some(Role::Share)),
            ("image-credit", Some(Role::Credit)),
            ("post tag-water", None),
            ("authority", None),
            ("", None),
        ] {
            assert_eq!(role_of(name), role, "{name}");
        }
    }
}
