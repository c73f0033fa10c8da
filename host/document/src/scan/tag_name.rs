//! The elements that are relevant to the scanner.

/// How the scanner treats an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// `a`, `area`.
    Anchor,
    Base,
    /// `frame` and, inline, `iframe`, which contains only text.
    Frame {
        is_inline: bool,
    },
    Link,
    Meta,
    Template,
    /// `svg`, `math`.
    Foreign,
    /// A raw text element, with its name.
    Raw(&'static str),
    Other,
}

/// The element with this tag name, in any case.
pub(super) fn element(name: &[u8]) -> Element {
    let Some(first) = name.first() else {
        return Element::Other;
    };
    let (wanted, element) = match (name.len(), first.to_ascii_lowercase()) {
        (1, b'a') => return Element::Anchor,
        (3, b's') => ("svg", Element::Foreign),
        (3, b'x') => ("xmp", Element::Raw("xmp")),
        (4, b'a') => ("area", Element::Anchor),
        (4, b'b') => ("base", Element::Base),
        (4, b'l') => ("link", Element::Link),
        (4, b'm') if name[1].eq_ignore_ascii_case(&b'e') => ("meta", Element::Meta),
        (4, b'm') => ("math", Element::Foreign),
        (5, b'f') => ("frame", Element::Frame { is_inline: false }),
        (5, b's') => ("style", Element::Raw("style")),
        (5, b't') => ("title", Element::Raw("title")),
        (6, b'i') => ("iframe", Element::Frame { is_inline: true }),
        (6, b's') => ("script", Element::Raw("script")),
        (7, b'n') => ("noembed", Element::Raw("noembed")),
        (8, b'n') => ("noframes", Element::Raw("noframes")),
        (8, b't') if name[2].eq_ignore_ascii_case(&b'm') => ("template", Element::Template),
        (8, b't') => ("textarea", Element::Raw("textarea")),
        (9, b'p') => ("plaintext", Element::Raw("plaintext")),
        _ => return Element::Other,
    };
    if name.eq_ignore_ascii_case(wanted.as_bytes()) {
        element
    } else {
        Element::Other
    }
}
