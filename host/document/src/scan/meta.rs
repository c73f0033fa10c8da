//! Interprets the attributes of `meta` and `link`.

/// Whether a list of words separated by white space contains this one, in any case.
pub(super) fn has_token(list: &str, wanted: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|token| token.eq_ignore_ascii_case(wanted))
}

/// Whether a `link` with this `rel` and `type` links to a page. Alternates may also be feeds and
/// style sheets.
pub(super) fn is_page_link(rel: &str, media_type: Option<&str>) -> bool {
    let is_html = media_type.is_none_or(|name| name.trim_ascii().eq_ignore_ascii_case("text/html"));
    ["next", "prev", "canonical"]
        .iter()
        .any(|page| has_token(rel, page))
        || is_html && has_token(rel, "alternate") && !has_token(rel, "stylesheet")
}

/// Whether the content of `meta name=robots` forbids following the page's links.
pub(super) fn forbids_following(content: &str) -> bool {
    let is_no = |word: &str| {
        let word = word.trim_ascii();
        word.eq_ignore_ascii_case("nofollow") || word.eq_ignore_ascii_case("none")
    };
    content.split(',').any(is_no)
}

/// What `meta http-equiv=refresh` or a `Refresh` header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh<'a> {
    /// After how many seconds.
    pub seconds: u64,
    /// Where it leads, as it is written.
    pub target: &'a str,
}

/// Reads the content of a refresh; `None` when it only reloads the page. Source: WHATWG HTML,
/// "Shared declarative refresh steps".
pub fn refresh(content: &str) -> Option<Refresh<'_>> {
    let content = content.trim_ascii_start();
    let time = content.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &content[..content.len() - time.len()];
    if digits.is_empty() && !content.starts_with('.') {
        return None;
    }
    let rest = time.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_separated =
        rest.starts_with(|c: char| matches!(c, ';' | ',') || c.is_ascii_whitespace());
    if !is_separated {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest);
    let rest = rest.trim_ascii_start();
    let url = after_url_equals(rest).unwrap_or(rest);
    let target = match url.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = &url[1..];
            &inner[..inner.find(quote).unwrap_or(inner.len())]
        }
        _ => url,
    };
    let seconds = match digits {
        "" => 0,
        digits => digits.parse().unwrap_or(u64::MAX),
    };
    (!target.is_empty()).then_some(Refresh { seconds, target })
}

/// What follows `url =`, in any case.
fn after_url_equals(rest: &str) -> Option<&str> {
    const URL: usize = "url".len();
    let word = rest.get(..URL)?;
    if !word.eq_ignore_ascii_case("url") {
        return None;
    }
    let value = rest[URL..].trim_ascii_start().strip_prefix('=')?;
    Some(value.trim_ascii_start())
}
