//! What a web search means: what is searched for, and how many results are returned.

use super::PlanError;
use super::exit::Country;
use super::named::{Named, named};

/// Most results on a page of results.
pub const SEARCH_COUNT_MAX: u64 = 100;
/// Most pages of results.
pub const SEARCH_PAGES_MAX: u64 = 100;
/// Results on a page of results, unless the caller says how many.
const COUNT_DEFAULT: u64 = 10;
/// Most bytes of `search`.
const TEXT_BYTES_MAX: usize = 2_000;
/// Most bytes of `location`.
const LOCATION_BYTES_MAX: usize = 200;
/// Most bytes of `language`: what RFC 5646 section 4.4.1 says tags need.
const LANGUAGE_BYTES_MAX: usize = 35;

/// Maximum age of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// The values of `tbs`.
pub const FRESHNESS: [Named<Freshness>; 5] = [
    (Freshness::Hour, &["qdr:h", "hour"]),
    (Freshness::Day, &["qdr:d", "day"]),
    (Freshness::Week, &["qdr:w", "week"]),
    (Freshness::Month, &["qdr:m", "month"]),
    (Freshness::Year, &["qdr:y", "year"]),
];

/// One search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPlan {
    /// The words, with the operators of the search service.
    pub text: String,
    /// Results on a page of results, 1 to [`SEARCH_COUNT_MAX`].
    pub count: u32,
    /// Most results that are returned.
    pub limit: usize,
    /// The page of results, from 1.
    pub page: u32,
    /// The country whose results are preferred: ISO 3166 code, upper case.
    pub country: Option<String>,
    /// The language of the results, as a language tag.
    pub language: Option<String>,
    /// The place that is searched from, in words.
    pub location: Option<String>,
    /// Maximum age of the results.
    pub freshness: Option<Freshness>,
    /// Whether the pages of the results are fetched.
    pub fetches_pages: bool,
}

/// The parameters of a search as they were sent.
#[derive(Clone, Debug, Default)]
pub struct SentSearch {
    /// `search`.
    pub text: Option<String>,
    /// `search_limit`.
    pub limit: Option<u64>,
    /// `num`.
    pub count: Option<u64>,
    /// `page`.
    pub page: Option<u64>,
    /// `country`.
    pub country: Option<String>,
    /// `language`.
    pub language: Option<String>,
    /// `location`.
    pub location: Option<String>,
    /// `tbs`.
    pub freshness: Option<String>,
    /// `fetch_page_content`.
    pub fetches_pages: bool,
}

impl SearchPlan {
    /// The search with these parameters.
    ///
    /// # Errors
    /// `search` is missing, or a value is not one that its parameter has.
    pub fn new(sent: SentSearch) -> Result<Self, PlanError> {
        let text = sent.text.as_deref().unwrap_or_default().trim();
        if text.is_empty() {
            let reason = "is missing or empty, send the words to search for";
            return Err(PlanError::new("search", reason));
        }
        if text.len() > TEXT_BYTES_MAX {
            let reason = format!("is longer than {TEXT_BYTES_MAX} bytes");
            return Err(PlanError::new("search", reason));
        }
        let limit = sent.limit.filter(|limit| *limit > 0);
        let count = sent.count.or(limit).unwrap_or(COUNT_DEFAULT);
        let limit = limit.unwrap_or(u64::MAX).min(SEARCH_COUNT_MAX);
        let page = sent.page.unwrap_or(1);
        Ok(Self {
            text: text.to_owned(),
            count: small(count.clamp(1, SEARCH_COUNT_MAX)),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            page: small(page.clamp(1, SEARCH_PAGES_MAX)),
            country: filled(sent.country).map(country).transpose()?,
            language: filled(sent.language).map(language).transpose()?,
            location: filled(sent.location).map(location).transpose()?,
            freshness: filled(sent.freshness).map(freshness).transpose()?,
            fetches_pages: sent.fetches_pages,
        })
    }

    /// The place of the first result, from 1, if a page has so many: on the second page of ten, 11.
    pub fn first_position(&self, count: u32) -> u64 {
        u64::from(self.page.saturating_sub(1)) * u64::from(count) + 1
    }
}

