//! Word lists that indicate the role of a part of a page: words in class names and ids, and words
//! in the text.

use trawl_sdk::Tag;

macro_rules! kinds {
    ($name:ident $all:ident $count:ident: $($kind:ident)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum $name { $($kind,)* }

        /// Number of kinds.
        pub(crate) const $count: usize = $all.len();

        /// All kinds in order.
        const $all: &[$name] = &[$($name::$kind),*];
    };
}

kinds! {
    Hint HINTS N_HINTS:
    // By element name or role.
    Nav Footer Header Aside Main Article Section Form List Item Table Figure Quote Definitions Noscript Button Label Heading Link
    Details Custom AriaHidden Hidden
    // By class, id or microdata.
    NavWord FooterWord HeaderWord SideWord CommentWord RelatedWord ShareWord PromoWord CookieWord MetaWord BodyWord PostWord
    TopicWord ProductWord PriceWord ReviewWord ListWord CardWord HeroWord SectionWord FaqWord LegalWord AuthWord SearchWord
    LangWord SkipWord MediaWord CodeWord TitleWord TagWord WidgetWord ModalWord AuthorWord ButtonWord CrumbWord PagerWord TocWord
    SignupWord FeatureWord
}

impl Hint {
    /// The hint of an element name.
    pub(crate) fn of_tag(tag: Tag) -> Option<Self> {
        Some(match tag {
            Tag::Nav | Tag::Menu => Self::Nav,
            Tag::Footer => Self::Footer,
            Tag::Header => Self::Header,
            Tag::Aside => Self::Aside,
            Tag::Main => Self::Main,
            Tag::Article => Self::Article,
            Tag::Section => Self::Section,
            Tag::Form | Tag::Fieldset => Self::Form,
            Tag::Ul | Tag::Ol => Self::List,
            Tag::Li => Self::Item,
            Tag::Table => Self::Table,
            Tag::Figure => Self::Figure,
            Tag::Blockquote => Self::Quote,
            Tag::Dl => Self::Definitions,
            Tag::Noscript => Self::Noscript,
            Tag::Button => Self::Button,
            Tag::Label | Tag::Legend => Self::Label,
            Tag::A => Self::Link,
            Tag::Details | Tag::Summary => Self::Details,
            Tag::Pre | Tag::Code => Self::CodeWord,
            Tag::H1 | Tag::H2 | Tag::H3 | Tag::H4 | Tag::H5 | Tag::H6 => Self::Heading,
            Tag::Search => Self::SearchWord,
            Tag::Address => Self::AuthorWord,
            Tag::Dialog => Self::ModalWord,
            _ => return None,
        })
    }

    /// The hint of an ARIA role.
    pub(crate) fn of_role(role: &str) -> Option<Self> {
        Some(match role {
            "navigation" | "menu" | "menubar" | "tablist" => Self::Nav,
            "contentinfo" => Self::Footer,
            "banner" => Self::Header,
            "complementary" => Self::Aside,
            "main" => Self::Main,
            "article" => Self::Article,
            "form" => Self::Form,
            "search" => Self::SearchWord,
            "dialog" | "alertdialog" | "alert" => Self::ModalWord,
            "button" => Self::Button,
            "list" => Self::List,
            "listitem" => Self::Item,
            _ => return None,
        })
    }

    /// Bit in a set of hints.
    pub(crate) const fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// The set of hints in a class name, id or microdata property. Words are separated by non-letters
/// and by a capital after a lower-case letter.
pub(crate) fn hints_of(name: &str) -> u64 {
    let (mut hints, mut hash, mut was_small) = (0, FNV_START, false);
    for byte in name.bytes().take(NAME_MAX).chain([b' ']) {
        let is_letter = byte.is_ascii_alphabetic();
        if hash != FNV_START && (!is_letter || (byte.is_ascii_uppercase() && was_small)) {
            hints |= HINT_TABLE.find(hash).map_or(0, |kind| 1 << kind);
            hash = FNV_START;
        }
        was_small = byte.is_ascii_lowercase();
        if is_letter {
            hash = fnv(hash, byte.to_ascii_lowercase());
        }
    }
    hints
}

/// Maximum number of bytes read of a class list: the rest is utility classes.
const NAME_MAX: usize = 128;

kinds! {
    Topic TOPICS N_TOPICS:
    Legal Cookie Subscribe Auth Share Related Action Comment Meta Date Commerce Site Content Ad Sort Bio Appeal Own Common
}

/// The topic that a word of running text indicates, by the hash of the lower-case word.
pub(crate) fn topic_of(hash: u32) -> Option<Topic> {
    let kind = TOPIC_TABLE.find(hash)?;
    Some(TOPICS[usize::from(kind)])
}

/// Hash table of words by hash only. Collisions between words are too rare to matter.
struct Table([(u32, u8); TABLE_SIZE]);

/// More than twice the number of words, so that probe sequences are short.
const TABLE_SIZE: usize = 2048;

const NO_KIND: u8 = u8::MAX;

impl Table {
    fn find(&self, hash: u32) -> Option<u8> {
        let mut at = hash as usize % TABLE_SIZE;
        loop {
            match self.0[at] {
                (_, NO_KIND) => return None,
                (known, kind) if known == hash => return Some(kind),
                _ => at = (at + 1) % TABLE_SIZE,
            }
        }
    }

    const fn with(mut self, word: &str, kind: u8) -> Self {
        let hash = hash_of(word.as_bytes());
        let mut at = hash as usize % TABLE_SIZE;
        while self.0[at].1 != NO_KIND {
            at = (at + 1) % TABLE_SIZE;
        }
        self.0[at] = (hash, kind);
        self
    }
}

static HINT_TABLE: Table = {
    let mut table = Table([(0, NO_KIND); TABLE_SIZE]);
    let mut at = 0;
    while at < HINT_WORDS.len() {
        table = table.with(HINT_WORDS[at].0, HINT_WORDS[at].1 as u8);
        at += 1;
    }
    table
};

static TOPIC_TABLE: Table = {
    let mut table = Table([(0, NO_KIND); TABLE_SIZE]);
    let mut at = 0;
    while at < TOPIC_WORDS.len() {
        table = table.with(TOPIC_WORDS[at].0, TOPIC_WORDS[at].1 as u8);
        at += 1;
    }
    table
};

/// Initial value of an FNV hash.
pub(crate) const FNV_START: u32 = 0x811c_9dc5;

/// One step of an FNV hash.
pub(crate) const fn fnv(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// FNV hash of a word.
pub(crate) const fn hash_of(word: &[u8]) -> u32 {
    let (mut hash, mut at) = (FNV_START, 0);
    while at < word.len() {
        hash = fnv(hash, word[at]);
        at += 1;
    }
    hash
}

include!("words.rs");

#[cfg(test)]
mod tests {
    use super::{HINT_WORDS, Hint, TOPIC_WORDS, hash_of, hints_of, topic_of};

    #[test]
    fn every_word_is_found() {
        for &(word, kind) in HINT_WORDS {
            assert_eq!(hints_of(word), kind.bit(), "{word}");
        }
        for &(word, kind) in TOPIC_WORDS {
            assert_eq!(topic_of(hash_of(word.as_bytes())), Some(kind), "{word}");
        }
    }

    #[test]
    fn words_of_a_class_are_separated() {
        let both = Hint::SideWord.bit() | Hint::PostWord.bit();
        assert_eq!(hints_of("sidebar-2 postBody") & both, both);
        assert_eq!(hints_of("navbarish"), 0);
        assert_eq!(topic_of(hash_of(b"xyzzy")), None);
    }
}
