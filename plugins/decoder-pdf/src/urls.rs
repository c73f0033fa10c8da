//! Addresses of the web and of e-mail that a text shows without being linked: readers of PDFs make
//! links of them.

use crate::lines::Run;

/// How addresses begin.
const SCHEMES: [&str; 3] = ["https://", "http://", "ftp://"];
/// What may stand before an address of e-mail.
const MAIL: &str = "mailto:";
/// Characters that end a sentence rather than the address before them.
const ENDS: [char; 9] = ['.', ',', ';', ':', '!', '?', '\'', '"', '…'];

/// The runs with a link at each address that they show.
pub(crate) fn linked(runs: &[Run]) -> Vec<Run> {
    let mut linked = Vec::with_capacity(runs.len());
    for run in runs {
        let mut rest = run.text.as_str();
        while let Some((before, url)) = first(rest).filter(|_| run.link.is_none()) {
            let after = &rest[before + url.len()..];
            let target = match url.contains("://") || url.starts_with(MAIL) {
                true => url.replace('˜', "~"),
                false => format!("mailto:{url}"),
            };
            for (text, link) in [(&rest[..before], None), (url, Some(target))] {
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

/// Where the first address of a text is, of the web or of e-mail, and the address.
fn first(text: &str) -> Option<(usize, &str)> {
    let (web, mail) = (next(text), next_mail(text));
    match (web, mail) {
        (Some(web), Some(mail)) => Some(if mail.0 < web.0 { mail } else { web }),
        (web, mail) => web.or(mail),
    }
}

/// Where the first address of e-mail of a text is, and the address.
fn next_mail(text: &str) -> Option<(usize, &str)> {
    let is_host = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let is_name = |c: char| is_host(c) || c == '_' || c == '+';
    text.match_indices('@').find_map(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + 1..]);
        let from = before.trim_end_matches(is_name).len();
        let host = &after[..after.find(|c: char| !is_host(c)).unwrap_or(after.len())];
        let host = host.trim_end_matches(['.', '-']);
        let (_, top) = host.rsplit_once('.')?;
        let n_scheme = match before[..from].ends_with(MAIL) {
            true => MAIL.len(),
            false => 0,
        };
        let is_address = from < at
            && text[from..].starts_with(|c: char| c.is_ascii_alphanumeric())
            && host.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !before[..from - n_scheme].ends_with(['/', ':', '='])
            && !after[host.len()..].starts_with([':', '@', '/'])
            && top.len() > 1
            && top.bytes().all(|byte| byte.is_ascii_alphabetic());
        is_address.then(|| (from - n_scheme, &text[from - n_scheme..at + 1 + host.len()]))
    })
}

/// Where the first address of the web is in a text, and the address.
fn next(text: &str) -> Option<(usize, &str)> {
    let starts = SCHEMES.iter().filter_map(|scheme| text.find(scheme));
    let from = starts.min()?;
    let rest = &text[from..];
    let is_end =
        |c: char| c.is_whitespace() || !c.is_ascii() && c != '˜' || "<>\"{}|\\^`".contains(c);
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
            ("http://a.example/˜ann/", &["http://a.example/~ann/"]),
            ("Ann <ann.b@a.example>.", &["mailto:ann.b@a.example"]),
            ("1. mailto:ann@a.example", &["mailto:ann@a.example"]),
            (
                "https://a.example/@b or ann@a.example:22",
                &["https://a.example/@b"],
            ),
            ("a@b, @c.example", &[]),
        ] {
            assert_eq!(links(text), expected, "{text}");
        }
    }
}
