//! Preformatted text and its language.

use std::iter::successors;

use trawl_sdk::{Element, Kind, Node, Step, Tag};

use crate::visible;

/// Maximum number of ancestors of a code block that may name its language.
const WRAPPERS_MAX: usize = 2;

/// Languages that some highlighters use as a bare class.
const BARE_LANGUAGES: &[&str] = &[
    "bash",
    "c",
    "cpp",
    "csharp",
    "css",
    "diff",
    "go",
    "haskell",
    "html",
    "ini",
    "java",
    "javascript",
    "json",
    "kotlin",
    "lua",
    "makefile",
    "perl",
    "php",
    "powershell",
    "python",
    "ruby",
    "rust",
    "scala",
    "sh",
    "shell",
    "sql",
    "swift",
    "toml",
    "typescript",
    "xml",
    "yaml",
];

/// The text of a preformatted element as rendered: blocks in it start a line, and empty lines at
/// both ends are removed.
pub(crate) fn text_of(pre: Element<'_>, with_hidden: bool) -> String {
    let mut text = String::new();
    let mut walk = pre.walk();
    let mut depth = 0_usize;
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::Text(own) if is_between_cells(node, own) => {}
                Kind::Text(own) => text.push_str(own),
                Kind::Element(element) => {
                    depth += 1;
                    match element.tag() {
                        Tag::Br => text.push('\n'),
                        _ if depth > 1 && is_left_out(element, with_hidden) => walk.skip_children(),
                        _ if depth > 1 && is_line_number(element) => walk.skip_children(),
                        tag if depth > 1 && (tag.is_block() || element.is_styled_as_block()) => {
                            begin_line(&mut text);
                        }
                        _ => {}
                    }
                }
                Kind::TemplateContents => {
                    depth += 1;
                    walk.skip_children();
                }
                _ => {}
            },
            Step::Leave(node) => {
                depth -= 1;
                let is_line =
                    |element: Element<'_>| element.tag().is_block() || element.is_styled_as_block();
                if depth > 0 && node.as_element().is_some_and(is_line) {
                    begin_line(&mut text);
                }
            }
        }
    }
    // Highlighters indent with no-break spaces; a browser copies them as spaces.
    if text.contains('\u{a0}') {
        text = text.replace('\u{a0}', " ");
    }
    let end = text.trim_end().len();
    text.truncate(end);
    let first = text.find(|c| !matches!(c, '\n' | ' ' | '\t')).unwrap_or(0);
    let start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    text.drain(..start);
    text
}

/// Whether a text is white space of the source between the rows and cells of a table.
fn is_between_cells(text: Node<'_>, own: &str) -> bool {
    own.trim_ascii().is_empty()
        && text.parent_element().is_some_and(|outer| {
            matches!(
                outer.tag(),
                Tag::Table | Tag::Tbody | Tag::Thead | Tag::Tfoot | Tag::Tr
            )
        })
}

fn begin_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn is_left_out(element: Element<'_>, with_hidden: bool) -> bool {
    matches!(element.tag(), Tag::Button | Tag::Textarea | Tag::Select)
        || element.tag().is_never_shown()
        || element.name() == "svg"
        || visible::is_left_out(element, with_hidden)
}

/// Whether an element holds only the numbers of lines of code: in a gutter beside the code, or
/// before each line.
pub(crate) fn is_line_number(element: Element<'_>) -> bool {
    let is_named = element.classes().any(is_of_numbers)
        || element.has_attr("style")
            && element
                .style("user-select")
                .is_some_and(|value| value == "none");
    is_named && has_only_numbers(element)
}

fn has_only_numbers(element: Element<'_>) -> bool {
    const TEXTS_MAX: usize = 20_000;
    let mut texts = element.shown_texts();
    let is_number = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit() || b.is_ascii_whitespace())
    };
    texts.by_ref().take(TEXTS_MAX).all(is_number) && texts.next().is_none()
}

/// Whether an element outside of a table holds the numbers of the lines of the code block next
/// to it.
pub(crate) fn is_gutter(element: Element<'_>) -> bool {
    // Only the first class is looked at, for the sake of pages with many classes everywhere.
    let Some(class) = element
        .classes()
        .next()
        .filter(|class| is_of_numbers(class))
    else {
        return false;
    };
    // Code whose lines are to be numbered has this class too.
    let is_code = class == "line-numbers" && holds_code(element);
    let is_next_to_code = || {
        let is_seen = |other: &Element<'_>| other.is_counted();
        let mut before = successors(element.previous_element(), |other| other.previous_element());
        let mut after = successors(element.next_element(), |other| other.next_element());
        let neighbours = [before.find(is_seen), after.find(is_seen)];
        neighbours.into_iter().flatten().any(holds_code)
    };
    !is_code && is_next_to_code() && has_only_numbers(element)
}

