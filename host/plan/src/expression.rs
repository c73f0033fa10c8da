//! Regular expressions that callers write: an engine that runs in linear time, and bounds for what
//! all expressions of a request may take together.
//!
//! They are matched with URLs and host names, which are ASCII. So classes such as `\w` are
//! ASCII's, a hundredth of the size of Unicode's.

use std::collections::HashMap;
use std::sync::Arc;

use regex::bytes;
use regex_automata::meta;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ast::{self, Ast, Flag};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::PlanError;
use super::made::Made;

/// Most regular expressions of one request. Lists of callers have dozens; plain beginnings of paths
/// are not counted.
pub const EXPRESSIONS_MAX: usize = 1_000;
/// Most bytes that the expressions of one request have together, as they are written.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024;
/// Most states of the automata that the expressions of one request become. About one for each
/// letter, so 250 expressions of 40 letters fit. The worst time to match a URL is proportional to
/// it.
pub const STATES_MAX: usize = 10_000;
/// Most bytes of one automaton: a second bound behind [`STATES_MAX`], which is an estimate.
const COMPILED_BYTES_MAX: usize = 2 << 20;
/// Most bytes that one thread keeps to match faster.
const CACHE_BYTES_MAX: usize = 1 << 20;

/// Regular expressions compiled into one automaton: a text is read once, however many there are.
#[derive(Clone, Debug)]
pub(super) struct Expressions {
    /// Clones share its memory.
    regex: Arc<meta::Regex>,
    n_states: usize,
}

/// One expression of a list.
pub(super) struct Expression<'a> {
    /// Its position in the caller's list, from 0.
    pub(super) index: usize,
    /// As it is compiled.
    pub(super) source: String,
    /// As the caller wrote it.
    pub(super) written: &'a str,
}

/// What one request has taken of its bounds: its regular expressions, and what its lists become
/// when they are combined. Request objects that repeat a list share what was compiled for the first
/// of them.
#[derive(Debug, Default)]
pub struct Allowance {
    n_expressions: usize,
    source_bytes: usize,
    n_states: usize,
    made: Made,
    sets: HashMap<Vec<String>, Expressions>,
    single: HashMap<String, bytes::Regex>,
}

impl Expressions {
    /// Whether one of the expressions matches this text.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// States of the automaton: each byte of a text takes at most so many steps.
    pub(super) fn n_states(&self) -> usize {
        self.n_states
    }

    /// Bytes of memory, without what threads keep to match faster.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.regex.memory_usage()
    }
}

impl Allowance {
    /// Counts URLs that are made of each of `n_of` entries of a parameter and each of the
    /// `n_seeds` URLs of a request object. To be asked before they are made.
    ///
    /// # Errors
    /// They are more than the request may still make.
    pub fn make_urls(
        &mut self,
        field: &'static str,
        n_of: usize,
        n_seeds: usize,
    ) -> Result<(), PlanError> {
        self.made.make_urls(field, n_of, n_seeds)
    }

    /// Counts bytes that are made of lists of the request.
    ///
    /// # Errors
    /// They are more than the request may still make. `what` says of what they are made.
    pub fn make_bytes(
        &mut self,
        field: &'static str,
        n_bytes: usize,
        what: &str,
    ) -> Result<(), PlanError> {
        self.made.make_bytes(field, n_bytes, what)
    }

    /// Counts steps of planning, each of a bounded time: an item that is read, a URL that is parsed
    /// or made. Tests ask for them, because times differ between machines.
    pub fn count_steps(&mut self, n_steps: usize) {
        self.made.count_steps(n_steps);
    }

    /// The steps so far.
    pub fn steps(&self) -> u64 {
        self.made.steps()
    }

