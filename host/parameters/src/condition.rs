//! The conditions of parameters in words.

use trawl_plan::Needs;

use super::row::Parameter;

/// Every condition with its words.
const PHRASES: [(Needs, &str); 17] = [
    (Needs::PAID, "not in the Unlimited plan"),
    (Needs::TEXT, "with a format of the page's text"),
    (Needs::HTML, "with the format `html`"),
    (
        Needs::BODY,
        "unless `content` is only `empty` or `screenshot`",
    ),
    (Needs::DOCUMENT, "if an output reads the document"),
    (Needs::LINKS, "if links are listed or followed"),
    (Needs::PICTURE, "with a screenshot"),
    (Needs::BROWSER, "unless `request` is `http`"),
    (Needs::MODEL, "with a language model"),
    (Needs::PLUGIN, "if its plugin is loaded"),
    (Needs::POOL, "if such a pool is configured"),
    (
        Needs::STORABLE,
        "without `headers`, `cookies`, scripts, steps or a screenshot",
    ),
    (Needs::PLAIN, "unless `request` is `browser`"),
    (
        Needs::OWN_BROWSER,
        "on pages that Trawl's own browser rendered",
    ),
    (Needs::JAVASCRIPT, "on rendered pages"),
    (Needs::OWN_STACK, "on pages that no provider served"),
    (Needs::HTTP_ANSWER, "on pages that plain HTTP served"),
];

/// The conditions as markdown for the documentation: `with a screenshot, on rendered pages`. Empty
/// for none.
pub fn condition(needs: Needs) -> String {
    let own = PHRASES.iter().filter(|(one, _)| needs.has_all(*one));
    let own: Vec<_> = own.map(|(_, phrase)| *phrase).collect();
    own.join(", ")
}

impl Parameter {
    /// What it needs to have an effect, in words; empty if that is nothing.
    pub fn condition(&self) -> String {
        condition(self.needs)
    }
}
