//! People by what stands around their names: an occupation, an address that is made of the name, others of their kind.

use std::collections::{HashMap, HashSet};

use super::headings::{is_team_heading, name_columns};
use super::lines::{self, EDGE, Line, Place};
use super::local_parts::Locals;
use super::runs::{Clause, Run, clauses, is_role, role_at_end, role_at_start, runs};
use super::{People, writing_systems};
use crate::found::{Email, Person};
use crate::page::Page;

/// Longest line that is a name with a few words behind it, in bytes, and longest line of a role.
const ENTRY_BYTES_MAX: usize = 200;
const ROLE_BYTES_MAX: usize = 100;
/// Of ten lines of a kind, how many must begin with a name when one is known to be somebody's.
const NAMES_OF_TEN: usize = 7;
/// Lines of a kind that a heading such as `Our team` makes people.
const TEAM_MIN: usize = 2;
/// Cells of a row that are looked at for a role, to each side.
const CELLS_NEAR: usize = 3;

/// A line with what is known of it.
struct Entry<'t> {
    line: &'t Line,
    clauses: Vec<Clause<'t>>,
    /// The name that the line begins with.
    lead: Option<Run>,
    /// Whether its name is known to be somebody's.
    is_known: bool,
    /// Whether a name has taken it for its role.
    is_taken: bool,
    /// Whether it stands below a heading such as `Our team`.
    is_team: bool,
}

/// Adds the people of a page's lines.
pub(super) fn find(page: &Page<'_>, emails: &[Email], people: &mut People) {
    let lines = lines::of_page(page.document);
    let language = page.document.html().and_then(|html| html.attr("lang"));
    let is_behind = language.is_some_and(|language| {
        ["hu", "tr", "az", "kk", "uz"].iter().any(|own| {
            language
                .get(..2)
                .is_some_and(|code| code.eq_ignore_ascii_case(own))
        })
    });
    let locals = Locals::of(emails, page.document.url());
    let mut entries = entries(&lines, is_behind);
    for at in 0..entries.len() {
        in_line(&mut entries, at, &locals, is_behind, people);
    }
    of_a_kind(&entries, people);
}

fn entries(lines: &[Line], is_behind: bool) -> Vec<Entry<'_>> {
    let mut is_team = false;
    let mut entries = Vec::with_capacity(lines.len());
    for line in lines {
        let clauses = clauses(&line.text);
        let lead = lead(&line.text, &clauses, is_behind);
        if line.place == Place::Heading && lead.is_none() {
            is_team = line.text.len() < ENTRY_BYTES_MAX && is_team_heading(&line.text);
        }
        entries.push(Entry {
            line,
            clauses,
            lead,
            is_known: false,
            is_taken: false,
            is_team,
        });
    }
    entries
}

