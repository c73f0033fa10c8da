//! Roles of an article, and what the options do with them.

use serde_json::json;
use trawl_metadata::Metadata;
use trawl_sdk::testkit::{self, Page};

use super::role::RoleSet;
use super::{Options, Outline, Role, SCHEMA, find};
use crate::Readability;

const PROSE: [&str; 3] = [
    "The river had been rising for three days when the council met, and nobody in the room believed that the old dam would hold through another night of rain.",
    "Engineers who had warned of its weakness for years were asked, at last, what could be done, and they answered that it was too late for anything but sandbags.",
    "It took the town eleven months to repair what the flood had broken in one night, but the new dam, finished in the spring, is twice as high as the one it replaced.",
];

/// Each part that stands around the text, with its role.
const PARTS: [(Role, &str); 15] = [
    (Role::Headline, "The night of the flood"),
    (Role::Standfirst, "How a town lost its dam"),
    (Role::Byline, "Ada Person"),
    (Role::Date, "17 May 2024"),
    (Role::Caption, "The dam before it broke"),
    (Role::Credit, "Photo: Bob Lens"),
    (Role::Tags, "Floods"),
    (Role::Biography, "writes about rivers"),
    (Role::Share, "Copy the link"),
    (Role::Newsletter, "Our morning letter"),
    (Role::Related, "Why the mayor resigned"),
    (Role::Comments, "I saw it coming"),
    (Role::Consent, "We use cookies"),
    (Role::Transcript, "Host: good morning"),
    (Role::Disclaimer, "not liable for floods"),
];

fn article() -> Page {
    let [first, second, third] = PROSE.map(|text| format!("<p>{text}</p>"));
    testkit::page(&format!(
        r#"<html><head><title>The night of the flood | The Daily Post</title><meta property="og:site_name" content="The Daily Post">
        <meta name="author" content="Ada Person"><meta property="article:published_time" content="2024-05-17T10:00:00Z">
        <meta property="og:type" content="article"></head><body>
        <div class="cookie-banner"><p>We use cookies.</p><button>Accept</button></div>
        <nav><a href="/">Home</a> <a href="/world">World</a></nav>
        <article><h1>The night of the flood</h1><p class="standfirst">How a town lost its dam and built another one.</p>
        <div class="meta"><span class="byline">By <a rel="author" href="/ada">Ada Person</a></span> <time datetime="2024-05-17T10:00:00Z">17 May 2024</time></div>
        <div class="share-bar"><button>Copy the link</button></div>
        <figure class="lead"><img src="/dam.jpg" alt="The dam"><figcaption>The dam before it broke. <span class="credit">Photo: Bob Lens</span></figcaption></figure>
        {first}{second}<p>Read more: <a href="/mayor">Why the mayor resigned</a></p>{third}
        <div class="newsletter"><p>Our morning letter</p><form><input type="email"></form></div>
        <div class="transcript"><p>Host: good morning.</p></div>
        <ul class="article-tags"><li><a rel="tag" href="/t">Floods</a></ul>
        <div class="author-bio"><p>She writes about rivers.</p></div>
        <p class="disclaimer">The Daily Post is not liable for floods.</p></article>
        <section id="comments"><h2>Comments</h2><div class="comment"><p>I saw it coming, said the baker.</p></div></section>
        <footer><a href="/terms">Terms of use</a></footer></body></html>"#
    ))
}

fn text_with(options: serde_json::Value) -> String {
    let page = article();
    let mask = page.keep::<Readability>(options).expect("a mask");
    page.masked(mask).document().text()
}

/// The role of the innermost part of the page with this text.
fn role_of(page: &Page, text: &str) -> Option<Role> {
    let document = page.document();
    let outline = Outline::of(&document);
    let roles = find(&outline, &Metadata::of(&document));
    let mut nodes = outline.nodes.iter();
    let at = nodes.position(|node| node.as_text().is_some_and(|own| own.contains(text)));
    roles[at.unwrap_or_else(|| panic!("{text:?} is not on the page"))]
}

