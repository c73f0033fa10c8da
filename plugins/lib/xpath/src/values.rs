//! Conversions and numeric functions.

use std::fmt::Write as _;

use super::ast::Operator;
use super::lexer::is_space;

/// XPath 1.0, 4.4 `number`: digits with at most one decimal point and a leading minus, surrounded
/// by white space; anything else is `NaN`.
pub(super) fn to_number(text: &str) -> f64 {
    let text = text.trim_matches(is_space);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_number {
        text.parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

/// XPath 1.0, 4.2 `string`: the shortest digits that identify the number, never an exponent.
pub(super) fn write_number(out: &mut String, number: f64) {
    // Negative zero is written without a sign.
    let number = if number == 0.0 { 0.0 } else { number };
    let written = if number == f64::INFINITY {
        out.write_str("Infinity")
    } else if number == f64::NEG_INFINITY {
        out.write_str("-Infinity")
    } else {
        write!(out, "{number}")
    };
    written.expect("writing to a string never fails");
}

pub(super) fn number_to_boolean(number: f64) -> bool {
    number != 0.0 && !number.is_nan()
}

/// The nearest integer; of two equally near ones, the greater.
pub(super) fn round(number: f64) -> f64 {
    match number {
        // The sign of zero is preserved.
        _ if (-0.5..0.0).contains(&number) => -0.0,
        // Numbers this large are integers, and adding a half would lose precision.
        _ if number.abs() >= 4_503_599_627_370_496.0 || number == 0.0 => number,
        _ => (number + 0.5).floor(),
    }
}

/// The element at this position, counted from 1.
pub(super) fn nth<T: Copy>(elements: &[T], number: f64) -> Option<T> {
    let is_position = number >= 1.0 && number.fract() == 0.0;
    is_position
        .then(|| elements.get(number as usize - 1).copied())
        .flatten()
}

pub(super) fn compare(operator: Operator, left: f64, right: f64) -> bool {
    match operator {
        Operator::Equal => left == right,
        Operator::NotEqual => left != right,
        Operator::Less => left < right,
        Operator::LessOrEqual => left <= right,
        Operator::Greater => left > right,
        _ => left >= right,
    }
}

/// The operator with its operands swapped.
pub(super) fn swapped(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        other => other,
    }
}

/// Whether any number in one range (minimum, maximum) satisfies the comparison with any number in
/// the other.
pub(super) fn any_compare(
    operator: Operator,
    left: Option<(f64, f64)>,
    right: Option<(f64, f64)>,
) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return false;
    };
    match operator {
        Operator::Less | Operator::LessOrEqual => compare(operator, left.0, right.1),
        _ => compare(operator, left.1, right.0),
    }
}

/// Byte range of `substring`: characters whose position is at least the rounded start and less than
/// the rounded start plus the rounded length. As in browsers, an infinite start yields an empty
/// string.
pub(super) fn substring(text: &str, start: f64, length: Option<f64>) -> (usize, usize) {
    let first = round(start);
    let past = length.map_or(f64::INFINITY, |length| first + round(length));
    let is_wanted =
        |position: usize| first.is_finite() && position as f64 >= first && (position as f64) < past;
    let mut range = (0, 0);
    let mut has_begun = false;
    for (at, (offset, character)) in text.char_indices().enumerate() {
        if is_wanted(at + 1) {
            range = (
                if has_begun { range.0 } else { offset },
                offset + character.len_utf8(),
            );
            has_begun = true;
        } else if has_begun {
            break;
        }
    }
    range
}
