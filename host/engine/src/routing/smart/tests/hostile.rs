//! Broken and hostile source: nothing panics, nothing takes more than linear time, and tags end
//! where browsers end them.

use std::time::{Duration, Instant};

use super::super::mount;
use super::super::shape::PageShape;
use super::super::text::visible_chars;
use super::super::tokens::{HiddenElement, Token, Tokens};
use super::*;

const LARGE_BYTES: usize = 10 * 1024 * 1024;
/// Large enough for quadratic time to take minutes.
const MEDIUM_BYTES: usize = 1024 * 1024;
/// Far above what is measured, far below what quadratic time takes.
const TIME_MAX: Duration = Duration::from_secs(20);

fn signals(body: &[u8]) -> PageSignals<'_> {
    PageSignals {
        status: 200,
        headers: &[],
        content_type: "text/html",
        body,
    }
}

fn chars(source: &str) -> usize {
    visible_chars(source.as_bytes(), usize::MAX)
}

#[test]
fn time_is_linear_whatever_the_source_repeats() {
    let large = ["<", "<script", "<!--"].map(|pattern| (pattern, LARGE_BYTES));
    let medium = [
        "<s",
        "</",
        "<!-->",
        "<!---",
        "-->",
        "<script>",
        "<script></",
        "<script></script>",
        "<svg>",
        "<svg></sv>",
        "<template>",
        "<noscript>",
        "<noscript><svg><template>",
        "<noscript>javascript</noscript>",
        "<div id=app>",
        "<div id=app></div>",
        "<div id=app><script src=a></script>",
        "<x-app>",
        "x-app-view-",
        "id=",
        "<a =",
        "<a b='",
        "<a b=\" ",
        "<p '",
        "=  '",
        "<p x=  '>",
        "&amp",
        "{{",
        "\0",
        "   ",
        "<meta http-equiv=refresh content=0;url=x>",
        "<script>location</script>",
        "<script>__</script>",
    ]
    .map(|pattern| (pattern, MEDIUM_BYTES));
    for (pattern, bytes) in large.into_iter().chain(medium) {
        let body = pattern.repeat(bytes / pattern.len());
        let begun = Instant::now();
        judge(&signals(body.as_bytes()));
        // The close look as well, for sources that the count has done with.
        PageShape::of(body.as_bytes());
        let page = Url::parse("https://a.example/").expect("a URL");
        redirect(&signals(body.as_bytes()), &page);
        assert!(begun.elapsed() < TIME_MAX, "{pattern}");
    }
}

/// Whatever the source, no more characters are visible than it has bytes, a lower limit is the same
/// count cut there, and a source with enough text is sent to the browser for an empty mount alone.
#[track_caller]
fn bounded(source: &[u8]) {
    let visible = visible_chars(source, usize::MAX);
    assert!(visible <= source.len(), "{source:?}");
    assert_eq!(
        visible_chars(source, 5).min(5),
        visible.min(5),
        "{source:?}"
    );
    let long = [
        source,
        "</script></style></title></svg>--><p>".as_bytes(),
        "word ".repeat(2_000).as_bytes(),
    ]
    .concat();
    if visible_chars(&long, usize::MAX) > 5_000 {
        let expected = match mount::is_awaited(&long) {
            true => Verdict::NeedsBrowser(Rule::EmptyShell),
            false => Verdict::Enough,
        };
        assert_eq!(judge(&signals(&long)), expected, "{source:?}");
    }
    PageShape::of(source);
}

#[test]
fn no_cut_and_no_byte_makes_text_of_nothing() {
    let page = "\u{FEFF}<!DOCTYPE html><html><head><meta http-equiv='refresh' content=\"7;url=a\"><title>é</title>\
        <script src='a.js' async></script></head><body id=app><!-- c --!><div class=\"a>b\" ID=root x = y/>&nbsp;&#8364;\
        {{ a }}<svg/><svg><a></svg ><noscript>JavaScript</noscript><input type=HIDDEN><iframe></iframe></div></body\0>";
    for end in 0..page.len() {
        bounded(&page.as_bytes()[..end]);
        bounded(&page.as_bytes()[end..]);
    }
    let mut seed = 1_u32;
    let alphabet = b"<>/!-='\" &;{}aspcriptvgdbody\0\xC3\xFF\n";
    for _ in 0..20_000 {
        let mut source = Vec::new();
        for _ in 0..48 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            source.push(alphabet[(seed >> 16) as usize % alphabet.len()]);
        }
        bounded(&source);
    }
}

