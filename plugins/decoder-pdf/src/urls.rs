//! Addresses of the web that a text shows without being linked: readers of PDFs make links of them.

use crate::lines::Run;

/// How addresses begin.
const SCHEMES: [&str; 3] = ["https://", "http://", "ftp://"];
/// Characters that end a sentence rather than the address before them.
const ENDS: [char; 9] = ['.', ',', ';', ':', '!', '?', '\'', '"', '…'];

/// The runs with a link at each address that they show.
pub(crate) fn linked(runs: &[Run]) -> Vec<Run> {
    let mut linked = Vec::with_capacity(runs.len());
    for run in runs {
        let mut rest = run.text.as_str();
        while let Some((before, url)) = next(rest).filter(|_| run.link.is_none()) {
            let after = &rest[before + url.len()..];
            for (text, link) in [(&rest[..before], None), (url, Some(url.to_owned()))] {
                linked.push(Run {
                    text: text.to_owned(),
                    style: run.style,
                    link,
                });
            }
            rest = after;
        }
        linked.push(Run {
            text: rest.to_owned(),
            ..run.clone()
        });
    }
    linked.retain(|run| !run.text.is_empty());
    linked
}

/// Where the first address of a text is, and the address.
fn next(text: &str) -> Option<(usize, &str)> {
    let starts = SCHEMES.iter().filter_map(|scheme| text.find(scheme));
    let from = starts.min()?;
    let rest = &text[from..];
    let is_end = |c: char| c.is_whitespace() || !c.is_ascii() || "<>\"{}|\\^`".contains(c);
    let url = &rest[..rest.find(is_end).unwrap_or(rest.len())];
    let mut url = url.trim_end_matches(ENDS);
    // A bracket that is opened before the address ends after it.
    for (open, close) in [('(', ')'), ('[', ']')] {
        while url.ends_with(close) && url.matches(close).count() > url.matches(open).count() {
            url = url[..url.len() - 1].trim_end_matches(ENDS);
        }
    }
    let host = url.split_once("://").map_or("", |(_, host)| host);
    host.starts_with(|c: char| c.is_ascii_alphanumeric())
        .then_some((from, url))
}

#[cfg(test)]
mod tests {
    use super::linked;
    use crate::lines::Run;
    use crate::page::Style;

    fn links(text: &str) -> Vec<String> {
        let run = Run {
            text: text.to_owned(),
            style: Style::default(),
            link: None,
        };
        let runs = linked(&[run]);
        let shown: String = runs.iter().map(|run| run.text.as_str()).collect();
        assert_eq!(shown, text);
        runs.into_iter().filter_map(|run| run.link).collect()
    }

    #[test]
    fn addresses_end_before_the_sentence_does() {
        for (text, expected) in [
            ("See https://a.example/b. And", &["https://a.example/b"][..]),
            (
                "(http://a.example/b_(c)), ftp://b.example/",
                &["http://a.example/b_(c)", "ftp://b.example/"],
            ),
            ("<https://a.example/?a=1&b>;", &["https://a.example/?a=1&b"]),
            ("from https:// on", &[]),
            ("no address", &[]),
        ] {
            assert_eq!(links(text), expected, "{text}");
        }
    }
}
