//! The filter on small pages of each type.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Readability;

const PROSE: [&str; 4] = [
    "The river had been rising for three days when the council met, and nobody in the room believed that the old dam would hold through another night of rain.",
    "Engineers who had warned of its weakness for years were asked, at last, what could be done, and they answered that it was too late for anything but sandbags.",
    "By the morning the water stood at the second step of the church, and families carried their furniture to the upper floors while the fire brigade went from door to door.",
    "It took the town eleven months to repair what the flood had broken in one night, but the new dam, finished in the spring, is twice as high as the one it replaced.",
];

/// A page with typical boilerplate around its body.
fn around(title: &str, body: &str) -> String {
    format!(
        r#"<html><head><title>{title}</title></head><body>
        <header class="site-header"><a href="/" class="logo">The Daily Post</a>
        <nav><ul><li><a href="/">Home</a><li><a href="/world">World</a><li><a href="/sport">Sport</a><li><a href="/about">About us</a></ul></nav></header>
        {body}
        <footer class="site-footer"><ul><li><a href="/terms">Terms of use</a><li><a href="/privacy">Privacy policy</a></ul>
        <p>Copyright 2024 The Daily Post. All rights reserved.</p></footer></body></html>"#
    )
}

fn paragraphs() -> String {
    PROSE.map(|text| format!("<p>{text}</p>")).concat()
}

/// The text that the filter keeps.
fn body_of(html: &str) -> String {
    let page = testkit::page(html);
    let mask = page.keep::<Readability>(json!({})).expect("a mask");
    page.masked(mask).document().text()
}

#[track_caller]
fn check(html: &str, kept: &[&str], dropped: &[&str]) {
    let text = body_of(html);
    for piece in kept {
        assert!(text.contains(piece), "{piece:?} is missing in:\n{text}");
    }
    for piece in dropped {
        assert!(!text.contains(piece), "{piece:?} is left in:\n{text}");
    }
}

#[test]
fn the_text_of_an_article_is_kept_without_boilerplate() {
    let html = around(
        "The night of the flood - The Daily Post",
        &format!(
            r#"<main><article class="post"><h1>The night of the flood</h1><div class="entry-content">{}</div></article>
            <div class="ad-slot"><a href="/ad">Advertisement: buy one, get one free</a></div>
            <section class="related-posts"><h3>Related stories</h3><ul><li><a href="/a">Ten gardens to see this summer</a>
            <li><a href="/b">Why the mayor resigned</a></ul></section></main>"#,
            paragraphs()
        ),
    );
    let mut kept = PROSE.to_vec();
    kept.push("The night of the flood");
    check(
        &html,
        &kept,
        &[
            "World",
            "All rights reserved",
            "Ten gardens",
            "Advertisement",
            "Privacy policy",
        ],
    );
}