#[test]
fn every_part_of_an_article_has_its_role() {
    let page = article();
    for (role, text) in PARTS.iter().filter(|(role, _)| *role != Role::Headline) {
        assert_eq!(role_of(&page, text), Some(*role), "{text}");
    }
    for text in PROSE {
        assert_eq!(role_of(&page, text), None, "{text}");
    }
    let document = page.document();
    let outline = Outline::of(&document);
    let roles = find(&outline, &Metadata::of(&document));
    let role_of_element = |css: &str| {
        let element = document.select(css).expect("a selector").next();
        let node = element.expect("an element").node();
        let at = outline.nodes.iter().position(|other| *other == node);
        roles[at.expect("a node of the page")]
    };
    assert_eq!(role_of_element("h1"), Some(Role::Headline));
    assert_eq!(role_of_element("figure"), Some(Role::LeadImage));
    assert_eq!(role_of_element("article"), None);
}

#[test]
fn a_list_of_other_pages_is_known_by_its_heading() {
    let [first, second, third] = PROSE.map(|text| format!("<p>{text}</p>"));
    let with = |heading: &str| {
        testkit::page(&format!(
            "<article><h1>The flood</h1>{first}{second}{third}<div class=x9><div><b>{heading}</b></div>\
             <ul><li><a href=/m>The mayor resigned</a><li><a href=/b>A bridge was closed</a></ul></div></article>"
        ))
    };
    for heading in ["Related articles", "مقالات ذات صلة"] {
        let role = role_of(&with(heading), "A bridge was closed");
        assert_eq!(role, Some(Role::Related), "{heading}");
    }
    assert_eq!(role_of(&with("What happened"), "A bridge was closed"), None);
    assert_eq!(role_of(&with("Related articles"), PROSE[2]), None);
}

#[test]
fn the_body_alone_has_no_other_part() {
    let text = text_with(json!({"only": "body"}));
    for piece in PROSE {
        assert!(text.contains(piece), "{piece:?} is missing in:\n{text}");
    }
    for (role, part) in PARTS {
        let is_of_body = role == Role::Standfirst;
        assert_eq!(text.contains(part), is_of_body, "{part:?}:\n{text}");
    }
    let text = text_with(json!({"only": "body", "exclude": ["standfirst"]}));
    assert!(!text.contains("How a town lost its dam"), "{text}");
}

