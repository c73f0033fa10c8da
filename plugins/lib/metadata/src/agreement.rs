//! Whether a text of the page is what its metadata says: so that a filter that keeps the headline
//! keeps the one that the metadata has.

use crate::date::{self, Order};
use crate::fields::Metadata;
use crate::headline::letters;
use crate::kind::PageKind;

/// Longest text that is compared, in bytes: bylines are short.
const TEXT_BYTES_MAX: usize = 300;
/// How many times as many letters as its author a byline may have.
const BYLINE_FACTOR: usize = 6;
/// Fewest letters of a name that is looked for.
const NAME_LETTERS_MIN: usize = 3;

impl Metadata {
    /// The headline, or else the title.
    pub fn headline(&self) -> &str {
        self.known.headline.as_deref().unwrap_or(&self.title)
    }

    /// The names of the authors.
    pub fn authors(&self) -> impl Iterator<Item = &str> {
        let names = self.known.author.as_deref().unwrap_or_default();
        names.split("; ").filter(|name| !name.is_empty())
    }

    /// The kind of the page; `None` if it has hardly any text.
    pub fn page_type(&self) -> Option<PageKind> {
        self.known.page_type
    }

    /// Whether a text is the headline.
    pub fn is_headline(&self, text: &str) -> bool {
        let headline = letters(self.headline());
        !headline.is_empty() && text.len() <= 4 * TEXT_BYTES_MAX && letters(text) == headline
    }

    /// Whether a text is the description.
    pub fn is_description(&self, text: &str) -> bool {
        let description = letters(&self.description);
        !description.is_empty() && letters(text) == description
    }

    /// Whether a text names an author of the page and hardly anything else.
    pub fn is_byline(&self, text: &str) -> bool {
        if text.len() > TEXT_BYTES_MAX {
            return false;
        }
        let text = letters(text);
        self.authors().map(letters).any(|name| {
            name.len() >= NAME_LETTERS_MIN
                && text.len() <= name.len() * BYLINE_FACTOR
                && text.contains(&name)
        })
    }

    /// Whether a text shows the day on which the page was published or changed, and is no sentence
    /// that tells of it.
    pub fn is_date(&self, text: &str) -> bool {
        let known = [&self.known.published_time, &self.known.modified_time];
        let mut days = known
            .into_iter()
            .flatten()
            .filter_map(|time| time.get(..10));
        text.len() <= TEXT_BYTES_MAX
            && days.any(|day| {
                [Order::DayFirst, Order::MonthFirst]
                    .iter()
                    .any(|order| date::of_byline(text, *order).as_deref() == Some(day))
            })
    }
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use crate::fields::Metadata;

    fn metadata() -> Metadata {
        let page = testkit::page(
            "<title>The night of the flood | The Daily Post</title><meta property=og:site_name content='The Daily Post'>\
             <meta name=author content='Ada Person'><meta property=article:published_time content=2024-05-17T10:00:00Z>\
             <h1>The night of the flood</h1>",
        );
        Metadata::of(&page.document())
    }

    #[test]
    fn the_headline_is_recognised_whatever_its_marks() {
        let metadata = metadata();
        assert!(metadata.is_headline("The Night of the Flood!"));
        for text in ["", "The night", "The night of the flood | The Daily Post"] {
            assert!(!metadata.is_headline(text), "{text}");
        }
        assert!(!Metadata::default().is_headline(""));
    }

    #[test]
    fn a_byline_has_the_author_and_little_else() {
        let metadata = metadata();
        for text in ["Ada Person", "By ADA PERSON, 17 May 2024"] {
            assert!(metadata.is_byline(text), "{text}");
        }
        for text in [
            "By Bob",
            "Ada Person lives in the town by the river, and writes about water, dams and what becomes of both.",
        ] {
            assert!(!metadata.is_byline(text), "{text}");
        }
        assert!(!Metadata::default().is_byline("By Bob"));
    }

    #[test]
    fn the_description_is_recognised() {
        let page = testkit::page("<meta name=description content='The dam broke at night.'>");
        let metadata = Metadata::of(&page.document());
        assert!(metadata.is_description("The dam broke at night"));
        assert!(!metadata.is_description("The dam broke"));
        assert!(!Metadata::default().is_description(""));
    }

    #[test]
    fn a_date_is_that_of_the_page() {
        let metadata = metadata();
        for text in [
            "17 May 2024",
            "Published 2024-05-17",
            "17/05/2024",
            "05/17/2024",
        ] {
            assert!(metadata.is_date(text), "{text}");
        }
        for text in ["18 May 2024", "The dam broke here on 17 May 2024.", ""] {
            assert!(!metadata.is_date(text), "{text}");
        }
    }
}
