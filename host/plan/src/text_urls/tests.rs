//! Tables of texts and the URLs in them, and properties of every text.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = find(text);
    let found: Vec<&str> = found.iter().map(|(url, _)| url).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn urls_with_a_scheme_are_found() {
    let a = &["https://a.example/x"];
    for text in [
        "https://a.example/x",
        "see https://a.example/x.",
        "see https://a.example/x, and more",
        "(https://a.example/x)",
        "[https://a.example/x]",
        "<https://a.example/x>",
        "\"https://a.example/x\"",
        "'https://a.example/x'",
        "`https://a.example/x`",
        "**https://a.example/x**",
        "_https://a.example/x_",
        "~~https://a.example/x~~",
        "“https://a.example/x”",
        "is it https://a.example/x?!",
        "HTTPS://A.EXAMPLE/x",
        "view-source:https://a.example/x",
        "url=https://a.example/x;",
        "https://a.example/x#part",
        "https://user:password@a.example/x",
        "|https://a.example/x|",
        "{{https://a.example/x}}",
        "看https://a.example/x。",
        "（https://a.example/x）",
        "https://a.example:443/x\u{200b}",
        "https://a.example/x…",
    ] {
        check(text, a);
    }
    check("http://a.example", &["http://a.example/"]);
    check(
        "http://intranet/x http://10.0.0.1:8080/y http://[::1]:3/z",
        &[
            "http://intranet/x",
            "http://10.0.0.1:8080/y",
            "http://[::1]:3/z",
        ],
    );
}

#[test]
fn brackets_belong_to_a_url_as_long_as_they_are_balanced() {
    check(
        "(see https://a.example/b_(c))",
        &["https://a.example/b_(c)"],
    );
    check(
        "https://a.example/b_(c)_(d))",
        &["https://a.example/b_(c)_(d)"],
    );
    check(
        "[x](https://a.example/b_(c) \"title\")",
        &["https://a.example/b_(c)"],
    );
    check(
        "https://a.example/?a[]=1&b[2]=3",
        &["https://a.example/?a[]=1&b[2]=3"],
    );
    check("url(https://a.example/i.png)", &["https://a.example/i.png"]);
    check("https://a.example/x(", &["https://a.example/x"]);
}

#[test]
fn markdown_links_are_read() {
    check(
        "[one](https://a.example/1) and [two][ref], ![i](<https://a.example/i.png> 'i')\n\n[ref]: https://a.example/2 \"Two\"\n[^1]: <https://a.example/3>",
        &[
            "https://a.example/1",
            "https://a.example/i.png",
            "https://a.example/2",
            "https://a.example/3",
        ],
    );
    check(
        "[https://a.example](https://b.example)",
        &["https://a.example/", "https://b.example/"],
    );
    check(
        r"https://a.example/snake\_case\_name\.",
        &["https://a.example/snake_case_name"],
    );
    check(
        "[x](/relative) [y](#z) [m](mailto:a@b.com) [j](javascript:open('https://c.example'))",
        &[],
    );
}

#[test]
fn html_is_read() {
    check(
        r#"<a href="https://a.example/?x=1&amp;y=2">t</a><img src='//b.example.com/i.png'><a href=https://c.example/x>c</a>
           <a href="mailto:info@d.com">m</a> &lt;https://e.example/&gt; &quot;https://f.example/a&quot; <a href="/g">g</a>"#,
        &[
            "https://a.example/?x=1&y=2",
            "https://b.example.com/i.png",
            "https://c.example/x",
            "https://e.example/",
            "https://f.example/a",
        ],
    );
    check(
        "https://a.example/?a=1&#x26;b=2&copy=3",
        &["https://a.example/?a=1&b=2&copy=3"],
    );
    check(
        "src=&quot;https://a.example/i.png&quot;",
        &["https://a.example/i.png"],
    );
}

#[test]
fn hosts_without_a_scheme_are_taken_when_they_are_clear() {
    check(
        "go to www.a.museum/x or www.b.rs.",
        &["https://www.a.museum/x", "https://www.b.rs/"],
    );
    check(
        "example.com, example.co.uk; docs.example.de!",
        &[
            "https://example.com/",
            "https://example.co.uk/",
            "https://docs.example.de/",
        ],
    );
    check(
        "docs.rs/serde and crates.io:443/x",
        &["https://docs.rs/serde", "https://crates.io/x"],
    );
    check(
        "href=\"example.com/a\" (example.org)",
        &["https://example.com/a", "https://example.org/"],
    );
    check(
        "bücher.de 例え.jp/x",
        &["https://xn--bcher-kva.de/", "https://xn--r8jz45g.jp/x"],
    );
    for text in [
        "main.rs README.md script.py run.sh index.js e.g. i.e. 3.14 1.2.3 10.0.0.1",
        "End of sentence.It goes on. Sentence.In the middle",
        "user.name event.target this.is it.so a.b.c",
        "info@example.com john.doe@example.co.uk a@b.example.com",
        "src/main.com ./a.com ../b.com C:\\c.com path_d.com %2Fe.com x=.com",
        "com co.uk .com ..com www. www.nothing",
        "foo..com -a.com- a-.com",
    ] {
        check(text, &[]);
    }
    check("FOO.COM", &["https://foo.com/"]);
}

