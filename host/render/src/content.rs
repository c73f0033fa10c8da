//! Reads what a page has become: its document as HTML, or the file that its URL turned out to be.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chromiumoxide::cdp::browser_protocol::network::{GetCookiesParams, GetResponseBodyParams};
use chromiumoxide::cdp::browser_protocol::page::StopLoadingParams;
use url::Url;

use trawl_model::{FetchedPage, MediaKind, urls};

use super::page_state::Document;
use super::tab::Tab;
use super::{FILE_BYTES_MAX, HTML_BYTES_MAX, RenderError};

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
        let cookies = self.call(GetCookiesParams::default()).await?.cookies;
        let cookies = cookies
            .into_iter()
            .map(|cookie| (cookie.name, cookie.value));
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
            status: document.status,
            headers: document.headers,
            cookies: cookies.collect(),
            body,
            content_type,
        })
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
        if self.watch.state().document_bytes > FILE_BYTES_MAX {
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

fn unreadable(reason: String) -> RenderError {
    RenderError::Protocol(format!("the page's HTML could not be read: {reason}"))
}
