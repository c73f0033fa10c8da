//! Parses an element's `style` attribute.

use super::Element;

/// Iterator over the declarations of an inline style in source order; see [`Element::style`].
#[derive(Clone, Debug)]
pub struct Declarations<'a> {
    rest: &'a str,
}

/// One declaration of an inline style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration<'a> {
    /// Property name in the page's spelling; compare ignoring case.
    pub property: &'a str,
    /// Value in the page's spelling, trimmed, without `!important`.
    pub value: &'a str,
    /// Whether it is `!important`.
    pub is_important: bool,
}

impl<'a> Declarations<'a> {
    /// Parses the text of a `style` attribute.
    pub fn of(style: &'a str) -> Self {
        Self { rest: style }
    }

    /// The effective value of a property, given in lower case: the last one, with `!important`
    /// taking precedence.
    pub fn value(self, property: &str) -> Option<&'a str> {
        let mut counts: Option<Declaration<'a>> = None;
        for declaration in self.filter(|own| own.property.eq_ignore_ascii_case(property)) {
            if counts.is_none_or(|before| declaration.is_important || !before.is_important) {
                counts = Some(declaration);
            }
        }
        counts.map(|declaration| declaration.value)
    }
}

impl<'a> Iterator for Declarations<'a> {
    type Item = Declaration<'a>;

    fn next(&mut self) -> Option<Declaration<'a>> {
        while !self.rest.is_empty() {
            let end = declaration_end(self.rest);
            let declaration = &self.rest[..end];
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if let Some((property, value)) = declaration.split_once(':') {
                return Some(Declaration::of(property.trim_ascii(), value.trim_ascii()));
            }
        }
        None
    }
}

impl<'a> Declaration<'a> {
    fn of(property: &'a str, value: &'a str) -> Self {
        let important = value
            .rsplit_once('!')
            .filter(|(_, word)| word.trim_ascii().eq_ignore_ascii_case("important"));
        Self {
            property,
            value: important.map_or(value, |(value, _)| value.trim_ascii_end()),
            is_important: important.is_some(),
        }
    }
}

/// End of the first declaration: a semicolon outside brackets and quotes.
fn declaration_end(style: &str) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, byte) in style.bytes().enumerate() {
        match (byte, quote) {
            (b';', None) if depth == 0 => return at,
            (b'(', None) => depth += 1,
            (b')', None) => depth = depth.saturating_sub(1),
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            _ => {}
        }
    }
    style.len()
}

impl<'a> Element<'a> {
    /// Declarations of the element's `style` attribute; none without one.
    pub fn styles(self) -> Declarations<'a> {
        Declarations::of(self.attr("style").unwrap_or_default())
    }

    /// Value of a property, given in lower case, in the element's own `style`.
    pub fn style(self, property: &str) -> Option<&'a str> {
        self.styles().value(property)
    }

    /// Whether the element's own `style` makes it a block, whatever its name.
    pub fn is_styled_as_block(self) -> bool {
        const BLOCKS: &[&str] = &["block", "flex", "grid", "list-item", "table", "flow-root"];
        self.style("display")
            .is_some_and(|value| BLOCKS.iter().any(|block| value.eq_ignore_ascii_case(block)))
    }
}
