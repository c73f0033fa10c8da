//! Normalises words: lower case, no accents.

/// The word in lower case without accents: `Güneş` is `gunes`, `Łukasz` is `lukasz`.
pub(crate) fn plain_word(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    for character in word.chars() {
        if character.is_ascii() {
            plain.push(character.to_ascii_lowercase());
            continue;
        }
        let lower = character.to_lowercase().next().unwrap_or(character);
        match lower {
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'þ' => plain.push_str("th"),
            '\u{300}'..='\u{36f}' => {}
            _ => plain.push(without_accent(lower)),
        }
    }
    plain
}

fn without_accent(letter: char) -> char {
    match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' | '\u{1ea1}'..='\u{1eb7}' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' | 'đ' | 'ð' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | '\u{1eb9}'..='\u{1ec7}' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | '\u{1ec9}' | '\u{1ecb}' => 'i',
        'ķ' => 'k',
        'ĺ' | 'ļ' | 'ľ' | 'ł' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ơ' | '\u{1ecd}'..='\u{1ee3}' => 'o',
        'ŕ' | 'ŗ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => 's',
        'ţ' | 'ť' | 'ț' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ư' | '\u{1ee5}'..='\u{1ef1}' => {
            'u'
        }
        'ý' | 'ÿ' | '\u{1ef3}'..='\u{1ef9}' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::plain_word;

    #[test]
    fn accents_and_case_are_removed() {
        for (word, expected) in [
            ("Güneş", "gunes"),
            ("ŁUKASZ", "lukasz"),
            ("Straße", "strasse"),
            ("Υπεύθυνος", "υπευθυνος"),
            ("İşletmeci", "isletmeci"),
            ("Nguyễn", "nguyen"),
        ] {
            assert_eq!(plain_word(word), expected);
        }
    }
}
