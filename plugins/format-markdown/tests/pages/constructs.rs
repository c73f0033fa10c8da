//! Constructs of web pages that Markdown writes in one way only.

use format_markdown::Markdown;
use serde_json::json;
use trawl_sdk::testkit;

#[track_caller]
fn check(html: &str, expected: &str) {
    let page = testkit::page(html).url("https://example.com/");
    let got = page.render_text::<Markdown>(json!({}));
    assert_eq!(got.trim_end(), expected, "{html}");
}

#[test]
fn a_tilde_next_to_struck_text_does_not_lengthen_its_delimiter() {
    check("<p><s>a ~ </s>b", r"~~a \~~~ b");
    check("<p>~<s>a</s>", r"\~~~a~~");
    check("<p><s>a</s>~", r"~~a~~\~");
    check("<p>~ 5", "~ 5");
}

#[test]
fn no_break_spaces_and_spaces_at_the_end_of_a_mark_are_written_after_it() {
    check("<p><b>Note: &nbsp;</b>text", "**Note:** \u{a0}text");
    check(
        "<p><b>Note:&nbsp; &nbsp;</b>text",
        "**Note:**\u{a0} \u{a0}text",
    );
    check(
        "<p><a href=/q>z &nbsp;</a>w",
        "[z](https://example.com/q) \u{a0}w",
    );
    check("<p><b>a <i>b &nbsp;</i></b>c", "**a *b*** \u{a0}c");
}

#[test]
fn code_in_a_cell_keeps_its_indentation() {
    check(
        "<table><tr><th>a<th>b<tr><td><pre>if x:\n    y | z</pre><td>1</table>",
        "| a | b |\n| --- | --- |\n| `if x:`<br>`    y \\| z` | 1 |",
    );
    check(
        "<table><tr><th>a<th>b<tr><td><pre>  `x` </pre><td>1</table>",
        "| a | b |\n| --- | --- |\n| ``   `x` `` | 1 |",
    );
}

#[test]
fn code_in_the_table_of_a_highlighter_is_a_block() {
    check(
        "<div class='syntaxhighlighter java'><table><tr><td class=gutter><div class=line>1</div><div class=line>2</div></td>
        <td class=code><div class=container><div class=line><code>a();</code></div><div class=line><code>&nbsp;&nbsp;</code><code>b();</code></div></div></td></tr></table></div>",
        "```java\na();\n  b();\n```",
    );
    let gutter = "<div class=line>1</div>".repeat(60);
    check(
        &format!(
            "<table><tr><td class=gutter>{gutter}<td class=code><div class=container><div class=line>a</div></div></table>"
        ),
        "```\na\n```",
    );
    check(
        "<table class=crayon-table><tr><td class=crayon-nums><div>1</div><div>2</div><td class=crayon-code><div><div>a</div><div>b</div></div></table>",
        "```\na\nb\n```",
    );
    // A cell of this class that holds no lines of code.
    check(
        "<table><tr><th>Code<th>Name<tr><td class=code>a<td>b</table>",
        "| Code | Name |\n| --- | --- |\n| a | b |",
    );
}

#[test]
fn numbers_of_lines_next_to_a_code_block_are_left_out() {
    check(
        "<div><pre>a\nb</pre><div class=line-numbers-wrapper><span>1</span><br><span>2</span></div></div>",
        "```\na\nb\n```",
    );
    check(
        "<div><div class=gutter><pre>1\n2</pre></div><div class=code><pre>a\nb</pre></div></div>",
        "```\na\nb\n```",
    );
    // Numbers that are the code, and numbers next to a text.
    check(
        "<div class=line-numbers><pre>1</pre></div><pre>2</pre>",
        "```\n1\n```\n\n```\n2\n```",
    );
    check("<div class=gutter>12</div><p>votes", "12\n\nvotes");
}

#[test]
fn formulas_of_mathjax_4_are_their_source() {
    let formula = "<mjx-math data-latex='x^2' aria-hidden=true><mjx-mi data-latex=x>𝑥</mjx-mi></mjx-math><mjx-speech aria-label=x></mjx-speech>";
    check(
        &format!("<p>a <mjx-container class=MathJax>{formula}</mjx-container> b"),
        "a $x^2$ b",
    );
    check(
        &format!("<p><mjx-container display=true>{formula}</mjx-container>"),
        "$$x^2$$",
    );
    check(
        "<p><mjx-container><svg><defs><path d=M></defs><g><g data-mml-node=math data-latex='\\sqrt x'></g></g></svg></mjx-container>",
        r"$\sqrt x$",
    );
    check("<p><math data-latex='a_1'><mi>a</mi></math>", "$a_1$");
}

