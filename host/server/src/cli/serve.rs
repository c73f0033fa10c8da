//! `trawl serve`: runs the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use trawl_model::Nanodollars;
use trawl_net::egress::SAMPLE_HOST;

use super::engine_args::EngineArgs;
use crate::app::{App, Paths};
use crate::config::LISTEN_DEFAULT;
use crate::listener::descriptors;

/// The account that the first start creates.
const FIRST_ACCOUNT: &str = "default";
/// Its initial balance.
const FIRST_BALANCE: Nanodollars = Nanodollars(25 * trawl_model::money::PER_DOLLAR);

/// Options of `trawl serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// IP address and port to listen on.
    #[arg(long, env = "TRAWL_LISTEN", value_name = "ADDR", default_value_t = LISTEN_DEFAULT)]
    listen: SocketAddr,
    /// Data directory; created if missing.
    #[arg(long, env = "TRAWL_DATA", value_name = "DIR", default_value = "data")]
    data: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: ServeArgs) -> anyhow::Result<()> {
    trawl_telemetry::start_logs(super::log_filter().as_deref())?;
    trawl_telemetry::log_panics();
    trawl_telemetry::start_metrics()?;
    keep_private();
    let (config, plugins) = args.engine.load()?;
    descriptors::raise();
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
        format!(
            "cannot listen on `{}`; choose another address with `--listen`",
            args.listen
        )
    })?;
    let address = listener.local_addr()?;
    let paths = Paths {
        data: args.data,
        plugins,
    };
    let app = App::build(config, &paths).await?;
    greet(&app, address).await?;
    let stopping = Arc::clone(&app);
    let signals = tokio::spawn(async move {
        if stop_signal().await.is_ok() {
            tracing::info!("shutting down: new requests are refused, requests in flight finish");
            stopping.stop();
        }
    });
    let served = app.serve(listener).await;
    signals.abort();
    served
}

/// Makes all files of the process private to its user, and a crash write no image of its memory,
/// which has the secrets of every caller.
fn keep_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let limit = rustix::process::getrlimit(Resource::Core);
    // A file needs a page. A program that gets the image through a pipe gets it whatever the limit,
    // 0 included, but for a limit of one byte: with that Linux starts none.
    let one = limit.maximum.map_or(1, |maximum| maximum.min(1));
    let none = Rlimit {
        current: Some(one),
        ..limit
    };
    if let Err(error) = rustix::process::setrlimit(Resource::Core, none) {
        tracing::warn!(%error, "core dumps cannot be turned off");
    }
}

/// Prints how to get a page. On the first start, creates an account and prints its key.
async fn greet(app: &App, address: SocketAddr) -> anyhow::Result<()> {
    let billing = app.billing();
    let is_first = billing.accounts().is_empty();
    let key = if is_first {
        let (_, key) = billing.create_account(FIRST_ACCOUNT, FIRST_BALANCE).await?;
        Some(key)
    } else {
        None
    };
    let admin = app.new_admin_key().map(|key| key.expose());
    let shown = key.as_ref().map_or("$TRAWL_KEY", |key| key.expose());
    let mut lines = vec![format!("\nTrawl is listening on http://{address}")];
    match &key {
        Some(key) => lines.push(format!(
            "\nCreated the account `{FIRST_ACCOUNT}` with a balance of {FIRST_BALANCE}. Its key is shown only once:\n\n    {}",
            key.expose()
        )),
        None => lines.push(format!(
            "Keys are shown only when they are created. To create another one: trawl account key create {FIRST_ACCOUNT}"
        )),
    }
    if let Some(admin) = admin {
        lines.push(format!(
            "\nThe admin key, for /admin, /providers and /metrics, is shown only once:\n\n    {admin}"
        ));
    }
    lines.push(format!(
        "\nTry it (the sample site is built in, no network needed):\n\n    \
         curl -s http://{address}/scrape -H 'Authorization: Bearer {shown}' -H 'Content-Type: application/json' \
         -d '{{\"url\":\"http://{SAMPLE_HOST}/\",\"return_format\":\"markdown\"}}'\n"
    ));
    super::print(&lines.join("\n"))
}

/// Waits for SIGTERM or SIGINT.
async fn stop_signal() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