/// A number that is known to fit.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn filled(text: Option<String>) -> Option<String> {
    let text = text?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn country(code: String) -> Result<String, PlanError> {
    match Country::of(&code) {
        Some(_) => Ok(code.to_ascii_uppercase()),
        None => Err(PlanError::new("country", "is not a code of two letters")),
    }
}

fn language(tag: String) -> Result<String, PlanError> {
    let is_part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if tag.len() <= LANGUAGE_BYTES_MAX && tag.split('-').all(is_part) {
        return Ok(tag);
    }
    Err(PlanError::new(
        "language",
        "is not a language tag such as `en` or `pt-BR`",
    ))
}

fn location(place: String) -> Result<String, PlanError> {
    if place.len() <= LOCATION_BYTES_MAX {
        return Ok(place);
    }
    let reason = format!("is longer than {LOCATION_BYTES_MAX} bytes");
    Err(PlanError::new("location", reason))
}

fn freshness(name: String) -> Result<Freshness, PlanError> {
    named(&FRESHNESS, &name).ok_or_else(|| {
        let known = FRESHNESS.iter().filter_map(|(_, names)| names.first());
        let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
        PlanError::new("tbs", format!("is none of {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> SentSearch {
        SentSearch {
            text: Some(text.to_owned()),
            ..SentSearch::default()
        }
    }

    #[test]
    fn the_number_of_results_is_what_either_parameter_says() {
        let check = |limit: Option<u64>, count: Option<u64>, expected: (u32, usize)| {
            let sent = SentSearch {
                limit,
                count,
                ..sent(" tides ")
            };
            let plan = SearchPlan::new(sent).expect("good");
            assert_eq!((plan.text.as_str(), plan.page), ("tides", 1));
            assert_eq!((plan.count, plan.limit), expected, "{limit:?} {count:?}");
        };
        check(None, None, (10, 100));
        check(Some(0), None, (10, 100));
        check(Some(3), None, (3, 3));
        check(Some(3), Some(20), (20, 3));
        check(None, Some(20), (20, 100));
        check(Some(5_000), Some(5_000), (100, 100));
        check(None, Some(0), (1, 100));
    }

    #[test]
    fn positions_go_on_from_page_to_page() {
        let first = |page, count| {
            let sent = SentSearch {
                page: Some(page),
                ..sent("tides")
            };
            let plan = SearchPlan::new(sent).expect("good");
            plan.first_position(count)
        };
        assert_eq!(first(1, 10), 1);
        assert_eq!(first(2, 10), 11);
        assert_eq!(first(100, 100), 9_901);
    }

    #[test]
    fn values_are_checked_and_normalised() {
        let text = |text: &str| Some(text.to_owned());
        let plan = SearchPlan::new(SentSearch {
            country: text(" de "),
            language: text("pt-BR"),
            location: text(" "),
            freshness: text("QDR:w"),
            page: Some(0),
            ..sent("tides")
        });
        let plan = plan.expect("good");
        assert_eq!(plan.country.as_deref(), Some("DE"));
        assert_eq!(plan.language.as_deref(), Some("pt-BR"));
        assert_eq!((plan.location, plan.page), (None, 1));
        assert_eq!(plan.freshness, Some(Freshness::Week));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |sent: SentSearch, expected: &str| {
            let error = SearchPlan::new(sent).expect_err(expected).to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        let text = |text: &str| Some(text.to_owned());
        check(SentSearch::default(), "search: is missing");
        check(sent("  "), "search: is missing");
        check(sent(&"x".repeat(2_001)), "search: is longer");
        let with = |change: fn(&mut SentSearch, Option<String>), value: &str| {
            let mut sent = sent("tides");
            change(&mut sent, text(value));
            sent
        };
        check(with(|sent, value| sent.country = value, "DEU"), "country: ");
        check(
            with(|sent, value| sent.language = value, "en_US"),
            "language: ",
        );
        check(with(|sent, value| sent.language = value, "-"), "language: ");
        let long = "x".repeat(201);
        check(
            with(|sent, value| sent.location = value, &long),
            "location: ",
        );
        check(
            with(|sent, value| sent.freshness = value, "qdr:x"),
            "tbs: is none of `qdr:h`",
        );
    }
}
