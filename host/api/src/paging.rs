//! Lists a page at a time: `limit` and `page` in the query, `data` and `count` in the answer.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::error::ApiError;
use trawl_store::PageRange;

/// Rows of a page when nobody says how many.
const LIMIT_DEFAULT: u32 = 100;
/// Most rows of a page. Who asks for more gets so many, and sees by `count` that there are others.
const LIMIT_MAX: u32 = 1_000;

/// Which part of a list is asked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paging {
    /// Rows of a page: 100 when not set, at most 1,000.
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Number of the page, from 1.
    #[param(value_type = Option<u64>)]
    page: Option<String>,
}

impl Paging {
    /// The part that is meant.
    ///
    /// # Errors
    /// A number is none, or less than 1.
    pub(super) fn cut(&self) -> Result<PageRange, ApiError> {
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
            "{name}: write a whole number from 1 on"
        ))),
    }
}

/// A page of a list.
#[derive(Serialize, ToSchema)]
pub(super) struct Page<T> {
    /// Its rows.
    pub(super) data: Vec<T>,
    /// Rows of the whole list.
    pub(super) count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_from_one() {
        let cut = |limit: &str, page: &str| {
            let text = |text: &str| Some(text.to_owned());
            let paging = Paging {
                limit: text(limit),
                page: text(page),
            };
            paging.cut().map(|cut| (cut.limit, cut.offset))
        };
        assert_eq!(cut("", ""), Ok((100, 0)));
        assert_eq!(cut("10", "3"), Ok((10, 20)));
        assert_eq!(cut("5000", "2"), Ok((1_000, 1_000)));
        assert_eq!(cut("5000000000", "1"), Ok((1_000, 0)));
        assert_eq!(cut("1000", "18446744073709551615"), Ok((1_000, u64::MAX)));
        for (limit, page, name) in [
            ("0", "1", "limit"),
            ("x", "1", "limit"),
            ("1", "-1", "page"),
            ("1", "1.5", "page"),
        ] {
            let Err(ApiError::Invalid(text)) = cut(limit, page) else {
                panic!("{limit} {page} are refused");
            };
            assert!(text.starts_with(name), "{text}");
        }
    }
}
