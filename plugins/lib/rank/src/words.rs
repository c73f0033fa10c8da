//! Splits a text into words.

use unicode_segmentation::UnicodeSegmentation;

/// Maximum length of a word in bytes; longer ones (encoded data, for example) are skipped.
const WORD_BYTES_MAX: usize = 64;

/// Maximum length of an elided article or preposition in bytes, apostrophe excluded: `quell'`.
const ARTICLE_BYTES_MAX: usize = 5;
/// Minimum length of the word after an elision in bytes, so that `don't` stays one word.
const ELIDED_BYTES_MIN: usize = 3;

/// Calls `visit` with every word of a text, in order and in lower case. Words follow Unicode
/// Standard Annex 29; in scripts without spaces (Chinese, Japanese, Thai, …) they are the pairs
/// of adjacent characters, and single characters without a neighbour.
pub fn each_word(text: &str, mut visit: impl FnMut(&str)) {
    let mut lower = String::new();
    let mut alone: Option<(usize, usize)> = None;
    let mut had_pair = false;
    for (at, word) in text.unicode_word_indices() {
        let spaceless = word.chars().next().filter(|&c| is_spaceless(c));
        if spaceless.is_none() {
            finish(text, &mut alone, &mut had_pair, &mut visit);
            if word.len() <= WORD_BYTES_MAX {
                lower_into(without_article(word), &mut lower);
                visit(&lower);
            }
            continue;
        }
        // A run of Katakana arrives as one word, other characters one by one.
        for (offset, c) in word.char_indices() {
            let (start, end) = (at + offset, at + offset + c.len_utf8());
            match alone {
                Some((before, before_end)) if before_end == start => {
                    visit(&text[before..end]);
                    had_pair = true;
                }
                _ => finish(text, &mut alone, &mut had_pair, &mut visit),
            }
            alone = Some((start, end));
        }
    }
    finish(text, &mut alone, &mut had_pair, &mut visit);
}

/// Ends a run of characters without spaces: a character without a neighbour is a word.
fn finish(
    text: &str,
    alone: &mut Option<(usize, usize)>,
    had_pair: &mut bool,
    visit: &mut impl FnMut(&str),
) {
    if let Some((start, end)) = alone.take()
        && !*had_pair
    {
        visit(&text[start..end]);
    }
    *had_pair = false;
}

/// Removes an elided article or preposition: `l'énergie`, `dell’arte`, `d'emploi`.
fn without_article(word: &str) -> &str {
    match word.split_once(['\'', '’']) {
        Some((article, rest))
            if article.len() <= ARTICLE_BYTES_MAX && rest.len() >= ELIDED_BYTES_MIN =>
        {
            rest
        }
        _ => word,
    }
}

fn lower_into(word: &str, lower: &mut String) {
    lower.clear();
    if word.is_ascii() {
        lower.push_str(word);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(word.chars().flat_map(char::to_lowercase));
    }
    // `company’s` and `company's` become `company`.
    for ending in ["'s", "’s"] {
        if lower.len() > ending.len() && lower.ends_with(ending) {
            lower.truncate(lower.len() - ending.len());
        }
    }
}

/// Whether a character belongs to a script without spaces between words.
pub fn is_spaceless(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF // Thai, Lao
        | 0x1000..=0x109F // Myanmar
        | 0x1780..=0x17FF // Khmer
        | 0x3005..=0x3007
        | 0x3040..=0x30FF // Hiragana, Katakana
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9F
        | 0x20000..=0x3134F)
}

/// Folds accented Latin letters of a lower-case word: `große` becomes `grosse`, `café` becomes
/// `cafe`. Other scripts stay unchanged.
pub fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => folded.push('a'),
            'ç' | 'ć' | 'č' | 'ĉ' | 'ċ' => folded.push('c'),
            'ď' | 'đ' | 'ð' => folded.push('d'),
            'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ė' | 'ę' | 'ě' => folded.push('e'),
            'ğ' | 'ģ' => folded.push('g'),
            'ì' | 'í' | 'î' | 'ï' | 'ī' | 'į' | 'ı' => folded.push('i'),
            'ķ' => folded.push('k'),
            'ł' | 'ľ' | 'ĺ' | 'ļ' => folded.push('l'),
            'ñ' | 'ń' | 'ň' | 'ņ' => folded.push('n'),
            'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ő' | 'ō' => folded.push('o'),
            'ŕ' | 'ř' => folded.push('r'),
            'ś' | 'š' | 'ş' | 'ș' => folded.push('s'),
            'ť' | 'ţ' | 'ț' => folded.push('t'),
            'ù' | 'ú' | 'û' | 'ü' | 'ů' | 'ű' | 'ū' | 'ų' => folded.push('u'),
            'ý' | 'ÿ' => folded.push('y'),
            'ź' | 'ż' | 'ž' => folded.push('z'),
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'þ' => folded.push_str("th"),
            // The combining dot left by lower-casing a Turkish capital, and other combining
            // accents.
            '\u{300}'..='\u{36f}' => {}
            _ => folded.push(c),
        }
    }
    folded
}
