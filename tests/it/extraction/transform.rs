//! `POST /transform` with all fields that a page entry can have.

use serde_json::json;

use super::{SHOP, world};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_are_parallel_lists() {
    let (app, site, _) = world().await;
    let body = json!({
        "data": [{"html": SHOP, "url": "https://shop.example/shop/kettle"}, {"html": "<title>Two</title><p>2"}],
        "return_format": "text", "readability": true, "metadata": true, "return_page_links": true, "return_json_data": true,
        "css_extraction_map": {"title": "h1"}, "return_hidden_text": true, "max_size": 9, "filter_images": true,
        "request": "browser",
    });
    let answer = app.post("/transform", &[], &body).await;
    let json = answer.json();
    assert_eq!(answer.status, 200, "{json}");
    assert_eq!(answer.header("x-ignored-parameters"), "request");
    assert_eq!(json["content"], json!(["Kettle K2", "2"]));
    assert_eq!(json["metadata"][0]["domain"], "shop.example");
    assert_eq!(json["metadata"][0]["hidden_text"][0]["by"], "display");
    assert_eq!(json["metadata"][1]["title"], "Two");
    assert_eq!(json["links"][0][0], "https://shop.example/home");
    assert_eq!(json["links"][1], json!([]));
    assert_eq!(json["json_data"][0]["product"]["name"], "Kettle K2");
    assert_eq!(json["json_data"][1], json!({}));
    assert_eq!(
        json["css_extracted"],
        json!([{"title": "Kettle K2"}, {"title": null}])
    );
    assert!(json.get("extracted").is_none());
    assert_eq!(site.connections(), 0);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_selector_is_refused() {
    let (app, _, _) = world().await;
    let body = json!({"data": [{"html": "x"}], "css_extraction_map": {"a": "//["}});
    let (status, error) = {
        let answer = app.post("/transform", &[], &body).await;
        (answer.status, answer.error())
    };
    assert!(
        status == 400 && error.starts_with("css_extraction_map: "),
        "{error}"
    );
}
