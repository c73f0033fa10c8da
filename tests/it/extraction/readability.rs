//! `readability`: the main body in every format; a page with text never yields empty content.

use serde_json::json;

use super::world;

/// A forum page whose thread is visible only without scripts.
const FORUM: &str = "<html><body><div id=app></div><noscript><h1>How do I clean it?</h1>
<div class=post><p>My kettle has lime in it, and vinegar did not help at all. What else could I try before I buy another one?</p></div>
<div class=post><p>Citric acid works well: two spoons of it, a litre of warm water, half an hour of patience, then rinse it twice.</p></div>
</noscript><footer><a href=/imprint>Imprint</a></footer></body></html>";

/// An article between the usual page furniture.
const ARTICLE: &str = "<html><head><title>Lime</title></head><body>
<div class=cookie-banner>We value your privacy. <button>Accept all</button></div>
<header><nav><a href=/a>News</a> <a href=/b>Sport</a> <a href=/c>Weather</a></nav></header>
<article><h1>Where lime comes from</h1>
<p>Rain takes up carbon dioxide, seeps through rock that has lime in it, and carries some of that lime along to the wells of the town.</p>
<h2>In numbers</h2><table><tr><th>Town</th><th>Hardness</th></tr><tr><td>Aachen</td><td>12</td></tr></table>
<p>When the water is heated, the gas escapes again, and the lime falls out as the white crust that every kettle knows after some weeks.</p>
<pre><code class=language-python>print('lime')</code></pre>
<figure><img src=/crust.png alt='A crust'><figcaption>A crust of a year</figcaption></figure></article>
<aside class=related><h3>Related articles</h3><ul><li><a href=/1>Ten kettles compared</a><li><a href=/2>Tea in winter</a></ul></aside>
<footer>Imprint</footer></body></html>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_article_keeps_its_structure_without_the_furniture() {
    let (app, site, _) = world().await;
    let url = site.put("/lime", "text/html", ARTICLE);
    let formats = ["markdown", "text", "html"];
    let entry = app
        .fine(json!({"url": url, "return_format": formats, "readability": true}))
        .await;
    for format in formats {
        let content = entry["content"][format].as_str().unwrap();
        for part in [
            "Where lime comes from",
            "Aachen",
            "white crust",
            "print('lime')",
            "A crust of a year",
        ] {
            assert!(content.contains(part), "{format} lacks {part}: {content}");
        }
        for dropped in ["Accept all", "Weather", "Ten kettles", "Imprint"] {
            assert!(
                !content.contains(dropped),
                "{format} has {dropped}: {content}"
            );
        }
    }
    let markdown = entry["content"]["markdown"].as_str().unwrap();
    for part in [
        "# Where lime",
        "## In numbers",
        "| Aachen | 12",
        "```python",
        "![A crust](http",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    assert!(
        entry["metadata"].get("title").is_none(),
        "it was not requested"
    );
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_are_added_and_left_out() {
    let (app, site, _) = world().await;
    let url = site.put("/roles", "text/html", ARTICLE);
    let text = |readability: serde_json::Value| {
        let asked = json!({"url": url, "request": "http", "return_format": "text", "readability": readability});
        let app = &app;
        async move {
            app.fine(asked).await["content"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    };
    let body = text(json!({"only": "body"})).await;
    assert!(body.contains("white crust"), "{body}");
    for part in [
        "Where lime comes from",
        "A crust of a year",
        "Ten kettles",
        "Accept all",
    ] {
        assert!(!body.contains(part), "{part} is left in: {body}");
    }
    let more = text(json!({"only": "Body", "include": ["headline", "related"]})).await;
    for part in ["Where lime comes from", "white crust", "Ten kettles"] {
        assert!(more.contains(part), "{part} is missing in: {more}");
    }
    assert!(!more.contains("A crust of a year"), "{more}");
    let asked =
        json!({"url": url, "return_format": "text", "readability": {"include": ["everything"]}});
    let answer = app.post("/scrape", &[], &asked).await;
    assert_eq!(answer.status, 400);
    let refusal = answer.error();
    assert!(refusal.contains("readability.include[0]"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noscript_content_is_the_main_body() {
    let (app, site, _) = world().await;
    let url = site.put("/t/1", "text/html", FORUM);
    let entry = app
        .fine(json!({"url": url, "request": "http", "return_format": "text", "readability": true}))
        .await;
    let text = entry["content"].as_str().unwrap();
    assert!(
        text.contains("vinegar") && text.contains("Citric acid"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_with_text_never_yields_empty_content() {
    let (app, site, _) = world().await;
    let pages = [
        "<p>Short.</p>",
        "<nav><a href=/a>Only</a> <a href=/b>navigation</a></nav>",
        "<form><label>Name <input></label><button>Send</button></form>",
        "<footer>Only a footer</footer>",
        "<div class=sidebar><div class=ads>Only an advertisement</div></div>",
        "<table><tr><td>a cell</table>",
        "只有一句话。",
    ];
    for (n, html) in pages.iter().enumerate() {
        let url = site.put(&format!("/short/{n}"), "text/html; charset=utf-8", *html);
        let asked =
            json!({"url": url, "request": "http", "return_format": "text", "readability": true});
        let answer = app.post("/scrape", &[], &asked).await;
        assert_eq!(
            answer.header("x-ignored-parameters"),
            "",
            "the filter is loaded"
        );
        let entry = &answer.json()[0];
        assert!(entry["error"].is_null(), "{entry}");
        assert_ne!(entry["content"].as_str().unwrap().trim(), "", "{html}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_out_anyway_changes_nothing_else() {
    let (app, site, _) = world().await;
    let links = "<a href=/x>Imprint</a> <a href=/y>Terms of use</a>";
    let changes = [
        ("", format!("<footer>{links}</footer>")),
        ("", format!("<aside><h3>More</h3>{links}</aside>")),
        ("<nav><a href=/>Home</a></nav>", String::new()),
        ("<div>", "</div>".to_owned()),
    ];
    for (n, page) in [ARTICLE, FORUM].into_iter().enumerate() {
        let mut expected = None;
        for (at, (start, end)) in [("", String::new())].iter().chain(&changes).enumerate() {
            let html = page
                .replace("<body>", &format!("<body>{start}"))
                .replace("</body>", &format!("{end}</body>"));
            let url = site.put(&format!("/changed/{n}/{at}"), "text/html", html);
            let asked = json!({"url": url, "request": "http", "return_format": "markdown", "readability": true});
            let content = app.fine(asked).await["content"].clone();
            assert_eq!(
                *expected.get_or_insert_with(|| content.clone()),
                content,
                "{start}{end}"
            );
        }
    }
}
