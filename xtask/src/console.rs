//! The link that opens the console of a server on this machine, signed in, and the pictures of the
//! console in README.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::{workshop, workspace};

/// Name of the key in the link: each start replaces it.
const KEY_NAME: &str = "console";
/// Where the server listens by default.
const LISTEN_DEFAULT: &str = "127.0.0.1:8700";

/// The pictures of README, and where a test leaves them and README has them.
const PICTURES: [&str; 2] = ["light", "dark"];
const TAKEN: &str = "target/tmp/console";
const SHOWN: &str = "docs/pictures";

/// Where a test leaves the picture of a theme.
fn taken(theme: &str) -> PathBuf {
    let folder = workspace::root().join(TAKEN);
    folder.join(format!("readme-{theme}.png"))
}

/// Removes the pictures that an earlier test has left, so that none of them is taken for a new one.
pub(crate) fn forget_pictures() -> anyhow::Result<()> {
    for theme in PICTURES {
        workshop::remove(&taken(theme))?;
    }
    Ok(())
}

/// Copies the pictures that a test has taken to where README shows them.
///
/// # Errors
/// There are none: the test is ignored without a browser.
pub(crate) fn keep_pictures() -> anyhow::Result<()> {
    let folder = workspace::root().join(SHOWN);
    std::fs::create_dir_all(&folder)?;
    for theme in PICTURES {
        let to = folder.join(format!("console-{theme}.png"));
        std::fs::copy(taken(theme), &to)
            .with_context(|| format!("no picture was taken for `{}`", to.display()))?;
        eprintln!("pictures: {SHOWN}/console-{theme}.png");
    }
    Ok(())
}

/// Prints the link to the console of the server that is about to start with these arguments. It has
/// a new key of the first account in `data`. A server without accounts creates one when it starts,
/// and prints the link itself.
///
/// # Errors
/// The server's program cannot be run, or refuses to create the key.
#[expect(
    clippy::disallowed_methods,
    reason = "the server reads the same variable"
)]
pub(crate) fn print_link(server: &Path, data: &str, arguments: &[String]) -> anyhow::Result<()> {
    if !workspace::root().join(data).is_dir() {
        return Ok(());
    }
    let ask = |words: &[&str]| ask(server, data, words);
    let accounts = ask(&["list"])?;
    let Some(account) = accounts[0]["account"].as_str() else {
        return Ok(());
    };
    let keys = ask(&["key", "list", account])?;
    for replaced in named(&keys, KEY_NAME) {
        ask(&["key", "revoke", account, replaced])?;
    }
    let created = ask(&["key", "create", account, "--name", KEY_NAME])?;
    let key = created["api_key"].as_str().context("there is no new key")?;
    let listen = std::env::var("TRAWL_LISTEN").ok();
    let address = address(arguments, listen.as_deref());
    eprintln!("\nThe console, signed in:\n\n    http://{address}/#key={key}\n");
    Ok(())
}

/// The JSON that an account command of the server prints.
fn ask(server: &Path, data: &str, words: &[&str]) -> anyhow::Result<Value> {
    let mut command = Command::new(server);
    command
        .current_dir(workspace::root())
        .arg("account")
        .args(words)
        .args(["--data", data, "--json"]);
    let line = workspace::in_words(&command);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed: {}", said.trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("`{line}` printed no JSON"))
}

/// The first characters of the keys with this name.
fn named<'a>(keys: &'a Value, name: &str) -> Vec<&'a str> {
    let keys = keys.as_array().map_or(&[][..], Vec::as_slice);
    let named = keys.iter().filter(|key| key["name"] == *name);
    named.filter_map(|key| key["key"].as_str()).collect()
}

/// Where a browser of this machine finds a server with these arguments, and this value of
/// `TRAWL_LISTEN`: `--listen` takes an address, or a port alone.
fn address(arguments: &[String], environment: Option<&str>) -> String {
    let mut words = arguments.iter().map(String::as_str);
    let mut given = environment;
    while let Some(word) = words.next() {
        if word == "--listen" {
            given = words.next();
        } else if let Some(value) = word.strip_prefix("--listen=") {
            given = Some(value);
        }
    }
    match given.map(str::trim) {
        None | Some("") => LISTEN_DEFAULT.to_owned(),
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("127.0.0.1:{port}")
        }
        Some(address) => address
            .replace("0.0.0.0:", "127.0.0.1:")
            .replace("[::]:", "[::1]:"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_link_leads_to_where_the_server_listens() {
        let check = |arguments: &[&str], environment: Option<&str>, expected: &str| {
            let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(address(&arguments, environment), expected, "{arguments:?}");
        };
        check(&[], None, "127.0.0.1:8700");
        check(&["--access-log", "off"], Some("8701"), "127.0.0.1:8701");
        check(&["--listen", "8702"], Some("8701"), "127.0.0.1:8702");
        check(&["--listen=0.0.0.0:80"], None, "127.0.0.1:80");
        check(&["--listen", "[::]:80"], None, "[::1]:80");
        check(&["--listen", "192.0.2.1:80"], None, "192.0.2.1:80");
    }

    #[test]
    fn only_the_keys_of_earlier_starts_are_replaced() {
        let keys = json!([
            {"key": "tr_a", "name": "console"}, {"key": "tr_b", "name": ""}, {"key": "tr_c", "name": "console 2"},
        ]);
        assert_eq!(named(&keys, KEY_NAME), ["tr_a"]);
        assert_eq!(named(&json!([]), KEY_NAME), [""; 0]);
    }
}
