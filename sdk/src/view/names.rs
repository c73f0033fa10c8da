//! The page's table of names, prepared for comparing names quickly.

use super::Tag;
use super::arrays::Arrays;
use super::shown::is_unseen;

/// A name as a number: equal names have equal keys. Names of at most eight bytes with equal keys
/// are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

impl Key {
    /// No byte of UTF-8. It marks the keys of longer names.
    const LONG: u8 = 0xff;

    /// Of a literal it is a constant.
    #[inline(always)]
    pub(super) const fn of(name: &str) -> Self {
        let name = name.as_bytes();
        let mut bytes = [0; 8];
        let mut at = 0;
        while at < name.len() && at < 8 {
            bytes[at] = name[at];
            at += 1;
        }
        if name.len() > 8 {
            bytes[7] = Self::LONG;
        }
        Self(u64::from_le_bytes(bytes))
    }

    /// Whether names with this key may differ.
    #[inline(always)]
    pub(super) const fn is_long(self) -> bool {
        self.0.to_le_bytes()[7] == Self::LONG
    }
}

/// For each entry of the name table what is asked often.
pub(super) struct Names {
    /// The well-known HTML element it names.
    pub(super) tags: Vec<Tag>,
    pub(super) keys: Vec<Key>,
    /// Whether an attribute of this name can hide its element.
    pub(super) can_hide: Vec<bool>,
    /// Whether elements of this name have no text for a reader.
    pub(super) are_unseen: Vec<bool>,
}

impl Names {
    pub(super) fn of(arrays: &Arrays<'_>) -> Self {
        let n_names = arrays.name_ends.len();
        let mut names = Self {
            tags: Vec::with_capacity(n_names),
            keys: Vec::with_capacity(n_names),
            can_hide: Vec::with_capacity(n_names),
            are_unseen: Vec::with_capacity(n_names),
        };
        for entry in 0..n_names as u32 {
            let name = arrays.name(entry);
            let namespace = arrays.name_spaces[entry as usize];
            let tag = match namespace {
                0 => Tag::of(name),
                _ => Tag::Other,
            };
            names.tags.push(tag);
            names.are_unseen.push(is_unseen(tag, namespace, name));
            names.keys.push(Key::of(name));
            names
                .can_hide
                .push(matches!(name, "style" | "hidden" | "aria-hidden" | "open"));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn keys_of_short_names_are_exact() {
        let names = [
            "a",
            "b",
            "ab",
            "href",
            "hrefhref",
            "hrefhrefh",
            "data-src",
            "data-srcset",
            "ÿÿÿÿ",
            "",
        ];
        for (i, a) in names.iter().enumerate() {
            for (k, b) in names.iter().enumerate() {
                let is_same = Key::of(a) == Key::of(b) && !Key::of(a).is_long();
                assert_eq!(is_same, i == k && a.len() <= 8, "{a} {b}");
            }
        }
    }
}
