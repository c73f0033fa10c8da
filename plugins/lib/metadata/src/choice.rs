//! Chooses between the sources of each field.

use trawl_sdk::Document;

use crate::author;
use crate::body::{Body, BodyDate, Headline};
use crate::date::{self, Order};
use crate::fields::Known;
use crate::head::{Head, some_text};
use crate::headline::{letters, likeness, tail_of, without_site, without_tail};
use crate::kind::{KindGuess, PageKind};
use crate::schema::Schema;

/// `meta` names of the author, most reliable first.
#[rustfmt::skip]
const AUTHOR_NAMES: [&str; 13] = [
    "author", "article:author", "article:author_name", "citation_author", "dc.creator",
    "dcterms.creator", "dc.contributor", "parsely-author", "sailthru.author", "byl",
    "cxenseparse:author", "rbauthors", "og:author",
];

/// `meta` names of the publication date, most reliable first.
#[rustfmt::skip]
const PUBLISHED_NAMES: [&str; 27] = [
    "article:published_time", "datepublished", "og:published_time", "citation_publication_date",
    "citation_online_date", "citation_date", "dcterms.issued", "dc.date.issued", "dcterms.created",
    "dc.date.created", "dcterms.date", "dc.date", "dc.issued", "prism.publicationdate",
    "parsely-pub-date", "sailthru.date", "cxenseparse:recs:publishtime", "publish_date",
    "publish-date", "published_date", "published-date", "publication_date", "pubdate",
    "article.published", "originalpublicationdate", "date", "book:release_date",
];

/// `meta` names of the modification date, most reliable first.
const MODIFIED_NAMES: [&str; 10] = [
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "lastmod",
    "last_modified",
    "last-modified",
    "article.updated",
    "revised",
];

/// Minimum share of a title's words that a visible headline must contain, in percent.
const LIKENESS_MIN: usize = 50;

/// Languages and locales that write the month before the day.
const MONTH_FIRST: [&str; 5] = ["en-us", "en_us", "en", "en-ph", "fil"];

/// All candidates, and the choice between them.
pub(crate) struct Choice<'a> {
    document: &'a Document<'a>,
    head: Head<'a>,
    schema: Schema,
    body: Body<'a>,
    domain: Option<&'a str>,
    path: Option<&'a str>,
    kind: Option<KindGuess>,
}

/// How likely a page is a list of entries before the dates in its text are those of the entries.
const LIST_CONFIDENCE_MIN: f32 = 0.6;

impl<'a> Choice<'a> {
    pub(crate) fn of(
        document: &'a Document<'a>,
        domain: Option<&'a str>,
        path: Option<&'a str>,
    ) -> Self {
        Self {
            document,
            head: Head::of(document),
            schema: Schema::of(document),
            body: Body::of(document),
            domain,
            path,
            kind: KindGuess::of(document),
        }
    }

    /// Whether the page is a list of entries, each with its own date.
    fn is_list(&self) -> bool {
        self.kind.is_some_and(|guess| {
            matches!(guess.kind, PageKind::Listing | PageKind::Collection)
                && guess.confidence >= LIST_CONFIDENCE_MIN
        })
    }

    pub(crate) fn title(&self) -> String {
        let title = self
            .head
            .title
            .clone()
            .or_else(|| self.head.text(&["og:title", "twitter:title"]));
        title.or_else(|| self.headline()).unwrap_or_default()
    }

    pub(crate) fn description(&self) -> String {
        let names = [
            "description",
            "og:description",
            "twitter:description",
            "dc.description",
            "dcterms.description",
        ];
        let declared = self.head.text(&names);
        declared
            .or_else(|| self.schema.text(&["description"]))
            .unwrap_or_default()
    }

    pub(crate) fn keywords(&self) -> Option<Vec<String>> {
        let words = |text: &str| text.split(',').filter_map(some_text).collect::<Vec<_>>();
        if let Some(keywords) = self.head.meta(&[
            "keywords",
            "news_keywords",
            "citation_keywords",
            "parsely-tags",
        ]) {
            return Some(words(keywords));
        }
        let tags: Vec<String> = self.head.all("article:tag").flat_map(words).collect();
        let tags = (!tags.is_empty()).then_some(tags);
        tags.or_else(|| {
            self.schema
                .work_text(&["keywords"])
                .map(|text| words(&text))
        })
    }

    pub(crate) fn image(&self) -> Option<String> {
        let names = [
            "og:image",
            "og:image:url",
            "og:image:secure_url",
            "twitter:image",
            "twitter:image:src",
        ];
        let url = self.head.meta(&names).or(self.head.image);
        url.and_then(|url| self.document.resolve(url))
    }

