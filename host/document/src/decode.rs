//! Decodes a body's bytes to text. Source: WHATWG HTML, "Determining the character encoding";
//! WHATWG Encoding.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use trawl_model::MediaKind;

use super::media::MediaType;
use super::raw;
use super::xml::is_xml_type;

/// Bytes in which a `meta` may declare the character set before the page is parsed.
const PRESCAN_BYTES: usize = 1024;
/// Bytes in which a `meta` may still change it. A browser would parse the page again.
const LATE_BYTES: usize = 1 << 20;
/// Bytes that encoding detection reads: it settles early, and its cost must not grow with the page.
const GUESS_BYTES: usize = 64 * 1024;

/// A body as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without byte order mark; malformed bytes become U+FFFD.
    pub text: Cow<'a, str>,
    /// Label of the character set, lower case: `utf-8`.
    pub charset: &'static str,
}

/// Decodes a body by its byte order mark, else by the header's `charset`, else (HTML and untyped
/// bodies) by a `meta` near its beginning, else (XML, too) by an XML declaration, else by a `meta`
/// further on, else by a `charset` in single quotes, which do not quote in a header, else as UTF-8
/// if it is valid UTF-8, else by detection from its bytes.
#[must_use]
pub fn decode<'a>(body: &'a [u8], content_type: &str) -> Decoded<'a> {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return decode_as(encoding, &body[length..]);
    }
    let media_type = MediaType::extract(content_type).unwrap_or_default();
    let label = media_type.parameter("charset");
    let declared = label
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| declared_inside(body, &media_type.essence))
        .or_else(|| Encoding::for_label(label?.trim_matches('\'').as_bytes()));
    decode_as(declared.unwrap_or_else(|| detect(body)), body)
}

fn decode_as<'a>(encoding: &'static Encoding, body: &'a [u8]) -> Decoded<'a> {
    let (text, _) = encoding.decode_without_bom_handling(body);
    Decoded {
        text,
        charset: label(encoding),
    }
}

/// The encoding's name in lower case, as the plugin contract requires.
fn label(encoding: &'static Encoding) -> &'static str {
    const LABELS: &[&str] = &[
        "utf-8",
        "windows-1252",
        "utf-16le",
        "utf-16be",
        "big5",
        "euc-jp",
        "euc-kr",
        "gb18030",
        "gbk",
        "ibm866",
        "iso-2022-jp",
        "iso-8859-2",
        "iso-8859-3",
        "iso-8859-4",
        "iso-8859-5",
        "iso-8859-6",
        "iso-8859-7",
        "iso-8859-8",
        "iso-8859-8-i",
        "iso-8859-10",
        "iso-8859-13",
        "iso-8859-14",
        "iso-8859-15",
        "iso-8859-16",
        "koi8-r",
        "koi8-u",
        "macintosh",
        "replacement",
        "shift_jis",
        "windows-874",
        "windows-1250",
        "windows-1251",
        "windows-1253",
        "windows-1254",
        "windows-1255",
        "windows-1256",
        "windows-1257",
        "windows-1258",
        "x-mac-cyrillic",
        "x-user-defined",
    ];
    let name = encoding.name();
    LABELS
        .iter()
        .find(|label| label.eq_ignore_ascii_case(name))
        .copied()
        .unwrap_or(name)
}

/// The encoding that the body itself declares.
fn declared_inside(body: &[u8], media_type: &str) -> Option<&'static Encoding> {
    let may_be_html = media_type.is_empty() || MediaKind::of(media_type) == MediaKind::Html;
    let part = |bytes: usize| &body[..body.len().min(bytes)];
    let meta = |bytes: usize, skip_text| {
        let found = may_be_html.then(|| prescan(part(bytes), skip_text));
        found.flatten()
    };
    meta(PRESCAN_BYTES, false)
        .or_else(|| {
            let may_be_xml = may_be_html || is_xml_type(media_type);
            may_be_xml.then(|| of_declaration(part(PRESCAN_BYTES)))?
        })
        .or_else(|| meta(LATE_BYTES, true))
}

/// The encoding that an XML declaration names. Source: WHATWG HTML, "get an XML encoding".
fn of_declaration(bytes: &[u8]) -> Option<&'static Encoding> {
    let declaration = bytes.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let name = memchr::memmem::find(declaration, b"encoding")?;
    let trimmed = |bytes: &'_ [u8]| skip(bytes, 0, |byte| byte <= b' ');
    let rest = &declaration[name + b"encoding".len()..];
    let rest = rest[trimmed(rest)..].strip_prefix(b"=")?;
    let rest = &rest[trimmed(rest)..];
    let quote = *rest.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let label = &rest[1..];
    let label = &label[..memchr::memchr(quote, label)?];
    Encoding::for_label(label).map(readable_as_ascii)
}

