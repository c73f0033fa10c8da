//! Parameters whose effect depends on who serves the page.

use std::sync::Arc;

use super::needs::{Effect, Needs, Situation};

/// Parameters of a request of which only the page itself shows whether they have an effect. The
/// pages of a request share them, and most requests have none.
#[derive(Clone, Debug, Default)]
pub struct Undecided(Option<Arc<[Asked]>>);

#[derive(Debug)]
struct Asked {
    path: String,
    needs: Needs,
}

impl Undecided {
    /// The parameters at these paths, with what they need.
    pub fn new(asked: Vec<(String, Needs)>) -> Self {
        if asked.is_empty() {
            return Self::default();
        }
        let asked = asked.into_iter().map(|(path, needs)| Asked { path, needs });
        Self(Some(asked.collect()))
    }

    /// Those that had no effect on a page that was served in this way. A nested one is not named
    /// beside the object that it is in.
    pub fn without_effect(&self, page: Situation) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for asked in self.0.iter().flat_map(|all| all.iter()) {
            let is_in_named = names.iter().any(|name| is_within(&asked.path, name));
            if page.effect(asked.needs) == Effect::No && !is_in_named {
                names.push(&asked.path);
            }
        }
        names
    }
}

/// Whether a path leads into the object at another path.
pub fn is_within(path: &str, object: &str) -> bool {
    path.strip_prefix(object)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_did_not_need_is_named_once() {
        let asked = [
            ("wait_for", Needs::JAVASCRIPT),
            ("wait_for.dom", Needs::OWN_BROWSER),
            ("viewport", Needs::OWN_BROWSER),
        ];
        let asked = asked.map(|(path, needs)| (path.to_owned(), needs));
        let undecided = Undecided::new(asked.to_vec());
        let page = |javascript: bool, own: bool| {
            Situation::default()
                .with(Needs::JAVASCRIPT, javascript)
                .with(Needs::OWN_BROWSER, own)
        };
        let check = |page: Situation, expected: &[&str]| {
            assert_eq!(undecided.without_effect(page), expected);
        };
        check(page(true, true), &[]);
        check(page(true, false), &["wait_for.dom", "viewport"]);
        check(page(false, false), &["wait_for", "viewport"]);
        assert!(
            Undecided::default()
                .without_effect(page(false, false))
                .is_empty()
        );
    }
}
