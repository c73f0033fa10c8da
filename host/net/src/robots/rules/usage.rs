//! Lines of a robots.txt about the use of pages: `Content-Usage` of draft-ietf-aipref-attach and
//! `Content-Signal`. Each may begin with the path that it is about.

use trawl_model::Rights;

use super::super::statements::{self, Source, Uses};
use super::{Rule, is_blank};

/// Lines of one group that are read: each is compared with every path.
const LINES_MAX: usize = 100;

/// The lines of one group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Usages(Vec<Usage>);

/// One line.
#[derive(Clone, Debug, PartialEq)]
struct Usage {
    source: Source,
    path: Rule,
    uses: Uses,
}

impl Usages {
    /// Adds a line, unless there are too many.
    pub(super) fn add(&mut self, source: Source, value: &[u8]) {
        let (path, list) = match value.first() {
            Some(b'/' | b'*') => {
                let end = value.iter().position(|byte| is_blank(*byte));
                value.split_at(end.unwrap_or(value.len()))
            }
            _ => (&b"/"[..], value),
        };
        let uses = statements::uses(&String::from_utf8_lossy(list));
        if self.0.len() < LINES_MAX && !uses.is_empty() {
            self.0.push(Usage {
                source,
                path: Rule::new(true, path),
                uses,
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lines whose path has wildcards.
    pub(super) fn n_wildcards(&self) -> usize {
        self.0.iter().filter(|line| !line.path.is_plain()).count()
    }

    /// Approximate bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let lines = self.0.iter();
        lines
            .map(|line| size_of::<Usage>() + line.path.pattern.len())
            .sum()
    }

    /// What the lines say about a normalized path. Of each source, those with the most specific
    /// path count, as of `Allow` and `Disallow`.
    pub(super) fn of(&self, path: &str) -> Rights {
        let mut rights = Rights::default();
        for source in [Source::RobotsContentUsage, Source::RobotsContentSignal] {
            let of_source = self.0.iter().filter(|line| line.source == source);
            let matching: Vec<&Usage> = of_source.filter(|line| line.path.matches(path)).collect();
            let longest = matching.iter().map(|line| line.path.octets).max();
            for line in matching {
                if Some(line.path.octets) == longest {
                    line.uses.say(&mut rights, source);
                }
            }
        }
        rights
    }
}

#[cfg(test)]
mod tests {
    use trawl_model::Purpose::{self, AiInput, AiTrain, Search};

    use crate::robots::Rules;

    fn allowed(text: &str, path: &str, purpose: Purpose) -> Option<bool> {
        let rules = Rules::read(text.as_bytes(), "Trawl");
        rules.rights(path).allowed(purpose)
    }

    #[test]
    fn lines_of_the_own_group_count() {
        let text = "User-agent: *\nContent-Signal: search=yes,ai-input=no,ai-train=no\nAllow: /\n\n\
            User-agent: Other\nContent-Usage: search=n\n";
        assert_eq!(allowed(text, "/a", Search), Some(true));
        assert_eq!(allowed(text, "/a", AiInput), Some(false));
        assert_eq!(allowed(text, "/a", AiTrain), Some(false));
        let own = format!("{text}\nUser-agent: trawl\nDisallow: /x\n");
        assert_eq!(allowed(&own, "/a", AiTrain), None);
        assert_eq!(allowed("Content-Signal: search=no\n", "/a", Search), None);
    }

    #[test]
    fn the_most_specific_path_of_a_source_counts() {
        let text = "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /open/ train-ai=y\n\
            Content-Usage: /*.png$ train-ai=n, search=n\n";
        assert_eq!(allowed(text, "/a", AiTrain), Some(false));
        assert_eq!(allowed(text, "/open/a", AiTrain), Some(true));
        assert_eq!(allowed(text, "/open/a", Search), None);
        assert_eq!(allowed(text, "/a.png", Search), Some(false));
        // Another source is compared with its own lines alone.
        let both = format!("{text}Content-Signal: ai-train=no\n");
        assert_eq!(allowed(&both, "/open/a", AiTrain), Some(false));
        let rules = Rules::read(both.as_bytes(), "Trawl");
        assert_eq!(
            rules.rights("/open/a").refused_by(AiTrain),
            Some("robots.txt content-signal")
        );
    }

    #[test]
    fn licenses_stand_anywhere_and_lines_end_no_list_of_names() {
        let text = "License: https://a.example/license.xml\nUser-agent: a\nContent-Usage: search=n\n\
            User-agent: trawl\nDisallow: /x\n";
        let rules = Rules::read(text.as_bytes(), "Trawl");
        assert_eq!(rules.licenses, ["https://a.example/license.xml"]);
        // Every page of the site would repeat it.
        let long = format!("License: https://a.example/{}\n", "x".repeat(400_000));
        let rules = Rules::read(format!("{long}{text}").as_bytes(), "trawl");
        assert_eq!(rules.licenses, ["https://a.example/license.xml"]);
        assert!(!rules.allows("/x"));
        let of_a = Rules::read(text.as_bytes(), "a");
        assert!(!of_a.allows("/x"), "RFC 9309 section 2.2.4");
    }

    #[test]
    fn many_lines_are_cut() {
        let mut text = "User-agent: *\n".to_owned();
        for number in 0..super::LINES_MAX {
            text.push_str(&format!("Content-Usage: /{number}/ search=n\n"));
        }
        text.push_str("Content-Usage: /late search=n\n");
        assert_eq!(allowed(&text, "/99/", Search), Some(false));
        assert_eq!(allowed(&text, "/late", Search), None);
    }
}
