//! Parses colours in inline styles.

/// An opaque colour: red, green and blue.
pub(super) type Colour = [u8; 3];

/// Colour names commonly used for text and backgrounds.
const NAMES: &[(&str, Colour)] = &[
    ("aqua", [0, 255, 255]),
    ("beige", [245, 245, 220]),
    ("black", [0, 0, 0]),
    ("blue", [0, 0, 255]),
    ("cyan", [0, 255, 255]),
    ("darkgray", [169, 169, 169]),
    ("darkgrey", [169, 169, 169]),
    ("fuchsia", [255, 0, 255]),
    ("gray", [128, 128, 128]),
    ("green", [0, 128, 0]),
    ("grey", [128, 128, 128]),
    ("ivory", [255, 255, 240]),
    ("lightgray", [211, 211, 211]),
    ("lightgrey", [211, 211, 211]),
    ("lime", [0, 255, 0]),
    ("magenta", [255, 0, 255]),
    ("maroon", [128, 0, 0]),
    ("navy", [0, 0, 128]),
    ("olive", [128, 128, 0]),
    ("orange", [255, 165, 0]),
    ("pink", [255, 192, 203]),
    ("purple", [128, 0, 128]),
    ("red", [255, 0, 0]),
    ("silver", [192, 192, 192]),
    ("snow", [255, 250, 250]),
    ("teal", [0, 128, 128]),
    ("white", [255, 255, 255]),
    ("whitesmoke", [245, 245, 245]),
    ("yellow", [255, 255, 0]),
];

/// Parses a well-known colour name, `#rgb`, `#rrggbb` or `rgb(…)`; `None` for anything else,
/// including translucent colours.
pub(super) fn parse(text: &str) -> Option<Colour> {
    let text = text.trim_ascii();
    if let Some(digits) = text.strip_prefix('#') {
        return of_digits(digits.as_bytes());
    }
    if let Some((name, rest)) = text.split_once('(') {
        let is_rgb = name.eq_ignore_ascii_case("rgb") || name.eq_ignore_ascii_case("rgba");
        return is_rgb
            .then(|| of_numbers(rest.strip_suffix(')')?))
            .flatten();
    }
    let named = NAMES
        .iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    named.map(|&(_, colour)| colour)
}

fn of_digits(digits: &[u8]) -> Option<Colour> {
    let digit = |at: usize| {
        (digits[at] as char)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let (width, alpha) = match digits.len() {
        3 => (1, None),
        4 => (1, Some(3)),
        6 => (2, None),
        8 => (2, Some(6)),
        _ => return None,
    };
    let part = |at: usize| match width {
        1 => Some(digit(at)? * 17),
        _ => Some(digit(at)? * 16 + digit(at + 1)?),
    };
    if alpha.is_some_and(|at| part(at) != Some(u8::MAX)) {
        return None;
    }
    Some([part(0)?, part(width)?, part(2 * width)?])
}

fn of_numbers(numbers: &str) -> Option<Colour> {
    let mut parts = numbers
        .split([',', ' ', '/'])
        .filter(|part| !part.is_empty());
    let mut part = || {
        let part = parts.next()?;
        match part.strip_suffix('%') {
            Some(percent) => Some(percent.parse::<f32>().ok()? * 2.55),
            None => part.parse::<f32>().ok(),
        }
    };
    let colour = [part()?, part()?, part()?].map(|part| part.round() as u8);
    match parts.next() {
        Some("1" | "1.0" | "100%") | None => Some(colour),
        Some(_) => None,
    }
}
