//! The encoding that a Type 1 font program has itself (Adobe Type 1 Font Format, 2.2): TeX embeds
//! fonts whose ligatures and bullets have a name nowhere else.

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Object};

/// Most bytes of a font program, decompressed.
const PROGRAM_BYTES_MAX: usize = 4 << 20;
/// Most bytes of the part of a program that is text.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The names of the glyphs of a font by their codes, as its descriptor's font program has them.
/// Empty if the program is of another kind or has a standard encoding.
pub(crate) fn names(descriptor: &Dictionary, document: &Document) -> HashMap<u8, Vec<u8>> {
    let program = descriptor.get_deref(b"FontFile", document);
    let Ok(program) = program.and_then(Object::as_stream) else {
        return HashMap::new();
    };
    let content = program.decompressed_content_with_limit(PROGRAM_BYTES_MAX);
    let content = content.or_else(|_| program.get_plain_content_with_limit(PROGRAM_BYTES_MAX));
    content.map_or_else(|_| HashMap::new(), |content| encoding(&content))
}

/// Reads `/Encoding 256 array … dup 12 /fi put … def`.
fn encoding(program: &[u8]) -> HashMap<u8, Vec<u8>> {
    let text = program.get(..TEXT_BYTES_MAX).unwrap_or(program);
    let mut words = text
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
        .skip_while(|word| *word != b"/Encoding");
    let mut names = HashMap::new();
    while let Some(word) = words.next() {
        match word {
            b"def" | b"readonly" | b"eexec" => break,
            b"dup" => {}
            _ => continue,
        }
        let code = words.next().and_then(|code| std::str::from_utf8(code).ok());
        let name = words.next().and_then(|name| name.strip_prefix(b"/"));
        if let (Some(Ok(code)), Some(name)) = (code.map(str::parse), name) {
            names.insert(code, name.to_vec());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::encoding;

    #[test]
    fn codes_have_the_names_of_the_program() {
        let program = b"%!PS-AdobeFont-1.0: CMR10\n/FontName /CMR10 def\n/Encoding 256 array\n\
            0 1 255 {1 index exch /.notdef put} for\ndup 12 /fi put\ndup 15 /bullet put\n\
            dup 999 /none put\nreadonly def\ndup 13 /later put\ncurrentfile eexec \xFF";
        let names = encoding(program);
        assert_eq!(names.len(), 2);
        assert_eq!(names[&12], b"fi");
        assert_eq!(names[&15], b"bullet");
    }

    #[test]
    fn standard_encodings_and_damage_have_none() {
        for program in [
            &b"/Encoding StandardEncoding def dup 12 /fi put"[..],
            b"/Encoding 256 array dup",
            b"/Encoding 256 array dup x y",
            b"",
        ] {
            assert!(encoding(program).is_empty(), "{program:?}");
        }
    }
}
