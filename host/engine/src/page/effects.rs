//! Parameters whose effect depends on the page: a viewport is of no use to a page that plain HTTP
//! serves.

use serde_json::Value;

use trawl_plan::{Needs, PagePlan, RequestFacts};

use crate::routing::Served;

/// Names in `metadata.ignored` what had no effect on this page. Decision D16.
pub(super) fn name_ignored(plan: &PagePlan, served: &mut Served) {
    let provided = served.provided;
    let by_provider = provided.map(|provided| provided.rendered == Some(true));
    let page = facts(plan, is_by_own_browser(served), by_provider);
    let names = plan.route_dependent.without_effect(page);
    if !names.is_empty() {
        let names = names.into_iter().map(Value::from).collect();
        served.metadata.insert("ignored".to_owned(), names);
    }
}

/// Whether our own browser rendered the page, now or when it was cached.
pub(super) fn is_by_own_browser(served: &Served) -> bool {
    let rendered_by = served.metadata.get("rendered_by").and_then(Value::as_str);
    served.provided.is_none() && rendered_by == Some("browser")
}

/// What is known of a page by who made it: our own browser, or a provider, which may say that it
/// ran the page's JavaScript, or neither.
fn facts(plan: &PagePlan, by_browser: bool, by_provider: Option<bool>) -> RequestFacts {
    let is_rendered = match by_provider {
        Some(says_so) => says_so || plan.needs_javascript(),
        None => by_browser,
    };
    RequestFacts::default()
        .with(Needs::OWN_STACK, by_provider.is_none())
        .with(Needs::OWN_BROWSER, by_browser)
        .with(Needs::JAVASCRIPT, is_rendered)
        .with(Needs::HTTP_ANSWER, by_provider.is_none() && !by_browser)
}

#[cfg(test)]
mod tests {
    use trawl_plan::RouteDependent;
    use trawl_plan::testing::page_plan;

    use super::*;

    #[test]
    fn what_had_no_effect_depends_on_who_served_the_page() {
        let asked = [
            ("viewport", Needs::OWN_BROWSER),
            ("wait_for", Needs::JAVASCRIPT),
            ("wait_for.dom", Needs::OWN_BROWSER),
            ("cache.allow_stale", Needs::HTTP_ANSWER),
        ];
        let asked = asked.map(|(path, needs)| (path.to_owned(), needs));
        let plan = PagePlan {
            route_dependent: RouteDependent::new(asked.to_vec()),
            ..page_plan("http://a.example/")
        };
        let check = |by_browser: bool, by_provider: Option<bool>, expected: &[&str]| {
            let page = facts(&plan, by_browser, by_provider);
            assert_eq!(plan.route_dependent.without_effect(page), expected);
        };
        check(true, None, &["cache.allow_stale"]);
        check(false, None, &["viewport", "wait_for"]);
        let rendered = ["viewport", "wait_for.dom", "cache.allow_stale"];
        check(false, Some(true), &rendered);
        let plain = ["viewport", "wait_for", "cache.allow_stale"];
        check(false, Some(false), &plain);
    }
}
