//! The patterns of numbering plans: digits, classes, groups, alternatives, `?`, `{n}`, `{n,m}` and
//! `$`. They are matched without compilation, as each call has a fresh instance.

/// Maximum number of capturing groups of a pattern.
const GROUPS_MAX: usize = 6;

/// The matches of capturing groups: start and end in the text.
pub(super) type Groups = [Option<(usize, usize)>; GROUPS_MAX];

/// The continuation, called with the end of the match so far.
type Then<'c> = &'c mut dyn FnMut(usize, &mut Groups) -> bool;

/// Whether the pattern matches all of `digits`.
pub(super) fn is_full(pattern: &str, digits: &str) -> bool {
    !pattern.is_empty() && groups_of(pattern, digits).is_some()
}

/// The groups if the pattern matches all of `digits`.
pub(super) fn groups_of(pattern: &str, digits: &str) -> Option<Groups> {
    find(pattern, digits, true).map(|(_, groups)| groups)
}

/// The length of the match at the start of `digits`, and its groups.
pub(super) fn prefix_of(pattern: &str, digits: &str) -> Option<(usize, Groups)> {
    (!pattern.is_empty()).then(|| find(pattern, digits, false))?
}

fn find(pattern: &str, digits: &str, is_whole: bool) -> Option<(usize, Groups)> {
    let matcher = Matcher {
        pattern: pattern.as_bytes(),
        text: digits.as_bytes(),
    };
    let mut found = None;
    let mut then = |at: usize, groups: &mut Groups| {
        let is_match = !is_whole || at == digits.len();
        if is_match {
            found = Some((at, *groups));
        }
        is_match
    };
    matcher.any((0, pattern.len()), 0, &mut Groups::default(), &mut then);
    found
}

/// The number of capturing groups of the pattern.
pub(super) fn n_groups(pattern: &str) -> usize {
    n_opened(pattern.as_bytes())
}

fn n_opened(pattern: &[u8]) -> usize {
    let opened = |(at, &byte): (usize, &u8)| byte == b'(' && pattern.get(at + 1) != Some(&b'?');
    pattern
        .iter()
        .enumerate()
        .filter(|&entry| opened(entry))
        .count()
}

struct Matcher<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
}

