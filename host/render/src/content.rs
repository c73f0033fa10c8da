//! Reads what a page has become: its document as HTML, or the file that its URL turned out to be.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chromiumoxide::cdp::browser_protocol::network::{Cookie, GetResponseBodyParams};
use chromiumoxide::cdp::browser_protocol::page::StopLoadingParams;
use chromiumoxide::cdp::browser_protocol::storage::GetCookiesParams;
use url::Url;

use trawl_model::{FetchedPage, MediaKind, urls};
use trawl_net::fetch::gets_cookies_of;

use super::config::{FILE_BYTES_MAX, HTML_BYTES_MAX};
use super::error::RenderError;
use super::navigation::Document;
use super::tab::Tab;

/// Characters of the HTML that are read at once: 6 MiB of JSON when each of them is escaped. Nearly
/// all pages are one piece.
const PIECE_CHARS: usize = 1024 * 1024;

impl Tab<'_> {
    /// The page in its current state.
    pub(super) async fn page(
        &self,
        requested: &Url,
        (document, at): (Document, Url),
    ) -> Result<FetchedPage, RenderError> {
        let cookies = self.site_cookies().await?;
        let is_html = MediaKind::of(&document.media_type) == MediaKind::Html;
        let (body, content_type, final_url) = if is_html {
            let _loading = self.call(StopLoadingParams::default()).await?;
            let html = self.html().await?;
            let shown = self.call_function::<String>("url", ()).await?.ok();
            let shown = shown.and_then(|url| urls::parse(&url).ok());
            let shown = shown.filter(|url| url.origin() == at.origin());
            (
                html,
                "text/html; charset=utf-8".to_owned(),
                shown.unwrap_or(at),
            )
        } else {
            (
                self.file(&document).await?,
                format!("{}; charset=utf-8", document.media_type),
                at,
            )
        };
        Ok(FetchedPage {
            requested_url: requested.clone(),
            final_url,
            redirects: self.watch.state().navigation.way().redirects,
            status: document.status,
            headers: document.headers,
            cookies,
            body,
            content_type,
        })
    }

    /// What the hosts of the page and of its redirects have set, as plain HTTP lists it, and their
    /// scripts.
    async fn site_cookies(&self) -> Result<Vec<(String, String)>, RenderError> {
        let all = GetCookiesParams {
            browser_context_id: Some(self.context.id()),
        };
        let cookies = self.browser().command(all).await?.cookies;
        let hosts = self.watch.state().navigation.way().hosts;
        let callers = self.watch.cookies();
        let is_sites = |cookie: &Cookie| {
            hosts.iter().any(|host| is_sent_to(&cookie.domain, host))
                && !callers.has(&cookie.name, &cookie.value)
        };
        let cookies = cookies.into_iter().filter(is_sites);
        let pairs = cookies.map(|cookie| (cookie.name, cookie.value));
        Ok(pairs.collect())
    }

    /// The document as HTML, with what its frames show.
    pub(super) async fn html(&self) -> Result<Bytes, RenderError> {
        let has_frames = self.watch.state().has_frames();
        let n_foreign = match has_frames {
            true => self.name_foreign_frames().await?,
            false => 0,
        };
        let html = self.serialised(self.watch.frame(), false, HTML_BYTES_MAX);
        let html = html.await?.map_err(unreadable)?;
        Ok(Bytes::from(match n_foreign {
            0 => html,
            _ => self.with_foreign_frames(html).await?,
        }))
    }

    /// What a frame shows, of at most so many characters; empty if it has gone.
    pub(super) async fn frame_html(
        &self,
        frame: &str,
        chars_max: usize,
    ) -> Result<String, RenderError> {
        let html = self.serialised(frame, true, chars_max).await?;
        Ok(html.unwrap_or_default())
    }

    /// The document of a frame, or its body alone, piece by piece. It is serialised once, so that
    /// the pieces fit.
    async fn serialised(
        &self,
        frame: &str,
        body_only: bool,
        chars_max: usize,
    ) -> Result<Result<String, String>, RenderError> {
        let size = (chars_max, PIECE_CHARS, body_only);
        let first = self.call_in_frame::<Option<(usize, String)>>(frame, "serialise", size);
        let (total, mut html) = match first.await? {
            Ok(first) => first.ok_or(RenderError::DocumentTooLarge(HTML_BYTES_MAX))?,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut next = PIECE_CHARS;
        loop {
            if html.len() > HTML_BYTES_MAX {
                return Err(RenderError::DocumentTooLarge(HTML_BYTES_MAX));
            }
            if next >= total {
                return Ok(Ok(html));
            }
            let piece = self.call_in_frame::<String>(frame, "piece", (next, PIECE_CHARS));
            match piece.await? {
                Ok(piece) => html.push_str(&piece),
                Err(reason) => return Ok(Err(reason)),
            }
            next += PIECE_CHARS;
        }
    }

    /// The body of a document that is not HTML.
    async fn file(&self, document: &Document) -> Result<Bytes, RenderError> {
        if self.watch.state().navigation.document_bytes() > FILE_BYTES_MAX {
            return Err(RenderError::FileTooLarge(FILE_BYTES_MAX));
        }
        let body = GetResponseBodyParams::new(document.request.clone());
        let body = self.call(body).await?;
        if !body.base64_encoded {
            return Ok(Bytes::from(body.body));
        }
        let decoded = STANDARD.decode(&body.body);
        let decoded = decoded.map_err(|error| RenderError::Protocol(error.to_string()))?;
        Ok(Bytes::from(decoded))
    }
}

/// Whether a host gets the cookies of a domain as the protocol writes it: those of a host alone
/// have no dot in front.
fn is_sent_to(domain: &str, host: &str) -> bool {
    match domain.strip_prefix('.') {
        Some(domain) => gets_cookies_of(host, domain, false),
        None => gets_cookies_of(host, domain, true),
    }
}

fn unreadable(reason: String) -> RenderError {
    RenderError::Protocol(format!("the page's HTML could not be read: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_of_its_host_or_of_those_below_its_domain() {
        for (domain, host, expected) in [
            ("a.example", "a.example", true),
            ("a.example", "b.a.example", false),
            (".a.example", "a.example", true),
            (".a.example", "b.a.example", true),
            (".a.example", "ba.example", false),
            (".a.example", "example", false),
            ("127.0.0.1", "127.0.0.1", true),
        ] {
            assert_eq!(is_sent_to(domain, host), expected, "{domain} {host}");
        }
    }
}
