use super::{Blocks, heading_at_end};

/// Checks the blocks of a text.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let blocks: Vec<&str> = Blocks::of(text).map(|block| &text[block]).collect();
    assert_eq!(blocks, expected, "{text:?}");
}

#[test]
fn plain_text_has_no_blocks() {
    check("One.\nTwo - three | four.\n\n--- five\n> six\n", &[]);
}

#[test]
fn a_fence_is_closed_by_one_of_the_same_length() {
    check("a\n```rust\nb\n```\nc\n", &["```rust\nb\n```\n"]);
    check("````\n```\n````\nc", &["````\n```\n````\n"]);
    check("~~~\n```\n~~~", &["~~~\n```\n~~~"]);
    check("- a\n  ```\n  b\n  ```\n", &["  ```\n  b\n  ```\n"]);
    check("> ```\n> b\n> ```\n> c\n", &["> ```\n> b\n> ```\n"]);
}

#[test]
fn an_unclosed_fence_extends_to_the_end() {
    check("a\n```\nb\n\n# c\n", &["```\nb\n\n# c\n"]);
}

#[test]
fn a_code_span_is_not_a_fence() {
    check("```a``` b\nc\n", &[]);
}

#[test]
fn indented_lines_after_a_blank_one_are_code() {
    check("a\n\n    b\n\n    c\n\nd\n", &["    b\n\n    c\n"]);
    check("\tb\nc\n", &["\tb\n"]);
    check("a\n    b\n", &[]);
    check("- a\n\n    b\n\nc\n\n    d\n", &["    d\n"]);
}

#[test]
fn a_row_is_a_block_and_the_header_belongs_to_the_first_row() {
    check(
        "a\n| b |\n|---|\n| c |\n| d |\ne\n\n| f |\n",
        &["| b |\n|---|\n| c |\n", "| d |\n", "e\n", "| f |\n"],
    );
    check(
        "a | b\n--|--\nc | d\ne\n\nf\n",
        &["a | b\n--|--\nc | d\n", "e\n"],
    );
}

#[test]
fn headings_at_the_end_are_found() {
    assert_eq!(heading_at_end("a\n# B\n\n"), Some(2));
    assert_eq!(heading_at_end("a\n# B\n\n## C"), Some(2));
    assert_eq!(heading_at_end("a\nB\n===\n"), Some(2));
    assert_eq!(heading_at_end("# B\na\n"), None);
    assert_eq!(heading_at_end("a\n\n---\n"), None);
    assert_eq!(heading_at_end("a\n#b\n"), None);
    assert_eq!(heading_at_end(""), None);
}
