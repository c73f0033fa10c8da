//! Generates the word list for scripts without spaces between words, from the ICU4X dictionaries.

mod filter {
    include!("src/filter.rs");
}

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use filter::{WordHash, fingerprint, slots};
use icu_provider::prelude::*;
use icu_segmenter::provider::{
    Baked, DictionaryBreakData, SegmenterDictionaryAutoV2, SegmenterDictionaryExtendedV2,
};

/// Maximum word length in characters; longer words are compounds.
const IDEOGRAPHS_MAX: usize = 5;
const LETTERS_MAX: usize = 16;
/// Maximum cost of a Chinese or Japanese word in the dictionary; the cost grows with rarity.
const COST_MAX: i32 = 128;
/// Table slots per word. With 1.23 construction nearly always succeeds.
const SLOTS_PER_WORD: f64 = 1.25;

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo passes the output directory to a build script in `OUT_DIR`"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/filter.rs");
    let mut hashes = words()?;
    hashes.sort_unstable();
    hashes.dedup();
    let table =
        table(&hashes).ok_or("the xor filter cannot be built; increase `SLOTS_PER_WORD`")?;
    let bytes: Vec<u8> = table.into_iter().flat_map(u16::to_le_bytes).collect();
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets `OUT_DIR`")?;
    fs::write(Path::new(&folder).join("words.bin"), bytes)?;
    Ok(())
}

/// Hashes of all words.
fn words() -> Result<Vec<u64>, Box<dyn Error>> {
    let found: DataResponse<SegmenterDictionaryAutoV2> = Baked.load(request("cjdict")?)?;
    let mut hashes = Vec::new();
    for (word, cost) in entries(found.payload.get()) {
        let is_usual = cost <= COST_MAX || word.chars().count() == 2 && cost <= COST_MAX + 10;
        if is_usual {
            hashes.extend(hash(&word, IDEOGRAPHS_MAX));
        }
    }
    for name in ["thaidict", "laodict", "khmerdict", "burmesedict"] {
        let found: DataResponse<SegmenterDictionaryExtendedV2> = Baked.load(request(name)?)?;
        let words = entries(found.payload.get());
        hashes.extend(words.iter().filter_map(|(word, _)| hash(word, LETTERS_MAX)));
    }
    Ok(hashes)
}

fn request(name: &'static str) -> Result<DataRequest<'static>, Box<dyn Error>> {
    let attributes = DataMarkerAttributes::try_from_str(name).map_err(|_| "a name")?;
    let id = DataIdentifierBorrowed::for_marker_attributes(attributes);
    let metadata = DataRequestMetadata::default();
    Ok(DataRequest { id, metadata })
}

/// The words of a dictionary with their costs.
fn entries(dictionary: &DictionaryBreakData<'_>) -> Vec<(String, i32)> {
    match dictionary {
        DictionaryBreakData::Char16Trie(trie) => trie.iter2().collect(),
        DictionaryBreakData::ZeroTrie { alphabet, trie } => {
            let letters: Vec<char> = alphabet.iter_chars().collect();
            let word = |key: String| key.bytes().map(|byte| letters[usize::from(byte)]).collect();
            trie.iter().map(|(key, _)| (word(key), 0)).collect()
        }
    }
}

fn hash(word: &str, chars_max: usize) -> Option<u64> {
    let is_kept = (2..=chars_max).contains(&word.chars().count());
    is_kept.then(|| word.chars().fold(WordHash::EMPTY, WordHash::and).mixed())
}

/// Builds the xor filter by peeling: a word that is alone in one of its slots is removed, which
/// frees its other slots, until none is left. The slots are then assigned in reverse order.
fn table(hashes: &[u64]) -> Option<Vec<u16>> {
    let n_slots = (hashes.len() as f64 * SLOTS_PER_WORD) as usize / 3 * 3 + 96;
    let (mut counts, mut xors) = (vec![0_u32; n_slots], vec![0_u64; n_slots]);
    for &hash in hashes {
        for slot in slots(hash, n_slots) {
            counts[slot] += 1;
            xors[slot] ^= hash;
        }
    }
    let mut alone: Vec<usize> = (0..n_slots).filter(|&slot| counts[slot] == 1).collect();
    let mut aside = Vec::new();
    while let Some(slot) = alone.pop() {
        if counts[slot] != 1 {
            continue;
        }
        let hash = xors[slot];
        aside.push((hash, slot));
        for slot in slots(hash, n_slots) {
            counts[slot] -= 1;
            xors[slot] ^= hash;
            if counts[slot] == 1 {
                alone.push(slot);
            }
        }
    }
    let mut table = vec![0_u16; n_slots];
    for &(hash, slot) in aside.iter().rev() {
        let others = slots(hash, n_slots)
            .into_iter()
            .filter(|&other| other != slot);
        table[slot] = others.fold(fingerprint(hash), |value, other| value ^ table[other]);
    }
    (aside.len() == hashes.len()).then_some(table)
}