#[test]
fn a_thread_in_noscript_is_kept() {
    let posts: String = PROSE
        .iter()
        .enumerate()
        .map(|(at, text)| {
            format!(r#"<div class="topic-body crawler-post" itemprop="comment"><span class="creator">user{at}</span><div class="post" itemprop="text"><p>{text}</p></div></div>"#)
        })
        .collect();
    let html = format!(
        r#"<html><head><title>Will the dam hold? - Forum</title></head><body><div id="main-outlet"></div>
        <noscript><div id="main-outlet" class="wrap"><h1>Will the dam hold?</h1>{posts}</div></noscript></body></html>"#
    );
    check(&html, &PROSE, &[]);
}

#[test]
fn text_moved_by_a_script_is_kept() {
    let html = format!(
        r#"<html><head><title>The flood</title></head><body><header><nav><a href="/">Home</a></nav></header><main><!--$?--><template id="B:0"></template>
        <!--/$--></main><div hidden id="S:0"><article><h1>The flood</h1>{}</article></div></body></html>"#,
        paragraphs()
    );
    check(&html, &PROSE, &[]);
}

#[test]
fn documentation_keeps_its_code_without_the_sidebar() {
    let links: String = (0..30)
        .map(|at| format!(r#"<li><a href="/docs/{at}">Chapter number {at}</a></li>"#))
        .collect();
    let html = around(
        "Opening a file",
        &format!(
            r#"<div class="layout"><aside class="sidebar"><nav class="toc"><ul>{links}</ul></nav></aside><main><article class="markdown-body"><h1>Opening a file</h1>
            <p>The function opens a file for reading, and it fails with an error when the file does not exist or cannot be read by the program.</p>
            <pre><code class="language-rust">let file = File::open("notes.txt")?;</code></pre>
            <p>The file is closed when the value is dropped, so that there is no need to close it by hand at the end of a function.</p>
            <table><tr><th>Mode</th><th>Meaning</th></tr><tr><td>read</td><td>The file is opened for reading only, which is the default.</td></tr>
            <tr><td>write</td><td>The file is created when it does not exist, and emptied otherwise.</td></tr></table>
            </article></main></div>"#
        ),
    );
    check(
        &html,
        &[
            "Opening a file",
            "File::open(\"notes.txt\")",
            "closed when the value is dropped",
            "opened for reading only",
            "emptied otherwise",
        ],
        &["Chapter number 7"],
    );
}

#[test]
fn a_page_of_an_item_keeps_its_title() {
    let links: String = (0..30)
        .map(|n| format!(r#"<li><a href="fn.{n}.html">item_{n}</a></li>"#))
        .collect();
    let html = format!(
        r##"<html><head><title>swap in std::mem - Rust</title></head><body class="rustdoc fn">
        <nav class="sidebar"><h2><a href="index.html">In std::mem</a></h2><ul>{links}</ul></nav>
        <main><div class="width-limiter"><section id="main-content" class="content">
        <div class="main-heading"><div class="rustdoc-breadcrumbs"><a href="../index.html">std</a>::<a href="index.html">mem</a></div>
        <h1>Function <span class="fn">swap</span></h1><rustdoc-toolbar></rustdoc-toolbar>
        <span class="sub-heading"><span class="since">1.0.0</span> · <a class="src" href="../src/mod.rs.html">Source</a></span></div>
        <pre class="rust item-decl"><code>pub const fn swap&lt;T&gt;(x: &amp;mut T, y: &amp;mut T)</code></pre>
        <details class="toggle top-doc" open><summary class="hideme"><span>Expand description</span></summary>
        <div class="docblock">{}</div></details></section></div></main></body></html>"##,
        paragraphs()
    );
    check(
        &html,
        &["Function swap", "pub const fn swap", PROSE[0], PROSE[3]],
        &["item_7"],
    );
}

#[test]
fn documentation_keeps_an_index_beside_its_text() {
    let entries: String = (0..40)
        .map(|number| format!("<td><a href=\"m{number}.html\">entry{number}</a></td>"))
        .collect();
    let members: String = PROSE
        .iter()
        .map(|text| format!("<h3>fill</h3><pre><code>dam.fill(river)</code></pre><p>{text} <code>null</code>.</p>"))
        .collect();
    let page = testkit::page(&format!(
        "<title>Dam (Dams 3.1 API)</title><meta name=generator content='javadoc/17'><main><h1>Class Dam</h1>{members}\
         <div class=related-links><h4>More</h4><table><tr>{entries}</table></div></main>"
    ))
    .url("https://example.com/docs/api/Dam.html");
    let mask = page.keep::<Readability>(json!({})).expect("a mask");
    let text = page.masked(mask).document().text();
    for piece in ["Class Dam", "More", "entry0", "entry39"] {
        assert!(text.contains(piece), "{piece:?} is missing in:\n{text}");
    }
}

#[test]
fn the_heading_that_repeats_the_title_is_kept_wherever_it_stands() {
    let text = PROSE.map(|text| format!("<p>{text}</p>")).concat();
    // What is named after consent is left out otherwise.
    let html = |name: &str| {
        format!(
            "<title>The flood of the valley</title><script>0</script><div class={name}><h1>The flood of the valley</h1>\
             <p>Other pages</p></div><div class=article-body>{text}</div>"
        )
    };
    check(
        &html("consent-bar"),
        &["The flood of the valley", PROSE[0]],
        &["Other pages"],
    );
    let other = html("consent-bar").replace("<h1>The flood of the valley", "<h1>Cookies");
    check(&other, &[PROSE[0]], &["Cookies"]);
}

#[test]
fn a_manual_is_kept_without_its_table_of_contents() {
    let names = ["walls", "gates", "locks", "sluices"];
    let part = |at: usize| {
        let (name, text) = (names[at], PROSE[at]);
        format!(
            "<h2 id={name}>{name}</h2><p>{text} Set <code>{name} = 2</code>.</p><pre>{name} = 2</pre><p>{text}</p>"
        )
    };
    let parts: String = (0..names.len()).map(part).collect();
    let entries = |prefix: &str| {
        let entry = |name| format!("<li><a href=\"{prefix}{name}\">On {name}</a>");
        names.map(entry).concat()
    };
    let manual = |list: &str| {
        format!(
            "<title>Dams 2.1 manual</title><div class=topbar><h1>Manual of Dams</h1></div>\
             <div class=interior><ul>{list}</ul>{parts}</div>"
        )
    };
    let kept = |html: &str, path: &str| {
        let page = testkit::page(html).url(&format!("https://example.com/{path}"));
        let mask = page.keep::<Readability>(json!({})).expect("a mask");
        page.masked(mask).document().text()
    };
    let text = kept(&manual(&entries("#")), "docs/dams/manual.html");
    for piece in ["Manual of Dams", "walls", "sluices = 2"] {
        assert!(text.contains(piece), "{piece:?} is missing in:\n{text}");
    }
    assert!(!text.contains("On gates"), "{text}");
    let text = kept(&manual(&entries("part/")), "docs/dams/manual.html");
    assert!(text.contains("On gates"), "{text}");
    let article = manual(&entries("#"))
        .replace("<code>", "<i>")
        .replace("<pre>", "<p>");
    let text = kept(&article, "2026/11/dams-of-the-valley");
    assert!(!text.contains("On gates"), "{text}");
}

#[test]
fn a_product_keeps_its_description() {
    let html = around(
        "Walnut desk | Woodshop",
        r#"<main class="product-page" itemscope itemtype="https://schema.org/Product"><h1 class="product-title">Walnut desk</h1><span class="price">$449.00</span>
        <div class="product-description"><p>A desk of solid walnut with two drawers, made by hand in our own workshop and oiled three times before it leaves us.</p>
        <p>The top is 140 cm wide and 70 cm deep, and the legs can be taken off, so that the desk goes through any door.</p></div></main>"#,
    );
    check(
        &html,
        &["solid walnut with two drawers", "140 cm wide"],
        &["All rights reserved", "Privacy policy"],
    );
}

#[test]
fn a_listing_keeps_its_entries() {
    let entries: String = PROSE
        .iter()
        .cycle()
        .take(12)
        .enumerate()
        .map(|(at, text)| format!(r#"<article class="card"><h2><a href="/story/{at}">Story number {at}</a></h2><p class="excerpt">{text}</p></article>"#))
        .collect();
    let html = around(
        "All stories",
        &format!(r#"<main><h1>All stories</h1><div class="story-list">{entries}</div></main>"#),
    );
    check(
        &html,
        &["Story number 3", "Story number 11", PROSE[0]],
        &["All rights reserved"],
    );
}

#[test]
fn chinese_text_is_kept() {
    let text = "河水已经连续上涨了三天，镇议会开会的时候，没有人相信那座旧水坝能够再撑过一个雨夜。多年来一直警告其脆弱性的工程师们终于被问到该怎么办，他们回答说除了沙袋以外已经太晚了。";
    let html = format!(
        r#"<html><head><title>洪水之夜</title></head><body><nav><a href="/">首页</a><a href="/x">新闻</a><a href="/y">体育</a></nav>
        <div class="article-content"><h1>洪水之夜</h1><p>{text}</p><p>{text}</p><p>{text}</p></div><footer><a href="/z">隐私政策</a></footer></body></html>"#
    );
    check(&html, &["河水已经连续上涨了三天"], &["隐私政策", "体育"]);
}

#[test]
fn a_consent_notice_is_removed() {
    let html = around(
        "The night of the flood",
        &format!(
            r#"<article><h1>The night of the flood</h1>{}</article><div id="cookie-banner" class="cookie-consent"><p>We and our partners use cookies to store
            information on your device, so that we can show you advertisements that fit you. You can change your mind at any time.</p><button>Accept all</button></div>"#,
            paragraphs()
        ),
    );
    check(&html, &PROSE, &["our partners", "Accept all"]);
}

#[test]
fn images_are_kept_with_their_captions() {
    let html = around(
        "The night of the flood",
        &format!(
            r#"<article><h1>The night of the flood</h1><p>{}</p><figure><img src="/dam.jpg" alt="The dam"><figcaption>The old dam, photographed on the evening before it broke.</figcaption></figure>
            <p>{}</p><p>{}</p></article>"#,
            PROSE[0], PROSE[1], PROSE[2]
        ),
    );
    let page = testkit::page(&html);
    let mask = page.keep::<Readability>(json!({})).expect("a mask");
    let page = page.masked(mask);
    let document = page.document();
    assert_eq!(
        document.select("figure > img").expect("a selector").count(),
        1
    );
    assert!(document.text().contains("evening before it broke"));
    assert!(document.title().is_some(), "the head stays");
}

#[test]
fn a_page_with_text_is_never_empty() {
    for html in [
        "<p>Hi",
        "Hello",
        "<nav><a href=/>Home</a></nav>",
        "<form><label>Name <input></label><button>Send</button></form>",
        "<footer><p>Copyright</p></footer>",
        "<div id=cookie-banner>We use cookies.</div>",
        "<div hidden>Soon here</div>",
        "<noscript>Please turn on JavaScript.</noscript>",
        "<p>|</p>",
        "<body style='visibility:hidden'><p>Soon here",
    ] {
        assert!(!body_of(html).is_empty(), "{html}");
    }
}

#[test]
fn a_page_without_text_is_empty() {
    for html in ["", "<img src=x>", "<script>let a = 1;</script>"] {
        assert_eq!(body_of(html), "", "{html}");
    }
}

#[test]
fn elements_removed_by_earlier_filters_stay_removed() {
    let html = around(
        "The flood",
        &format!(
            "<article><h1>The flood</h1>{}<aside class=note>Not this</aside></article>",
            paragraphs()
        ),
    );
    let page = testkit::page(&html).without("aside");
    let mask = page.keep::<Readability>(json!({})).expect("a mask");
    let text = page.masked(mask).document().text();
    assert!(
        text.contains(PROSE[0]) && !text.contains("Not this"),
        "{text}"
    );
}

#[test]
fn large_and_deep_pages_are_read() {
    let siblings = "<p>Some text, and a <a href=x>link</a> in it.</p>".repeat(100_000);
    assert!(body_of(&siblings).len() > 1_000);
    let deep = format!("{}text{}", "<div>".repeat(400), "</div>".repeat(400));
    assert_eq!(body_of(&deep), "text");
    let wide = format!("<p class='{}'>text</p>", "word ".repeat(200_000));
    assert_eq!(body_of(&wide), "text");
}

#[test]
fn a_table_in_an_article_is_kept_whole() {
    let rows: String = (1..=8)
        .map(|at| format!("<tr><td>{at} May</td><td>{at}.{at} m</td></tr>"))
        .collect();
    let html = around(
        "The night of the flood",
        &format!(
            "<article><h1>The night of the flood</h1><p>{}</p><p>{}</p><table><tr><th>Day</th><th>Level</th></tr>{rows}</table><p>{}</p></article>",
            PROSE[0], PROSE[1], PROSE[2]
        ),
    );
    check(
        &html,
        &["Day\tLevel", "3 May\t3.3 m", "8 May\t8.8 m"],
        &["World"],
    );
}

#[test]
fn a_table_at_the_end_of_the_body_is_kept() {
    for n_rows in [4, 8, 11] {
        let rows: String = (1..=n_rows)
            .map(|at| format!("<tr><td>{at} May</td><td>{at}.{at} m</td></tr>"))
            .collect();
        let body = format!(
            "<h1>The night of the flood</h1><p>{}</p><p>{}</p><p>{}</p><table><tr><th>Day</th><th>Level</th></tr>{rows}</table>",
            PROSE[0], PROSE[1], PROSE[2]
        );
        let last = format!("{n_rows} May\t{n_rows}.{n_rows} m");
        let bare = format!("<html><head><title>The flood</title></head><body>{body}</body></html>");
        check(&bare, &[PROSE[2], "Day\tLevel", &last], &[]);
        check(
            &around("The flood", &body),
            &["Day\tLevel", &last],
            &["World"],
        );
    }
}

#[test]
fn a_table_of_links_at_the_end_of_the_body_is_left_out() {
    let links: String = ["Weather", "Traffic", "Horoscope", "Puzzles", "Jobs", "Cars"]
        .map(|name| format!("<td><a href='/{name}'>{name}</a></td>"))
        .concat();
    let body = format!(
        "<h1>The night of the flood</h1>{}<table><tr>{links}</tr></table>",
        paragraphs()
    );
    check(&around("The flood", &body), &[PROSE[3]], &["Horoscope"]);
}

#[test]
fn release_notes_keep_their_headings_and_lists_of_links() {
    let section = |number: usize, name: &str| {
        let items: String = (0..5)
            .map(|item| {
                format!("<li><a href='/{number}/{name}/{item}'>{name} item {number} {item}</a>")
            })
            .collect();
        format!("<h3>{name} of {number}</h3><ul>{items}</ul>")
    };
    let release = |number: usize| {
        let text = PROSE[number % PROSE.len()];
        format!(
            "<h2>Version 1.{number}.0</h2><p>{text}</p>{}{}",
            section(number, "Language"),
            section(number, "Libraries")
        )
    };
    let releases: String = (0..30).map(release).collect();
    let html = around(
        "Releases",
        &format!("<main><h1>Releases</h1>{releases}</main>"),
    );
    let text = body_of(&html);
    for number in 0..30 {
        for piece in [
            format!("Version 1.{number}.0"),
            format!("Language of {number}"),
            format!("Libraries of {number}"),
            format!("Language item {number} 0"),
            format!("Libraries item {number} 4"),
        ] {
            assert!(text.contains(&piece), "{piece:?} is missing");
        }
    }
    for piece in ["World", "All rights reserved", "Privacy policy"] {
        assert!(!text.contains(piece), "{piece:?} is left in:\n{text}");
    }
}

#[test]
fn a_weak_choice_falls_back_to_the_page_without_boilerplate() {
    let html = around("Contact", "<div>Call us at noon</div>");
    check(&html, &["Call us at noon"], &["All rights reserved"]);
}

#[test]
fn what_is_left_out_anyway_changes_nothing() {
    let article = format!(
        "<h1>The night of the flood</h1><div class=meta>By A. Miller</div>{}<h2>Prices</h2><p>Sand: $5</p><pre>dam --help</pre>",
        paragraphs()
    );
    let listing: String = (0..8)
        .map(|at| {
            format!(
                "<div class=item><h3><a href=/{at}>Lamp {at}</a></h3><span>${at}.99</span></div>"
            )
        })
        .collect();
    let bodies = [
        article,
        format!("<h2>Lamps</h2>{listing}"),
        "<p>Hi".to_owned(),
    ];
    let page = |body: &str| format!("<html><title>The flood</title><body>{body}</body></html>");
    let links = "<a href=/imprint>Imprint</a> <a href=/terms>Terms of use</a>";
    for body in bodies {
        let expected = body_of(&page(&body));
        for changed in [
            format!("{body}<footer>{links}</footer>"),
            format!("{body}<aside><h3>More</h3><ul><li>{links}</ul></aside>"),
            format!("<nav>{links}</nav>{body}"),
            format!("<div role=navigation>{links}</div>{body}<div role=contentinfo>{links}</div>"),
            format!("<div>{body}</div>"),
            format!("<nav>{links}</nav><div><div>{body}</div></div><footer>{links}</footer>"),
        ] {
            assert_eq!(body_of(&page(&changed)), expected, "{changed}");
        }
    }
}

#[test]
fn a_wrapper_around_some_blocks_changes_nothing() {
    let [first, second, third, last] = PROSE.map(|text| format!("<p>{text}</p>"));
    let page = |inside: &str| {
        around(
            "The flood",
            &format!(
                "<main><h1>The night of the flood</h1>{inside}<ul><li><a href=/more>More about dams</a></ul></main>"
            ),
        )
    };
    let expected = body_of(&page(&format!("{first}{second}{third}{last}")));
    for inside in [
        format!("<div>{first}{second}</div><div>{third}{last}</div>"),
        format!("{first}<div>{second}</div>{third}<div>{last}</div>"),
        format!("<div><div>{first}</div><div>{second}</div></div>{third}{last}"),
    ] {
        assert_eq!(body_of(&page(&inside)), expected, "{inside}");
    }
}

#[test]
fn a_main_body_is_its_own_main_body() {
    let body = format!("<h1>The night of the flood</h1>{}", paragraphs());
    let page = testkit::page(&around("The night of the flood", &body));
    let keep = |page: testkit::Page| {
        let mask = page.keep::<Readability>(json!({})).expect("a mask");
        page.masked(mask)
    };
    let once = keep(page);
    let text = once.document().text();
    assert!(text.contains(PROSE[3]) && !text.contains("World"), "{text}");
    assert_eq!(keep(once).document().text(), text);
    for (body, last) in [
        (
            "<main><table><tr><th>Game<th>Result</tr><tr><td><a href=/g/1>North and South</a><td>3 to 1</tr></table><h2>Best of the best</h2><p>Our fan favorites</p></main>",
            "North and South",
        ),
        (
            "<div class=row><div class=questions><h2>Questions</h2><p>Be the first to ask a question about this item</p></div><h2>Best of the best</h2><p>Our fan favorites</p></div>",
            "Our fan favorites",
        ),
        (
            "<div class=content><div class=reviews><p>Very nice lamp.</p><p>Came late, but works.</p></div><div class=product-info><p>Expected availability: 2 to 4 weeks</p></div></div>",
            "2 to 4 weeks",
        ),
    ] {
        let once = keep(testkit::page(&around(
            "Flood",
            &format!("<script>start()</script>{body}"),
        )));
        let text = once.document().text();
        assert!(text.contains(last) && !text.contains("World"), "{text}");
        assert_eq!(keep(once).document().text(), text);
    }
}

#[test]
fn sections_that_open_and_close_are_kept_below_a_long_text() {
    let section = |number: usize| {
        format!(
            r##"<details class="toggle implementors-toggle" open><summary><section id="impl-{number}" class="impl"><span class="rightside"><span class="since">1.8.0</span> ·
            <a class="src" href="../src/x.html">Source</a></span><a href="#impl-{number}" class="anchor">§</a><h3 class="code-header">impl <a class="trait" href="p.html">PartialOrd</a>&lt;<a
            href="o.html">Other{number}</a>&gt; for <a href="s.html">Dam</a></h3></section></summary><div class="impl-items"><details class="toggle method-toggle" open><summary><section
            class="method trait-impl"><span class="rightside"><a class="src" href="../src/{number}.html">Source</a></span><h4 class="code-header">fn <a href="t.html" class="fn">fmt</a>(&amp;self,
            other: &amp;<a href="r.html">Rhs</a>) -&gt; <a href="bool.html">bool</a></h4></section></summary><div class="docblock">Tests fmt and is used by an operator. <a href="read.html">Read
            more</a></div></details></div></details>"##
        )
    };
    let sections: String = (0..20).map(section).collect();
    let html = format!(
        r#"<html><head><title>Dam in std::water - Rust</title></head><body class="rustdoc struct"><script>start()</script>
        <main><div class="width-limiter"><section id="main-content" class="content"><h1>Struct Dam</h1>
        <details class="toggle top-doc" open><summary class="hideme"><span>Expand description</span></summary>
        <div class="docblock">{}</div></details><h2 id="traits" class="section-header">Trait Implementations</h2>
        <div id="trait-implementations-list">{sections}</div></section></div></main></body></html>"#,
        paragraphs().repeat(10)
    );
    let text = body_of(&html);
    for number in 0..20 {
        let heading = format!("PartialOrd<Other{number}> for Dam");
        assert!(text.contains(&heading), "{heading:?} is missing");
    }
    assert_eq!(text.matches("Tests fmt and is used").count(), 20);
}

#[test]
fn filters_of_a_listing_that_open_and_close_are_no_sections() {
    let filters: String = ["Color", "Size", "Brand", "Price"]
        .map(|name| {
            format!("<details><summary><h3>{name}</h3></summary><ul><li><label><input type=checkbox>{name} one</label><li><label><input type=checkbox>{name} two</label></ul></details>")
        })
        .concat();
    let body = format!(
        "<main><form class=filters>{filters}</form><article><h1>The night of the flood</h1>{}</article></main>",
        paragraphs()
    );
    check(&around("The flood", &body), &PROSE, &["Brand two"]);
}

#[test]
fn a_short_main_comes_before_a_longer_notice_outside_of_it() {
    let page = |main: &str| {
        format!(
            r##"<html><head><title>Appendices - The Book</title></head><body><div id="help-container"><div id="help-popup">
            <h2 class="help-title">Keyboard shortcuts</h2><div><p>Press <kbd>←</kbd> or <kbd>→</kbd> to navigate between chapters</p>
            <p>Press <kbd>S</kbd> or <kbd>/</kbd> to search in the book</p><p>Press <kbd>?</kbd> to show this help</p>
            <p>Press <kbd>Esc</kbd> to hide this help</p></div></div><div id="body-container"><script>theme()</script>
            <nav id="sidebar" class="sidebar"></nav><div class="page-wrapper"><div class="page"><div class="menu-bar"><h1 class="menu-title">The Book</h1></div>
            <div class="content"><main>{main}</main></div></div></div></div></body></html>"##
        )
    };
    let notice = "navigate between chapters";
    for main in [
        "<h1 id=a><a class=header href=#a>Appendices</a></h1>",
        "<h1 id=a><a class=header href=#a>Appendices</a></h1><p>What did not fit elsewhere.</p>",
        "<h2>Appendices</h2><p>The tracking issue for this is: <a href=/27721>#27721</a></p><hr>",
    ] {
        check(&page(main), &["Appendices"], &[notice]);
    }
    // A `main` without a heading and with little text says nothing.
    let html = format!(
        "<html><title>The flood</title><body><main>Loading</main><article><h1>The night of the flood</h1>{}</article></body></html>",
        paragraphs()
    );
    check(&html, &PROSE, &[]);
}
