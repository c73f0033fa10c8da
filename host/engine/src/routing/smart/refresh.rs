//! `meta http-equiv=refresh` and the `Refresh` header where they redirect.

use trawl_model::urls;

use super::tokens::Tag;

/// Seconds after which a refresh is no longer a redirect but a periodic reload.
const REFRESH_SECONDS_MAX: u64 = 10;

/// Where a `meta` leads soon, as it is written.
pub(super) fn of_tag(tag: &Tag<'_>) -> Option<String> {
    let is_refresh = tag.is("meta")
        && tag
            .attribute("http-equiv")
            .is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"refresh"));
    let content = tag.attribute("content").filter(|_| is_refresh)?;
    of_value(&trawl_document::attribute_value(&urls::text_of(content)))
}

/// Where a `Refresh` header with this value leads soon.
pub(super) fn of_value(value: &str) -> Option<String> {
    let refresh = trawl_document::refresh(value)?;
    (refresh.seconds <= REFRESH_SECONDS_MAX).then(|| refresh.target.to_owned())
}
