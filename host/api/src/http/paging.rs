//! Pagination: `limit` and `page` in the query, `data` and `count` in the response.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_store::PageRange;

use super::error::ApiError;

/// Page size when the request sets none.
const LIMIT_DEFAULT: u32 = 100;
/// Maximum page size. A larger `limit` is reduced to it; `count` shows that there are more rows.
const LIMIT_MAX: u32 = 1_000;

/// The requested page of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// Page size. Default 100, at most 1,000.
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Page number, starting at 1.
    #[param(value_type = Option<u64>)]
    page: Option<String>,
}

impl Paging {
    /// The rows of the requested page.
    ///
    /// # Errors
    /// A parameter is not a positive integer.
    pub(crate) fn range(&self) -> Result<PageRange, ApiError> {
        let limit = number("limit", self.limit.as_deref())?.unwrap_or(LIMIT_DEFAULT.into());
        let limit = u32::try_from(limit).unwrap_or(LIMIT_MAX).min(LIMIT_MAX);
        let page = number("page", self.page.as_deref())?.unwrap_or(1);
        Ok(PageRange {
            limit,
            offset: (page - 1).saturating_mul(limit.into()),
        })
    }
}

fn number(name: &str, text: Option<&str>) -> Result<Option<u64>, ApiError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
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
        assert_eq!(range("1000", "18446744073709551615"), Ok((1_000, u64::MAX)));
        for (limit, page, name) in [
            ("0", "1", "limit"),
            ("x", "1", "limit"),
            ("1", "-1", "page"),
            ("1", "1.5", "page"),
        ] {
            let Err(ApiError::Invalid(text)) = range(limit, page) else {
                panic!("{limit} {page} is accepted");
            };
            assert!(text.starts_with(name), "{text}");
        }
    }
}
