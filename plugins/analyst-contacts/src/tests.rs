use analyst_base::OnePage;
use serde_json::{Value, json};
use trawl_sdk::testkit::{self, finding, join, page};

type Contacts = OnePage<crate::Contacts>;

fn analyse(html: &str, url: &str) -> Value {
    page(html).url(url).analyse::<Contacts>(json!({})).unwrap()
}

fn values(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["value"].as_str())
        .collect()
}

#[test]
fn an_empty_page_has_empty_lists() {
    let found = analyse("<p>Nothing here", "https://acme.de/");
    assert_eq!(
        found,
        json!({"emails": [], "phones": [], "social": [], "people": [], "addresses": [], "business": {}})
    );
}

#[test]
fn people_are_read_from_structured_data_only() {
    let html = r#"<script type="application/ld+json">{"@type":"Person","name":"Ann Lee","jobTitle":"Head of Sales","email":"ann@acme.com","telephone":"+12075550142"}</script>
        <div><h3>Jo Vance</h3><p>Managing director</p></div>"#;
    let found = analyse(html, "https://acme.com/");
    assert_eq!(
        found["people"],
        json!([{"name": "Ann Lee", "role": "Head of Sales", "email": "ann@acme.com", "phone": "+12075550142"}])
    );
    assert_eq!(
        found["emails"],
        json!([{"value": "ann@acme.com", "sources": ["json_ld"], "name": "Ann Lee"}])
    );
}

#[test]
fn british_addresses_are_found_on_any_page() {
    for (address, code) in [
        ("12 Baker Street, London W1U 2NS", "W1U 2NS"),
        ("10 Downing Street, London, SW1A 1AA", "SW1A 1AA"),
        ("86 Leonard Street, London EC2A 4BX", "EC2A 4BX"),
        ("4 Mill Lane, Leeds LS1 4DY", "LS1 4DY"),
    ] {
        for (language, url) in [
            ("en-GB", "https://acme.co.uk/"),
            ("en", "https://acme.com/"),
        ] {
            let found = analyse(&format!("<html lang={language}><p>{address}</p>"), url);
            assert_eq!(found["addresses"][0]["postal_code"], code, "{url} {found}");
            assert_eq!(found["addresses"][0]["country"], "GB", "{url} {found}");
        }
    }
}

#[test]
fn structured_data_in_each_syntax_is_read() {
    let json_ld = r#"<script type="application/ld+json">{"@type":"LocalBusiness","name":"Acme","telephone":"030 901820","email":"info@acme.de",
        "address":{"@type":"PostalAddress","streetAddress":"Weg 1","postalCode":"10115","addressLocality":"Berlin","addressCountry":"DE"}}</script>"#;
    let microdata = r#"<div itemscope itemtype="https://schema.org/LocalBusiness"><b itemprop="name">Acme</b> <i itemprop="telephone">030 901820</i>
        <a itemprop="email" href="mailto:info@acme.de">m</a><p itemprop="address" itemscope itemtype="https://schema.org/PostalAddress">
        <i itemprop="streetAddress">Weg 1</i> <i itemprop="postalCode">10115</i> <i itemprop="addressLocality">Berlin</i> <i itemprop="addressCountry">DE</i></p></div>"#;
    for html in [json_ld, microdata] {
        let found = analyse(html, "https://acme.com/");
        assert_eq!(values(&found["emails"]), ["info@acme.de"], "{html}");
        assert_eq!(values(&found["phones"]), ["+4930901820"], "{html}");
        assert_eq!(found["addresses"][0]["postal_code"], "10115", "{html}");
        assert_eq!(found["business"]["name"], "Acme", "{html}");
    }
}

#[test]
fn the_country_option_applies_and_is_validated() {
    let found = page("<p>Phone: 030 901820")
        .analyse::<Contacts>(json!({"country": "de"}))
        .unwrap();
    assert_eq!(
        found["phones"],
        json!([{"value": "+4930901820", "national": "030 901820", "country": "DE", "type": "fixed_line"}])
    );
    let refused = page("")
        .analyse::<Contacts>(json!({"country": "xx"}))
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "invalid options: `country`: `xx` is not a country code: use an ISO 3166-1 alpha-2 code such as `DE`"
    );
}

#[test]
fn the_country_option_decides_addresses_too() {
    let shown = page("<p>Lindenallee 14, 04109 Leipzig");
    let n_addresses = |options: Value| {
        let found = shown.analyse::<Contacts>(options).unwrap();
        found["addresses"].as_array().unwrap().len()
    };
    assert_eq!(n_addresses(json!({})), 0);
    assert_eq!(n_addresses(json!({"country": "FI"})), 1);
    let found = shown.analyse::<Contacts>(json!({"country": "DE"})).unwrap();
    assert_eq!(found["addresses"][0]["country"], "DE");
}

#[test]
fn addresses_of_countries_that_only_a_line_names_are_found() {
    for (html, text) in [
        (
            "<p>01001, м. Київ, вул. Хрещатик, 22<p>Україна",
            "вул. Хрещатик, 22, 01001 Київ, UA",
        ),
        (
            "<p>P.O. Box 1234, Riyadh 11564, Saudi Arabia",
            "P.O. Box 1234, 11564 Riyadh, SA",
        ),
        ("<p>P.O. Box 12345, Dubai, UAE", "P.O. Box 12345, Dubai, AE"),
    ] {
        let found = analyse(html, "https://acme.com/");
        let addresses = found["addresses"].as_array().unwrap();
        assert_eq!(addresses.len(), 1, "{found}");
        assert_eq!(addresses[0]["text"], text);
    }
}

