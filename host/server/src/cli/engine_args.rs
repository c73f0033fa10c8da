//! Options of all commands that fetch pages.

use std::path::PathBuf;

use clap::Args;
use ipnet::IpNet;

use trawl_net::egress::AllowList;

use super::environment::{environment, environment_names, plugins_file};
use crate::config::{Config, Environment};

/// Plugins, configuration, private networks, and the browser.
#[derive(Debug, Args)]
pub(super) struct EngineArgs {
    /// Plugin manifest (default: `plugins.toml` in the working directory or next to the program,
    /// else the bundled one).
    #[arg(long, env = "TRAWL_PLUGINS", value_name = "FILE")]
    plugins: Option<PathBuf>,
    /// Configuration file.
    #[arg(long, env = "TRAWL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Allow a private IP address or range, such as 127.0.0.1 or 10.0.0.0/8; may be repeated.
    #[arg(
        long,
        env = "TRAWL_ALLOW_PRIVATE",
        value_name = "RANGE",
        value_parser = AllowList::parse_range,
        value_delimiter = ','
    )]
    allow_private: Vec<IpNet>,
    /// Path of the browser (default: the first of chromium-headless-shell, chromium, google-chrome
    /// on the PATH).
    #[arg(long, env = "TRAWL_BROWSER", value_name = "FILE")]
    browser: Option<PathBuf>,
}

impl EngineArgs {
    /// The configuration with these options applied, and the plugin manifest.
    ///
    /// # Errors
    /// The configuration cannot be read, or there is no manifest.
    pub(super) fn load(&self) -> anyhow::Result<(Config, PathBuf)> {
        let mut config = Config::load(self.config.as_deref())?;
        config.egress.allow_private.extend(&self.allow_private);
        if let Some(browser) = &self.browser {
            anyhow::ensure!(
                browser.is_file(),
                "no browser at `{}`; give the path of Chromium, or omit the option",
                browser.display()
            );
            config.browser.program = Some(browser.clone());
        }
        if let Some(path) = environment("PATH") {
            config.browser.search_path = path.into();
        }
        config.providers.environment = Environment(environment_names());
        Ok((config, plugins_file(self.plugins.clone())?))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        engine: EngineArgs,
    }

    #[test]
    fn a_single_ip_address_is_a_range_of_one() {
        let parsed = Command::try_parse_from(["x", "--allow-private", "127.0.0.1,10.0.0.0/8,::1"]);
        let ranges = parsed.expect("ranges").engine.allow_private;
        let texts: Vec<String> = ranges.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["127.0.0.1/32", "10.0.0.0/8", "::1/128"]);
        let refusal = Command::try_parse_from(["x", "--allow-private", "localhost"]);
        let text = refusal.expect_err("a name").to_string();
        assert!(text.contains("`localhost` is not an IP address"), "{text}");
    }
}
