//! Pagination: `limit` and `page` or `cursor` in the query, `data`, `count` and `next_cursor` in
//! the response.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_store::{PageRange, RowKey};

use super::error::ApiError;

/// Page size when the request sets none.
const LIMIT_DEFAULT: u32 = 100;
/// Maximum page size. A larger `limit` is reduced to it; `count` shows that there are more rows.
const LIMIT_MAX: u32 = 1_000;

/// Most rows before a page that is asked for by its number: they are read and dropped. Further
/// pages are read by their cursor.
const OFFSET_MAX: u64 = 100_000;

/// The requested page of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// Page size. Default 100; a larger one than 1,000 counts as 1,000.
    #[param(value_type = Option<u64>)]
    limit: Option<String>,
    /// Page number, starting at 1.
    #[param(value_type = Option<u64>)]
    page: Option<String>,
}

/// The position after which a page of a long list starts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Cursor {
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

impl Cursor {
    /// The requested page of a list in the store.
    ///
    /// # Errors
    /// A parameter is invalid, or the page is too far behind to be asked for by its number.
    pub(crate) fn range(&self, paging: &Paging) -> Result<PageRange, ApiError> {
        let slice = paging.range()?;
        let cursor = self.cursor.as_deref().map(str::trim);
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
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
        let limit = number("limit", self.limit.as_deref())?.unwrap_or(LIMIT_DEFAULT.into());
        let limit = u32::try_from(limit).unwrap_or(LIMIT_MAX).min(LIMIT_MAX);
        let page = number("page", self.page.as_deref())?.unwrap_or(1);
        Ok(Slice {
            limit,
            offset: (page - 1).saturating_mul(limit.into()),
        })
    }
}

fn number(name: &str, text: Option<&str>) -> Result<Option<u64>, ApiError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match text.parse::<i64>().map(u64::try_from) {
        Ok(Ok(number)) if number > 0 => Ok(Some(number)),
        _ => Err(ApiError::Invalid(format!(
            "{name}: must be a positive integer"
        ))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_numbered_from_one() {
        let range = |limit: &str, page: &str| {
            let text = |text: &str| Some(text.to_owned());
            let paging = Paging {
                limit: text(limit),
                page: text(page),
            };
            paging.range().map(|range| (range.limit, range.offset))
        };
        assert_eq!(range("", ""), Ok((100, 0)));
        assert_eq!(range("10", "3"), Ok((10, 20)));
        assert_eq!(range("5000", "2"), Ok((1_000, 1_000)));
        assert_eq!(range("5000000000", "1"), Ok((1_000, 0)));
        assert_eq!(range("1000", "9223372036854775807"), Ok((1_000, u64::MAX)));
        for (limit, page, name) in [
            ("0", "1", "limit"),
            ("x", "1", "limit"),
            ("1", "-1", "page"),
            ("1", "1.5", "page"),
            ("1", "9223372036854775808", "page"),
        ] {
            let Err(ApiError::Invalid(text)) = range(limit, page) else {
                panic!("{limit} {page} is accepted");
            };
            assert!(text.starts_with(name), "{text}");
        }
    }

    #[test]
    fn a_cursor_replaces_the_page_number() {
        let range = |page: &str, cursor: &str| {
            let text = |text: &str| Some(text.to_owned());
            let paging = Paging {
                limit: text("1000"),
                page: text(page),
            };
            let cursor = Cursor {
                cursor: text(cursor),
            };
            cursor.range(&paging)
        };
        let key = "7.8.9".parse().expect("a key");
        assert_eq!(range("", "7.8.9"), Ok(PageRange::after(1_000, key)));
        assert_eq!(range("101", ""), Ok(PageRange::offset(1_000, 100_000)));
        for (page, cursor, name) in [
            ("102", "", "page: begins after 101000 rows"),
            ("2", "7.8.9", "cursor: cannot be combined"),
            ("", "x", "cursor: must be the `next_cursor`"),
        ] {
            let Err(ApiError::Invalid(text)) = range(page, cursor) else {
                panic!("{page} {cursor} is accepted");
            };
            assert!(text.starts_with(name), "{text}");
        }
    }
}
