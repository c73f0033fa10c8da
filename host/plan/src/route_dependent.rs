//! Parameters whose effect depends on who serves the page.

use std::sync::Arc;

use super::needs::{Effect, Needs, RequestFacts};

/// Parameters of a request whose effect depends on the page itself. The pages of a request share
/// them, and most requests have none.
#[derive(Clone, Debug, Default)]
pub struct RouteDependent(Option<Arc<[SentParameter]>>);

#[derive(Debug)]
struct SentParameter {
    path: String,
    needs: Needs,
}

impl RouteDependent {
    /// The parameters at these paths, with what they need.
    pub fn new(sent: Vec<(String, Needs)>) -> Self {
        if sent.is_empty() {
            return Self::default();
        }
        let sent = sent.into_iter();
        let sent = sent.map(|(path, needs)| SentParameter { path, needs });
        Self(Some(sent.collect()))
    }

    /// Those that had no effect on a page that was served in this way. A nested one is left out if
    /// the object that it is in is named.
    pub fn without_effect(&self, page: RequestFacts) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for sent in self.0.iter().flat_map(|all| all.iter()) {
            let is_in_named = names.iter().any(|name| is_within(&sent.path, name));
            if page.effect(sent.needs) == Effect::No && !is_in_named {
                names.push(&sent.path);
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
        let sent = [
            ("wait_for", Needs::JAVASCRIPT),
            ("wait_for.dom", Needs::OWN_BROWSER),
            ("viewport", Needs::OWN_BROWSER),
        ];
        let sent = sent.map(|(path, needs)| (path.to_owned(), needs));
        let route_dependent = RouteDependent::new(sent.to_vec());
        let page = |javascript: bool, own: bool| {
            RequestFacts::default()
                .with(Needs::JAVASCRIPT, javascript)
                .with(Needs::OWN_BROWSER, own)
        };
        let check = |page: RequestFacts, expected: &[&str]| {
            assert_eq!(route_dependent.without_effect(page), expected);
        };
        check(page(true, true), &[]);
        check(page(true, false), &["wait_for.dom", "viewport"]);
        check(page(false, false), &["wait_for", "viewport"]);
        assert!(
            RouteDependent::default()
                .without_effect(page(false, false))
                .is_empty()
        );
    }
}
