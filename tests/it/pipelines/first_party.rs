//! The endpoints with the first-party analysts as they are shipped.

use trawl_tests::{ModelServer, ScriptedReply};

use super::*;

/// A shop of two pages.
async fn shop() -> FakeSite {
    let site = FakeSite::start().await;
    site.put(
        "/",
        "text/html; charset=utf-8",
        r#"<html lang="de"><head><title>Harbour Bikes - city bicycles and repairs</title>
        <meta name="description" content="Bicycle shop with repairs, rentals and electric bikes"></head>
        <body><nav><a href="/faq">Questions and answers</a> <a href="/login">Log in</a></nav>
        <main><h1>Bicycles for the city</h1><p>We sell bicycles, electric bikes and helmets.</p>
        <a href="/articles/battery">How long does an electric bike battery last?</a>
        <p>Tel.: 030 / 901820, Fax: 030 / 901821, order number 4711-0815, 12.05.2024, 59,00 EUR</p>
        <p>E-Mail: info [at] harbour-bikes [dot] de</p><a href="mailto:Sales@harbour-bikes.de">Sales</a>
        <script type="application/ld+json">{"@type": "Store", "name": "Harbour Bikes", "vatID": "DE 123456789",
        "employee": {"@type": "Person", "name": "Anna Schmidt"}}</script>
        <a href="https://www.instagram.com/harbourbikes/">Instagram</a> <img src="logo@2x.png"></main></body></html>"#,
    );
    site.put(
        "/faq",
        "text/html; charset=utf-8",
        "<html lang=\"en\"><title>FAQ</title><main><h1>Questions</h1><h2>How long does a repair take?</h2>\
         <p>Most repairs are done within two working days.</p><h2>Can I return a bicycle?</h2>\
         <p>You can return an unused bicycle within 30 days. Write to info@harbour-bikes.de.</p></main>",
    );
    site
}

fn values(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|one| one["value"].as_str().expect("a value"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contacts_are_found_stored_once_and_listed() {
    let site = shop().await;
    let app = TestApp::of(World::new()).await;
    let answer = app.post(CONTACTS, &[], &request(&site, json!({}))).await;
    let entries = entries(&answer);
    let home = entries
        .iter()
        .find(|entry| entry["url"] == site.url("/"))
        .expect("the home page");
    let found = &home["contacts"];
    let mut emails = values(&found["emails"]);
    emails.sort_unstable();
    assert_eq!(emails, ["Sales@harbour-bikes.de", "info@harbour-bikes.de"]);
    let phones = values(&found["phones"]);
    assert!(phones.contains(&"+4930901820"), "{found}");
    assert!(
        phones.iter().all(|phone| phone.starts_with("+493090182")),
        "{found}"
    );
    assert_eq!(found["people"][0]["name"], "Anna Schmidt");
    assert_eq!(found["business"]["vat_id"], "DE123456789");
    assert_eq!(found["social"][0]["network"], "instagram");
    assert_eq!(
        found["model"],
        json!({"used": false, "reason": "no model is configured"})
    );

    let listed = app.get("/data/contacts").await.json();
    let rows = listed["data"].as_array().expect("rows");
    let info: Vec<_> = rows
        .iter()
        .filter(|row| row["value"] == "info@harbour-bikes.de")
        .collect();
    assert_eq!(info.len(), 1, "{listed}");
    assert_eq!(info[0]["pages"].as_array().map(Vec::len), Some(2));
    assert_eq!(listed["count"], rows.len());
    let of_nobody = app.get("/data/contacts?domain=other.example").await.json();
    assert_eq!(of_nobody, json!({"data": [], "count": 0}));
    // A second crawl stores nothing twice.
    app.post(CONTACTS, &[], &request(&site, json!({}))).await;
    assert_eq!(
        app.get("/data/contacts").await.json()["count"],
        listed["count"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_verbatim_and_links_have_reasons() {
    let site = shop().await;
    let app = TestApp::of(World::new()).await;
    let asked = request(&site, json!({"prompt": "How long does a repair take?"}));
    let answer = app.post(QA, &[], &asked).await.json();
    let best = &answer["content"][0];
    assert_eq!(
        best["answer"],
        "Most repairs are done within two working days."
    );
    assert_eq!(best["url"], site.url("/faq"));

    let asked = request(
        &site,
        json!({"prompt": "electric bike battery", "limit": 1}),
    );
    let answer = app.post(LINKS, &[], &asked).await.json();
    let content = &answer["content"][0];
    assert_eq!(content["relevant_urls"][0], site.url("/articles/battery"));
    let urls = content["relevant_urls"].to_string();
    assert!(!urls.contains("login"), "{content}");
    let reason = content["links"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("battery"), "{content}");

    let asked = request(&site, json!({"limit": 1}));
    let labelled = entries(&app.post(LABEL, &[], &asked).await);
    assert_eq!(labelled[0]["labels"]["labels"][0]["label"], "Cycling");
    let asked = request(&site, json!({"limit": 1, "prompt": "banking, bicycles"}));
    let labelled = entries(&app.post(LABEL, &[], &asked).await);
    assert_eq!(labelled[0]["labels"]["labels"][0]["label"], "bicycles");
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hallucinations_of_a_model_are_dropped() {
    let site = shop().await;
    // The page has neither the e-mail address nor the name; a hostile page or a bad model might
    // produce them.
    let hallucinations = json!({
        "emails": [{"value": "boss@invented.example"}],
        "phones": [{"value": "+49 30 5555555"}],
        "people": [{"name": "Max Mustermann", "role": "CEO"}],
    });
    for reply in [
        ScriptedReply::Content(hallucinations.to_string()),
        ScriptedReply::Garbage,
        ScriptedReply::Status(500),
    ] {
        let server = ModelServer::start(reply).await;
        let mut world = World::new();
        world.ai = Some(server.settings());
        let app = TestApp::of(world).await;
        for (path, key) in [(CONTACTS, "contacts"), (LABEL, "labels")] {
            let answer = app
                .post(path, &[], &request(&site, json!({"limit": 1})))
                .await;
            let entries = entries(&answer);
            let text = entries[0][key].to_string();
            assert!(
                !text.contains("invented") && !text.contains("Mustermann"),
                "{text}"
            );
            assert!(entries[0]["error"].is_null(), "{}", entries[0]);
            assert!(entries[0][key]["model"]["used"].is_boolean(), "{text}");
        }
        for path in [QA, LINKS] {
            let asked = request(
                &site,
                json!({"limit": 1, "prompt": "electric bike battery"}),
            );
            let answer = app.post(path, &[], &asked).await;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert_eq!(answer.status, 200, "{text}");
            assert!(!text.contains("invented"), "{text}");
        }
        assert!(server.asked().len() >= 3, "the model was called");
        app.assert_settled().await;
    }
}
