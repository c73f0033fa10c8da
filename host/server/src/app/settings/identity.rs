//! How the server names itself to sites.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use url::Url;

use trawl_model::clock::Clock;
use trawl_model::secret::Secret;
use trawl_net::fetch::FetchConfig;
use trawl_net::signatures::{BotKey, Signer};

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

/// What signs requests to sites; `None` without a key.
///
/// # Errors
/// The key cannot be read or is open to other users, or `bot.directory` is missing or no origin.
pub(in crate::app) fn signer(config: &Config) -> anyhow::Result<Option<Arc<Signer>>> {
    let Some(path) = &config.bot.key_file else {
        anyhow::ensure!(
            config.bot.directory.is_none(),
            "bot.directory has no effect without bot.key_file"
        );
        return Ok(None);
    };
    let directory = config.bot.directory.as_deref();
    let directory = directory.context(
        "bot.key_file needs bot.directory: the public origin of this server, where sites read its key",
    )?;
    let directory = Url::parse(directory).context("bot.directory is not a URL")?;
    let key = key(path).with_context(|| format!("cannot use bot.key_file `{}`", path.display()))?;
    let signer = Signer::new(key, &directory, Clock::wall()).context("bot.directory is wrong")?;
    Ok(Some(Arc::new(signer)))
}

/// Reads the key of a file that no other user may read.
fn key(path: &Path) -> anyhow::Result<BotKey> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    anyhow::ensure!(
        mode & 0o077 == 0,
        "other users may read it: run `chmod 600` on it"
    );
    let text = Secret::new(std::fs::read_to_string(path)?);
    Ok(BotKey::read(&text)?)
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
    fn requests_are_signed_with_the_key_of_a_private_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("bot.pem");
        let made = BotKey::generate().expect("a key");
        std::fs::write(&path, made.expose()).expect("written");
        let permit = |mode: u32| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).expect("set");
        };
        let with = |more: &str| {
            let file = path.display();
            read(&format!("[bot]\nkey_file = \"{file}\"\n{more}"))
        };
        let refusal = |config: &Config| format!("{:#}", signer(config).expect_err("refused"));
        let directory = "directory = \"https://bot.example.com\"";
        permit(0o600);
        let signs = signer(&with(directory)).expect("a signer");
        let thumbprint = BotKey::read(&made).expect("a key").thumbprint().to_owned();
        assert_eq!(signs.expect("one").key().thumbprint(), thumbprint);
        assert!(refusal(&with("")).contains("bot.directory"));
        let wrong = with("directory = \"https://bot.example.com/keys\"");
        assert!(refusal(&wrong).contains("origin"), "{}", refusal(&wrong));
        permit(0o640);
        assert!(refusal(&with(directory)).contains("chmod 600"));
        permit(0o600);
        std::fs::write(&path, "canary-secret").expect("written");
        let refused = refusal(&with(directory));
        assert!(refused.contains("trawl bot key"), "{refused}");
        assert!(!refused.contains("canary-secret"), "{refused}");
        assert!(signer(&Config::default()).expect("none").is_none());
        let alone = read(&format!("[bot]\n{directory}"));
        assert!(refusal(&alone).contains("bot.key_file"));
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