#[test]
fn a_model_adds_only_what_occurs_on_the_page() {
    let html =
        "<p>Ring Jo Vance, who keeps the archive, via jo at acme.com, or on 030 901820 in Berlin.";
    let answer = json!({
        "emails": [{"value": "jo@acme.com", "name": "Jo Vance"}, {"value": "made.up@acme.com"}, {"value": "no address"}],
        "phones": [{"value": "030 901820"}, {"value": "030 555666"}],
        "people": [{"name": "Jo Vance", "role": "keeps the archive", "phone": "030 901820", "email": "x@y.com"}, {"name": "Nobody Here"}],
        "addresses": [{"street": "Elsewhere 5", "city": "Paris"}],
        "business": {"name": "Invented Ltd"}
    });
    let asked = page(html)
        .url("https://acme.de/")
        .analyse_with::<Contacts>(json!({"prompt": "the archive"}), |_| Ok(answer.clone()));
    let found = asked.answer();
    assert_eq!(values(&found["emails"]), ["jo@acme.com"]);
    assert_eq!(values(&found["phones"]), ["+4930901820"]);
    assert_eq!(
        found["people"],
        json!([{"name": "Jo Vance", "role": "keeps the archive", "phone": "+4930901820"}])
    );
    assert_eq!(
        (&found["addresses"], &found["business"]),
        (&json!([]), &json!({}))
    );
    assert_eq!(found["model"], json!({"used": true}));
    assert_eq!(asked.questions.len(), 1);
    let text = &asked.questions[0].messages[1].text;
    assert!(
        text.contains("What the caller is after: the archive") && text.contains("<<<DATA"),
        "{text}"
    );
}

#[test]
fn without_an_answer_the_findings_of_the_rules_remain() {
    let page = page("<a href=mailto:a@acme.de>x</a>");
    let asked = page.analyse_with::<Contacts>(json!({}), |_| Err("too dear".to_owned()));
    let found = asked.answer();
    assert_eq!(values(&found["emails"]), ["a@acme.de"]);
    assert_eq!(found["model"], json!({"used": false, "reason": "too dear"}));
    let asked = page.analyse_with::<Contacts>(json!({}), |_| Ok(json!({"emails": 7})));
    let found = asked.answer();
    assert_eq!(values(&found["emails"]), ["a@acme.de"]);
    assert_eq!(found["model"]["used"], false);
}

#[test]
fn a_small_model_gets_the_relevant_lines() {
    let html = format!(
        "<p>{}</p><p>Tel 030 901820</p>",
        "<p>words of no use</p>".repeat(4_000)
    );
    let model = trawl_sdk::analyst::Model {
        context_tokens: 2_000,
        ..testkit::MODEL
    };
    let asked =
        page(&html).analyse_as::<Contacts>(json!({}), Some(model), |_| Err("no".to_owned()));
    let question = &asked.questions[0];
    assert!(question.messages[1].text.contains("030 901820"));
    assert!(question.bytes() + question.schema.to_string().len() <= model.context_bytes());
}

#[test]
fn pages_are_joined_without_duplicates() {
    let one = json!({
        "emails": [{"value": "Info@acme.de", "sources": ["text"]}],
        "phones": [{"value": "+4930901820", "national": "030 901820", "country": "DE", "type": "fixed_line"}],
        "social": [{"network": "x", "url": "https://x.com/acme", "handle": "acme"}],
        "people": [{"name": "Ann Lee"}],
        "addresses": [{"text": "Weg 1, 10115 Berlin", "street": "Weg 1", "postal_code": "10115", "city": "Berlin"}],
        "business": {"legal_name": "Acme GmbH"}
    });
    let two = json!({
        "emails": [{"value": "info@acme.de", "sources": ["mailto"], "name": "Desk"}],
        "phones": [{"value": "+4930901820", "national": "030 901820", "country": "DE", "extension": "4"}],
        "social": [{"network": "x", "url": "https://x.com/Acme"}],
        "people": [{"name": "ann  lee", "role": "CEO"}],
        "addresses": [{"text": "Weg 1, 10115 Berlin, DE", "street": "Weg 1", "postal_code": "10115", "country": "DE"}],
        "business": {"legal_name": "ACME GmbH", "vat_id": "DE1"}
    });
    let findings = vec![
        finding("https://acme.de/", one),
        finding("https://acme.de/b", two),
        finding("https://acme.de/c", json!("broken")),
    ];
    let joined = join::<Contacts>(findings, json!({})).unwrap();
    let contacts = joined["contacts"].as_array().unwrap();
    let kinds: Vec<&str> = contacts
        .iter()
        .filter_map(|contact| contact["kind"].as_str())
        .collect();
    assert_eq!(
        kinds,
        ["business", "person", "email", "phone", "address", "social"]
    );
    for contact in contacts {
        assert_eq!(
            contact["pages"],
            json!(["https://acme.de/", "https://acme.de/b"]),
            "{contact}"
        );
    }
    assert_eq!(contacts[2]["value"], "info@acme.de");
    assert_eq!(
        contacts[2]["details"],
        json!({"sources": ["text", "mailto"], "name": "Desk"})
    );
    assert_eq!(
        contacts[1]["details"],
        json!({"name": "Ann Lee", "role": "CEO"})
    );
    assert_eq!(contacts[3]["details"]["extension"], "4");
}

#[test]
fn numbers_of_messengers_are_read() {
    let found = analyse(
        r#"<a href="https://wa.me/4917120948631">chat</a>"#,
        "https://acme.de/",
    );
    assert_eq!(values(&found["phones"]), ["+4917120948631"]);
}