#[test]
fn the_rendering_of_a_formula_without_its_source_is_kept() {
    let rendering = "<span class=katex-html aria-hidden=true><span class=mord>x</span></span>";
    check(
        &format!("<p>a <span class=katex>{rendering}</span> b"),
        "a x b",
    );
    check(
        &format!("<p>a <span class=katex><script>void 0;</script>{rendering}</span> b"),
        "a x b",
    );
    check(
        &format!(
            "<p>a <span class=katex><span class=katex-mathml><math><mi>x</mi></math></span>{rendering}</span> b"
        ),
        "a $x$ b",
    );
}

#[test]
fn an_image_without_a_size_is_written_if_it_has_an_alternative_text() {
    check(
        "<p>a<img src=/t.gif width=1 height=1 alt=''><img src=/a.png width=0 height=0 alt=Ann>",
        "a![Ann](https://example.com/a.png)",
    );
}

#[test]
fn a_block_that_preserves_line_breaks_ends_before_the_text_behind_it() {
    check(
        "<div style='white-space:pre-wrap'>a\nb</div>c",
        "a  \nb\n\nc",
    );
    check(
        "<span style='display:block;white-space:pre'>a</span>b",
        "a\n\nb",
    );
    check("<p><span style='white-space:pre'>a\nb</span>c", "a  \nbc");
}

#[test]
fn a_link_around_blocks_is_written_on_text_that_is_written() {
    check(
        "<b><a href=/x><div class=gutter>1</div><pre>a</pre><p>text</p></a> tail</b>",
        "```\na\n```\n\n**[text](https://example.com/x)**\n\n**tail**",
    );
    check(
        "<a href=/x><div><mjx-container><mjx-math data-latex=x><mjx-mi>y</mjx-mi></mjx-math></mjx-container></div><blockquote>b</blockquote></a>",
        "$x$\n\n> [b](https://example.com/x)",
    );
    check(
        "<a href=/x><div><span class='math inline'>x</span></div><blockquote>b</blockquote></a>",
        "$x$\n\n> [b](https://example.com/x)",
    );
    check(
        "<a href=/x><div><span class=katex><math><mi>x</mi></math><span class=katex-html>x</span></span></div><blockquote>b</blockquote></a>",
        "$x$\n\n> [b](https://example.com/x)",
    );
}

#[test]
fn a_link_around_a_table_with_links_ends_with_its_text() {
    check(
        "<a href=/x><div>a<table><tr><td><a href=/y><blockquote>b</blockquote></a></table></div><hr></a><p>after",
        "[a](https://example.com/x)\n\n> [b](https://example.com/x)\n\n---\n\nafter",
    );
}

#[test]
fn the_text_of_a_task_stands_beside_its_checkbox() {
    check(
        "<ul><li><label><input type=checkbox checked></label><div><p>a</p><p>b</p></div><li><input type=checkbox><ul><li>c</ul></ul>",
        "- [x] a\n\n  b\n- [ ]\n  - c",
    );
}

#[test]
fn formulas_of_pandoc_and_environments_are_tex() {
    check("<p>a <span class='math inline'>x_1</span>", "a $x_1$");
    check("<p>a <span class='math inline'>\\(x_1\\)</span>", "a $x_1$");
    check(
        "<p><span class='math display'>\\frac{a}{b}</span>",
        r"$$\frac{a}{b}$$",
    );
    check("<p><span class='math inline'><em>x</em></span>", "*x*");
    check(
        "<p>\\begin{align} a_1 &amp;= *b* \\\\\n c \\end{align}",
        r"$$\begin{align} a_1 &= *b* \\ c \end{align}$$",
    );
}

#[test]
fn the_number_of_a_line_of_code_is_left_out() {
    check(
        "<pre><code><span class=linenumber>1</span>a\n<span class='react lineNumber'>2</span>b</code></pre>",
        "```\na\nb\n```",
    );
}

#[test]
fn punctuation_that_would_keep_a_delimiter_from_its_meaning_is_written_outside() {
    check("<p>will <i>not (</i>i.e. a)", "will *not* (i.e. a)");
    check("<p>he <b>said \"</b>hello\"", "he **said** \"hello\"");
    check("<p>word<b>, and</b> more", "word, **and** more");
    check("<p>(see a<b>) and</b> b", "(see a) **and** b");
    check("<p>a<b>(x)</b>b", "a(**x**)b");
    check("<p><b>【お知らせ】</b>有料記事", "【**お知らせ**】有料記事");
    check("<p><b>Kit (UK).</b>Read", "**Kit (UK)**.Read");
    // No list item, no other text that is raised or linked.
    check("<p>1<b>. a</b>b", "1<strong>. a</strong>b");
    check("<p>x<sup>(1)</sup>y", "x<sup>(1)</sup>y");
    check("<p>a<a href=/q>(x)</a>b", "a[(x)](https://example.com/q)b");
    // What is left has no other form.
    check("<p><b>Kit (UK)</b>Read", "<strong>Kit (UK)</strong>Read");
    check(
        "<p><b>「a」と「b」</b>は",
        "<strong>「a」と「b」</strong>は",
    );
}