/// Whether an element is a code block, or a wrapper of one.
fn holds_code(element: Element<'_>) -> bool {
    let inside = element.child_elements().filter(|inner| inner.is_counted());
    let mut first = inside.take(WRAPPERS_MAX);
    element.tag() == Tag::Pre || first.any(|inner| inner.tag() == Tag::Pre)
}

/// Whether highlighters give this class to line numbers.
fn is_of_numbers(class: &str) -> bool {
    matches!(
        class,
        "blob-num"
            | "crayon-nums"
            | "gutter"
            | "hljs-ln-numbers"
            | "line-num"
            | "line-number"
            | "line-numbers"
            | "line-numbers-wrapper"
            | "lineNumber"
            | "linenodiv"
            | "lineno"
            | "linenos"
            | "linenumber"
            | "linenumbers"
            | "ln"
            | "lnt"
            | "lnum"
            | "rouge-gutter"
    )
}

/// Whether a table shows code: a line in each row, or lines beside their numbers.
pub(crate) fn is_in_rows(table: Element<'_>) -> bool {
    const ELEMENTS_MAX: usize = 40;
    let (mut inside, mut n_elements) = (table.descendants(), 0);
    while let Some(node) = inside.next()
        && n_elements < ELEMENTS_MAX
    {
        let Some(cell) = node.as_element() else {
            continue;
        };
        n_elements += usize::from(node.is_counted());
        if cell.tag() == Tag::Td {
            if is_of_code(cell) {
                return true;
            }
            if is_line_number(cell) {
                inside.skip_inside(node);
            }
        }
    }
    false
}

/// Whether a highlighter keeps code in this cell, without a `pre` in it.
fn is_of_code(cell: Element<'_>) -> bool {
    let has_lines = || {
        let mut inside = cell.child_elements();
        let first = inside.find(|inner| inner.is_counted());
        first.is_some_and(|inner| inner.has_class("container"))
    };
    cell.classes().any(|class| match class {
        "blob-code" | "crayon-code" | "hljs-ln-code" => true,
        "code" => has_lines(),
        _ => false,
    })
}

/// The language declared for a code block: on the block, on the code inside, or on a wrapper.
pub(crate) fn language(pre: Element<'_>) -> Option<&str> {
    let code = pre.child_elements().find(|child| child.tag() == Tag::Code);
    let around = pre.ancestors().take(WRAPPERS_MAX);
    std::iter::once(pre)
        .chain(code)
        .chain(around)
        .find_map(stated)
        .or_else(|| {
            let mut around = pre.ancestors().take(WRAPPERS_MAX);
            let highlighter = around.find(|outer| outer.has_class("syntaxhighlighter"));
            let named = [Some(pre), code, highlighter];
            named.into_iter().flatten().find_map(bare)
        })
        .filter(|language| {
            !matches!(
                *language,
                "default" | "none" | "text" | "plaintext" | "plain"
            )
        })
}

fn stated(element: Element<'_>) -> Option<&str> {
    let own = element.tag() == Tag::Pre;
    let attribute = ["data-lang", "data-language"]
        .iter()
        .find_map(|name| element.attr(name));
    let lang = element.attr("lang").filter(|_| own);
    attribute
        .or_else(|| language_of_class(element))
        .or_else(|| brush(element.attr("class")?))
        .or(lang)
        .map(str::trim)
        .filter(|language| is_language(language))
}

/// The language in `class`. The prefix suggested by the HTML standard takes precedence over those
/// of highlighters.
fn language_of_class(element: Element<'_>) -> Option<&str> {
    const STANDARD: &[&str] = &["language-", "lang-"];
    const HIGHLIGHTERS: &[&str] = &[
        "highlight-source-",
        "highlight-",
        "mw-highlight-lang-",
        "sourceCode-",
        "brush:",
    ];
    let with_prefix = |prefixes: &[&str]| {
        let mut classes = element.classes();
        classes.find_map(|class| {
            let language = prefixes
                .iter()
                .find_map(|prefix| class.strip_prefix(prefix))?;
            is_language(language).then_some(language)
        })
    };
    with_prefix(STANDARD).or_else(|| with_prefix(HIGHLIGHTERS))
}

/// `brush: js; gutter: false`.
fn brush(class: &str) -> Option<&str> {
    let (_, rest) = class.split_once("brush:")?;
    rest.trim_start().split([';', ' ']).next()
}

fn bare(element: Element<'_>) -> Option<&str> {
    element
        .classes()
        .find(|class| BARE_LANGUAGES.contains(class))
}

fn is_language(word: &str) -> bool {
    const BYTES_MAX: usize = 40;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+#-_.".contains(&byte);
    (1..=BYTES_MAX).contains(&word.len()) && word.bytes().all(is_part)
}
