//! The arrays compared with scraper's tree, and the cost of hostile pages.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, ns, tendril::TendrilSink as _};
use proptest::prelude::*;
use scraper::{Html, HtmlTreeSink, Node};
use url::Url;

use super::*;

fn parsed(html: &str) -> Document {
    parse(&Page::html(html, &page_url()), &ParseLimits::default()).expect("within limits")
}

pub(super) fn page_url() -> Url {
    Url::parse("https://a.example/dir/page").expect("a URL")
}

/// One line per node, from the arrays. Attributes are sorted, as scraper sorts them.
fn ours(document: &Document) -> String {
    let mut lines = String::new();
    let mut depths = vec![0usize; document.kinds.len()];
    for node in 1..document.kinds.len() {
        depths[node] = depths[document.parents[node] as usize] + 1;
        let _ = write!(lines, "{} ", depths[node]);
        let space = document.name_spaces[document.names[node] as usize];
        let _ = match document.kinds[node] {
            kind::ELEMENT => {
                let mut attributes: Vec<_> = document.attributes(node).collect();
                attributes.sort_unstable();
                writeln!(lines, "<{space} {} {attributes:?}>", document.name(node))
            }
            kind::DOCTYPE => writeln!(lines, "doctype {}", document.name(node)),
            kind::TEMPLATE_CONTENTS => writeln!(lines, "contents"),
            kind => writeln!(lines, "{kind} {:?}", document.node_text(node)),
        };
    }
    lines
}

fn scrapers(html: &str) -> String {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let sink = HtmlTreeSink::new(Html::new_document());
    let html = html5ever::parse_document(sink, options).one(html);
    let mut lines = String::new();
    let mut open = vec![(html.tree.root(), 0usize)];
    while let Some((node, depth)) = open.pop() {
        open.extend(node.children().rev().map(|child| (child, depth + 1)));
        if depth > 0 {
            let _ = write!(lines, "{depth} ");
        }
        let _ = match node.value() {
            Node::Document => Ok(()),
            Node::Fragment => writeln!(lines, "contents"),
            Node::Doctype(doctype) => writeln!(lines, "doctype {}", &*doctype.name),
            Node::Comment(comment) => writeln!(lines, "4 {:?}", &*comment.comment),
            Node::Text(text) => writeln!(lines, "3 {:?}", &*text.text),
            Node::ProcessingInstruction(_) => writeln!(lines, "6"),
            Node::Element(element) => {
                let space = match element.name.ns {
                    ns!(svg) => namespace::SVG,
                    ns!(mathml) => namespace::MATHML,
                    _ => namespace::HTML,
                };
                let mut attributes: Vec<(String, &str)> = element
                    .attrs
                    .iter()
                    .map(|(name, value)| {
                        let prefix = name.prefix.as_deref().filter(|prefix| !prefix.is_empty());
                        let prefix = prefix.map_or_else(String::new, |prefix| format!("{prefix}:"));
                        (format!("{prefix}{}", &*name.local), &**value)
                    })
                    .collect();
                attributes.sort_unstable();
                writeln!(lines, "<{space} {} {attributes:?}>", &*element.name.local)
            }
        };
    }
    lines
}

pub(super) fn check_same(html: &str) {
    let document = parsed(html);
    check_consistent(&document);
    let (left, right) = (ours(&document), scrapers(html));
    if left != right {
        let line = left.lines().zip(right.lines()).position(|(a, b)| a != b);
        let line = line.unwrap_or(0);
        panic!(
            "{:?}\nours {:?}\nscraper {:?}",
            html.get(..html.len().min(300)),
            left.lines().nth(line),
            right.lines().nth(line)
        );
    }
}

pub(super) fn check_consistent(document: &Document) {
    let n_nodes = document.kinds.len();
    for list in [
        &document.parents,
        &document.ends,
        &document.names,
        &document.starts,
        &document.counts,
    ] {
        assert_eq!(list.len(), n_nodes);
    }
    for node in 0..n_nodes {
        let (parent, end) = (
            document.parents[node] as usize,
            document.ends[node] as usize,
        );
        assert!(node == 0 || parent < node);
        assert!(end > node && end <= document.ends[parent] as usize);
        let _ = (document.name(node), document.node_text(node));
        document.attributes(node).for_each(drop);
    }
}