/// The name that a line begins with, alone in its clause.
fn lead(text: &str, clauses: &[Clause<'_>], is_behind: bool) -> Option<Run> {
    let first = clauses.first().filter(|_| text.len() <= ENTRY_BYTES_MAX)?;
    if let Some(name) = writing_systems::name(first.text) {
        return Some(Run {
            name: name.to_owned(),
            is_titled: false,
            role: None,
            is_first: true,
            is_last: true,
        });
    }
    let run = runs(first.text, is_behind).into_iter().next()?;
    (run.is_first && run.is_last).then_some(run)
}

fn in_line(
    entries: &mut [Entry<'_>],
    at: usize,
    locals: &Locals,
    is_behind: bool,
    people: &mut People,
) {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    let entry = &entries[at];
    let mut is_lead_known = false;
    let mut named_before = false;
    for (n, clause) in entry.clauses.iter().enumerate() {
        let runs = runs(clause.text, is_behind);
        let n_runs = runs.len();
        let mut is_named = false;
        for (n_run, run) in runs.into_iter().enumerate() {
            let role = run
                .role
                .clone()
                .or_else(|| role_behind(&entry.clauses, n, &run, n_run + 1 == n_runs))
                .or_else(|| role_before(&entry.clauses, n, &run, named_before));
            let is_somebody = role.is_some()
                || run.is_titled
                || entry.line.is_byline && run.is_last
                || locals.name(&run.name);
            if is_somebody {
                is_lead_known |= n == 0 && run.is_first && run.is_last;
                found.push((run.name, role));
            }
            is_named = true;
        }
        named_before = is_named;
    }
    found.extend(
        writing_systems::people(&entry.clauses)
            .into_iter()
            .map(|(name, role)| (name.to_owned(), Some(role.to_owned()))),
    );
    if let Some(lead) = entry.lead.clone() {
        is_lead_known |= found.iter().any(|(name, _)| *name == lead.name);
        let has_role = found
            .iter()
            .any(|(name, role)| *name == lead.name && role.is_some());
        if !has_role
            && (is_lead_known || entry.clauses.len() == 1 || entry.line.row != 0)
            && let Some(by) = role_line(entries, at)
        {
            entries[by].is_taken = true;
            is_lead_known = true;
            found.push((lead.name, Some(shown(&entries[by].line.text))));
        }
    }
    entries[at].is_known = is_lead_known;
    for (name, role) in found {
        people.add(Person {
            name,
            role: role.map(|role| role.trim().to_owned()),
            ..Person::default()
        });
    }
}

/// `Ann Lee, head of sales`, `Ann Lee (owner)`, `Ann Lee – owner`.
fn role_behind(clauses: &[Clause<'_>], n: usize, run: &Run, is_last_run: bool) -> Option<String> {
    if !(run.is_last && is_last_run) {
        return None;
    }
    let next = clauses.get(n + 1)?;
    let is_beside = matches!(
        next.mark,
        ',' | '–' | '—' | '-' | '(' | '（' | '|' | '·' | '•' | '/' | ':' | EDGE | '、' | '،' | '['
    );
    // Another name there has the role for itself: `Ann Lee, director Bo West`.
    let is_free = || runs(next.text, false).is_empty();
    let role = role_at_start(next.text).filter(|_| is_beside)?;
    is_free().then(|| role.to_owned())
}

/// `Owner: Ann Lee`, `our data protection officer, Ann Lee`.
fn role_before(
    clauses: &[Clause<'_>],
    n: usize,
    run: &Run,
    is_named_before: bool,
) -> Option<String> {
    let before = clauses.get(n.checked_sub(1)?)?;
    if !run.is_first || is_named_before {
        return None;
    }
    let is_second = n >= 2 && !runs(clauses[n - 2].text, false).is_empty();
    match clauses[n].mark {
        ':' | '：' if is_role(before.text) => Some(before.text.to_owned()),
        ':' | '：' => role_at_end(before.text).map(str::to_owned),
        '–' | '—' | '-' | '|' | EDGE | '·' if !is_second && is_role(before.text) => {
            Some(before.text.to_owned())
        }
        // A role in brackets or between commas belongs to the name before it.
        ',' | ')' if !is_second && run.is_last => {
            let role = role_at_end(before.text)?;
            (clauses[n].mark == ',').then(|| role.to_owned())
        }
        // `Head of sales (Europe): Ann Lee`
        _ => None,
    }
}

/// The line beside a name alone in its line that says what the name does.
fn role_line(entries: &[Entry<'_>], at: usize) -> Option<usize> {
    let own = entries[at].line;
    let is_role_line = |by: usize| {
        let entry = &entries[by];
        let first = entry.clauses.first();
        entry.lead.is_none()
            && !entry.is_taken
            && entry.line.text.len() <= ROLE_BYTES_MAX
            && !entry.line.text.ends_with(['.', '?', '!', ':'])
            && first
                .is_some_and(|first| is_role(first.text) || writing_systems::is_role(first.text))
            && entry
                .clauses
                .iter()
                .all(|clause| runs(clause.text, false).is_empty())
    };
    if own.row != 0 {
        let is_in_row = |by: &usize| entries[*by].line.row == own.row;
        let behind = (at + 1..entries.len()).take(CELLS_NEAR).filter(is_in_row);
        let before = (0..at).rev().take(CELLS_NEAR).filter(is_in_row);
        return behind.chain(before).find(|by| is_role_line(*by));
    }
    let is_item_pair = |by: usize| {
        let other = entries[by].line;
        own.place != Place::Item || other.place == Place::Item && other.group == own.group
    };
    let next = at + 1;
    if entries.get(next).is_some_and(|entry| {
        entry.line.is_near(own, 3) && entry.line.place != Place::Heading
            || entry.line.is_near(own, 2)
    }) && is_item_pair(next)
        && is_role_line(next)
    {
        return Some(next);
    }
    let before = at.checked_sub(1)?;
    let is_its = entries[before].line.is_near(own, 2) && is_item_pair(before);
    (is_its && is_role_line(before)).then_some(before)
}

/// Lines of the same kind as those of people are people's too, when nearly all of them begin with a name.
fn of_a_kind(entries: &[Entry<'_>], people: &mut People) {
    #[derive(Default)]
    struct Kind {
        n_lines: usize,
        n_names: usize,
        n_known: usize,
        n_team: usize,
    }
    let mut kinds: HashMap<u64, Kind> = HashMap::new();
    let mut headed: HashSet<u64> = HashSet::new();
    let lines: Vec<&Line> = entries.iter().map(|entry| entry.line).collect();
    let headers = name_columns(&lines);
    for entry in entries.iter() {
        let kind = kinds.entry(entry.line.kind).or_default();
        kind.n_lines += 1;
        if entry.lead.is_some() {
            kind.n_names += 1;
            kind.n_known += usize::from(entry.is_known);
            kind.n_team += usize::from(entry.is_team);
        }
        if let Place::Cell {
            column,
            is_heading: false,
        } = entry.line.place
            && headers.contains(&(entry.line.group, column))
        {
            headed.insert(entry.line.kind);
        }
    }
    for entry in entries.iter() {
        let Some(lead) = entry.lead.as_ref().filter(|_| !entry.is_known) else {
            continue;
        };
        let Some(kind) = kinds.get(&entry.line.kind) else {
            continue;
        };
        let is_list = kind.n_names * 10 >= kind.n_lines * NAMES_OF_TEN;
        let is_team = kind.n_team >= TEAM_MIN && kind.n_team == kind.n_names && entry.is_short();
        let is_somebody =
            is_list && (kind.n_known > 0 || is_team || headed.contains(&entry.line.kind));
        if !is_somebody {
            continue;
        }
        let role = entry
            .clauses
            .get(1)
            .map(|clause| clause.text)
            .filter(|text| text.len() < ROLE_BYTES_MAX && !text.contains('@'));
        people.add(Person {
            name: lead.name.clone(),
            role: role.map(str::to_owned),
            ..Person::default()
        });
    }
}

impl Entry<'_> {
    /// Whether the line is a name with little behind it.
    fn is_short(&self) -> bool {
        self.clauses.len() <= 4 && self.line.text.len() <= ROLE_BYTES_MAX
    }
}

/// The text of a line as a reader sees it.
fn shown(text: &str) -> String {
    let shown: String = text.chars().filter(|c| *c != EDGE).collect();
    shown.trim().to_owned()
}
