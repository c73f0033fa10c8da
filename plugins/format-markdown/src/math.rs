//! Formulas: their TeX, from an annotation, a script, an image, the page's text, or MathML.

use std::borrow::Cow;
use std::iter::successors;

use trawl_sdk::scan::ByteSet;
use trawl_sdk::{Element, Kind, Node, Step, Tag};

/// Maximum number of nodes of a formula that are examined.
const NODES_MAX: usize = 2_000;
/// Maximum nesting of MathML that is translated.
const DEPTH_MAX: usize = 40;
/// Maximum length of a formula in a text, in bytes.
const BYTES_MAX: usize = 2_000;

/// A formula in TeX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Formula<'a> {
    pub(crate) tex: Cow<'a, str>,
    /// Whether it stands on a line of its own.
    pub(crate) is_display: bool,
}

/// The formula of a `<math>` element; `None` if it is empty.
pub(crate) fn of_mathml(math: Element<'_>) -> Option<Formula<'_>> {
    let is_display = math.attr("display") == Some("block")
        || math.ancestors().take(3).any(|around| {
            around.has_class("katex-display") || around.attr("display") == Some("true")
        });
    let noted = math
        .descendants()
        .take(NODES_MAX)
        .filter_map(Node::as_element)
        .find(is_tex)
        .map(|source| Cow::Owned(source.text()));
    let stated = || {
        let source = math.attr("data-latex").or_else(|| math.attr("alttext"));
        source.map(Cow::Borrowed)
    };
    let tex = noted
        .or_else(stated)
        .filter(|tex| !tex.trim().is_empty())
        .unwrap_or_else(|| Cow::Owned(translated(math)));
    let tex = unwrapped(tex);
    (!tex.trim().is_empty()).then_some(Formula { tex, is_display })
}

fn is_tex(element: &Element<'_>) -> bool {
    element.name() == "annotation"
        && element
            .attr("encoding")
            .is_some_and(|encoding| encoding.to_ascii_lowercase().ends_with("tex"))
}

/// The formula of a container of MathJax 4, whose rendering notes its source.
pub(crate) fn of_container(container: Element<'_>) -> Option<Formula<'_>> {
    // Shapes of letters may come first.
    const ELEMENTS_MAX: usize = 200;
    let inside = container.descendants().filter_map(Node::as_element);
    let tex = inside
        .take(ELEMENTS_MAX)
        .find_map(|inner| inner.attr("data-latex"))?;
    (!tex.trim().is_empty()).then_some(Formula {
        tex: Cow::Borrowed(tex),
        is_display: container.attr("display") == Some("true"),
    })
}

/// The formula of a script, in which MathJax 2 keeps its source: `<script type="math/tex">`.
pub(crate) fn of_script(script: Element<'_>) -> Option<Formula<'_>> {
    let kind = script.attr("type")?.strip_prefix("math/tex")?;
    let tex = script.text();
    (!tex.trim().is_empty()).then_some(Formula {
        tex: Cow::Owned(tex),
        is_display: kind.contains("display"),
    })
}

/// The formula of an image whose alternative text is TeX, as on wikis.
pub(crate) fn of_image(image: Element<'_>) -> Option<Formula<'_>> {
    const CLASSES: &[&str] = &["math", "tex", "latex"];
    let class = image.attr("class")?;
    let tex = image.attr("alt").filter(|alt| has_markup(alt))?;
    let mut words = class.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| CLASSES.contains(&word)).then(|| Formula {
        tex: unwrapped(Cow::Borrowed(tex)),
        is_display: class.contains("display"),
    })
}

/// The formula of an element of Pandoc, whose TeX a script of the page is to render.
pub(crate) fn of_pandoc(element: Element<'_>) -> Option<Formula<'_>> {
    let is_display = match element.attr("class")? {
        "math inline" => false,
        "math display" => true,
        _ => return None,
    };
    let tex = element.text();
    let source = tex.trim();
    let has_delimiter = ["\\(", "\\[", "$"]
        .iter()
        .any(|delimiter| source.starts_with(*delimiter));
    let is_source =
        !source.is_empty() && !has_delimiter && element.child_elements().next().is_none();
    is_source.then_some(Formula {
        tex: Cow::Owned(tex),
        is_display,
    })
}

/// `x` for `{\displaystyle x}`.
fn unwrapped(tex: Cow<'_, str>) -> Cow<'_, str> {
    let inner = ["{\\displaystyle ", "{\\textstyle "]
        .iter()
        .find_map(|start| tex.trim().strip_prefix(start)?.strip_suffix('}'));
    match inner.map(|inner| inner.trim().to_owned()) {
        Some(inner) => Cow::Owned(inner),
        None => tex,
    }
}

/// Whether an element is a rendering of a formula whose source stands next to it.
pub(crate) fn is_rendering(element: Element<'_>) -> bool {
    if !matches!(element.tag(), Tag::Span | Tag::Div | Tag::Other) {
        return false;
    }
    let Some(class) = element.attr("class") else {
        return element.tag() == Tag::Other
            && element.name() == "mjx-math"
            && has_assistive(element);
    };
    if !class.starts_with(['k', 'M']) {
        return false;
    }
    match class.split_ascii_whitespace().next() {
        // Without a source in front of it, the rendering is all there is.
        Some("katex-html") => {
            let mut before =
                successors(element.previous_element(), |other| other.previous_element());
            before.any(|other| other.is_counted())
        }
        Some(first) if first.starts_with("MathJax") => {
            first == "MathJax_Preview"
                || element
                    .next_element()
                    .is_some_and(|next| of_script(next).is_some())
        }
        Some("MJX-TEX") => has_assistive(element),
        _ => false,
    }
}

fn has_assistive(element: Element<'_>) -> bool {
    element
        .next_element()
        .is_some_and(|next| next.name() == "mjx-assistive-mml")
}

/// Translates MathML without a TeX source.
fn translated(math: Element<'_>) -> String {
    let mut out = String::new();
    // For each open element: its name, and the number of its children so far.
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut walk = math.walk();
    let mut n_nodes = 0;
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => {
                n_nodes += 1;
                if n_nodes > NODES_MAX {
                    break;
                }
                match node.kind() {
                    Kind::Text(text) => symbols(&mut out, text),
                    Kind::Element(element) => {
                        let name = element.name();
                        if let Some((around, n_before)) = open.last_mut() {
                            out.push_str(before(around, *n_before));
                            *n_before += 1;
                        }
                        if open.len() >= DEPTH_MAX || name.starts_with("annotation") {
                            walk.skip_tree();
                        } else {
                            out.push_str(opening(name));
                            open.push((name, 0));
                        }
                    }
                    _ => {}
                }
            }
            Step::Leave(node) => {
                if node.as_element().is_some()
                    && let Some((name, _)) = open.pop()
                {
                    out.push_str(closing(name));
                }
            }
        }
    }
    for (name, _) in open.iter().rev() {
        out.push_str(closing(name));
    }
    out
}

/// What opens an element with its first child.
fn opening(name: &str) -> &'static str {
    match name {
        "mfrac" => "\\frac{",
        "msqrt" => "\\sqrt{",
        "mroot" | "msup" | "msub" | "msubsup" | "munder" | "mover" | "munderover" | "mrow" => "{",
        "mtext" => "\\text{",
        "mtable" => "\\begin{matrix}",
        _ => "",
    }
}

/// What separates a child from the one before.
fn before(around: &str, n_before: usize) -> &'static str {
    match (around, n_before) {
        (_, 0) => "",
        ("mfrac", 1) => "}{",
        ("msup" | "mover", 1) | ("msubsup" | "munderover", 2) => "}^{",
        ("msub" | "munder" | "msubsup" | "munderover", 1) => "}_{",
        ("mroot", 1) => "}^{1/",
        ("mtr", _) => " & ",
        ("mtable", _) => " \\\\ ",
        _ => "",
    }
}

fn closing(name: &str) -> &'static str {
    match name {
        "mfrac" | "msqrt" | "mroot" | "msup" | "msub" | "msubsup" | "munder" | "mover"
        | "munderover" | "mrow" | "mtext" => "}",
        "mtable" => "\\end{matrix}",
        _ => "",
    }
}

