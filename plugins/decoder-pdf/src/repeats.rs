//! URLs that print shows beside a link, as paper has no links: they say nothing that the link does
//! not.

use std::collections::HashMap;

use crate::blocks::{self, Block};
use crate::lines::Run;

/// Most characters of a URL in brackets.
const BRACKETS_MAX: usize = 600;

/// Leaves URLs in brackets out that repeat the target of the link before them, and unlinks those
/// elsewhere, as in a footnote, that another link of these blocks has.
pub(crate) fn remove(blocks: &mut [Block]) {
    let mut named: HashMap<String, usize> = HashMap::new();
    for runs in blocks.iter_mut().flat_map(blocks::texts) {
        without_brackets(runs);
        let mut from = 0;
        while from < runs.len() {
            let link = runs[from].link.clone();
            let n_runs = runs[from..].iter().take_while(|run| run.link == link);
            let end = from + n_runs.count();
            if let Some(link) = link.as_deref().map(plain) {
                let text: String = runs[from..end]
                    .iter()
                    .map(|run| run.text.as_str())
                    .collect();
                let is_shown = plain(&text) == link;
                match named.get_mut(&link).filter(|count| is_shown && **count > 0) {
                    Some(count) => {
                        *count -= 1;
                        runs[from..end]
                            .iter_mut()
                            .for_each(|run| run.link = Some(String::new()));
                    }
                    None if !is_shown => *named.entry(link).or_default() += 1,
                    None => {}
                }
            }
            from = end;
        }
    }
}

/// A URL or what shows it, as they are compared.
fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let text = text.replace('˜', "~").replace("%7E", "~");
    let text = text.strip_prefix("mailto:").unwrap_or(&text);
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    text.trim_end_matches('/').to_lowercase()
}

/// Removes what is in brackets after a link and shows its target.
fn without_brackets(runs: &mut Vec<Run>) {
    if runs.iter().all(|run| run.link.is_none()) {
        return;
    }
    let characters = runs.iter().enumerate();
    let characters = characters.flat_map(|(at, run)| run.text.chars().map(move |c| (c, at)));
    let characters: Vec<(char, usize)> = characters.collect();
    let mut is_kept = vec![true; characters.len()];
    for (at, (open, _)) in characters.iter().enumerate() {
        let close = match open {
            '(' => ')',
            '[' => ']',
            _ => continue,
        };
        let before = characters[..at]
            .iter()
            .rposition(|(c, _)| !c.is_whitespace());
        let Some((before, link)) =
            before.and_then(|before| Some((before, runs[characters[before].1].link.as_deref()?)))
        else {
            continue;
        };
        let target = plain(link);
        let inner = characters[at + 1..]
            .iter()
            .take(BRACKETS_MAX)
            .map(|(c, _)| *c);
        let ends = inner.clone().enumerate().filter(|(_, c)| *c == close);
        let mut ends = ends.map(|(end, _)| end);
        let is_target = |end: &usize| {
            !target.is_empty() && plain(&inner.clone().take(*end).collect::<String>()) == target
        };
        if let Some(end) = ends.find(is_target) {
            is_kept[before + 1..=at + 1 + end].fill(false);
        }
    }
    let mut is_kept = is_kept.into_iter();
    for run in runs.iter_mut() {
        let kept = run.text.chars().filter(|_| is_kept.next().unwrap_or(true));
        run.text = kept.collect();
    }
    runs.retain(|run| !run.text.is_empty());
}

#[cfg(test)]
mod tests {
    use super::remove;
    use crate::blocks::Block;
    use crate::lines::Run;
    use crate::page::Style;

    fn run(text: &str, link: Option<&str>) -> Run {
        Run {
            text: text.to_owned(),
            style: Style::default(),
            link: link.map(str::to_owned),
        }
    }

    fn shown(runs: Vec<Run>) -> Vec<(String, Option<String>)> {
        let mut blocks = [Block::Paragraph(0.0, runs)];
        remove(&mut blocks);
        let [Block::Paragraph(_, runs)] = blocks else {
            return Vec::new();
        };
        runs.into_iter().map(|run| (run.text, run.link)).collect()
    }

    #[test]
    fn urls_in_brackets_that_repeat_a_link_are_left_out() {
        const URL: &str = "https://a.example/b_(c)/";
        let runs = vec![
            run("See the harbour", Some(URL)),
            run(" [", None),
            run("https://a. example/b_(c)", Some(URL)),
            run("] and", None),
        ];
        let expected = [
            ("See the harbour".to_owned(), Some(URL.to_owned())),
            (" and".to_owned(), None),
        ];
        assert_eq!(shown(runs), expected);
        let other = vec![run("here", Some(URL)), run(" (https://b.example)", None)];
        assert_eq!(shown(other)[1].0, " (https://b.example)");
    }

    #[test]
    fn a_url_is_not_linked_again() {
        let url = Some("https://a.example");
        let runs = vec![
            run("tides", url),
            run(" and ", None),
            run("https://a.example/", url),
            run(" or ", None),
            run("https://a.example", url),
        ];
        let links: Vec<Option<String>> = shown(runs).into_iter().map(|run| run.1).collect();
        assert_eq!(links[0].as_deref(), url);
        assert_eq!(links[2].as_deref(), Some(""));
        assert_eq!(links[4].as_deref(), url);
    }
}
