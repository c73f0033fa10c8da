//! The built-in topics and industries, and the terms that indicate them.

/// A label of the taxonomy.
#[derive(Debug)]
pub(crate) struct Label {
    /// Its name in answers.
    pub(crate) name: &'static str,
    /// Topic or industry.
    pub(crate) kind: Kind,
    /// schema.org types that imply it.
    pub(crate) types: &'static [&'static str],
}

/// Kind of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What a page is about.
    Topic,
    /// The business of the site's owner.
    Industry,
}

mod table {
    use super::{Kind, Label};

    include!(concat!(env!("OUT_DIR"), "/taxonomy.rs"));
}

/// Index of a term in the table.
pub(crate) type TermId = u16;

/// All labels, topics first.
pub(crate) fn labels() -> &'static [Label] {
    table::LABELS
}

/// The labels a term is evidence for, by index, with the term's weight.
pub(crate) fn labels_of(term: TermId) -> impl Iterator<Item = (usize, f32)> {
    table::TERMS[usize::from(term)]
        .iter()
        .map(|&(label, tenths)| (usize::from(label), f32::from(tenths) / 10.0))
}

/// The terms that match a folded word: the word itself, and its longest prefix that is a term.
pub(crate) fn terms_of(word: &str) -> impl Iterator<Item = TermId> {
    let exact = table::WORDS
        .binary_search_by_key(&word, |(own, _)| own)
        .ok();
    let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
    let stem = ends.rev().find_map(|end| {
        table::STEMS
            .binary_search_by_key(&&word[..end], |(own, _)| own)
            .ok()
    });
    exact
        .map(|at| table::WORDS[at].1)
        .into_iter()
        .chain(stem.map(|at| table::STEMS[at].1))
}

/// The multi-word terms that start with this word: the remaining words, and the term.
pub(crate) fn phrases_of(first: &str) -> &'static [(&'static str, &'static str, TermId)] {
    let start = table::PHRASES.partition_point(|(own, _, _)| *own < first);
    let end = table::PHRASES.partition_point(|(own, _, _)| *own <= first);
    &table::PHRASES[start..end]
}

#[cfg(test)]
mod tests {
    use super::{Kind, labels, labels_of, phrases_of, terms_of};

    fn names(word: &str) -> Vec<&'static str> {
        terms_of(word)
            .flat_map(labels_of)
            .map(|(label, _)| labels()[label].name)
            .collect()
    }

    #[test]
    fn there_are_topics_and_industries() {
        let n_topics = labels()
            .iter()
            .filter(|label| label.kind == Kind::Topic)
            .count();
        assert!((60..=100).contains(&n_topics), "{n_topics}");
        assert!((35..=60).contains(&(labels().len() - n_topics)));
        let mut all: Vec<&str> = labels()
            .iter()
            .filter(|label| label.kind == Kind::Topic)
            .map(|label| label.name)
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n_topics, "no topic stands twice");
    }

    #[test]
    fn words_speak_for_labels() {
        assert!(names("rezepte").contains(&"Cooking & Recipes"));
        assert!(names("versicherungen").contains(&"Insurance"));
        assert_eq!(
            names("investigation"),
            ["Crime & Justice"],
            "the longest beginning counts"
        );
        assert!(names("xyzzy").is_empty());
        assert!(
            phrases_of("real")
                .iter()
                .any(|(_, rest, _)| *rest == "estate")
        );
        assert!(phrases_of("zzz").is_empty());
    }
}
