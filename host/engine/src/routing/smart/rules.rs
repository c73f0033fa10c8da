//! The rules: when a page with little text needs a browser. The first that applies is the reason.

use super::prose::is_waiting;
use super::shape::{PageShape, THINGS_MAX};
use super::{PageSignals, Rule, walls};

/// Text allowed around an empty element for the content of a page: a header and a footer.
const SHELL_BYTES_MAX: usize = 200;
/// Text allowed next to a `noscript` that asks for JavaScript. Complete pages may ask for it too,
/// for comments.
const APPEAL_BYTES_MAX: usize = 100;
/// Links and images of a page without text that has a framework's data: a logo, an icon or two.
const HYDRATION_THINGS_MAX: usize = 3;
/// Content of a page that has nothing but scripts: a logo, or the link of a redirect.
const BARE_THINGS_MAX: usize = 1;
/// Fields of a page that only submits a form: the button for those without scripts.
const SUBMITTED_FIELDS_MAX: usize = 1;
/// Code of a page that only redirects. Applications use `location` too, but are longer.
const STUB_BYTES_MAX: usize = 8 * 1024;

/// Whether a rule applies to a page.
type Holds = fn(&PageSignals<'_>, &PageShape) -> bool;

/// From the most specific (challenges and redirects) to the bare absence of content.
const RULES: [(Rule, Holds); 8] = [
    (Rule::BotWall, walls::is_challenge),
    (Rule::ScriptRedirect, is_script_redirect),
    (Rule::EmptyShell, is_empty_shell),
    (Rule::HydrationWithoutText, is_hydration_without_text),
    (Rule::NoscriptAppeal, is_noscript_appeal),
    (Rule::ScriptOnlyBody, is_script_only),
    (Rule::EmptyShell, has_empty_content),
    (Rule::Frames, has_frames_alone),
];

/// The first rule that applies to a page with little text.
pub(super) fn first(signals: &PageSignals<'_>, shape: &PageShape) -> Option<Rule> {
    if shape.n_things > THINGS_MAX {
        return None;
    }
    let held = RULES.iter().find(|(_, holds)| holds(signals, shape));
    let rule = held.map(|(rule, _)| *rule);
    // A page that redirects by its markup is followed at a lower price.
    rule.filter(|&rule| rule == Rule::BotWall || !shape.has_refresh)
}

fn is_script_redirect(_: &PageSignals<'_>, shape: &PageShape) -> bool {
    let scripts = &shape.scripts;
    scripts.goes_elsewhere
        && scripts.n_external == 0
        && scripts.inline_bytes <= STUB_BYTES_MAX
        && shape.n_fields <= SUBMITTED_FIELDS_MAX
        && shape.n_things <= BARE_THINGS_MAX
        && is_waiting(shape.prose.bytes())
}

fn is_empty_shell(_: &PageSignals<'_>, shape: &PageShape) -> bool {
    shape.has_empty_mount && !shape.scripts.is_empty()
}

fn has_empty_content(_: &PageSignals<'_>, shape: &PageShape) -> bool {
    shape.has_empty_content
        && shape.scripts.is_application()
        && shape.n_fields == 0
        && is_at_most(shape, SHELL_BYTES_MAX)
}

fn is_hydration_without_text(_: &PageSignals<'_>, shape: &PageShape) -> bool {
    shape.has_hydration && !shape.scripts.is_empty() && is_bare(shape, HYDRATION_THINGS_MAX)
}

fn is_noscript_appeal(_: &PageSignals<'_>, shape: &PageShape) -> bool {
    let words = shape.prose.bytes();
    (shape.has_noscript_appeal || super::prose::is_appeal(words))
        && !shape.scripts.is_empty()
        && shape.n_fields == 0
        && is_at_most(shape, APPEAL_BYTES_MAX)
}

fn is_script_only(_: &PageSignals<'_>, shape: &PageShape) -> bool {
    !shape.scripts.is_empty() && is_bare(shape, BARE_THINGS_MAX)
}

fn has_frames_alone(_: &PageSignals<'_>, shape: &PageShape) -> bool {
    shape.n_frames > 0 && is_bare(shape, shape.n_frames + BARE_THINGS_MAX)
}

fn is_at_most(shape: &PageShape, bytes: usize) -> bool {
    shape.prose.bytes().len() <= bytes
}

/// No text, or only that something is to come, and hardly anything else.
fn is_bare(shape: &PageShape, things: usize) -> bool {
    is_waiting(shape.prose.bytes()) && shape.n_fields == 0 && shape.n_things <= things
}