#[test]
fn what_is_behind_a_wall_is_no_wall() {
    let [first, second, third] = PROSE.map(|text| format!(r#"<p class="paywall">{text}</p>"#));
    let page = testkit::page(&format!(
        r#"<title>Flood</title><h1>Flood</h1><p>{}</p>{first}{second}{third}
        <div class="paywall-box"><p>Subscribe to read on.</p></div>"#,
        PROSE[0]
    ));
    assert_eq!(role_of(&page, PROSE[1]), None);
    assert_eq!(role_of(&page, "Subscribe to read on."), Some(Role::Consent));
}

#[test]
fn each_role_may_be_added_and_left_out() {
    for (role, part) in PARTS {
        let text = text_with(json!({"only": "body", "include": [role.name()]}));
        assert!(text.contains(part), "{role:?} is missing in:\n{text}");
        assert!(text.contains(PROSE[0]), "{text}");
        let text = text_with(json!({"exclude": [role.name()]}));
        assert!(!text.contains(part), "{role:?} is left in:\n{text}");
        assert!(text.contains(PROSE[0]), "{text}");
        let text = text_with(json!({"include": [role.name()], "exclude": [role.name()]}));
        assert!(text.contains(part), "{role:?} is missing in:\n{text}");
        assert!(!text.contains("Terms of use"), "{text}");
    }
}

#[test]
fn the_lead_image_goes_with_its_role() {
    let images = |options: serde_json::Value| {
        let page = article();
        let mask = page.keep::<Readability>(options).expect("a mask");
        let page = page.masked(mask);
        page.document().select("img").expect("a selector").count()
    };
    assert_eq!(images(json!({"exclude": ["lead_image"]})), 0);
    assert_eq!(
        images(json!({"only": "body", "include": ["lead_image"]})),
        1
    );
}

#[test]
fn posts_of_a_forum_are_no_comments() {
    let post = |at: usize| {
        format!(
            r#"<div class="comment post message" itemprop="comment"><a class="username" href="/u/{at}">user{at}</a> <time datetime="2024-05-1{at}">{at} May</time>
            <div class="text"><p>{}</p></div><a class="reply" href="/r">Reply</a></div>"#,
            PROSE[at % 3]
        )
    };
    let posts: String = (1..9).map(post).collect();
    let page = testkit::page(&format!(
        r#"<html><head><title>Will the dam hold?</title><meta name="generator" content="Discourse 3.2">
        <script type="application/ld+json">{{"@type": "DiscussionForumPosting"}}</script></head>
        <body><h1>Will the dam hold?</h1><div class="thread topic">{posts}</div></body></html>"#
    ))
    .url("https://forum.example/thread/will-the-dam-hold-17");
    assert_eq!(role_of(&page, PROSE[0]), None);
    assert_eq!(role_of(&page, "user3"), Some(Role::Byline));
    assert_eq!(role_of(&page, "3 May"), Some(Role::Date));
    let mask = page.keep::<Readability>(json!({"exclude": ["comments"]}));
    let text = page.masked(mask.expect("a mask")).document().text();
    assert!(PROSE.iter().all(|piece| text.contains(piece)), "{text}");
}

#[test]
fn a_page_of_one_role_is_not_emptied() {
    for html in [
        "<h1>Hello</h1>",
        "<title>Hello</title><h1>Hello</h1>",
        "<div class=comments><p>Hello</p></div>",
        "<p class=byline>Hello</p>",
        "<figure><figcaption>Hello</figcaption></figure>",
    ] {
        let page = testkit::page(html);
        let mask = page.keep::<Readability>(json!({"only": "body"}));
        let text = page.masked(mask.expect("a mask")).document().text();
        assert!(text.contains("Hello"), "{html}");
    }
}

#[test]
fn what_is_hidden_is_not_added() {
    let page = testkit::page(&format!(
        "<article><h1>Flood</h1><p>{}</p></article><div class=comments><p>Shown</p><p hidden>Hidden</p></div>",
        PROSE[0]
    ));
    let mask = page.keep::<Readability>(json!({"include": ["comments"]}));
    let text = page.masked(mask.expect("a mask")).document().root().text();
    assert!(text.contains("Shown") && !text.contains("Hidden"), "{text}");
}

#[test]
fn many_and_nested_parts_are_read_to_their_end() {
    for piece in [
        "<div class='author comments share'>",
        "<p class=caption>a",
        "<h1>Flood",
        "<span class=related><a href=/>Read more</a>",
        "<figure><img src=a>",
        "<time>17 May 2024",
    ] {
        for html in [
            piece.repeat(400),
            format!("{piece}</time></figure></span></h1></p></div>").repeat(20_000),
        ] {
            let page = testkit::page(&format!("<title>Flood</title>{html}text"));
            let mask = page.keep::<Readability>(json!({"only": "body", "include": ["share"]}));
            assert!(mask.is_ok(), "{piece}");
        }
    }
}

#[test]
fn wrong_options_are_refused() {
    let page = testkit::page("<p>Hi");
    for options in [
        json!({"include": ["everything"]}),
        json!({"only": "headline"}),
        json!({"exclude": "byline"}),
        json!({"roles": []}),
    ] {
        assert!(
            page.keep::<Readability>(options.clone()).is_err(),
            "{options}"
        );
    }
}

#[test]
fn the_schema_names_every_role() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("JSON");
    let names: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
    for option in ["include", "exclude"] {
        let listed = &schema["properties"][option]["items"]["enum"];
        assert_eq!(*listed, json!(names), "{option}");
    }
    for (at, name) in names.iter().enumerate() {
        let options: Options = serde_json::from_value(json!({"include": [name]})).expect("a role");
        let set = options.wanted().added;
        for (other, role) in Role::ALL.iter().enumerate() {
            assert_eq!(set.has(*role), other == at, "{name}");
        }
    }
    assert_eq!(RoleSet::default(), Options::default().wanted().left_out);
}
