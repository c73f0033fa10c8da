//! `trawl mcp`: passes the messages of an agent to a server, one that runs or one of its own.
//!
//! The tools are those of the server's `/mcp`; this command is a relay. Decision D490.

mod own;
mod pipes;
mod relay;
mod remote;
mod server;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use url::Url;

use trawl_model::secret::Secret;

use super::engine_args::EngineArgs;
use super::environment::{log_filter, state_folder};
use own::Own;
use remote::Remote;

/// The folder of the command's own server, in that of the states.
const FOLDER: &str = "mcp";

/// Options of `trawl mcp`.
#[derive(Debug, Args)]
pub(super) struct McpArgs {
    /// URL of a running server, such as http://127.0.0.1:8700; without it the command runs one of
    /// its own.
    #[arg(long, env = "TRAWL_URL", value_name = "URL", value_parser = server_url, requires = "key")]
    url: Option<Url>,
    /// Key of an account on that server. The variable is better: other users can see the options
    /// of a process.
    #[arg(long, env = "TRAWL_KEY", value_name = "KEY", hide_env_values = true)]
    key: Option<String>,
    /// Data directory of the command's own server (default: `mcp` in the folder of states).
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    data: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: McpArgs) -> anyhow::Result<()> {
    // Standard error is shown to the agent's user, so that there is nothing unless RUST_LOG is set.
    if let Some(filter) = log_filter() {
        trawl_telemetry::start_logs(Some(&filter))?;
    }
    let (messages, replies) = pipes::open();
    match (args.url, args.key) {
        (Some(url), Some(key)) => {
            let remote = Remote::new(url, Secret::new(key))?;
            relay::run(Arc::new(remote), messages, replies).await;
            Ok(())
        }
        _ => {
            let data = match args.data {
                Some(data) => data,
                None => state_folder()?.join(FOLDER),
            };
            let (config, plugins) = args.engine.load()?;
            let own = Arc::new(Own::start(config, data, plugins).await?);
            relay::run(own.clone(), messages, replies).await;
            own.stop().await
        }
    }
}

/// Reads the URL of a server; its path may be `/mcp` already.
///
/// # Errors
/// It is none, in words.
fn server_url(text: &str) -> Result<Url, String> {
    let form = "write it like `http://127.0.0.1:8700`";
    let mut url = Url::parse(text.trim()).map_err(|error| format!("{error}: {form}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("not the URL of a server: {form}"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with("/mcp") {
        url.set_path(&format!("{path}/mcp"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_server_leads_to_its_tools() {
        let check = |text: &str, expected: &str| {
            let url = server_url(text).map(String::from);
            assert_eq!(url.as_deref(), Ok(expected), "{text}");
        };
        check("http://127.0.0.1:8700", "http://127.0.0.1:8700/mcp");
        check(" https://a.example/trawl/ ", "https://a.example/trawl/mcp");
        check("https://a.example/v1/mcp", "https://a.example/v1/mcp");
        for wrong in ["", "127.0.0.1:8700", "localhost:8700", "ftp://a.example"] {
            let error = server_url(wrong).expect_err(wrong);
            assert!(error.contains("http://127.0.0.1:8700"), "{wrong}: {error}");
        }
    }
}
