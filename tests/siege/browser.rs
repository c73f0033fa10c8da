//! Pages and steps that make the browser, or its answers, large.

use serde_json::json;

use crate::field::Field;

/// Four tabs, and the browser as root where the tests run as root.
fn config() -> String {
    "[browser]\ntabs = 4\nno_sandbox = true\n".to_owned()
}

/// Renders a page, so that the browser runs before anything is measured.
async fn start_browser(field: &Field) {
    let page = json!({
        "url": field.trouble.url(0, "/page"), "request": "chrome", "cache": false,
        "request_timeout": 60,
    });
    field.attacker.fine(page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn results_of_a_quarter_of_a_gigabyte() {
    let field = Field::with(config()).await;
    start_browser(&field).await;
    field
        .besiege("6 results of 250 MB from the browser", async {
            let page = |host| {
                json!({
                    "url": field.trouble.url(host, "/page"), "request": "chrome", "request_timeout": 10,
                    "automation_scripts": {"*": [{"Evaluate": "'x'.repeat(2.5e8)"}]},
                })
            };
            field.post_all("/scrape", (0..6).map(page)).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the machine: cargo xtask siege"]
async fn documents_that_grow_in_the_browser() {
    let field = Field::with(config()).await;
    start_browser(&field).await;
    field
        .besiege("4 documents of 150 MB from the browser", async {
            let page = |host| {
                json!({
                    "url": field.trouble.url(host, "/page"), "request": "chrome", "request_timeout": 10,
                    "automation_scripts": {"*": [
                        {"Evaluate": "document.body.textContent = '\u{4e2d}'.repeat(5e7); 1"}
                    ]},
                })
            };
            field.post_all("/scrape", (0..4).map(page)).await;
        })
        .await;
}
