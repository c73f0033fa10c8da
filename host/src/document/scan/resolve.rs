//! Making links absolute. A page has hundreds and most have a plain form, which is put together by hand; the rest goes through
//! the `url` crate, which gives the same.

use url::Url;

use super::is_web;

/// What links of one page resolve against.
pub(super) struct Base<'a> {
    url: &'a Url,
    /// `https://host:port`.
    origin: &'a str,
    /// The path up to its last slash.
    folder: &'a str,
    is_plain: bool,
}

impl<'a> Base<'a> {
    pub(super) fn new(url: &'a Url) -> Self {
        let path = url.path();
        let folder = path.rfind('/').map_or("/", |end| &path[..=end]);
        Self {
            origin: &url[..url::Position::BeforePath],
            folder,
            is_plain: is_web(url) && url.username().is_empty() && url.password().is_none(),
            url,
        }
    }

    /// The address that a link leads to, without fragment; `None` when it leads to no web page.
    pub(super) fn resolve(&self, written: &str) -> Option<String> {
        match self.by_hand(written) {
            Some(decided) => decided,
            None => self.by_the_book(written),
        }
    }

    pub(super) fn by_the_book(&self, written: &str) -> Option<String> {
        let mut url = self.url.join(written).ok()?;
        url.set_fragment(None);
        // These fail only for addresses without a host, which have neither.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        is_web(&url).then(|| url.into())
    }

    /// The same for plain forms; `None` for all others.
    fn by_hand(&self, written: &str) -> Option<Option<String>> {
        let end = written.find('#').unwrap_or(written.len());
        let link = &written[..end];
        if !self.is_plain || link.is_empty() || !link.bytes().all(is_plain) {
            return None;
        }
        let path_end = link.find('?').unwrap_or(link.len());
        if let Some(colon) = link[..path_end].find(':') {
            let scheme = &link[..colon];
            if !scheme.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return None;
            }
            return match scheme {
                "http" | "https" => absolute(link).map(Some),
                "mailto" | "tel" | "javascript" | "data" => Some(None),
                _ => None,
            };
        }
        if link.starts_with('?') || link.starts_with("//") {
            return None;
        }
        let (mut folder, mut rest) = match link.strip_prefix('/') {
            Some(rest) => ("/", rest),
            None => (self.folder, link),
        };
        while let Some(inner) = rest.strip_prefix("../") {
            let parent = folder.strip_suffix('/').unwrap_or(folder);
            folder = parent.rfind('/').map_or("/", |end| &folder[..=end]);
            rest = inner;
        }
        has_no_dots(rest).then(|| Some([self.origin, folder, rest].concat()))
    }
}

/// `http://host/path` that stands as the `url` crate would write it.
fn absolute(link: &str) -> Option<String> {
    let after = link.split_once("://")?.1;
    let slash = after.find('/')?;
    let (host, path) = after.split_at(slash);
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'.' || byte == b'-';
    // A name that ends in a digit may be an address in a form of its own, and `xn--` is checked.
    let is_plain_host = host
        .bytes()
        .all(|byte| is_name(byte) || byte.is_ascii_digit())
        && host
            .bytes()
            .last()
            .is_some_and(|byte| byte.is_ascii_lowercase())
        && host.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with("xn--")
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
        && !host
            .rsplit('.')
            .next()
            .is_some_and(|last| last.starts_with("0x"));
    (is_plain_host && has_no_dots(&path[1..])).then(|| link.to_owned())
}

/// Whether a path has no part that begins with a dot: such parts may mean this folder or the one above.
fn has_no_dots(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    !path.split('/').any(|part| part.starts_with('.'))
}

/// Bytes that stand in an address as they are, wherever in it they stand.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_~!$()*+,;=:@/?&.".contains(&byte)
}