fn detect(body: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(body).is_ok() {
        return UTF_8;
    }
    let part = &body[..body.len().min(GUESS_BYTES)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(part, part.len() == body.len());
    // UTF-8 with an invalid byte somewhere is still UTF-8.
    detector.guess(None, Utf8Detection::Allow)
}

/// The encoding that a `meta` tag declares. Source: WHATWG HTML, "Prescan a byte stream to
/// determine its encoding". With `skip_text`, tags in scripts, styles and titles are none, as for
/// the parser.
fn prescan(bytes: &[u8], skip_text: bool) -> Option<&'static Encoding> {
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'<', rest) {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix(b"!--") {
            // The dashes that open a comment may also close it.
            let end = memchr::memmem::find(&rest[1..], b"-->")? + 4;
            rest = rest.get(end..).unwrap_or(&comment[comment.len()..]);
        } else if is_meta(rest) {
            let mut found: Vec<(String, String)> = Vec::new();
            rest = attributes(&rest[4..], |name, value| {
                let name = lower(name);
                if found.iter().all(|(known, _)| *known != name) {
                    found.push((name, lower(value)));
                }
            });
            if let Some(encoding) = of_meta(&found) {
                return Some(encoding);
            }
        } else if rest.first().is_some_and(u8::is_ascii_alphabetic)
            || (rest.first() == Some(&b'/') && rest.get(1).is_some_and(u8::is_ascii_alphabetic))
        {
            let name_end = rest
                .iter()
                .position(|&byte| is_space(byte) || byte == b'>')?;
            let name = &rest[..name_end];
            rest = attributes(&rest[name_end..], |_, _| {});
            if skip_text {
                rest = &rest[text_end(name, rest)..];
            }
        } else if matches!(rest.first(), Some(b'!' | b'/' | b'?')) {
            rest = &rest[memchr::memchr(b'>', rest)?..];
        }
    }
    None
}

/// Length of the raw text that follows the start tag of `name`.
fn text_end(name: &[u8], rest: &[u8]) -> usize {
    const RAW: [&str; 6] = ["style", "title", "textarea", "xmp", "noframes", "iframe"];
    if name.eq_ignore_ascii_case(b"script") {
        return raw::script_end(rest, 0);
    }
    let mut names = RAW.iter();
    match names.find(|raw| name.eq_ignore_ascii_case(raw.as_bytes())) {
        Some(name) => raw::text_end(rest, 0, name),
        None => 0,
    }
}

fn is_meta(rest: &[u8]) -> bool {
    rest.len() > 4
        && rest[..4].eq_ignore_ascii_case(b"meta")
        && (is_space(rest[4]) || rest[4] == b'/')
}

fn of_meta(attributes: &[(String, String)]) -> Option<&'static Encoding> {
    let get = |name| {
        attributes
            .iter()
            .find_map(|(known, value)| (known == name).then_some(value.as_str()))
    };
    let is_pragma =
        get("http-equiv").is_some_and(|value| value.eq_ignore_ascii_case("content-type"));
    let label = match get("charset") {
        Some(label) => Some(label),
        None if is_pragma => get("content").and_then(charset_in),
        None => None,
    }?;
    let encoding = Encoding::for_label(label.trim().as_bytes())?;
    Some(match encoding {
        _ if encoding == X_USER_DEFINED => WINDOWS_1252,
        _ => readable_as_ascii(encoding),
    })
}

/// The encoding of a body whose declaration was readable as ASCII: it cannot be UTF-16.
fn readable_as_ascii(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else {
        encoding
    }
}

/// The label after `charset=` in a `content` attribute.
fn charset_in(content: &str) -> Option<&str> {
    let lower = content.to_ascii_lowercase();
    let mut from = 0;
    loop {
        from += lower.get(from..)?.find("charset")? + "charset".len();
        let rest = content[from..].trim_ascii_start();
        let Some(value) = rest.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_ascii_start();
        return match value.as_bytes().first()? {
            b'"' => value[1..].split_once('"').map(|(label, _)| label),
            b'\'' => value[1..].split_once('\'').map(|(label, _)| label),
            _ => value.split([' ', '\t', '\n', '\r', '\x0c', ';']).next(),
        };
    }
}