#[test]
fn characters_are_counted_as_a_reader_sees_them() {
    assert_eq!(chars("<p>  two \n\t words </p> "), 9);
    assert_eq!(chars("a &amp; b &copy;&#x20AC; &bogus"), 15);
    assert_eq!(chars("Größe 日本語"), 9);
    assert_eq!(chars("a < b <3 </> <> c"), 13);
    assert_eq!(chars("a\0b"), 3);
}

#[test]
fn what_is_not_shown_is_not_counted() {
    for hidden in [
        "<script>if (a</b/.test(c)) '</scripty>' </SCRIPT >",
        "<style>a>b{}</style\n>",
        "<title>A</title>",
        "<!-- a > b --><!--> <!---> <!-- c --!>",
        "<!doctype html><?xml version='1.0'?><![CDATA[ x ]]>",
        "<template><b>a</b></template>",
        "<noscript><p>a</p></noscript>",
        "<svg viewBox='0 0 1 1'><text>a</text></svg>",
        "<iframe>a</iframe><textarea>b</textarea>",
        "<p title=\"a > b\" alt = 'c > d'></p>",
        "<p title=it's></p>",
        "<a href='unfinished",
        "<script>never closed <p>a",
    ] {
        assert_eq!(chars(hidden), 0, "{hidden}");
    }
}

#[test]
fn what_never_ends_hides_only_what_browsers_hide() {
    assert_eq!(chars("<svg>abc"), 3);
    assert_eq!(chars("<svg/>abc</svg>"), 3);
    assert_eq!(chars("<template>abc"), 3);
    assert_eq!(chars("<noscript>abc<noscript>d"), 4);
    assert_eq!(chars("<p>abc<!-- d"), 3);
}

#[test]
fn attributes_are_read_in_any_order_and_quotes() {
    let source = b"<Div hidden ID = 'a b' class=x/y data-z=\"<>\" = 1 id=2></div>";
    let mut tokens = Tokens::new(source);
    let Some(Token::Open(tag)) = tokens.next() else {
        panic!("a start tag");
    };
    assert!(tag.is("div"));
    assert_eq!(tag.attribute("id"), Some(b"a b".as_slice()));
    assert_eq!(tag.attribute("hidden"), Some(b"".as_slice()));
    assert_eq!(tag.attribute("class"), Some(b"x/y".as_slice()));
    assert_eq!(tag.attribute("data-z"), Some(b"<>".as_slice()));
    assert_eq!(tag.attribute("y"), None);
    assert_eq!(tokens.next(), Some(Token::Close(b"div")));
    assert_eq!(tokens.next(), None);
}

#[test]
fn sealed_elements_retain_their_tags_and_content() {
    let mut tokens = Tokens::new(b"<SCRIPT src=a>x</b></script>y");
    let Some(Token::Hidden(HiddenElement::Script, tag, inner)) = tokens.next() else {
        panic!("a script");
    };
    assert_eq!(tag.attribute("src"), Some(b"a".as_slice()));
    assert_eq!(inner, b"x</b>");
    assert_eq!(tokens.next(), Some(Token::Text(b"y")));
}

#[test]
fn a_body_in_utf_16_is_read_by_its_mark() {
    let encoded = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(bytes).collect()
    };
    let shell = "<body><div id=root></div><script src=a.js></script></body>";
    let page = "<body><div id=root><p>Größe: 4 m</div><script src=a.js></script></body>";
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let needed = Verdict::NeedsBrowser(Rule::EmptyShell);
        assert_eq!(judge(&signals(&encoded(shell, bytes))), needed);
        assert_eq!(judge(&signals(&encoded(page, bytes))), Verdict::Enough);
    }
    assert_eq!(judge(&signals(&[0xFF, 0xFE, b'<'])), Verdict::Enough);
    assert_eq!(judge(&signals(&[0xFF, 0xFE])), Verdict::Enough);
}
