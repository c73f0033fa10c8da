//! People by the context of their names: an occupation, a matching e-mail address, similar lines.

use std::collections::{HashMap, HashSet};

use super::headings::{is_team_heading, name_columns};
use super::lines::{self, EDGE, Line, Place};
use super::local_parts::LocalParts;
use super::runs::{Clause, Run, clauses, is_role, role_at_end, role_at_start, runs};
use super::{People, writing_systems};
use crate::found::{Email, Person};
use crate::page::Page;

/// Maximum length of a line that starts with a name, and of a role, in bytes.
const ENTRY_BYTES_MAX: usize = 200;
const ROLE_BYTES_MAX: usize = 100;
/// Minimum share, in tenths, of lines of one kind that start with a name for all of them to be
/// people.
const NAMES_OF_TEN: usize = 7;
/// Minimum number of lines of one kind that a heading such as `Our team` makes people.
const TEAM_MIN: usize = 2;
/// Number of cells on either side of a name that are searched for its role.
const CELLS_NEAR: usize = 3;

/// A line and what is known about it.
struct Entry<'t> {
    line: &'t Line,
    clauses: Vec<Clause<'t>>,
    /// The name at the start of the line.
    lead: Option<Run>,
    /// Whether that name is known to be a person.
    is_known: bool,
    /// Whether the line is the role of another line's name.
    is_taken: bool,
    /// Whether the section has a heading such as `Our team`.
    is_team: bool,
}

/// Adds the people of the lines of a page.
pub(super) fn find(page: &Page<'_>, emails: &[Email], people: &mut People) {
    let lines = lines::of_page(page.document);
    let language = page.document.html().and_then(|html| html.attr("lang"));
    let is_role_last = language.is_some_and(|language| {
        ["hu", "tr", "az", "kk", "uz"].iter().any(|own| {
            language
                .get(..2)
                .is_some_and(|code| code.eq_ignore_ascii_case(own))
        })
    });
    let local_parts = LocalParts::of(emails, page.document.url());
    let mut entries = entries(&lines, is_role_last);
    for at in 0..entries.len() {
        in_line(&mut entries, at, &local_parts, is_role_last, people);
    }
    of_a_kind(&entries, people);
}

fn entries(lines: &[Line], is_role_last: bool) -> Vec<Entry<'_>> {
    let mut is_team = false;
    let mut entries = Vec::with_capacity(lines.len());
    for line in lines {
        let clauses = clauses(&line.text);
        let lead = lead(&line.text, &clauses, is_role_last);
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

/// The name at the start of a line, which is a clause of its own.
fn lead(text: &str, clauses: &[Clause<'_>], is_role_last: bool) -> Option<Run> {
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
    let run = runs(first.text, is_role_last).into_iter().next()?;
    (run.is_first && run.is_last).then_some(run)
}

fn in_line(
    entries: &mut [Entry<'_>],
    at: usize,
    local_parts: &LocalParts,
    is_role_last: bool,
    people: &mut People,
) {
    let entry = &entries[at];
    let (mut found, mut is_lead_known) = in_clauses(entry, local_parts, is_role_last);
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

/// The names of a line that are people, with their roles, and whether the leading name is one of
/// them.
fn in_clauses(
    entry: &Entry<'_>,
    local_parts: &LocalParts,
    is_role_last: bool,
) -> (Vec<(String, Option<String>)>, bool) {
    let mut found = Vec::new();
    let mut is_lead_known = false;
    let mut named_before = false;
    for (n, clause) in entry.clauses.iter().enumerate() {
        let runs = runs(clause.text, is_role_last);
        let n_runs = runs.len();
        let mut is_named = false;
        for (n_run, run) in runs.into_iter().enumerate() {
            let role = run
                .role
                .clone()
                .or_else(|| role_after(&entry.clauses, n, &run, n_run + 1 == n_runs))
                .or_else(|| role_before(&entry.clauses, n, &run, named_before));
            let is_person = role.is_some()
                || run.is_titled
                || entry.line.is_byline && run.is_last
                || local_parts.name(&run.name);
            if is_person {
                is_lead_known |= n == 0 && run.is_first && run.is_last;
                found.push((run.name, role));
            }
            is_named = true;
        }
        named_before = is_named;
    }
    (found, is_lead_known)
}

/// The role after a name: `Ann Lee, head of sales`, `Ann Lee (owner)`, `Ann Lee – owner`.
fn role_after(clauses: &[Clause<'_>], n: usize, run: &Run, is_last_run: bool) -> Option<String> {
    if !(run.is_last && is_last_run) {
        return None;
    }
    let next = clauses.get(n + 1)?;
    let is_adjacent = matches!(
        next.mark,
        ',' | '–' | '—' | '-' | '(' | '（' | '|' | '·' | '•' | '/' | ':' | EDGE | '、' | '،' | '['
    );
    // The role belongs to a name after it: `Ann Lee, director Bo West`.
    let is_free = || runs(next.text, false).is_empty();
    let role = role_at_start(next.text).filter(|_| is_adjacent)?;
    is_free().then(|| role.to_owned())
}

/// The role in front of a name: `Owner: Ann Lee`, `our data protection officer, Ann Lee`.
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
        // A role in brackets or between commas belongs to the name in front of it.
        ',' | ')' if !is_second && run.is_last => {
            let role = role_at_end(before.text)?;
            (clauses[n].mark == ',').then(|| role.to_owned())
        }
        // `Head of sales (Europe): Ann Lee`
        _ => None,
    }
}

/// The adjacent line or cell that is the role of a name.
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
        let after = (at + 1..entries.len()).take(CELLS_NEAR).filter(is_in_row);
        let before = (0..at).rev().take(CELLS_NEAR).filter(is_in_row);
        return after.chain(before).find(|by| is_role_line(*by));
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

/// Adds the names of lines of which the others of their kind are known to be people.
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
        let is_person =
            is_list && (kind.n_known > 0 || is_team || headed.contains(&entry.line.kind));
        if !is_person {
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
    /// Whether the line has little text besides the name.
    fn is_short(&self) -> bool {
        self.clauses.len() <= 4 && self.line.text.len() <= ROLE_BYTES_MAX
    }
}

/// The text of a line without edge marks.
fn shown(text: &str) -> String {
    let shown: String = text.chars().filter(|c| *c != EDGE).collect();
    shown.trim().to_owned()
}