/// Passes the names and values of attributes up to the end of the tag; returns the bytes after it.
fn attributes(bytes: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> &[u8] {
    let mut at = 0;
    loop {
        at = skip(bytes, at, |byte| is_space(byte) || byte == b'/');
        if at >= bytes.len() || bytes[at] == b'>' {
            return &bytes[at..];
        }
        let name = at;
        at = skip(bytes, at + 1, |byte| {
            !is_space(byte) && !matches!(byte, b'=' | b'>' | b'/')
        });
        let name = &bytes[name..at];
        let equals = skip(bytes, at, is_space);
        let mut value: &[u8] = &[];
        if bytes.get(equals) == Some(&b'=') {
            at = skip(bytes, equals + 1, is_space);
            let quote = bytes
                .get(at)
                .copied()
                .filter(|byte| matches!(byte, b'"' | b'\''));
            let start = at + usize::from(quote.is_some());
            at = match quote {
                Some(quote) => skip(bytes, start, |byte| byte != quote),
                None => skip(bytes, start, |byte| !is_space(byte) && byte != b'>'),
            };
            value = &bytes[start.min(at)..at];
            at = (at + usize::from(quote.is_some())).min(bytes.len());
        }
        each(name, value);
    }
}

fn skip(bytes: &[u8], from: usize, passes: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from.min(bytes.len()) + rest.iter().take_while(|&&byte| passes(byte)).count()
}

fn lower(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_lowercase()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &[u8], content_type: &str, text: &str, charset: &str) {
        let decoded = decode(body, content_type);
        assert_eq!((&*decoded.text, decoded.charset), (text, charset));
    }

    #[test]
    fn byte_order_mark_beats_the_header() {
        check(
            b"\xEF\xBB\xBFa\xC3\xA9",
            "text/html; charset=iso-8859-1",
            "aé",
            "utf-8",
        );
        check(b"\xFF\xFEa\0", "text/html", "a", "utf-16le");
    }

    #[test]
    fn header_beats_meta() {
        let body = b"<meta charset=utf-8>\xE9";
        check(
            body,
            "text/html; Charset=\"ISO-8859-1\"",
            "<meta charset=utf-8>é",
            "windows-1252",
        );
    }

    #[test]
    fn meta_in_both_forms() {
        check(
            b"<!-- <meta charset=gbk> --><META x CHARSET = 'koi8-r'>\xC1",
            "",
            "<!-- <meta charset=gbk> --><META x CHARSET = 'koi8-r'>а",
            "koi8-r",
        );
        check(
            b"<meta content='text/html; charset=windows-1251' http-equiv=Content-Type>\xE0",
            "text/html",
            "<meta content='text/html; charset=windows-1251' http-equiv=Content-Type>а",
            "windows-1251",
        );
        check(
            b"<meta charset=utf-16>x",
            "text/html",
            "<meta charset=utf-16>x",
            "utf-8",
        );
    }

    #[test]
    fn an_xml_declaration_counts_if_no_meta_is_near() {
        let euro = |before: &str| [before.as_bytes(), b"\xA4"].concat();
        let xml = "<?xml version=\"1.0\" encoding = 'iso-8859-15'?>";
        for media_type in ["text/html", "application/rss+xml", "text/xml", ""] {
            check(&euro(xml), media_type, &format!("{xml}€"), "iso-8859-15");
        }
        let both = format!("{xml}<meta charset=windows-1252>");
        check(
            &euro(&both),
            "text/html",
            &format!("{both}¤"),
            "windows-1252",
        );
        let wide = "<?xml encoding=\"utf-16\"?>é";
        check(wide.as_bytes(), "text/html", wide, "utf-8");
        check(
            &euro(xml),
            "text/html;charset=windows-1252",
            &format!("{xml}¤"),
            "windows-1252",
        );
        for broken in [
            "<?xml encoding=x?>é",
            "<?xml encoding='x'>é",
            "<?xml é",
            " <?xml encoding='gbk'?>é",
        ] {
            check(broken.as_bytes(), "text/html", broken, "utf-8");
        }
        check(xml.as_bytes(), "text/plain", xml, "utf-8");
    }

    #[test]
    fn a_late_meta_changes_the_encoding() {
        let script = format!("<script>{}'<meta charset=gbk>'</script>", " ".repeat(1_500));
        let page = format!("{script}<title><meta charset=gbk></title><meta charset=iso-8859-15>");
        let body = [page.as_bytes(), b"\xA4"].concat();
        check(&body, "text/html", &format!("{page}€"), "iso-8859-15");
        check(&body[..page.len()], "text/plain", &page, "utf-8");
    }

    #[test]
    fn the_last_type_of_a_header_has_the_character_set() {
        check(
            b"\xE0",
            "text/plain;charset=gbk, text/html;charset='windows-1251'",
            "а",
            "windows-1251",
        );
        check("é".as_bytes(), "text/html charset=gbk", "é", "utf-8");
    }

    #[test]
    fn a_header_s_label_in_single_quotes_counts_after_what_the_page_declares() {
        check(
            b"<meta charset=koi8-r>\xC1",
            "text/html; charset='gbk'",
            "<meta charset=koi8-r>\u{430}",
            "koi8-r",
        );
        check(
            b"<p>\xE0",
            "text/html; charset='windows-1251'",
            "<p>\u{430}",
            "windows-1251",
        );
    }

    #[test]
    fn valid_utf_8_needs_no_detection_and_other_bytes_are_detected() {
        check("naïve".as_bytes(), "text/plain", "naïve", "utf-8");
        check(
            b"caf\xE9 na\xEFve d\xE9j\xE0 vu",
            "text/plain",
            "café naïve déjà vu",
            "windows-1252",
        );
    }
}
