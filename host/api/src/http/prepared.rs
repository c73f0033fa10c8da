//! Answers that are the same for everybody: bytes that are made once, plain and compressed.

use std::io::Write;

use axum::body::Bytes;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Browsers and tools ask each time whether it has changed, which costs next to nothing.
const CACHE_CONTROL: &str = "no-cache";

/// An answer that is made once.
#[derive(Debug)]
pub(crate) struct Prepared {
    media_type: &'static str,
    plain: Version,
    /// The same with gzip.
    gzip: Version,
}

/// The bytes in one content coding, and their strong validator.
#[derive(Debug)]
struct Version {
    bytes: Bytes,
    etag: HeaderValue,
}

/// Marks a response that is not compressed when it is sent: it was before, or is too small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsItIs;

impl AsItIs {
    /// Whether a response has the mark.
    pub(crate) fn marks(extensions: &Extensions) -> bool {
        extensions.get::<Self>().is_some()
    }
}

impl Prepared {
    /// Makes an answer with this body.
    pub(crate) fn new(media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let plain = body.into();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(&plain);
        let gzip = written.and_then(|()| encoder.finish());
        Self {
            media_type,
            // Memory is always written; if it were not, no caller would get a broken body.
            gzip: Version::of(gzip.map_or_else(|_| Bytes::new(), Bytes::from)),
            plain: Version::of(plain),
        }
    }

    /// The response to a request with these headers: 304 if it has the bytes already.
    pub(crate) fn response(&self, request: &HeaderMap) -> Response {
        let is_gzip = accepts_gzip(request) && !self.gzip.bytes.is_empty();
        let version = if is_gzip { &self.gzip } else { &self.plain };
        let is_known = has_tag(request, &version.etag);
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            version.bytes.clone().into_response()
        };
        let headers = response.headers_mut();
        headers.insert(header::ETAG, version.etag.clone());
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        let cache_control = HeaderValue::from_static(CACHE_CONTROL);
        headers.insert(header::CACHE_CONTROL, cache_control);
        if is_known {
            headers.remove(header::CONTENT_TYPE);
        } else {
            let media_type = HeaderValue::from_static(self.media_type);
            headers.insert(header::CONTENT_TYPE, media_type);
            if is_gzip {
                let gzip = HeaderValue::from_static("gzip");
                headers.insert(header::CONTENT_ENCODING, gzip);
            }
        }
        response.extensions_mut().insert(AsItIs);
        response
    }
}

impl Version {
    fn of(bytes: Bytes) -> Self {
        let hash = blake3::hash(&bytes).to_hex();
        let etag = format!("\"{}\"", &hash[..32]);
        Self {
            bytes,
            etag: HeaderValue::try_from(etag).expect("hexadecimal digits in quotes"),
        }
    }
}

/// Whether `Accept-Encoding` names gzip with a weight above 0 (RFC 9110, section 12.5.3).
fn accepts_gzip(request: &HeaderMap) -> bool {
    let fields = request.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = fields
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = parameters.trim().strip_prefix("q=");
        let is_zero = weight.is_some_and(|weight| {
            let mut digits = weight.trim().bytes();
            digits.all(|byte| matches!(byte, b'0' | b'.'))
        });
        matches!(name.trim(), "gzip" | "x-gzip") && !is_zero
    })
}

/// Whether `If-None-Match` names this validator. The comparison is weak (RFC 9110, section 13.1.2).
fn has_tag(request: &HeaderMap, etag: &HeaderValue) -> bool {
    let fields = request.get_all(header::IF_NONE_MATCH).iter();
    let mut tags = fields.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    tags.any(|tag| {
        let tag = tag.trim_ascii();
        tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == etag.as_bytes()
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use http_body_util::BodyExt;

    use super::*;

    fn request(headers: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        let headers = headers.iter();
        headers
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect()
    }

    async fn body(response: Response) -> Vec<u8> {
        let body = response.into_body().collect().await.expect("a body");
        body.to_bytes().to_vec()
    }

    #[tokio::test]
    async fn a_client_gets_what_it_reads_and_nothing_that_it_has() {
        let text = "the same for everybody ".repeat(100);
        let prepared = Prepared::new("text/plain", text.clone());
        let plain = prepared.response(&HeaderMap::new());
        let etag = plain.headers()[header::ETAG].clone();
        assert_eq!(plain.headers().get(header::CONTENT_ENCODING), None);
        assert_eq!(plain.headers()[header::CACHE_CONTROL], "no-cache");
        assert!(AsItIs::marks(plain.extensions()));
        assert_eq!(body(plain).await, text.as_bytes());

        let gzip = prepared.response(&request(&[(header::ACCEPT_ENCODING, "br, gzip;q=0.5")]));
        assert_eq!(gzip.headers()[header::CONTENT_ENCODING], "gzip");
        assert_eq!(gzip.headers()[header::VARY], "accept-encoding");
        assert_ne!(gzip.headers()[header::ETAG], etag);
        let packed = body(gzip).await;
        assert!(packed.len() < text.len() / 4);
        let mut unpacked = String::new();
        let mut decoder = GzDecoder::new(&packed[..]);
        decoder.read_to_string(&mut unpacked).expect("gzip");
        assert_eq!(unpacked, text);

        let mut again = request(&[(header::IF_NONE_MATCH, "\"other\", *")]);
        assert_eq!(prepared.response(&again).status(), 304);
        let weak = format!("\"other\", W/{}", etag.to_str().expect("text"));
        again.insert(header::IF_NONE_MATCH, weak.parse().expect("a value"));
        let unchanged = prepared.response(&again);
        assert_eq!(unchanged.status(), 304);
        assert_eq!(unchanged.headers()[header::ETAG], etag);
        assert_eq!(unchanged.headers().get(header::CONTENT_TYPE), None);
        assert_eq!(body(unchanged).await, b"");
        // The validator is for the bytes that would be sent.
        again.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(prepared.response(&again).status(), 200);
    }

    #[test]
    fn a_weight_of_zero_refuses_gzip() {
        let accepts = |value| accepts_gzip(&request(&[(header::ACCEPT_ENCODING, value)]));
        assert!(accepts("gzip") && accepts("br;q=1, x-gzip ; q=0.001"));
        for value in ["", "br", "gzip;q=0", "gzip; q=0.000, br", "gzippy"] {
            assert!(!accepts(value), "{value}");
        }
    }
}
