//! The cases that Google publishes with its own parser, rewritten, and requirements of RFC 9309
//! beyond them.

use proptest::prelude::*;
use url::{Position, Url};

use super::*;

/// Whether `token` may fetch `url`, written as the published cases write it.
fn allows(robots: &str, token: &str, url: &str) -> bool {
    let url = Url::parse(url).expect("a URL");
    Rules::read(robots.as_bytes(), token).allows(&url[Position::BeforePath..Position::AfterQuery])
}

/// Checks which paths of one file are allowed and which are not.
fn check(robots: &str, allowed: &[&str], disallowed: &[&str]) {
    let is_allowed = |path: &str| allows(robots, "FooBot", &format!("http://foo.example{path}"));
    for path in allowed {
        assert!(is_allowed(path), "{path} is not allowed by\n{robots}");
    }
    for path in disallowed {
        assert!(!is_allowed(path), "{path} is allowed by\n{robots}");
    }
}

#[test]
fn everything_is_allowed_without_a_rule() {
    check("", &["/", "/a"], &[]);
    check("user-agent: FooBot\ndisallow: /\n", &[], &["/", "/a"]);
    assert!(allows(
        "user-agent: FooBot\ndisallow: /\n",
        "BarBot",
        "http://a.example/"
    ));
    // A rule outside any group applies to no crawler.
    check("disallow: /\nuser-agent: FooBot\n", &["/x"], &[]);
    check("foo: FooBot\nbar: /\n", &["/x/y"], &[]);
    check("user-agent: FooBot\ndisallow:\n", &["/", "/a"], &[]);
    check(
        "user-agent: FooBot\ndisallow:\ndisallow: /\n",
        &[],
        &["/", "/a"],
    );
    check("\0\0<html><body>not found</body></html>", &["/"], &[]);
}

#[test]
fn lines_have_a_colon_or_exactly_two_words() {
    check("user-agent: FooBot\ndisallow: /\n", &[], &["/x"]);
    check("user-agent FooBot\ndisallow /\n", &[], &["/x"]);
    check("user-agent:FooBot\ndisallow:/\n", &[], &["/x"]);
    check(" user-agent : FooBot \n\tdisallow\t:\t/ \n", &[], &["/x"]);
    check("user-agent: FooBot\ndisallow / too much\n", &["/x"], &[]);
}

#[test]
fn all_line_ends_are_accepted() {
    for end in ["\n", "\r\n", "\r"] {
        let lines = [
            "User-Agent: foo",
            "Allow: /some/path",
            "User-Agent: FooBot",
            "",
            "",
            "Disallow: /",
        ];
        check(&lines.join(end), &[], &["/x"]);
        check(&(lines.join(end) + end), &[], &["/x"]);
    }
    check(
        "User-Agent: foo\nAllow: /a\r\nUser-Agent: FooBot\n\r\n\nDisallow: /",
        &[],
        &["/x"],
    );
}

#[test]
fn groups_begin_at_names_that_follow_rules() {
    let robots = "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\n\
        user-agent: BarBot\ndisallow: /\nallow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\n\
        user-agent: FooBot\nallow: /z/\ndisallow: /\n";
    let is_allowed = |token, path| allows(robots, token, &format!("http://foo.example{path}"));
    for path in ["/x/b", "/z/d"] {
        assert!(is_allowed("FooBot", path), "{path}");
    }
    for path in ["/y/c", "/w/a", "/foo/bar/"] {
        assert!(!is_allowed("FooBot", path), "{path}");
    }
    for path in ["/y/c", "/w/a"] {
        assert!(is_allowed("BarBot", path), "{path}");
    }
    for path in ["/x/b", "/z/d", "/foo/bar/"] {
        assert!(!is_allowed("BarBot", path), "{path}");
    }
    assert!(is_allowed("BazBot", "/z/d"));
    for path in ["/x/b", "/y/c", "/w/a", "/foo/bar/"] {
        assert!(!is_allowed("BazBot", path), "{path}");
    }
}