const TRICKY: &[&str] = &[
    "",
    "x",
    "<",
    "</",
    "<a",
    "<a b",
    "<a b=",
    "<a b='",
    "</a",
    "<!",
    "<!-",
    "<!--",
    "<!-- a -",
    "<!-- a --",
    "<!-->x",
    "<!--->x",
    "<!---->x",
    "<!--a--!>x",
    "<!--a--!-->x",
    "<!--<!-->x-->",
    "<!doctype html>",
    "<!DOCTYPE html PUBLIC \"a>b\">x",
    "<!doctype>",
    "<?php x ?>y",
    "</ x>y",
    "</>y",
    "<p>a<p>b<div>c</p>d",
    "<b>1<i>2</b>3</i>4",
    "<a>1<a>2<div>3<a>4</div>5",
    "<p>1<b>2<p>3</b>4",
    "<b><p>x</b>y</p>",
    "<table>a<tr>b<td>c</table>d",
    "<table><b>x<tr><td>y</b></table>z",
    "<table>1<!--c-->2<tr>3",
    "<table><tr><td><table>x<div>y</div>z</table>",
    "<table> <tr> <td> x",
    "<table>a b<p>c</p> d",
    "<svg viewbox='0 0' xlink:href=a><path/><foreignObject><p>x</foreignObject><![CDATA[a<b&amp;]]>c</svg>d",
    "<math><mi>x<p>y</mi><annotation-xml encoding='text/html'><p>z",
    "<math><annotation-xml><p>z",
    "<svg><title>a<b>c</title><style>x<b></style></svg>",
    "<svg><p>x",
    "<![CDATA[x]]>y",
    "<template>a<tr><td>b</template>c",
    "<table><template><tr></template></table>",
    "<select><option>a<option>b<optgroup>c<p>d</select>e",
    "<frameset><frame>x y</frameset> z",
    "<frameset> x y ",
    "<html a=1 b=2><body c=3><html a=2 d=4><body e=5>",
    "<br><img src=a><input/><hr>x</br>y</p>z",
    "<pre>\nx</pre><pre>&#10;y</pre><textarea>\n\nz",
    "<title>a&amp;b<c></title>d",
    "<textarea><b></TEXTAREA >x",
    "<style>a</styl></style >b",
    "<script>a<!--b</script>c",
    "<script><!--<script>a</script>b--></script>c",
    "<script><!--<script>a-->b</script>c",
    "<script><!--></script>c",
    "<script></scripty></script x=y/>c",
    "<xmp><b></xmp><plaintext>a</plaintext>&amp;",
    "<noscript><p>x</noscript>y",
    "<head><noscript><link><p>x",
    "a\0b<table>\0c</table>",
    "<p a=b a=c A=d \0e=\0>x",
    "<p =a b=c=d \"e='f' /g/>x",
    "&amp &ampx &notit; &notin; &not; &#0;&#x80;&#xD800;&#1114112;&#99999999999;&#; &#x; &bogus; &Acirc;&nGt;&;",
    "<a b='&amp=1&ampx&amp;&not;&notit;&lt' c=&lt>x",
    "<p>x</body>y</html>z<!--c--> ",
    "<ruby>a<rt>b<rp>c</ruby>",
    "<li>a<li>b<ul><li>c</ul><dd>d<dt>e",
    "<form><form></form><input></form>",
    "<button>a<button>b",
    "<h1>a<h2>b</h1>c",
    "<nobr>a<nobr>b",
    "<applet>a<b>c</applet>d",
    "<p><b><b><b><b>x<p>y",
    "\u{feff}x",
    "<DIV ID=É>É",
    "<x\u{e9}>a</X\u{e9}>b",
    "<image>x",
    "<body><frameset>",
    "<p> <b> <i>x</p> <p>y",
    "<table><caption>a<td>b",
    "<table><colgroup><col> x",
    "<a href=x>1<table><a href=y>2</table>3",
    "<font size=1><p>a</font>b<p>c",
    "<table><tbody><svg>x</svg></table>",
    "<ul><li><b>x</li><li>y</b></ul>",
];

#[test]
fn tricky_pages_match_scrapers_tree() {
    TRICKY.iter().for_each(|html| check_same(html));
    for left in TRICKY {
        for right in TRICKY {
            check_same(&format!("{left}{right}"));
        }
    }
}

#[test]
fn real_pages_match_scrapers_tree() {
    let pages = doc_pages(40);
    if pages.is_empty() {
        eprintln!(
            "skipped: the toolchain's documentation is not installed (`rustup component add rust-docs`)"
        );
    }
    pages.iter().for_each(|page| check_same(page));
}

/// About `count` pages of the toolchain's own documentation.
pub(super) fn doc_pages(count: usize) -> Vec<String> {
    let rustc = "rustc";
    let Ok(output) = std::process::Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
    else {
        return Vec::new();
    };
    let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let mut folders = vec![std::path::PathBuf::from(root).join("share/doc/rust/html/std")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "html")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    let step = (files.len() / count).max(1);
    let pages = files.iter().step_by(step);
    pages
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .collect()
}

#[test]
fn the_base_is_the_first_with_an_href_outside_templates() {
    let html =
        "<template><base href=/no></template><base target=x><base href='../yes/'><base href=/late>";
    assert_eq!(parsed(html).base, "https://a.example/yes/");
    assert_eq!(parsed("<p>").base, "https://a.example/dir/page");
}

