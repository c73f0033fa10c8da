//! Pagination: `limit` and `page` or `cursor` in the query, `data`, `count` and `next_cursor` in
//! the response.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_model::memory::MemoryLease;
use trawl_store::{PageRange, RowBytes, RowKey, Rows};

use super::error::ApiError;
use super::params::{EMPTY, out_of_range};

/// Page size when the request sets none.
const LIMIT_DEFAULT: u32 = 100;
/// Maximum page size. A larger `limit` is reduced to it; `count` shows that there are more rows.
const LIMIT_MAX: u32 = 1_000;

/// Most rows before a page that is asked for by its number: they are read and dropped. Further
/// pages are read by their cursor.
const OFFSET_MAX: u64 = 100_000;

/// The requested page of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// Page size. Default 100; a larger one than 1,000 counts as 1,000.
    #[param(value_type = Option<u64>)]
    limit: Option<String>,
    /// Page number, starting at 1.
    #[param(value_type = Option<u64>)]
    page: Option<String>,
}

/// The requested page of a long list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LongPaging {
    /// Page size. Default 100; a larger one than 1,000 counts as 1,000.
    #[param(value_type = Option<u64>)]
    limit: Option<String>,
    /// Page number, starting at 1.
    #[param(value_type = Option<u64>)]
    page: Option<String>,
    /// `next_cursor` of the page before, in place of `page`. Needed beyond the first 100,000 rows.
    cursor: Option<String>,
}

/// Rows of a list by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Maximum number of rows.
    pub(crate) limit: u32,
    /// Number of rows to skip.
    pub(crate) offset: u64,
}

impl Slice {
    /// The rows of this slice.
    pub(crate) fn of<T>(self, rows: Vec<T>) -> impl Iterator<Item = T> {
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        rows.into_iter().skip(offset).take(self.limit as usize)
    }
}

impl LongPaging {
    /// The page of these parameters.
    pub(crate) fn new(limit: Option<String>, page: Option<String>, cursor: Option<String>) -> Self {
        Self {
            limit,
            page,
            cursor,
        }
    }

    /// The requested page of a list that is short: it has no cursor.
    ///
    /// # Errors
    /// A parameter is invalid, or there is a cursor.
    pub(crate) fn slice(&self) -> Result<Slice, ApiError> {
        match self.cursor() {
            None => slice(self.limit.as_deref(), self.page.as_deref()),
            Some(_) => Err(ApiError::Invalid(
                "cursor: this list has no `next_cursor`, send `page`".to_owned(),
            )),
        }
    }

    fn cursor(&self) -> Option<&str> {
        let cursor = self.cursor.as_deref().map(str::trim);
        cursor.filter(|cursor| !cursor.is_empty())
    }

    /// The requested page of a list in the store.
    ///
    /// # Errors
    /// A parameter is invalid, or the page is too far behind to be asked for by its number.
    pub(crate) fn range(&self) -> Result<PageRange, ApiError> {
        let slice = slice(self.limit.as_deref(), self.page.as_deref())?;
        let Some(cursor) = self.cursor() else {
            if slice.offset > OFFSET_MAX {
                return Err(ApiError::Invalid(format!(
                    "page: begins after {} rows and may begin after {OFFSET_MAX}: send `cursor` with the `next_cursor` of the page before instead",
                    slice.offset
                )));
            }
            return Ok(PageRange::offset(slice.limit, slice.offset));
        };
        if slice.offset > 0 {
            return Err(ApiError::Invalid(
                "cursor: cannot be combined with `page`, leave `page` out".to_owned(),
            ));
        }
        let key = cursor.parse::<RowKey>().map_err(|_| {
            ApiError::Invalid("cursor: must be the `next_cursor` of the page before".to_owned())
        })?;
        Ok(PageRange::after(slice.limit, key))
    }
}

impl Paging {
    /// The rows of the requested page.
    ///
    /// # Errors
    /// A parameter is not a positive integer.
    pub(crate) fn range(&self) -> Result<Slice, ApiError> {
        slice(self.limit.as_deref(), self.page.as_deref())
    }
}

fn slice(limit: Option<&str>, page: Option<&str>) -> Result<Slice, ApiError> {
    let limit = number("limit", limit, || out_of_range(LIMIT_MAX))?;
    let limit = limit.unwrap_or(LIMIT_DEFAULT.into());
    let limit = u32::try_from(limit).unwrap_or(LIMIT_MAX).min(LIMIT_MAX);
    let page = number("page", page, || "page: must be a positive integer".into())?;
    Ok(Slice {
        limit,
        offset: (page.unwrap_or(1) - 1).saturating_mul(limit.into()),
    })
}

/// A number of at least 1. Decision D257: an empty one is an error.
fn number(
    name: &str,
    text: Option<&str>,
    refusal: impl Fn() -> String,
) -> Result<Option<u64>, ApiError> {
    let Some(text) = text.map(str::trim) else {
        return Ok(None);
    };
    if text.is_empty() {
        return Err(ApiError::Invalid(format!("{name}: {EMPTY}")));
    }
    match text.parse::<i64>().map(u64::try_from) {
        Ok(Ok(number)) if number > 0 => Ok(Some(number)),
        _ => Err(ApiError::Invalid(refusal())),
    }
}