    pub(crate) fn language(&self) -> Option<String> {
        let declared = self
            .head
            .language
            .or_else(|| self.head.meta(&["content-language"]));
        let declared =
            declared.map(|language| language.split(',').next().unwrap_or(language).trim());
        let locale = || {
            self.head
                .meta(&["og:locale", "dc.language", "dcterms.language", "language"])
        };
        let language = declared
            .map(str::to_owned)
            .or_else(|| locale().map(|locale| locale.replace('_', "-")));
        language.or_else(|| self.schema.text(&["inLanguage"]))
    }

    pub(crate) fn canonical(&self) -> Option<String> {
        let canonical = self
            .head
            .canonical
            .and_then(|url| self.document.resolve(url));
        canonical.or_else(|| self.og_url())
    }

    fn og_url(&self) -> Option<String> {
        let url = self.head.meta(&["og:url"])?;
        self.document.resolve(url)
    }

    pub(crate) fn known(&self, title: &str) -> Known {
        let head = &self.head;
        let absolute = |url: &str| self.document.resolve(url);
        Known {
            headline: self.headline().filter(|headline| headline != title),
            author: self.author(),
            published_time: self.published(),
            modified_time: self.modified(),
            site_name: self.site_name(),
            icon: head.icon().and_then(absolute),
            feeds: head
                .feeds
                .iter()
                .filter_map(|feed| absolute(feed))
                .collect(),
            og_title: head.text(&["og:title"]),
            og_description: head.text(&["og:description"]),
            og_type: head.text(&["og:type"]),
            og_url: self.og_url(),
            twitter_card: head.text(&["twitter:card"]),
            twitter_site: head.text(&["twitter:site"]),
            page_type: self.kind.map(|guess| guess.kind),
            page_type_confidence: self.kind.map(|guess| guess.rounded()),
            section: head
                .text(&["article:section"])
                .or_else(|| self.schema.work_text(&["articleSection"])),
            robots: head.text(&["robots"]),
            viewport: head.text(&["viewport"]),
            theme_color: head.text(&["theme-color"]),
            generator: head.text(&["generator"]),
        }
    }

    fn site_name(&self) -> Option<String> {
        let declared = self
            .head
            .text(&["og:site_name"])
            .or_else(|| self.schema.site_name());
        declared.or_else(|| {
            self.head
                .text(&["application-name", "dc.publisher", "citation_journal_title"])
        })
    }

    /// The visible title: the `h1` that matches the title, rather one in the main part of the page,
    /// otherwise the title in structured data or previews, or the only `h1` of the main part.
    fn headline(&self) -> Option<String> {
        let site = self.site_name();
        let cut = |title: &str| without_site(title, site.as_deref(), self.domain).to_owned();
        let title = self.head.title.as_deref().map(cut);
        let preview = self
            .head
            .text(&["og:title", "twitter:title", "dc.title", "citation_title"]);
        let is_site = |text: &str| cut(&format!("{text} | {text}")) == *text;
        let declared = self
            .schema
            .work_text(&["headline", "name"])
            .filter(|text| !is_site(text));
        let declared = declared
            .or_else(|| preview.clone())
            .map(|text| without_tail(&cut(&text)).to_owned());
        let titles = [
            self.head.title.as_deref(),
            declared.as_deref(),
            preview.as_deref(),
        ];
        // Outside the main part an `h1` with the last part of the title is the name of the site, or
        // of a book, unless that is known to stand elsewhere.
        let repeats_site = |headline: &Headline| {
            let tail = title.as_deref().and_then(tail_of);
            self.body.has_main
                && !headline.is_in_main
                && tail.is_some_and(|tail| letters(tail) == letters(&headline.text))
        };
        let headlines = self.body.headlines.iter();
        let shown = headlines
            .filter(|headline| !repeats_site(headline))
            .map(|headline| (&headline.text, headline.is_in_main))
            .chain(self.body.item_headline.iter().map(|text| (text, true)))
            .filter(|(text, _)| !is_site(text));
        let likeness = |text: &str| {
            titles
                .into_iter()
                .flatten()
                .map(|title| likeness(text, title))
                .max()
                .unwrap_or(0)
        };
        let best = shown
            .map(|(text, is_in_main)| (likeness(text), is_in_main, text))
            .filter(|(likeness, ..)| *likeness >= LIKENESS_MIN)
            .max_by_key(|&(likeness, is_in_main, text)| {
                (is_in_main || likeness == 100, likeness, text.len())
            })
            .map(|(.., text)| text.clone());
        let of_main = || {
            self.body
                .only_headline_of_main()
                .filter(|text| !is_site(text))
        };
        let tailless = || title.as_deref().map(|title| without_tail(title).to_owned());
        best.or(declared)
            .or_else(|| of_main().map(str::to_owned))
            .or_else(tailless)
    }