    /// Compiles the expressions of a list into one automaton; `None` if there are none.
    ///
    /// # Errors
    /// The first expression that is not one, or that exceeds a bound of the request.
    pub(super) fn set(
        &mut self,
        field: &'static str,
        list: &[Expression<'_>],
    ) -> Result<Option<Expressions>, PlanError> {
        if list.is_empty() {
            return Ok(None);
        }
        self.count_steps(list.len());
        let sources: Vec<String> = list.iter().map(|one| one.source.clone()).collect();
        if let Some(known) = self.sets.get(&sources) {
            return Ok(Some(known.clone()));
        }
        let before = self.n_states;
        let parsed = list.iter().map(|one| {
            let refuse = |reason| refusal(field, &format!(" (item {})", one.index), one, reason);
            self.take(&one.source).map_err(refuse)
        });
        let parsed = parsed.collect::<Result<Vec<Hir>, _>>()?;
        let config = meta::Config::new()
            .nfa_size_limit(Some(COMPILED_BYTES_MAX))
            .hybrid_cache_capacity(CACHE_BYTES_MAX)
            .which_captures(WhichCaptures::None)
            .onepass(false)
            .utf8_empty(false);
        let regex = meta::Builder::new()
            .configure(config)
            .build_many_from_hir(&parsed);
        let regex = regex.map_err(|error| {
            PlanError::new(
                field,
                format!("its regular expressions are too large: {error}"),
            )
        })?;
        let set = Expressions {
            regex: Arc::new(regex),
            n_states: self.n_states - before,
        };
        self.sets.insert(sources, set.clone());
        Ok(Some(set))
    }

    /// Compiles one expression whose groups are used.
    ///
    /// # Errors
    /// It is not one, or exceeds a bound of the request.
    pub(super) fn single(
        &mut self,
        field: &'static str,
        source: &str,
    ) -> Result<bytes::Regex, PlanError> {
        if let Some(known) = self.single.get(source) {
            return Ok(known.clone());
        }
        let one = Expression {
            index: 0,
            source: source.to_owned(),
            written: source,
        };
        let refuse = |reason| refusal(field, "", &one, reason);
        self.take(source).map_err(refuse)?;
        let built = bytes::RegexBuilder::new(source)
            .unicode(false)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(CACHE_BYTES_MAX)
            .build();
        let built = built.map_err(|error| refuse(Refusal::Invalid(error.to_string())))?;
        self.single.insert(source.to_owned(), built.clone());
        Ok(built)
    }

    /// Parses an expression and counts it. What would exceed a bound is neither parsed nor
    /// compiled.
    fn take(&mut self, source: &str) -> Result<Hir, Refusal> {
        self.n_expressions += 1;
        if self.n_expressions > EXPRESSIONS_MAX {
            return Err(Refusal::Count);
        }
        self.source_bytes = self.source_bytes.saturating_add(source.len());
        self.count_steps(1);
        if self.source_bytes > SOURCE_BYTES_MAX {
            return Err(Refusal::Source);
        }
        let parsed = parse(source).map_err(Refusal::Invalid)?;
        self.n_states = self.n_states.saturating_add(states(&parsed));
        if self.n_states > STATES_MAX {
            return Err(Refusal::States);
        }
        Ok(parsed)
    }
}

/// Why an expression is refused.
enum Refusal {
    Invalid(String),
    Count,
    Source,
    States,
}

fn refusal(field: &'static str, place: &str, one: &Expression<'_>, reason: Refusal) -> PlanError {
    let shown = shown(one.written);
    let advice = "shorten or combine them, or use plain beginnings of paths";
    let reason = match reason {
        Refusal::Invalid(reason) => {
            format!("`{shown}`{place} is not a regular expression: {reason}")
        }
        Refusal::Count => format!(
            "`{shown}`{place} is one too many: a request has at most {EXPRESSIONS_MAX} regular \
             expressions, {advice}"
        ),
        Refusal::Source => format!(
            "`{shown}`{place} is too long: the regular expressions of a request have at most \
             {SOURCE_BYTES_MAX} bytes together, {advice}"
        ),
        Refusal::States => format!(
            "`{shown}`{place} is too large: the regular expressions of a request have at most \
             {STATES_MAX} states together when they are compiled, about one for each letter and \
             repetition, {advice}"
        ),
    };
    PlanError::new(field, reason)
}

/// Parses an expression over ASCII. Repetitions are not expanded, so the result is about as large
/// as the source.
fn parse(source: &str) -> Result<Hir, String> {
    let parsed = ast::parse::Parser::new().parse(source);
    let parsed = parsed.map_err(|error| error.kind().to_string())?;
    let hint = "URLs are ASCII, so leave out the flag `u` and classes of Unicode";
    ast::visit(&parsed, NoUnicode).map_err(|()| hint.to_owned())?;
    let mut translator = TranslatorBuilder::new().unicode(false).utf8(false).build();
    let translated = translator.translate(source, &parsed);
    translated.map_err(|error| format!("{}; {hint}", error.kind()))
}

/// Finds the flag that turns Unicode on again.
struct NoUnicode;

impl ast::Visitor for NoUnicode {
    type Output = ();
    type Err = ();

