//! Vocabularies of published tokenizers: a text is split as the tokenizer splits it, and each part
//! is merged from its bytes, the pair of the lowest rank first (byte pair encoding).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Deserialize;

use crate::split;

/// The encoding of a tokenizer, by its published name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Encoding {
    /// The models since GPT-4o.
    #[serde(rename = "o200k_base")]
    O200k,
    /// GPT-4, GPT-3.5 and the embedding models of their time.
    #[serde(rename = "cl100k_base")]
    Cl100k,
}

impl Encoding {
    /// Start offsets of the tokens of a text, in order.
    pub(crate) fn token_starts(self, text: &str) -> impl Iterator<Item = usize> + '_ {
        let (vocabulary, part_len): (&Vocabulary, fn(&str) -> usize) = match self {
            Self::O200k => (&O200K, split::o200k),
            Self::Cl100k => (&CL100K, split::cl100k),
        };
        let mut at = 0;
        let parts = std::iter::from_fn(move || {
            let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
            let start = at;
            at += part_len(rest);
            Some((start, &text.as_bytes()[start..at]))
        });
        parts.flat_map(move |(start, part)| {
            let starts = vocabulary.token_starts(part);
            starts.into_iter().map(move |at| start + at)
        })
    }
}

/// The tokens of an encoding.
struct Vocabulary {
    /// All tokens, by their length and then in order.
    tokens: &'static [u8],
    /// The rank of each, in three bytes, the lowest first.
    ranks: &'static [u8],
    /// Of each length, the number of tokens that are shorter.
    shorter: &'static [usize],
}

static O200K: Vocabulary = Vocabulary {
    tokens: include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.tokens")),
    ranks: include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.ranks")),
    shorter: include!(concat!(env!("OUT_DIR"), "/o200k_base.rs")),
};

static CL100K: Vocabulary = Vocabulary {
    tokens: include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.tokens")),
    ranks: include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.ranks")),
    shorter: include!(concat!(env!("OUT_DIR"), "/cl100k_base.rs")),
};

/// The end of a part that was merged with the one before it.
const MERGED: usize = 0;

impl Vocabulary {
    /// The rank of a token; `None` if there is no such token.
    fn rank(&self, token: &[u8]) -> Option<u32> {
        let len = token.len();
        let first = *self.shorter.get(len)?;
        let n_tokens = self.shorter.get(len + 1)? - first;
        let before: usize = (1..len)
            .map(|len| len * (self.shorter[len + 1] - self.shorter[len]))
            .sum();
        let of_length = &self.tokens[before..before + n_tokens * len];
        let (mut low, mut high) = (0, n_tokens);
        while low < high {
            let middle = low.midpoint(high);
            match of_length[middle * len..(middle + 1) * len].cmp(token) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let rank = &self.ranks[(first + middle) * 3..][..3];
                    return Some(u32::from_le_bytes([rank[0], rank[1], rank[2], 0]));
                }
            }
        }
        None
    }

    /// Start offsets of the tokens of a part, which is not empty.
    fn token_starts(&self, part: &[u8]) -> Vec<usize> {
        if self.rank(part).is_some() {
            return vec![0];
        }
        let len = part.len();
        // Of each part that begins here, where it ends, and where the one before it begins.
        let mut ends: Vec<usize> = (1..=len).collect();
        let mut befores: Vec<usize> = (0..len).map(|at| at.saturating_sub(1)).collect();
        let mut pairs = BinaryHeap::new();
        let pair = |ends: &[usize], start: usize| {
            let end = *ends.get(ends[start])?;
            let rank = self.rank(&part[start..end])?;
            Some(Reverse((rank, start, end)))
        };
        pairs.extend((0..len).filter_map(|start| pair(&ends, start)));
        while let Some(Reverse((_, start, end))) = pairs.pop() {
            let middle = ends[start];
            if middle == MERGED || ends.get(middle) != Some(&end) {
                // One of the two was merged with another in the meantime.
                continue;
            }
            ends[start] = end;
            ends[middle] = MERGED;
            if let Some(before) = befores.get_mut(end) {
                *before = start;
            }
            pairs.extend(pair(&ends, start));
            if start > 0 {
                pairs.extend(pair(&ends, befores[start]));
            }
        }
        let starts = (0..len).filter(|&start| ends[start] != MERGED);
        starts.collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

    use super::*;

    fn expected(tokenizer: &CoreBPE, text: &str) -> Vec<usize> {
        let mut at = 0;
        let tokens = tokenizer.encode_ordinary(text).into_iter();
        let starts = tokens.map(|token| {
            let start = at;
            at += tokenizer.decode_bytes(&[token]).expect("a token").len();
            start
        });
        starts.collect()
    }

    #[track_caller]
    fn check(text: &str) {
        let encodings = [
            (Encoding::O200k, o200k_base_singleton()),
            (Encoding::Cl100k, cl100k_base_singleton()),
        ];
        for (encoding, tokenizer) in encodings {
            let starts: Vec<usize> = encoding.token_starts(text).collect();
            assert_eq!(starts, expected(tokenizer, text), "{encoding:?} {text:?}");
        }
    }

    #[test]
    fn tokens_are_those_of_the_published_tokenizers() {
        for text in [
            "",
            "The cod was salted, dried and shipped; in 1497 it fed a crew of 18.\n\n",
            "fn main() {\n    let cod = fish(1);\r\n\tFish::Cod\n}\n\n\n",
            "I'd say it's theirs, THEY'LL, we'vE, o'ſ 'S 's 'lL",
            "HTTPServer XMLHttpRequest iPhone McDonald ǅungla ʰaʰAʰ",
            "魚と塩。干した鱈を船で運ぶ。 한국어 문장입니다. ภาษาไทย हिन्दी में",
            "e\u{301}\u{301} \u{301} \u{301}a 👩‍👩‍👧‍👦 🇩🇪",
            "  leading\n \n   \t  trailing   ",
            "12345678 ½ Ⅻ ٣٤ 1,000.00 //// ---- =>\n/\n\r\n",
        ] {
            check(text);
        }
        check(&"internationalization".repeat(300));
        check(&"ab".repeat(5_000));
        check(&" \n".repeat(500));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn any_text_has_their_tokens(text in "(\\PC|[a-zA-Z' \n\r\t0-9.,/é魚ʰ\u{301}]){0,120}") {
            check(&text);
        }
    }
}