    fn author(&self) -> Option<String> {
        let site = self.site_name();
        let is_site = |name: &String| {
            site.as_deref()
                .is_some_and(|site| letters(site) == letters(name))
        };
        let mut candidates = self.authors().into_iter().flatten();
        let first = candidates.next()?;
        // If the site names itself as the author, the person may be named elsewhere.
        let other = if is_site(&first) {
            candidates.find(|name| !is_site(name))
        } else {
            None
        };
        Some(other.unwrap_or(first))
    }

    /// The author by source, most reliable first.
    fn authors(&self) -> [Option<String>; 6] {
        let of_schema = self.schema.authors();
        let of_schema = of_schema.iter().filter_map(|name| author::from_data(name));
        [
            author::joined(of_schema),
            AUTHOR_NAMES
                .iter()
                .find_map(|name| self.named_authors(name)),
            author::joined(shown(&self.body.item_authors)),
            author::joined(shown(&self.body.linked_authors).take(1)),
            self.classed_author(),
            self.led_author(),
        ]
    }

    /// The name after a "by" near the headline.
    fn led_author(&self) -> Option<String> {
        let texts = &self.body.texts;
        let following = texts.iter().skip(1).map(Some).chain([None]);
        texts
            .iter()
            .zip(following)
            .find_map(|(text, next)| author::from_lead(text, next.map(String::as_str)))
    }

    fn named_authors(&self, name: &str) -> Option<String> {
        author::joined(
            self.head
                .all(name)
                .filter_map(some_text)
                .filter_map(|text| author::from_data(&text)),
        )
    }

    /// The name in the element with the most reliable class.
    fn classed_author(&self) -> Option<String> {
        let names = self.body.classed_authors.iter();
        let names = names.filter_map(|(place, text)| Some((place, author::from_visible(text)?)));
        names.min_by_key(|(place, _)| *place).map(|(_, name)| name)
    }

    fn published(&self) -> Option<String> {
        let of_schema = ["datePublished", "dateCreated", "uploadDate"];
        let of_schema = of_schema
            .into_iter()
            .filter_map(|name| self.schema.date(name));
        of_schema
            .filter_map(|text| date::machine(&text))
            .next()
            .or_else(|| self.named_date(&PUBLISHED_NAMES))
            .or_else(|| self.body_date(&self.body.item_dates))
            .or_else(|| self.own_date(&self.body.published_times))
            .or_else(|| self.path.and_then(date::of_path))
            .or_else(|| self.own_date(&self.body.times))
            .or_else(|| self.own_date(&self.body.classed_dates))
            .or_else(|| self.byline_date())
    }

    fn modified(&self) -> Option<String> {
        let of_schema = self
            .schema
            .date("dateModified")
            .and_then(|text| date::machine(&text));
        of_schema
            .or_else(|| self.named_date(&MODIFIED_NAMES))
            .or_else(|| self.body_date(&self.body.item_changes))
            .or_else(|| self.body_date(&self.body.changed_times))
    }

    fn named_date(&self, names: &[&str]) -> Option<String> {
        let contents = names.iter().flat_map(|name| self.head.all(name));
        contents.filter_map(date::machine).next()
    }

    fn body_date(&self, dates: &[BodyDate]) -> Option<String> {
        dates.iter().find_map(|date| self.read(date))
    }

    fn read(&self, date: &BodyDate) -> Option<String> {
        if date.is_machine {
            date::machine(&date.text)
        } else {
            date::visible(&date.text, self.order())
        }
    }

    /// The first of these dates that is by a headline, or else the day that all of them are. Dates
    /// elsewhere are those of comments and of other pages. Decision D660.
    fn own_date(&self, dates: &[BodyDate]) -> Option<String> {
        if self.is_list() {
            return None;
        }
        let mut by_headline = dates.iter().filter(|date| self.body.is_by_headline(date));
        let first = by_headline.find_map(|date| self.read(date));
        first.or_else(|| {
            let mut all = dates.iter().filter_map(|date| self.read(date));
            let first = all.next()?;
            all.all(|date| date.get(..10) == first.get(..10))
                .then_some(first)
        })
    }

    /// The first date in the short texts around the headline.
    fn byline_date(&self) -> Option<String> {
        if self.is_list() {
            return None;
        }
        let (order, mut texts) = (self.order(), self.body.texts.iter());
        texts.find_map(|text| date::of_byline(text, order))
    }

    fn order(&self) -> Order {
        let language = self.language().unwrap_or_default().to_lowercase();
        if language.is_empty() || MONTH_FIRST.contains(&language.as_str()) {
            Order::MonthFirst
        } else {
            Order::DayFirst
        }
    }
}

fn shown(names: &[String]) -> impl Iterator<Item = String> {
    names.iter().filter_map(|name| author::from_visible(name))
}