#[test]
fn other_lines_do_not_end_a_list_of_names() {
    for other in [
        "Unicorns: are real",
        "Sitemap: http://a.example/s.xml",
        "Crawl-delay: 1",
    ] {
        check(
            &format!("User-agent: BarBot\n{other}\nUser-agent: FooBot\nDisallow: /\n"),
            &[],
            &["/x"],
        );
        let robots = format!("User-agent: FooBot\n{other}\nUser-agent: BarBot\nDisallow: /\n");
        check(&robots, &[], &["/x"]);
    }
}

#[test]
fn keys_are_case_insensitive_and_known_misspellings_accepted() {
    for robots in [
        "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n",
        "user-agent: FooBot\nallow: /x/\ndisallow: /\n",
        "uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /\n",
        "useragent: FooBot\nallow: /x/\ndisalow: /\n",
        "user agent: FooBot\nallow: /x/\ndissallow: /\n",
    ] {
        check(robots, &["/x/y"], &["/a/b"]);
    }
}

#[test]
fn the_group_is_chosen_by_the_product_token_without_case() {
    for name in ["FOO BAR", "foo bar", "FoO bAr", "foo", "Foo/2.1", "foo*"] {
        let robots = format!("User-Agent: {name}\nAllow: /x/\nDisallow: /\n");
        for token in ["Foo", "foo"] {
            assert!(allows(&robots, token, "http://a.example/x/y"), "{name}");
            assert!(!allows(&robots, token, "http://a.example/a/b"), "{name}");
        }
    }
    let robots = "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n";
    assert!(allows(robots, "Foo", "http://a.example/x/y"));
    assert!(!allows(robots, "Other", "http://a.example/x/y"));
    // A prefix of a token is another token.
    assert!(allows(
        "User-Agent: FooBot-News\nDisallow: /\n",
        "FooBot",
        "http://a.example/"
    ));
    assert!(allows(
        "User-Agent: Foo\nDisallow: /\n",
        "FooBot",
        "http://a.example/"
    ));
}

#[test]
fn the_wildcard_group_is_for_crawlers_without_their_own() {
    let robots = "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n";
    assert!(!allows(robots, "FooBot", "http://a.example/x/y"));
    assert!(allows(robots, "BarBot", "http://a.example/x/y"));
    let robots = "user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\n";
    assert!(allows(robots, "QuxBot", "http://a.example/x/y"));
    check(
        "User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/\n",
        &["/x/page"],
        &["/y/page"],
    );
    // An own group without any rule still replaces the wildcard group.
    check(
        "User-agent: *\nDisallow: /\nUser-agent: FooBot\nUser-agent: Other\nAllow: /\n",
        &["/"],
        &[],
    );
    check(
        "User-agent: *\nDisallow: /\nUser-agent: FooBot\n",
        &["/"],
        &[],
    );
    check("User-agent: * and others\nDisallow: /\n", &[], &["/"]);
    check("User-agent: *Bot\nDisallow: /\n", &["/"], &[]);
}

#[test]
fn paths_are_case_sensitive() {
    check("user-agent: FooBot\ndisallow: /x/\n", &["/X/y"], &["/x/y"]);
    check("user-agent: FooBot\ndisallow: /X/\n", &["/x/y"], &["/X/y"]);
}

#[test]
fn the_longest_match_decides_and_allows_when_equal() {
    let file = |rules: &str| format!("user-agent: FooBot\n{rules}");
    check(
        &file("disallow: /x/page.html\nallow: /x/\n"),
        &[],
        &["/x/page.html"],
    );
    check(
        &file("allow: /x/page.html\ndisallow: /x/\n"),
        &["/x/page.html"],
        &["/x/"],
    );
    check(&file("disallow: \nallow: \n"), &["/x/page.html"], &[]);
    check(&file("disallow: /\nallow: /\n"), &["/x/page.html"], &[]);
    check(&file("disallow: /x\nallow: /x/\n"), &["/x/"], &["/x"]);
    check(
        &file("disallow: /x/p.html\nallow: /x/p.html\n"),
        &["/x/p.html"],
        &[],
    );
    check(
        &file("allow: /page\ndisallow: /*.html\n"),
        &["/page"],
        &["/page.html"],
    );
    check(
        &file("allow: /x/page.\ndisallow: /*.html\n"),
        &["/x/page.html"],
        &["/x/y.html"],
    );
    check(&file("allow: /p\ndisallow: /\n"), &["/page"], &["/q"]);
    check(
        &file("allow: /folder\ndisallow: /folder\n"),
        &["/folder/page"],
        &[],
    );
    check(
        &file("allow: /page\ndisallow: /*.htm\n"),
        &[],
        &["/page.htm"],
    );
    check(&file("allow: /$\ndisallow: /\n"), &["/"], &["/page.html"]);
}

