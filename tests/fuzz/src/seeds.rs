//! The seeds of a target, and changes of them.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bolero::bolero_engine::panic::take_panic;
use serde_json::Value;

use crate::Recipe;
use crate::json;

/// Most changes of one seed.
const CHANGES_MAX: usize = 8;
/// Most repetitions of a part.
const REPEATS_MAX: usize = 300;
/// Longest changed seed, so that repetitions of repetitions end.
pub(crate) const BYTES_MAX: usize = 64 * 1024;

/// Parts that readers trip over and that no seed may hold.
const TROUBLE: &[&[u8]] = &[
    b"\0",
    b"\r\n",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"\xf0\x9f\x92\xa9",
    b"%00",
    b"%2e%2e%2f",
    b"18446744073709551616",
    b"-1",
    b"1e400",
    b"\xe2\x80\xa8",
];

/// The seeds of one target. They are changed as bytes: parts are removed, repeated, replaced,
/// inserted and taken from other seeds. One that is JSON is also changed as a value: members are
/// replaced, removed, renamed and nested.
pub struct Seeds {
    files: Vec<Vec<u8>>,
    /// The values of the files that are JSON.
    values: Vec<Value>,
    /// Words and punctuation of all of them.
    words: Vec<Vec<u8>>,
}

impl Seeds {
    /// Reads `__fuzz__/{name}/corpus` next to a source file, whose path is relative to a folder at
    /// or above `manifest_dir`.
    ///
    /// # Panics
    /// When there are no seeds: a target without any tests little, and its folder is misnamed.
    pub fn read(manifest_dir: &str, source: &str, name: &str) -> Self {
        let folder = corpus(Path::new(manifest_dir), source, name);
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        // A recipe means the same on every machine.
        paths.sort();
        let files: Vec<Vec<u8>> = paths
            .iter()
            .filter_map(|path| std::fs::read(path).ok())
            .collect();
        assert!(!files.is_empty(), "no seeds in {}", folder.display());
        Self::new(files)
    }

    fn new(files: Vec<Vec<u8>>) -> Self {
        let values = files
            .iter()
            .filter_map(|file| serde_json::from_slice(file).ok());
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let mut words: BTreeSet<Vec<u8>> = files
            .iter()
            .flat_map(|file| file.chunk_by(move |a, b| is_word(*a) && is_word(*b)))
            .map(<[u8]>::to_vec)
            .collect();
        words.insert(b"x".to_vec());
        Self {
            values: values.collect(),
            words: words.into_iter().collect(),
            files,
        }
    }

    /// Checks a property of this input, and of the change of a seed that it describes.
    ///
    /// # Panics
    /// When it does not hold; the message ends with the bytes that it does not hold for.
    pub fn check(&self, input: &[u8], property: fn(&[u8])) {
        check_one(input, property);
        check_one(&self.changed(&mut Recipe::new(input)), property);
    }

    /// A seed as the recipe changes it.
    fn changed(&self, recipe: &mut Recipe<'_>) -> Vec<u8> {
        let n_changes = 1 + recipe.below(CHANGES_MAX);
        if !self.values.is_empty() && !recipe.once_in(4) {
            let mut value = recipe.one_of(&self.values).clone();
            for _ in 0..n_changes {
                json::change(&mut value, &self.values, recipe);
            }
            let mut text = value.to_string().into_bytes();
            text.truncate(BYTES_MAX);
            return text;
        }
        let mut file = recipe.one_of(&self.files).clone();
        for _ in 0..n_changes {
            if recipe.is_over() {
                break;
            }
            self.change(&mut file, recipe);
            file.truncate(BYTES_MAX);
        }
        file
    }

    fn change(&self, file: &mut Vec<u8>, recipe: &mut Recipe<'_>) {
        let start = recipe.below(file.len() + 1);
        let end = (start + recipe.below(64)).min(file.len());
        match recipe.below(9) {
            0 => drop(file.drain(start..end)),
            1 => {
                let part = file[start..end].repeat(1 + recipe.below(REPEATS_MAX));
                file.splice(start..start, part).for_each(drop);
            }
            2 => {
                let word = recipe.one_of(&self.words).clone();
                file.splice(start..end, word).for_each(drop);
            }
            3 => {
                let word = recipe
                    .one_of(&self.words)
                    .repeat(1 + recipe.below(REPEATS_MAX));
                file.splice(start..start, word).for_each(drop);
            }
            4 => file
                .splice(start..end, recipe.one_of(TROUBLE).to_vec())
                .for_each(drop),
            5 => {
                let other = recipe.one_of(&self.files);
                let from = recipe.below(other.len() + 1);
                let until = (from + recipe.below(256)).min(other.len());
                let part = other[from..until].to_vec();
                file.splice(start..end, part).for_each(drop);
            }
            6 => {
                let bytes = recipe.bytes(16).to_vec();
                file.splice(start..end, bytes).for_each(drop);
            }
            7 => {
                if let Some(byte) = file.get_mut(start) {
                    *byte ^= 1 << recipe.below(8);
                }
            }
            _ => file.truncate(start),
        }
    }
}

/// A body as the recipe changes it, for targets whose input is not the body alone.
pub fn changed(body: &[u8], recipe: &mut Recipe<'_>) -> Vec<u8> {
    Seeds::new(vec![body.to_vec()]).changed(recipe)
}

/// Where a target's seeds are.
fn corpus(manifest_dir: &Path, source: &str, name: &str) -> PathBuf {
    let mut roots = manifest_dir.ancestors().map(|root| root.join(source));
    let source = roots.find(|path| path.exists()).unwrap_or_default();
    let folder = source.parent().unwrap_or(manifest_dir);
    folder.join("__fuzz__").join(name).join("corpus")
}

/// Checks a property of one input, and names the input when it does not hold.
fn check_one(input: &[u8], property: fn(&[u8])) {
    if catch_unwind(AssertUnwindSafe(|| property(input))).is_err() {
        let reason = take_panic().map_or_else(String::new, |panic| panic.to_string());
        panic!("{reason}\nfor the input b\"{}\"", input.escape_ascii());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds() -> Seeds {
        Seeds::new(vec![b"Allow: /a".to_vec(), b"{\"a\":[1,null]}".to_vec()])
    }

    #[test]
    fn a_recipe_changes_seeds_in_a_way_that_can_be_repeated() {
        let seeds = seeds();
        let recipes = (0..2000u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes().repeat(8));
        let mut found = BTreeSet::new();
        for recipe in recipes {
            let changed = seeds.changed(&mut Recipe::new(&recipe));
            assert_eq!(changed, seeds.changed(&mut Recipe::new(&recipe)));
            assert!(changed.len() <= BYTES_MAX);
            found.insert(changed);
        }
        assert!(found.len() > 100, "{} different changes", found.len());
    }

    #[test]
    fn seeds_give_words_and_values() {
        let seeds = seeds();
        assert_eq!(seeds.values, [serde_json::json!({"a": [1, null]})]);
        assert!(seeds.words.contains(&b"Allow".to_vec()));
        assert!(seeds.words.contains(&b":".to_vec()));
    }

    #[test]
    fn a_failure_names_its_input() {
        let failed = catch_unwind(|| check_one(b"\0", |_| panic!("always")));
        let message = failed.expect_err("it always fails");
        let message = message.downcast::<String>().expect("a text");
        assert!(message.ends_with("for the input b\"\\x00\""), "{message}");
    }
}