impl Matcher<'_> {
    /// Tries the alternatives of a range of the pattern.
    fn any(
        &self,
        (start, end): (usize, usize),
        at: usize,
        groups: &mut Groups,
        then: Then<'_>,
    ) -> bool {
        let (mut from, mut place) = (start, start);
        loop {
            if place < end && self.pattern[place] != b'|' {
                place = self.atom_end(place, end);
                continue;
            }
            if self.sequence((from, place), at, groups, then) {
                return true;
            }
            if place >= end {
                return false;
            }
            place += 1;
            from = place;
        }
    }

    /// The end of the character, class or group at `place`.
    fn atom_end(&self, place: usize, end: usize) -> usize {
        match self.pattern[place] {
            b'\\' => (place + 2).min(end),
            b'[' => {
                let class = &self.pattern[place..end];
                let length = class.iter().position(|&byte| byte == b']');
                length.map_or(end, |length| place + length + 1)
            }
            b'(' => {
                let mut depth = 0;
                for (at, &byte) in self.pattern[place..end].iter().enumerate() {
                    match byte {
                        b'(' => depth += 1,
                        b')' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        return place + at + 1;
                    }
                }
                end
            }
            _ => place + 1,
        }
    }

    fn sequence(
        &self,
        (from, to): (usize, usize),
        at: usize,
        groups: &mut Groups,
        then: Then<'_>,
    ) -> bool {
        if from >= to {
            return then(at, groups);
        }
        let atom_end = self.atom_end(from, to);
        let (least, most, next) = self.quantifier(atom_end, to);
        let mut rest = |at: usize, groups: &mut Groups| self.sequence((next, to), at, groups, then);
        self.repeat(((from, atom_end), (least, most)), at, groups, &mut rest)
    }

    /// The bounds of the quantifier after an atom, and its end.
    fn quantifier(&self, place: usize, to: usize) -> (usize, usize, usize) {
        match self.pattern.get(place) {
            Some(b'?') if place < to => (0, 1, place + 1),
            Some(b'{') if place < to => {
                let close = self.pattern[place..to]
                    .iter()
                    .position(|&byte| byte == b'}');
                let close = place + close.unwrap_or(to - place - 1);
                let counts =
                    std::str::from_utf8(&self.pattern[place + 1..close]).unwrap_or_default();
                let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
                let number = |text: &str| text.parse().unwrap_or(1);
                (number(least), number(most), close + 1)
            }
            _ => (1, 1, place),
        }
    }

    fn repeat(
        &self,
        (atom, (least, most)): ((usize, usize), (usize, usize)),
        at: usize,
        groups: &mut Groups,
        then: Then<'_>,
    ) -> bool {
        if most > 0 {
            let before = *groups;
            let bounds = (least.saturating_sub(1), most - 1);
            // `$` consumes nothing, so it cannot repeat.
            let mut again = |next: usize, groups: &mut Groups| {
                (next > at || most == 1) && self.repeat((atom, bounds), next, groups, then)
            };
            if self.atom(atom, at, groups, &mut again) {
                return true;
            }
            *groups = before;
        }
        least == 0 && then(at, groups)
    }

    fn atom(
        &self,
        (from, to): (usize, usize),
        at: usize,
        groups: &mut Groups,
        then: Then<'_>,
    ) -> bool {
        let is_digit =
            |wanted: &dyn Fn(u8) -> bool| self.text.get(at).is_some_and(|&byte| wanted(byte));
        let matches = match self.pattern[from] {
            b'(' => return self.group((from, to), at, groups, then),
            b'$' => return at == self.text.len() && then(at, groups),
            b'\\' => is_digit(&|byte| byte.is_ascii_digit()),
            b'[' => is_digit(&|byte| in_class(&self.pattern[from + 1..to - 1], byte)),
            literal => is_digit(&|byte| byte == literal),
        };
        matches && then(at + 1, groups)
    }

    fn group(
        &self,
        (from, to): (usize, usize),
        at: usize,
        groups: &mut Groups,
        then: Then<'_>,
    ) -> bool {
        if self.pattern.get(from + 1) == Some(&b'?') {
            return self.any((from + 3, to - 1), at, groups, then);
        }
        let index = n_opened(&self.pattern[..from]);
        self.any((from + 1, to - 1), at, groups, &mut |end, groups| {
            if let Some(group) = groups.get_mut(index) {
                *group = Some((at, end));
            }
            then(end, groups)
        })
    }
}

/// Whether a digit is in a class such as `13-68`.
fn in_class(class: &[u8], digit: u8) -> bool {
    let mut at = 0;
    while at < class.len() {
        let is_range = class.get(at + 1) == Some(&b'-') && at + 2 < class.len();
        let last = if is_range { class[at + 2] } else { class[at] };
        if (class[at]..=last).contains(&digit) {
            return true;
        }
        at += if is_range { 3 } else { 1 };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_numbers() {
        for (pattern, digits, expected) in [
            (r"[1-9]\d{8}", "478372109", true),
            (r"[1-9]\d{8}", "078372109", false),
            (r"3[02]|40|[68]9", "40", true),
            (r"3[02]|40|[68]9", "49", false),
            (r"(?:2(?:0[1-3]|4)|3)\d{2,3}", "20255", true),
            (r"(?:2(?:0[1-3]|4)|3)\d{2,3}", "2099", false),
            (r"17\d{0,2}", "17", true),
            (r"01?5", "05", true),
            ("", "", false),
        ] {
            assert_eq!(is_full(pattern, digits), expected, "{pattern} on {digits}");
        }
    }

    #[test]
    fn groups_are_greedy() {
        let groups = groups_of(r"(\d{2})(\d{3,13})", "30901820").unwrap();
        assert_eq!(groups[..2], [Some((0, 2)), Some((2, 8))]);
        let (length, groups) = prefix_of(r"([2-9]\d{6})$|1", "5551234").unwrap();
        assert_eq!((length, groups[0]), (7, Some((0, 7))));
        let (length, groups) = prefix_of(r"([2-9]\d{6})$|1", "12465551234").unwrap();
        assert_eq!((length, groups[0]), (1, None));
    }
}