#[test]
fn escapes_make_no_difference() {
    let file = |path: &str| format!("User-agent: FooBot\nDisallow: /\nAllow: {path}\n");
    let query = "/foo/bar?qux=taz&baz=http://foo.example?tar&par";
    check(&file(query), &[query], &["/foo/bar?qux=taz"]);
    for pattern in ["/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"] {
        check(
            &file(pattern),
            &["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", "/foo/bar/ツ"],
            &["/foo/bar/"],
        );
    }
    // RFC 9309 section 2.2.2 requires unescaping of letters. Google's parser leaves that to its
    // callers, so its own case disallows the first of these.
    check(
        &file("/foo/bar/%62%61%7A"),
        &["/foo/bar/baz", "/foo/bar/%62%61%7a"],
        &["/foo/bar/ba"],
    );
    check(&file("/~joe"), &["/%7Ejoe", "/~joe"], &["/joe"]);
    check(&file("/a b"), &["/a%20b", "/a b"], &["/ab"]);
    // An escaped slash is not a slash.
    check(&file("/a/b"), &["/a/b"], &["/a%2Fb"]);
    check(&file("/100%"), &["/100%"], &["/100"]);
}

#[test]
fn an_asterisk_matches_anything_and_a_dollar_the_end() {
    check(
        "User-agent: FooBot\nDisallow: /foo/bar/quz\nAllow: /foo/*/qux\n",
        &["/foo/quz", "/foo//quz", "/foo/bax/quz"],
        &["/foo/bar/quz"],
    );
    check(
        "User-agent: FooBot\nDisallow: /foo/bar$\nAllow: /foo/bar/qux\n",
        &["/foo/bar/qux", "/foo/bar/", "/foo/bar/baz"],
        &["/foo/bar"],
    );
    check(
        "User-agent: FooBot\n# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n",
        &["/foo/bar"],
        &["/foo/quz"],
    );
    let file = |path: &str| format!("User-agent: FooBot\nDisallow: {path}\n");
    check(&file("/a$b"), &["/a", "/ab"], &["/a$b", "/a%24b"]);
    check(&file("/a%2Ab"), &["/axb"], &["/a*b", "/a%2ab"]);
    check(&file("*"), &[], &["/", "/a"]);
    check(&file("*$"), &[], &["/", "/a"]);
    check(&file("$"), &["/", "/a"], &[]);
    check(
        &file("/*/*/x$"),
        &["/x", "/a/x", "/a/b/xy"],
        &["/a/b/x", "/a/b/c/x"],
    );
    check(&file("/**a***b"), &["/ba"], &["/ab", "/1a2b3"]);
    check(&file("*ab*ab$"), &["/ab", "/abba"], &["/abab", "/ab/cab"]);
    check(&file("a"), &["/a"], &[]);
}

