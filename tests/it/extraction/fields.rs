//! `css_extraction_map`. Spec S6.

use serde_json::{Value, json};

use super::world;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flat_map_yields_one_string_per_field() {
    let (app, site, url) = world().await;
    let map = json!({
        "title": "h1", "by_path": "//main/h1", "first": "a.more@href", "attribute": "//a[@class='more'][2]/@href",
        "n": "count(//a)", "description": "meta[name=description]", "none": ".nothing",
    });
    let entry = app
        .fine(json!({"url": url, "return_format": "empty", "css_extraction_map": map}))
        .await;
    assert_eq!(entry["content"], "");
    let expected = json!({
        "title": "Kettle K2", "by_path": "Kettle K2", "first": site.url("/shop/spec?a=1#x"), "attribute": site.url("/manual"),
        "n": "4", "description": "A kettle.", "none": null,
    });
    assert_eq!(entry["css_extracted"], expected);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_map_by_path_yields_lists_for_the_most_specific_path() {
    let (app, _site, url) = world().await;
    let field = |selectors: Value| json!([{"name": "found", "selectors": selectors}]);
    let found = async |map: Value| {
        let asked = json!({"url": url, "return_format": "empty", "css_extraction_map": map});
        app.fine(asked).await["css_extracted"].clone()
    };
    let more = json!(["h1", "//a[@class='more']", "a.more"]);
    assert_eq!(
        found(json!({"/shop/kettle": field(more), "/shop": field(json!(["footer"]))})).await,
        json!({"found": ["Kettle K2", "Specification", "Manual"]})
    );
    assert_eq!(
        found(json!({"/shop": field(json!(["footer"])), "*": field(json!(["nav"]))})).await,
        json!({"found": ["© Kettles"]})
    );
    assert_eq!(
        found(json!({"/": field(json!(["h1"])), "*": field(json!(["p.price"]))})).await,
        json!({"found": ["49 €"]})
    );
    assert_eq!(found(json!({"*": field(json!(["h2"]))})).await, json!({}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_selector_is_refused_before_anything_is_fetched() {
    let (app, site, url) = world().await;
    for (map, parts) in [
        (json!({"a": "h1", "price": "p..x"}), ["price", "p..x"]),
        (json!({"price": "//p["}), ["price", "//p["]),
        (json!({"price": "p:nosuch(2)"}), ["price", "nosuch"]),
        (
            json!({"/elsewhere": [{"name": "price", "selectors": ["//p[1"]}]}),
            ["price", "//p[1"],
        ),
        (
            json!({"a": "h1", "/x": [{"name": "b", "selectors": ["p"]}]}),
            ["shape", "map"],
        ),
        (json!({"a": 3}), ["css_extraction_map.a: ", "string"]),
        (
            json!({"/x": [{"name": "b", "selector": "p"}]}),
            [
                "css_extraction_map./x[0]: ",
                "\"selectors\" is a required property",
            ],
        ),
        (
            json!({"https://a.example/x": [{"name": "b", "selectors": ["p"]}]}),
            ["the key `https://a.example/x` is a URL", "its path alone"],
        ),
    ] {
        let body = json!({"url": url, "css_extraction_map": map});
        let (status, error) = app.refused(&body).await;
        assert_eq!(status, 400, "{map}: {error}");
        assert!(error.starts_with("css_extraction_map"), "{map}: {error}");
        for part in parts {
            assert!(error.contains(part), "{map}: {error}");
        }
    }
    assert_eq!(site.connections(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn selectors_see_the_filtered_page_and_not_only_the_main_body() {
    let (app, _site, url) = world().await;
    let map = json!({"nav": "nav a", "footer": "footer"});
    let with = async |more: Value| {
        let mut body = json!({"url": url, "return_format": "text", "css_extraction_map": map});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        app.fine(body).await["css_extracted"].clone()
    };
    assert_eq!(
        with(json!({"readability": true})).await,
        json!({"nav": "Home", "footer": "© Kettles"})
    );
    assert_eq!(
        with(json!({"exclude_selector": "nav"})).await,
        json!({"nav": null, "footer": "© Kettles"})
    );
}