#[test]
fn scripts_without_spaces_end_a_url() {
    check("访问https://example.com查看", &["https://example.com/"]);
    check(
        "请访问www.example.com吧，或example.org。",
        &["https://www.example.com/", "https://example.org/"],
    );
    check(
        "https://ja.wikipedia.org/wiki/日本、次",
        &["https://ja.wikipedia.org/wiki/%E6%97%A5%E6%9C%AC"],
    );
    check(
        "「https://例え.jp/あ」",
        &["https://xn--r8jz45g.jp/%E3%81%82"],
    );
}

#[test]
fn other_schemes_are_left_out_with_all_that_belongs_to_them() {
    for text in [
        "ftp://a.example.com/x",
        "file:///etc/passwd.com",
        "mailto:info@example.com?subject=www.example.com",
        "javascript:location='x.com'",
        "data:text/plain,www.example.com",
        "tel:+1.800.com",
        "ws://example.com/x",
        "https:// https://. http:///",
        "://example",
    ] {
        check(text, &[]);
    }
}

#[test]
fn one_page_is_one_url() {
    check(
        "http://a.example/x https://a.example/x#y https://A.example:443/x a.example/x https://a.example/X",
        &["http://a.example/x", "https://a.example/X"],
    );
    check(
        "https://a.example,https://b.example;www.c.com",
        &[
            "https://a.example/",
            "https://b.example/",
            "https://www.c.com/",
        ],
    );
    check(
        "https://web.example/save/https://a.example/x",
        &["https://web.example/save/https://a.example/x"],
    );
    check(
        "https://a.example/?u=https://b.example",
        &["https://a.example/?u=https://b.example"],
    );
    check("", &[]);
    check("no address here", &[]);
}

#[test]
fn hostile_texts_take_one_pass() {
    // Each would take hours if any part of it were read again and again.
    for unit in [
        ".",
        ":",
        "://",
        "http://",
        "a.",
        "a.com中",
        "www.",
        "mailto:",
        "&amp;",
        "(",
        "https://a.com(",
        "\\_",
        "//a.com",
    ] {
        let text = unit.repeat(1_000_000 / unit.len());
        let found = find(&text);
        assert!(found.len() <= 10, "{unit}: {}", found.len());
    }
}

#[test]
fn urls_beyond_the_bound_are_counted_once() {
    let lines = (0..ADDRESSES_MAX + 3).map(|n| format!("https://a.example/{n}\n"));
    let last = ADDRESSES_MAX + 2;
    let repeats = format!("https://a.example/0 http://a.example/{last}#x");
    let found = find(&(lines.collect::<String>() + &repeats));
    assert_eq!((found.len(), found.n_dropped), (ADDRESSES_MAX, 3));
}

#[test]
fn a_list_is_read_as_it_was_written_within_its_size() {
    let found = find("https://a.example/x. http://b.example/(y), https://c.example/?z=1;");
    let text = written(&found, usize::MAX);
    assert_eq!(
        text,
        "https://a.example/x\nhttp://b.example/(y)\nhttps://c.example/?z=1\n"
    );
    assert_eq!(listed(&text), found);
    assert_eq!(
        written(&found, 42),
        "https://a.example/x\nhttp://b.example/(y)\n"
    );
    assert_eq!(
        listed("ftp://a.example/\njavascript:1\nhttps://u:p@a.example/#f\n")
            .iter()
            .count(),
        1
    );
}

proptest! {
    #[test]
    fn a_plain_url_is_its_own_normal_form(address in "https?://[a-z0-9.-]{1,12}(/[A-Za-z0-9_~=&+?!$*,;:@()./-]{0,16})?") {
        if let Some(plain) = plain(&address) {
            prop_assert_eq!(Some(plain), normal(&address));
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        for (url, _) in find(&text).iter() {
            let parsed = Url::parse(url).expect("a URL");
            prop_assert!(matches!(parsed.scheme(), "http" | "https"));
            prop_assert!(parsed.has_host() && parsed.fragment().is_none() && parsed.username().is_empty());
        }
    }

    #[test]
    fn texts_of_significant_pieces_are_read(pieces in prop::collection::vec(prop::sample::select(vec![
        "https://", "http:", "//", "www.", "a.com", ".", "/", "(", ")", "[", "]", "<", ">", "\"", "'", "&amp;", "&quot;", "&#x2f;", "\\_", "\\",
        "@", ":", "mailto:", "例", "。", "é", " ", "\n", "#", "?", "=", "-", ",", ";", "%", "\u{0}", "x",
    ]), 0..40)) {
        let text = pieces.concat();
        let found = find(&text);
        for (url, _) in found.iter() {
            prop_assert!(Url::parse(url).is_ok_and(|url| url.has_host()), "{}: {}", text, url);
        }
        prop_assert_eq!(listed(&written(&found, usize::MAX)), found);
    }

    #[test]
    fn what_was_found_is_found_again(paths in prop::collection::vec("[a-z0-9/_%-]{0,12}", 0..20)) {
        let text: String = paths.iter().map(|path| format!("https://h.example/{path}\n")).collect();
        let first = find(&text);
        let again: String = first.iter().map(|(url, _)| format!("<{url}> ")).collect();
        prop_assert_eq!(&find(&again), &first);
        let distinct: std::collections::BTreeSet<_> = first.iter().collect();
        prop_assert_eq!(distinct.len(), first.len());
    }
}