#[test]
fn the_examples_of_the_documentation_hold() {
    let file = |path: &str| format!("user-agent: FooBot\ndisallow: /\nallow: {path}\n");
    let fishes = [
        "/fish",
        "/fish.html",
        "/fish/salmon.html",
        "/fishheads",
        "/fishheads/yummy.html",
        "/fish.html?id=anything",
    ];
    for pattern in ["/fish", "/fish*"] {
        check(
            &file(pattern),
            &fishes,
            &["/bar", "/Fish.asp", "/catfish", "/?id=fish"],
        );
    }
    check(
        &file("/fish/"),
        &[
            "/fish/",
            "/fish/salmon",
            "/fish/?salmon",
            "/fish/salmon.html",
            "/fish/?id=anything",
        ],
        &["/bar", "/fish", "/fish.html", "/Fish/Salmon.html"],
    );
    check(
        &file("/*.php"),
        &[
            "/filename.php",
            "/folder/filename.php",
            "/folder/filename.php?parameters",
            "//folder/any.php.file.html",
            "/filename.php/",
            "/index?f=filename.php/",
        ],
        &["/bar", "/php/", "/index?php", "/windows.PHP"],
    );
    check(
        &file("/*.php$"),
        &["/filename.php", "/folder/filename.php"],
        &[
            "/bar",
            "/filename.php?parameters",
            "/filename.php/",
            "/filename.php5",
            "/php/",
            "/filename?php",
            "/aaaphpaaa",
            "//windows.PHP",
        ],
    );
    check(
        &file("/fish*.php"),
        &["/fish.php", "/fishheads/catfish.php?parameters"],
        &["/bar", "/Fish.PHP"],
    );
}

#[test]
fn allowing_the_index_page_allows_the_folder() {
    check(
        "User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n",
        &["/allowed-slash/", "/allowed-slash/index.html"],
        &["/allowed-slash/index.htm", "/anyother-url"],
    );
}

#[test]
fn long_lines_are_truncated() {
    let long = |letter: &str, name: &str| {
        let len = 2083 * 8 - "/x/".len() - name.len() + 1;
        format!("/x/{}", letter.repeat(len - 3))
    };
    let path = long("a", "disallow: ");
    let robots = format!("user-agent: FooBot\ndisallow: {path}/qux\n");
    check(&robots, &["/fux"], &[&format!("{path}/fux")]);
    let (a, b) = (long("a", "allow: "), long("b", "allow: "));
    let robots = format!("user-agent: FooBot\ndisallow: /\nallow: {a}/qux\nallow: {b}/qux\n");
    check(&robots, &[&format!("{a}/qux"), &format!("{b}/fux")], &["/"]);
}

#[test]
fn a_byte_order_mark_or_part_of_one_is_skipped() {
    for mark in [&b"\xef\xbb\xbf"[..], b"\xef\xbb", b"\xef"] {
        let robots = [mark, b"User-Agent: foo\nDisallow: /AnyValue\n"].concat();
        assert!(!Rules::read(&robots, "foo").allows("/AnyValue"));
    }
    let robots = b"\xef\x11\xbfUser-Agent: foo\nDisallow: /AnyValue\n";
    assert!(Rules::read(robots, "foo").allows("/AnyValue"));
    let robots = b"User-Agent: foo\n\xef\xbb\xbfDisallow: /AnyValue\n";
    assert!(Rules::read(robots, "foo").allows("/AnyValue"));
}

#[test]
fn sitemaps_apply_to_all_crawlers_wherever_they_stand() {
    let read = |robots: &str| Rules::read(robots.as_bytes(), "FooBot").sitemaps;
    let rest = "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\n";
    let line = "Sitemap: http://foo.example/sitemap.xml\n";
    for robots in [format!("{rest}{line}"), format!("{line}{rest}")] {
        assert_eq!(read(&robots), ["http://foo.example/sitemap.xml"]);
    }
    assert_eq!(
        read("site-map: /a.xml\nSITEMAP: /b.xml # c\nsitemap:\n"),
        ["/a.xml", "/b.xml"]
    );
    assert_eq!(
        read(&"sitemap: /a\n".repeat(SITEMAPS_MAX * 2)).len(),
        SITEMAPS_MAX
    );
}