    fn finish(self) -> Result<(), ()> {
        Ok(())
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), ()> {
        let flags = match part {
            Ast::Flags(set) => Some(&set.flags),
            Ast::Group(group) => group.flags(),
            _ => None,
        };
        match flags.and_then(|flags| flags.flag_state(Flag::Unicode)) {
            Some(true) => Err(()),
            Some(false) | None => Ok(()),
        }
    }
}

/// About how many states an automaton for this expression has.
fn states(part: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().map(states).fold(1, usize::saturating_add);
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len().max(1),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().saturating_mul(4).max(1),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            let each = states(&repetition.sub).saturating_add(1);
            each.saturating_mul(usize::try_from(times).unwrap_or(usize::MAX).max(1))
        }
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

/// The beginning of a text of the caller, for an error.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(sources: &[&str]) -> (Result<Option<Expressions>, String>, Allowance) {
        let mut allowance = Allowance::default();
        let set = add(&mut allowance, sources);
        (set, allowance)
    }

    fn add(allowance: &mut Allowance, sources: &[&str]) -> Result<Option<Expressions>, String> {
        let list = sources
            .iter()
            .enumerate()
            .map(|(index, source)| Expression {
                index,
                source: (*source).to_owned(),
                written: source,
            });
        let list: Vec<_> = list.collect();
        let set = allowance.set("blacklist", &list);
        set.map_err(|error| error.to_string())
    }

    #[test]
    fn a_set_matches_what_its_expressions_match() {
        let (set, _) = list(&[
            "^https://a\\.com/\\w{3}$",
            "(?i)/PRIVATE/",
            "[^/]\\?page=\\d+",
        ]);
        let set = set.expect("fits").expect("a set");
        for (url, expected) in [
            ("https://a.com/abc", true),
            ("https://a.com/abcd", false),
            ("https://a.com/x/private/y", true),
            ("https://a.com/list?page=12", true),
            ("https://a.com/?page=12", false),
        ] {
            assert_eq!(set.is_match(url), expected, "{url}");
        }
        assert!(matches!(list(&[]).0, Ok(None)));
    }

    #[test]
    fn each_bound_is_refused_with_the_item_and_the_bound() {
        let check = |sources: &[&str], expected: &[&str]| {
            let error = list(sources).0.expect_err("too much");
            for part in expected {
                assert!(error.contains(part), "{error}");
            }
        };
        check(
            &["a+"; EXPRESSIONS_MAX + 1],
            &["blacklist: `a+` (item 1000)", "at most 1000 regular"],
        );
        let long = "a".repeat(9_000) + "|" + &"(?x) ".repeat(11_400);
        check(&["b+", &long], &["(item 1)", "at most 65536 bytes"]);
        check(
            &["b+", "(?:.{100}){101}"],
            &["(item 1)", "at most 10000 states"],
        );
        check(
            &["((a{1000}){1000}){1000}"],
            &["(item 0)", "at most 10000 states"],
        );
        check(
            &["b+", "a("],
            &["`a(` (item 1) is not a regular expression: unclosed group"],
        );
        check(&["\\p{L}"], &["URLs are ASCII"]);
        check(&["(?u)\\w"], &["URLs are ASCII"]);
        check(&["(?u:\\w)"], &["URLs are ASCII"]);
    }

    /// Ten thousand of these took ten gigabytes when each was compiled for Unicode.
    #[test]
    fn many_classes_with_repetition_take_little_memory() {
        let (set, allowance) = list(&["\\w{12}"; 10_000]);
        assert!(set.expect_err("too many").contains("at most 10000 states"));
        assert!(
            allowance.n_states <= STATES_MAX + 1_000,
            "{}",
            allowance.n_states
        );
        assert!(allowance.sets.is_empty(), "compiled all the same");
        let (set, allowance) = list(&["\\w{12}"; 160]);
        let set = set.expect("fits").expect("a set");
        assert!(
            allowance.n_states > STATES_MAX * 9 / 10,
            "{}",
            allowance.n_states
        );
        assert!(set.bytes() < 4 << 20, "{} bytes", set.bytes());
    }

    #[test]
    fn the_bounds_are_those_of_the_whole_request_and_repeated_lists_are_compiled_once() {
        let mut allowance = Allowance::default();
        for _ in 0..100 {
            assert!(add(&mut allowance, &["a{1000}", "b{1000}"]).is_ok());
            assert!(allowance.single("link_rewrite", "c{1000}").is_ok());
        }
        assert_eq!(allowance.n_expressions, 3);
        assert!(add(&mut allowance, &["a{1000}", "d{500}"]).is_ok_and(|set| set.is_some()));
        let error = allowance
            .single("link_rewrite", "e{3000}")
            .expect_err("too large");
        assert!(
            error
                .to_string()
                .starts_with("link_rewrite: `e{3000}` is too large"),
            "{error}"
        );
    }
}