#[test]
fn attributes_keep_their_order() {
    let document = parsed("<p z=1 a=2 m=3>");
    let p = document.elements_named("p").next().expect("a p");
    let names: Vec<&str> = document.attributes(p).map(|(name, _)| name).collect();
    assert_eq!(names, ["z", "a", "m"]);
}

#[test]
fn hostile_pages_are_parsed_in_time() {
    let many = 100_000;
    let deep = [
        "<div>".repeat(many),
        "<p><b>".repeat(many),
        "<table><tr><td>".repeat(many),
        "<svg>".repeat(many),
        "<table><a>".repeat(many / 4),
        (0..many / 10)
            .map(|i| format!("<p><b id={i}>x</p>"))
            .collect(),
        format!("{}{}", "<div>x".repeat(many), "</div>".repeat(many)),
        format!(
            "<p {}>",
            (0..many).map(|i| format!("a{i} ")).collect::<String>()
        ),
        format!(
            "<svg><p {}",
            (0..many).map(|i| format!("a{i}=& ")).collect::<String>()
        ),
        "<br>".repeat(many),
        "<!--<".repeat(many),
        "<title>".repeat(many),
        "<table>x".repeat(many),
    ];
    for html in &deep {
        let start = Instant::now();
        if let Ok(document) = parse(&Page::html(html, &page_url()), &ParseLimits::default()) {
            check_consistent(&document);
            let mut depths = vec![0usize; document.kinds.len()];
            for node in 1..depths.len() {
                depths[node] = depths[document.parents[node] as usize] + 1;
            }
            let deepest = depths.iter().max();
            assert!(
                deepest <= Some(&(DEPTH_MAX + 1)),
                "{deepest:?}: {}",
                &html[..30]
            );
        }
        let spent = start.elapsed();
        assert!(
            spent < Duration::from_secs(20),
            "{spent:?}: {}",
            &html[..30]
        );
    }
}

#[test]
fn elements_nest_as_deeply_as_in_a_browser() {
    const NESTED: usize = 511;
    let document = parsed(&"<div>".repeat(NESTED + 1));
    let divs: Vec<usize> = document.elements_named("div").collect();
    let depth_of = |node: usize| {
        let parent = |&node: &usize| Some(document.parents[node] as usize).filter(|_| node > 0);
        std::iter::successors(Some(node), parent).count() - 1
    };
    // `html` and `body` are around them.
    assert_eq!(depth_of(divs[NESTED - 1]), NESTED + 2);
    let parents = [NESTED - 1, NESTED].map(|div| document.parents[divs[div]]);
    assert_eq!(parents[0], parents[1], "a sibling");
}

#[test]
fn huge_pages_stay_within_limits() {
    let limits = ParseLimits::default();
    let parsed = |html: &str| parse(&Page::html(html, &page_url()), &limits);
    let max = NODES_MAX;
    assert_eq!(
        parsed(&"<br>".repeat(10_000_000)),
        Err(ParseError::TooManyNodes { max })
    );
    let long = parsed(&format!("<p a='{}'>", "x".repeat(50_000_000))).expect("one long attribute");
    assert_eq!(long.attribute_lengths, [50_000_000]);
    let many: String = (0..1_000_000).map(|i| format!(" a{i}")).collect();
    let many = parsed(&format!("<p{many}>x")).expect("many attributes");
    assert_eq!(many.attribute_names.len(), ATTRIBUTES_MAX);
    let wide = parsed(&"<br>".repeat(1_000_000)).expect("many siblings");
    assert_eq!(wide.kinds.len(), 1_000_000 + 4);
}

#[test]
fn limits_are_errors() {
    let at = |html: &str, limits: ParseLimits| parse(&Page::html(html, &page_url()), &limits).err();
    let few = ParseLimits {
        nodes: 100,
        ..ParseLimits::default()
    };
    assert_eq!(
        at(&"<p>".repeat(200), few),
        Some(ParseError::TooManyNodes { max: 100 })
    );
    let late = ParseLimits {
        deadline: Some(Instant::now()),
        ..ParseLimits::default()
    };
    assert_eq!(at("<p>", late), Some(ParseError::Deadline));
    let long = format!("<b x={}>{}", "y".repeat(1 << 20), "<p>z</b></p>".repeat(10));
    assert_eq!(at(&long, ParseLimits::default()), None);
}

proptest! {
    #[test]
    fn random_bytes_match_scrapers_tree(parts in prop::collection::vec(prop::sample::select(TRICKY), 0..12), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let soup = format!("{}{}", parts.concat(), decode(&bytes, "text/html").text);
        check_same(&soup);
    }

    #[test]
    fn random_markup_matches_scrapers_tree(soup in "[<>/!a-c&;#='\" \n\u{e9}-]{0,60}") {
        check_same(&soup);
    }
}