#[test]
fn the_crawl_delay_is_that_of_the_group_up_to_its_limit() {
    let check = |robots: &str, millis: Option<u64>| {
        let delay = Rules::read(robots.as_bytes(), "FooBot").crawl_delay;
        assert_eq!(delay, millis.map(Duration::from_millis), "{robots}");
    };
    check("User-agent: *\nCrawl-delay: 2.5\n", Some(2_500));
    check(
        "User-agent: *\nCrawl-delay: 2\nUser-agent: FooBot\nCrawl-delay: 1\n",
        Some(1_000),
    );
    check(
        "User-agent: *\nCrawl-delay: 2\nUser-agent: FooBot\nDisallow: /a\n",
        None,
    );
    check(
        "User-agent: FooBot\nDisallow: /a\nUser-agent: BarBot\nCrawl-delay: 3\n",
        None,
    );
    check("User-agent: *\nCrawl-delay: 86400\n", Some(30_000));
    for bad in ["", "-1", "soon", "NaN", "inf", "1 second"] {
        check(&format!("User-agent: *\nCrawl-delay: {bad}\n"), None);
    }
}

#[test]
fn lines_beyond_the_size_limit_are_ignored() {
    let mut robots = b"User-agent: FooBot\n".to_vec();
    robots.resize(ROBOTS_BYTES_MAX, b'\n');
    robots.extend(b"Disallow: /\n");
    assert!(Rules::read(&robots, "FooBot").allows("/x"));
}

#[test]
fn a_line_that_the_size_limit_cuts_does_not_count() {
    let allows = |end: &[u8], path: &str| {
        let mut robots = b"User-agent: *\nDisallow: /b\n#".to_vec();
        robots.resize(ROBOTS_BYTES_MAX - b"\nDisallow: /".len(), b'x');
        robots.extend(b"\nDisallow: /");
        assert_eq!(robots.len(), ROBOTS_BYTES_MAX);
        robots.extend(end);
        Rules::read(&robots, "FooBot").allows(path)
    };
    assert!(allows(b"private/\n", "/x"));
    assert!(!allows(b"private/\n", "/b"));
    // A whole line that ends at the limit, or with the file.
    assert!(!allows(b"\nAllow: /x", "/x"));
    assert!(!allows(b"", "/x"));
}

#[test]
fn patterns_are_compared_as_octets() {
    let rules = Rules::read(
        b"User-agent: *\nDisallow: /caf\xe9/\nDisallow: /\xc3\xa9$\nSitemap: http://a/\xe9.xml\n",
        "FooBot",
    );
    assert!(!rules.allows("/caf%E9/x") && !rules.allows("/caf%e9/"));
    assert!(rules.allows("/caf%EF%BF%BD/") && rules.allows("/caf%C3%A9/"));
    assert!(!rules.allows("/%C3%A9"));
    assert_eq!(rules.sitemaps, ["http://a/%E9.xml"]);
}

/// As in Google's parser: what begins with a known name is that name.
#[test]
fn longer_names_of_lines_count() {
    check(
        "User-agents: FooBot\nDisallows: /no\nDisallow-x: /nor\nAllowed: /no/but\n",
        &["/", "/no/but"],
        &["/no", "/no/x", "/nor"],
    );
    check(
        "User-agent: FooBot\nDisallo: /\nNo-disallow: /\n",
        &["/"],
        &[],
    );
    check(
        "User-agent: FooBot\nDisallow:\x0b/no\x0b\n",
        &["/"],
        &["/no"],
    );
}

#[test]
fn any_index_page_that_is_allowed_allows_its_folder() {
    for file in [
        "index.html",
        "index.htm",
        "index.html?x",
        "index.html$",
        "index.htmx",
    ] {
        check(
            &format!("User-agent: FooBot\nDisallow: /\nAllow: /a/{file}\n"),
            &["/a/"],
            &["/a", "/a/b"],
        );
    }
    check(
        "User-agent: FooBot\nDisallow: /\nAllow: /a/index.ht\n",
        &[],
        &["/a/"],
    );
}

#[test]
fn the_robots_txt_itself_is_always_allowed() {
    check(
        "User-agent: *\nDisallow: /\n",
        &["/robots.txt"],
        &["/robots.txt2", "/a/robots.txt"],
    );
}