/// Writes the text of a token: TeX accepts most symbols as they are.
fn symbols(out: &mut String, text: &str) {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    for c in text.chars() {
        match c {
            // Invisible operators.
            '\u{2061}'..='\u{2064}' => {}
            '{' | '}' | '%' | '#' | '&' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '\u{a0}' => out.push(' '),
            c => out.push(c),
        }
    }
}

/// A formula in the text of a page, between the delimiters of MathJax and KaTeX.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found<'t> {
    pub(crate) before: &'t str,
    pub(crate) formula: Formula<'t>,
    pub(crate) after: &'t str,
}

/// Bytes with which the delimiters of formulas begin.
pub(crate) const DELIMITERS: ByteSet = ByteSet::of(b"\\$");

/// The first formula in a text: `\(x\)`, `\[x\]`, `$$x$$`, `$x$`, an environment. Where dollars are
/// money, there is no markup in between.
pub(crate) fn first_in(text: &str) -> Option<Found<'_>> {
    let bytes = text.as_bytes();
    // Kinds of delimiters that are not closed any more.
    let mut is_over = [false; 2];
    let mut at = 0;
    while let Some(start) = DELIMITERS.find(bytes, at) {
        at = start + 1;
        let (width, close, is_display) = match &bytes[start..] {
            [b'\\', b'(', ..] if !is_over[0] => (2, "\\)", false),
            [b'\\', b'[', ..] if !is_over[1] => (2, "\\]", true),
            [b'\\', b'b', ..] => match environment(text, start) {
                None => continue,
                found => return found,
            },
            // An escaped dollar or backslash.
            [b'\\', ..] => {
                at = (start + 2).min(bytes.len());
                continue;
            }
            [b'$', b'$', ..] => (2, "$$", true),
            [b'$', ..] => (1, "$", false),
            _ => continue,
        };
        let rest = &text[start + width..];
        let Some(len) = rest.find(close) else {
            match close {
                "\\)" => is_over[0] = true,
                "\\]" => is_over[1] = true,
                // Without another dollar there is no formula behind it, but maybe another kind.
                _ => at = start + width,
            }
            continue;
        };
        let (tex, after) = (&rest[..len], &rest[len + close.len()..]);
        let is_formula = match close {
            "$" => {
                is_tight(tex) && has_markup(tex) && !after.starts_with(|c: char| c.is_ascii_digit())
            }
            "$$" => has_markup(tex),
            _ => {
                has_markup(tex)
                    || tex.contains(['<', '>', '+', '*', '/'])
                    || tex.trim().chars().count() == 1
            }
        };
        if is_formula && tex.len() <= BYTES_MAX && !tex.contains("\n\n") {
            return Some(Found {
                before: &text[..start],
                formula: Formula {
                    tex: Cow::Borrowed(tex),
                    is_display,
                },
                after,
            });
        }
        if width == 2 && close == "$$" {
            at = start + width;
        }
    }
    None
}

