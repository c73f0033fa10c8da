//! Settings from configuration text.

use super::*;

fn read(text: &str) -> Config {
    toml::from_str(text).expect("a configuration")
}

#[test]
fn every_price_is_in_the_list() {
    let default = price_list(&Config::default()).expect("prices");
    assert_eq!(
        (&default["gigabyte"], &default["cpu_minute"]),
        (&json!("1"), &json!("0.0001"))
    );
    assert_eq!(default["seats"][3], json!({"from": 50, "dollars": "14.5"}));
    assert_eq!(default["pools"], json!({}));
    assert_eq!(default["ai"], Value::Null);
    let model = "[ai]\nbase = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\ndollars_per_million_answer_tokens = \"0.60\"";
    let with_model = price_list(&read(model)).expect("prices");
    assert_eq!(with_model["ai"]["dollars_per_million_answer_tokens"], "0.6");
    let own = read(
        "[prices]\ngigabyte = \"2.50\"\npooled_percent = 5\n[[egress.proxy]]\npool = \"isp\"\nurl = \"http://p.example:1\"\ndollars_per_gigabyte = \"4\"",
    );
    let own = price_list(&own).expect("prices");
    assert_eq!(
        (&own["gigabyte"], &own["pooled_percent"], &own["pools"]),
        (&json!("2.5"), &json!(5), &json!({"isp": "4"}))
    );
    assert_ne!(own, default);
}

#[test]
fn a_proxy_may_be_told_ip_addresses() {
    const PROXY: &str = "[[egress.proxy]]\npool = \"isp\"\nurl = \"http://u:canary@p.example:1\"\n";
    let of = |text: &str| {
        let config = read(text);
        assert!(!format!("{config:?}").contains("canary"));
        egress(&config).map(|egress| egress.pools["isp"].proxies[0].resolve)
    };
    assert_eq!(of(PROXY).expect("a proxy"), Resolve::Proxy);
    let local = format!("{PROXY}resolve = \"local\"");
    assert_eq!(of(&local).expect("a proxy"), Resolve::Local);
    let behind_tls = local.replace("http:", "https:");
    let refusal = of(&behind_tls).expect_err("refused").to_string();
    assert!(refusal.contains("use `http` or `socks5`"), "{refusal}");
}

#[test]
fn an_incomplete_model_is_refused() {
    assert!(ai(&Config::default()).expect("none").is_none());
    const MODEL: &str = "[ai]\nbase = \"http://127.0.0.1:8080/v1\"\nmodel = \"m\"\n";
    let found = ai(&read(MODEL)).expect("a model").expect("a model");
    assert_eq!((found.model.as_str(), found.in_flight), ("m", 4));
    assert_eq!(found.prices, TokenPrices::default());
    let priced = "dollars_per_million_question_tokens = \"0.15\"\nkey_env = \"AI_KEY\"";
    let mut config = read(&format!("{MODEL}{priced}"));
    let refusal = ai(&config).expect_err("no key").to_string();
    assert!(refusal.contains("ai.key_env names `AI_KEY`"), "{refusal}");
    let variable = ("AI_KEY".to_owned(), "canary".to_owned());
    config.providers.environment = crate::config::Environment(vec![variable]);
    let found = ai(&config).expect("a model").expect("a model");
    assert_eq!(found.prices.question, Nanodollars(150_000_000));
    assert!(!format!("{found:?}").contains("canary"));
    for (wrong, reason) in [
        (MODEL.replace("http:", "ftp:"), "ai.base is"),
        (MODEL.replace("127", "user:secret@127"), "a user name"),
        (MODEL.replace("\"m\"", "\" \""), "ai.model is empty"),
        (format!("{MODEL}timeout = 0"), "must be at least 1"),
        (
            format!("{MODEL}dollars_per_million_answer_tokens = \"x\""),
            "write dollars such as",
        ),
    ] {
        let refusal = ai(&read(&wrong)).expect_err("refused").to_string();
        assert!(
            refusal.contains(reason) && !refusal.contains("secret"),
            "{refusal}"
        );
    }
}

#[test]
fn providers_have_a_time_of_their_own() {
    let of = |text: &str| router_defaults(&read(text));
    assert_eq!(of("").expect("defaults"), RouterDefaults::default());
    let set = "[providers]\ndefault_mode = \"fallback\"\ntimeout = 90";
    let expected = RouterDefaults {
        mode: RouterMode::Fallback,
        time: Duration::from_secs(90),
    };
    assert_eq!(of(set).expect("defaults"), expected);
    for wrong in [4, 601] {
        let refusal = of(&format!("[providers]\ntimeout = {wrong}")).expect_err("refused");
        assert_eq!(
            refusal.to_string(),
            format!("providers.timeout is {wrong}, give seconds from 5 to 600")
        );
    }
}

#[test]
fn seat_prices_have_defaults_and_can_be_set() {
    let default = seat_prices(&Config::default()).expect("prices");
    assert_eq!(default, SeatPrices::default());
    let own = read(
        "[unlimited]\nseat_prices = [{ from = 1, dollars = \"9.99\" }, { from = 5, dollars = \"8\" }]",
    );
    let own = seat_prices(&own).expect("prices");
    assert_eq!(own.month(4), Nanodollars(39_960_000_000));
    assert_eq!(own.month(5), Nanodollars(40_000_000_000));
    for (wrong, reason) in [
        ("[]", "no step"),
        ("[{ from = 2, dollars = \"1\" }]", "begin at 1"),
        (
            "[{ from = 1, dollars = \"lots\" }]",
            "write dollars such as",
        ),
    ] {
        let config = read(&format!("[unlimited]\nseat_prices = {wrong}"));
        let refusal = seat_prices(&config).expect_err("refused").to_string();
        assert!(refusal.contains(reason), "{refusal}");
    }
}

#[test]
fn connections_are_bounded_by_descriptors_and_settings() {
    let default = listener(&Config::default()).expect("limits");
    let n_descriptors = descriptors::current();
    assert!(default.connections as u64 <= n_descriptors / 2);
    assert!(default.connections_per_peer <= default.connections);
    let own = "[http]\nconnections = 7\ntrusted_proxies = [\"127.0.0.1/32\"]\nwrite_seconds = 3";
    let own = listener(&read(own)).expect("limits");
    assert_eq!((own.connections, own.connections_per_peer), (7, 4));
    assert_eq!(own.write_time, Duration::from_secs(3));
    let sites = egress(&Config::default())
        .expect("settings")
        .connections_max;
    assert!(sites as u64 + default.connections as u64 <= n_descriptors);
    let own = egress(&read("[egress]\nconnections = 9")).expect("settings");
    assert_eq!(own.connections_max, 9);
    assert!(egress(&read("[egress]\nconnections = 0")).is_err());
    let own = "[egress]\nown_addresses = [\"203.0.113.7\", \"[2001:db8::7]:443\"]";
    let own = egress(&read(own)).expect("settings").own_addresses;
    assert_eq!((own[0].port, own[1].port), (None, Some(443)));
    let refusal = egress(&read("[egress]\nown_addresses = [\"trawl.example\"]"));
    let refusal = refusal.err().expect("refused").to_string();
    assert!(refusal.contains("own_addresses"), "{refusal}");
    let refusal = listener(&read("[http]\nidle_seconds = 0")).expect_err("refused");
    assert!(
        refusal.to_string().contains("http.idle_seconds"),
        "{refusal}"
    );
}
