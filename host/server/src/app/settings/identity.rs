//! How the server names itself to sites.

use anyhow::Context;
use url::Url;

use trawl_net::fetch::FetchConfig;

use crate::config::Config;

/// The `User-Agent` of requests that set none: with the contact, `Trawl/0.1 (+https://…)`.
///
/// # Errors
/// The contact is not an `http`, `https` or `mailto` URL.
pub(in crate::app) fn user_agent(config: &Config) -> anyhow::Result<String> {
    let own = config.egress.user_agent.clone();
    let own = own.unwrap_or_else(|| FetchConfig::default().user_agent);
    let Some(contact) = &config.bot.contact else {
        return Ok(own);
    };
    let url = Url::parse(contact).context("bot.contact is not a URL")?;
    let is_contact = matches!(url.scheme(), "http" | "https" | "mailto");
    anyhow::ensure!(
        is_contact && contact.bytes().all(|byte| byte.is_ascii_graphic()),
        "bot.contact is `{contact}`; write an http, https or mailto URL in ASCII"
    );
    Ok(match own.contains(contact.as_str()) {
        true => own,
        false => format!("{own} (+{contact})"),
    })
}

/// Says in the log that sites cannot reach the operator, if the `User-Agent` has no URL.
pub(in crate::app) fn note_contact(config: &Config) {
    if !has_contact(config) {
        tracing::warn!(
            "the User-Agent names no contact: set `bot.contact` to a URL where sites learn about this crawler"
        );
    }
}

/// Whether the `User-Agent` says how the operator is reached.
fn has_contact(config: &Config) -> bool {
    let own = config.egress.user_agent.as_deref().unwrap_or_default();
    config.bot.contact.is_some() || own.contains("://") || own.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        toml::from_str(text).expect("a configuration")
    }

    #[test]
    fn the_user_agent_has_the_contact() {
        let default = FetchConfig::default().user_agent;
        let check = |text: &str, expected: &str, is_reached: bool| {
            let config = read(text);
            assert_eq!(user_agent(&config).expect("one"), expected, "{text}");
            assert_eq!(has_contact(&config), is_reached, "{text}");
        };
        check("", &default, false);
        let with_contact = format!("{default} (+https://a.example/bot)");
        check(
            "[bot]\ncontact = \"https://a.example/bot\"",
            &with_contact,
            true,
        );
        let own = "[egress]\nuser_agent = \"Mine/1 (+https://a.example/bot)\"";
        check(own, "Mine/1 (+https://a.example/bot)", true);
        let both = format!("{own}\n[bot]\ncontact = \"https://a.example/bot\"");
        check(&both, "Mine/1 (+https://a.example/bot)", true);
        check("[egress]\nuser_agent = \"Mine/1\"", "Mine/1", false);
        let mail = "[bot]\ncontact = \"mailto:bot@a.example\"";
        check(mail, &format!("{default} (+mailto:bot@a.example)"), true);
    }

    #[test]
    fn a_contact_is_a_url() {
        for wrong in ["bot", "ftp://a.example/", "https://a.example/\\u00e4"] {
            let config = read(&format!("[bot]\ncontact = \"{wrong}\""));
            let refusal = user_agent(&config).expect_err("refused").to_string();
            assert!(refusal.contains("bot.contact"), "{refusal}");
        }
    }
}