/// Matching a hostile file does not take time proportional to the product of pattern and path.
#[test]
fn hostile_patterns_take_linear_time() {
    let pattern = format!("Disallow: /{}$\n", "*a".repeat(2_000));
    let robots = format!(
        "User-agent: *\n{}",
        pattern.repeat(ROBOTS_BYTES_MAX / pattern.len())
    );
    let rules = Rules::read(robots.as_bytes(), "FooBot");
    let started = std::time::Instant::now();
    assert!(rules.allows(&format!("/{}b", "a".repeat(8_000))));
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn rules_without_wildcards_take_no_steps_and_twins_are_one() {
    let rules = |line: &dyn Fn(usize) -> String| {
        let mut robots = "User-agent: *\n".to_owned();
        let mut n = 0;
        while robots.len() < ROBOTS_BYTES_MAX {
            robots += &line(n);
            n += 1;
        }
        Rules::read(robots.as_bytes(), "FooBot")
    };
    let plain = rules(&|n| format!("Disallow: /{n}/\nAllow: /{n}/x$\nDisallow: /{n}/y*\n"));
    assert_eq!(plain.steps(2_000), 0);
    assert!(plain.allows("/77/x") && plain.allows("/x") && plain.allows("/77"));
    assert!(!plain.allows("/77/xy") && !plain.allows("/77/y/x"));
    assert_eq!(rules(&|_| "Disallow: /*a\n".to_owned()).steps(100), 100);
    let hostile = rules(&|n| format!("Disallow: /*{n}x\n"));
    assert!(hostile.steps(100) > 2_000_000, "{}", hostile.steps(100));
    assert!(!hostile.allows("/a/7x") && hostile.allows("/a/7y"));
}

proptest! {
    /// By the definition: of all rules that match, the most specific decides.
    #[test]
    fn the_strongest_of_all_rules_that_match_decides(
        rules in prop::collection::vec((any::<bool>(), "/?[ab/*]{0,5}[$]?"), 0..16),
        path in "/[ab/]{0,6}",
    ) {
        let lines = rules.iter().map(|(is_allow, pattern)| {
            format!("{}: {pattern}\n", if *is_allow { "Allow" } else { "Disallow" })
        });
        let robots = format!("User-agent: FooBot\n{}", lines.collect::<String>());
        let written = rules.iter().filter(|(_, pattern)| !pattern.is_empty());
        let all = written.map(|(is_allow, pattern)| Rule::new(*is_allow, pattern.as_bytes()));
        let matching = all.filter(|rule| rule.matches(&path)).map(|rule| rule.weight());
        prop_assert_eq!(
            Rules::read(robots.as_bytes(), "FooBot").allows(&path),
            matching.max().is_none_or(|weight| weight.is_allow),
            "{}", robots
        );
    }

    /// Where the other parser has none of its defects (one name, no `$`, no escapes, no empty
    /// pattern), both agree.
    #[test]
    fn the_other_parser_agrees_where_it_is_right(
        rules in prop::collection::vec((any::<bool>(), "/[ab/*]{0,6}"), 0..8),
        path in "/[ab/]{0,8}",
    ) {
        let lines = rules.iter().map(|(is_allow, pattern)| {
            format!("{}: {pattern}\n", if *is_allow { "Allow" } else { "Disallow" })
        });
        let robots = format!("User-agent: FooBot\n{}", lines.collect::<String>());
        let other = texting_robots::Robot::new("FooBot", robots.as_bytes()).expect("readable");
        prop_assert_eq!(
            Rules::read(robots.as_bytes(), "FooBot").allows(&path),
            other.allowed(&path),
            "{}", robots
        );
    }

    /// Bytes that state no rule forbid nothing, and do not hide the group that follows them.
    #[test]
    fn bytes_without_a_rule_change_nothing(robots in prop::collection::vec(any::<u8>(), 0..300), path in "/\\PC{0,20}") {
        let text = String::from_utf8_lossy(&robots).to_ascii_lowercase();
        prop_assume!(!text.contains("allow"));
        prop_assert!(Rules::read(&robots, "FooBot").allows(&path));
        let followed = [robots.as_slice(), b"\nUser-agent: FooBot\nDisallow: /\n"].concat();
        prop_assert!(!Rules::read(&followed, "FooBot").allows(&path));
    }
}
