//! The parts of a URL that hint at the type of page.

use analyst_base::percent_decoded;

/// A URL in parts, in lower case and percent-decoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UrlParts {
    pub(crate) host: String,
    /// Path segments; none is empty, and the last one has no extension.
    pub(crate) segments: Vec<String>,
    /// Extension of the last segment, such as `pdf`; may be empty.
    pub(crate) extension: String,
    pub(crate) query: String,
}

/// Maximum length of a file extension.
const EXTENSION_CHARS_MAX: usize = 5;

impl UrlParts {
    /// Splits an absolute URL.
    pub(crate) fn of(url: &str) -> Self {
        let after = url.split_once("://").map_or(url, |(_, after)| after);
        let (page, query) = after.split_once('?').unwrap_or((after, ""));
        let (host, path) = page.split_once('/').unwrap_or((page, ""));
        let host = host.rsplit('@').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().to_lowercase();
        let parts = path.split('/').filter(|part| !part.is_empty());
        let mut segments: Vec<String> = parts
            .map(|part| percent_decoded(part).to_lowercase())
            .collect();
        let mut extension = String::new();
        if let Some(last) = segments.last_mut()
            && let Some((name, ending)) = last.rsplit_once('.')
            && (1..=EXTENSION_CHARS_MAX).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            let name = name.to_owned();
            extension = ending.to_owned();
            *last = name;
        }
        Self {
            host,
            segments,
            extension,
            query: percent_decoded(query).to_lowercase(),
        }
    }

    /// Words of the path and query, for ranking.
    pub(crate) fn words(&self) -> String {
        let mut words = self.segments.join(" ");
        words.push(' ');
        words.push_str(&self.query);
        words.replace(['-', '_', '.', '+', '=', '&'], " ")
    }
}
