//! "Did you mean": the known name that a wrong one is closest to.

/// Longest name that is compared letter by letter: no known one is longer.
const COMPARED_BYTES_MAX: usize = 48;
/// Names of fewer letters may differ in one letter, longer ones in two.
const SHORT_BYTES: usize = 9;

/// The known name that a wrong one most probably means: it differs only in case and separators, or
/// in a letter or two. `None` if several are equally close.
pub fn nearest_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let named = names.map(|known| ((known, false), known));
    closest(name, named, |a, b| a == b)
}

/// The value of the closest name. A marked name must match exactly.
pub fn closest<'a, T>(
    name: &str,
    named: impl Iterator<Item = ((&'a str, bool), T)>,
    are_same: impl Fn(&T, &T) -> bool,
) -> Option<T> {
    if name.len() > COMPARED_BYTES_MAX {
        return None;
    }
    let name = folded(name);
    let bound = if name.len() < SHORT_BYTES { 1 } else { 2 };
    // A short name differs from another of its length in all letters at once.
    let bound = bound.min(name.len().saturating_sub(1));
    let mut best: Option<(usize, T)> = None;
    let mut is_unique = true;
    for ((known, must_be_same), item) in named {
        let known = folded(known);
        // Each letter more or less is a mistake of its own.
        if known.len().abs_diff(name.len()) > bound {
            continue;
        }
        let far = distance(&name, &known);
        if far > bound || must_be_same && far > 0 {
            continue;
        }
        match &best {
            Some((least, _)) if far > *least => {}
            Some((least, other)) if far == *least => is_unique &= are_same(other, &item),
            _ => {
                best = Some((far, item));
                is_unique = true;
            }
        }
    }
    best.filter(|_| is_unique).map(|(_, item)| item)
}

/// Without case and separators.
fn folded(name: &str) -> Vec<u8> {
    let letters = name
        .bytes()
        .filter(|byte| !matches!(byte, b'_' | b'-' | b' '));
    letters.map(|byte| byte.to_ascii_lowercase()).collect()
}

/// The edit distance: letters inserted, left out, replaced or swapped with their neighbour.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(b.len() + 1);
        next.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(x != y);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            let is_swapped = i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x;
            if is_swapped {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_few_letters_differ_in_one() {
        let near = |name: &str| nearest_name(name, ["headers", "request_timeout"].into_iter());
        assert_eq!(near("haeders"), Some("headers"));
        assert_eq!(near("header"), Some("headers"));
        assert_eq!(
            near("headless"),
            None,
            "two letters of eight are another word"
        );
        assert_eq!(near("reqest_timout"), Some("request_timeout"));
    }

    #[test]
    fn neighbours_that_are_swapped_are_one_mistake() {
        assert_eq!(distance(b"abcd", b"abdc"), 1);
        assert_eq!(distance(b"", b"abc"), 3);
        assert_eq!(distance(b"kitten", b"sitting"), 3);
    }
}