/// The environment for a formula that begins at `start`.
fn environment(text: &str, start: usize) -> Option<Found<'_>> {
    const NAME_BYTES_MAX: usize = 12;
    let rest = text[start..].strip_prefix("\\begin{")?;
    let mut bytes = rest.bytes().take(NAME_BYTES_MAX);
    let (name, inside) = rest.split_at(bytes.position(|byte| byte == b'}')?);
    let is_formula = matches!(
        name.strip_suffix('*').unwrap_or(name),
        "align" | "alignat" | "displaymath" | "eqnarray" | "equation" | "gather" | "multline"
    );
    if !is_formula {
        return None;
    }
    let end = format!("\\end{{{name}}}");
    let len = inside[..inside.floor_char_boundary(BYTES_MAX)].find(&end)?;
    let (tex, after) = text.split_at(text.len() - inside.len() + len + end.len());
    let tex = &tex[start..];
    Some(Found {
        before: &text[..start],
        formula: Formula {
            tex: Cow::Borrowed(tex),
            is_display: true,
        },
        after,
    })
}

fn is_tight(tex: &str) -> bool {
    let is_blank = |c: char| c.is_ascii_whitespace();
    !tex.is_empty() && !tex.starts_with(is_blank) && !tex.ends_with(is_blank)
}

/// Whether a text has markup of TeX.
fn has_markup(tex: &str) -> bool {
    tex.contains(['\\', '^', '_', '{', '='])
}

#[cfg(test)]
mod tests {
    use super::first_in;

    #[track_caller]
    fn check(text: &str, before: &str, tex: &str, after: &str) {
        let found = first_in(text).expect("a formula");
        let got = (found.before, found.formula.tex.as_ref(), found.after);
        assert_eq!(got, (before, tex, after), "{text}");
    }

    #[test]
    fn delimiters_of_mathjax_are_found() {
        check("a \\(x_1\\) b", "a ", "x_1", " b");
        check("\\[a < b = c\\]", "", "a < b = c", "");
        check("so $$c_3$$.", "so ", "c_3", ".");
        check("so $x^2$, \\(y\\)", "so ", "x^2", ", \\(y\\)");
        check("\\(a\\) b", "", "a", " b");
        check("$5 or $x_1$", "$5 or ", "x_1", "");
        let aligned = "\\begin{align*}a &= b \\\\ c_1\\end{align*}";
        check(&format!("so {aligned}."), "so ", aligned, ".");
    }

    #[test]
    fn money_and_regular_expressions_are_no_formulas() {
        for text in [
            "$5 and $6",
            "from $5_000 to $6_000",
            "a$b_c$1",
            "match \\(abc\\) or \\(",
            "$$$$ x",
            "\\(\\(\\( $ $",
            "\\$\\begingroup\\$",
            "\\begin{itemize} \\end{itemize}",
            "\\begin{align} \\end{align*} \\begin",
            "a\\",
        ] {
            assert_eq!(first_in(text), None, "{text}");
        }
    }
}