/// One page of a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// The rows of this page.
    pub(crate) data: Vec<T>,
    /// Number of rows of the whole list.
    pub(crate) count: u64,
    /// Send it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// The page of these rows of the store, which were read under this lease: it is changed to what
    /// they need if that is more.
    pub(crate) fn of<R: RowBytes>(
        found: Rows<R>,
        lease: &mut MemoryLease,
        view: impl Fn(R) -> T,
    ) -> Self {
        cover(lease, found.bytes());
        Self {
            data: found.rows.into_iter().map(view).collect(),
            count: found.count,
            next_cursor: found.next.map(|key| key.to_string()),
        }
    }
}

/// Makes a lease cover rows of this many bytes and the body with them, which has their texts once
/// more. Most rows need less than was taken for them before they were read.
pub(crate) fn cover(lease: &mut MemoryLease, row_bytes: usize) {
    lease.record_at_least(row_bytes.saturating_mul(2));
}

#[cfg(test)]
mod tests {
    use trawl_model::clock::Timestamp;
    use trawl_model::memory::{MemoryBudget, MemoryKind};
    use trawl_store::{CrawlCounts, CrawlState, CrawlSummary};

    use super::*;

    #[test]
    fn a_page_has_memory_for_what_its_rows_hold() {
        let budget = MemoryBudget::new(1 << 30);
        let mut lease = budget.share("acc_1").page().lease_for(MemoryKind::Stored);
        let crawl = |n_bytes: usize| CrawlSummary {
            id: "a".to_owned(),
            url: Some("x".repeat(n_bytes)),
            verb: "crawl".to_owned(),
            in_background: true,
            state: CrawlState::Running,
            stop: None,
            created: Timestamp(1),
            ended: None,
            counts: CrawlCounts::default(),
        };
        let rows = |n_bytes| Rows {
            rows: vec![crawl(n_bytes)],
            count: 1,
            next: None,
        };
        let large = 1 << 20;
        let page = Page::of(rows(large), &mut lease, |crawl| crawl.url);
        assert_eq!(page.data[0].as_ref().map(String::len), Some(large));
        let covered = lease.bytes();
        assert!(covered >= 2 * large as u64, "{covered} bytes");
        // What was taken before the rows were read stays until the body is written.
        Page::of(rows(10), &mut lease, |crawl| crawl.url);
        assert_eq!(lease.bytes(), covered);
    }

    #[test]
    fn pages_are_numbered_from_one() {
        let range = |limit: Option<&str>, page: Option<&str>| {
            let paging = Paging {
                limit: limit.map(str::to_owned),
                page: page.map(str::to_owned),
            };
            paging.range().map(|range| (range.limit, range.offset))
        };
        assert_eq!(range(None, None), Ok((100, 0)));
        assert_eq!(range(Some("10"), Some(" 3 ")), Ok((10, 20)));
        assert_eq!(range(Some("5000"), Some("2")), Ok((1_000, 1_000)));
        assert_eq!(range(Some("5000000000"), Some("1")), Ok((1_000, 0)));
        assert_eq!(
            range(Some("1000"), Some("9223372036854775807")),
            Ok((1_000, u64::MAX))
        );
        for (limit, page, expected) in [
            ("0", "1", "limit: must be an integer from 1 to 1000; "),
            ("x", "1", "limit: must be an integer from 1 to 1000; "),
            ("", "1", "limit: is empty, "),
            ("1", " ", "page: is empty, "),
            ("1", "-1", "page: must be a positive integer"),
            ("1", "1.5", "page: must be a positive integer"),
            ("1", "9223372036854775808", "page: must be"),
        ] {
            let Err(ApiError::Invalid(text)) = range(Some(limit), Some(page)) else {
                panic!("{limit} {page} is accepted");
            };
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn a_cursor_replaces_the_page_number() {
        let paging = |page: Option<&str>, cursor: &str| {
            let page = page.map(str::to_owned);
            LongPaging::new(Some("1000".to_owned()), page, Some(cursor.to_owned()))
        };
        let range = |page: Option<&str>, cursor: &str| paging(page, cursor).range();
        let key = "7.8.9".parse().expect("a key");
        assert_eq!(range(None, "7.8.9"), Ok(PageRange::after(1_000, key)));
        let first = PageRange::offset(1_000, 100_000);
        assert_eq!(range(Some("101"), ""), Ok(first));
        for (page, cursor, name) in [
            (Some("102"), "", "page: begins after 101000 rows"),
            (Some("2"), "7.8.9", "cursor: cannot be combined"),
            (None, "x", "cursor: must be the `next_cursor`"),
        ] {
            let Err(ApiError::Invalid(text)) = range(page, cursor) else {
                panic!("{page:?} {cursor} is accepted");
            };
            assert!(text.starts_with(name), "{text}");
        }
        // A short list is read by page numbers.
        assert!(paging(Some("2"), "").slice().is_ok());
        assert!(paging(None, "7.8.9").slice().is_err());
    }
}
