//! `trawl serve`: runs the server.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use trawl_model::Nanodollars;
use trawl_model::secret::Secret;
use trawl_net::egress::SAMPLE_HOST;

use super::engine_args::EngineArgs;
use super::environment::log_filter;
use super::listen::{listen_address, on_this_machine};
use super::standard_output::print;
use crate::app::{App, Paths, Waiting, start_logs};
use crate::config::{AccessLogSetting, Config, LISTEN_DEFAULT};
use crate::listener::descriptors;

/// The data directory by default.
const DATA_DEFAULT: &str = "data";
/// The account that the first start creates.
const FIRST_ACCOUNT: &str = "default";
/// Its initial balance.
const FIRST_BALANCE: Nanodollars = Nanodollars(25 * trawl_model::money::PER_DOLLAR);

/// Options of `trawl serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// IP address and port to listen on; 127.0.0.1 with a port alone or `localhost`.
    #[arg(
        long,
        env = "TRAWL_LISTEN",
        value_name = "ADDR",
        default_value_t = LISTEN_DEFAULT,
        value_parser = listen_address
    )]
    listen: SocketAddr,
    /// Data directory; created if missing.
    #[arg(long, env = "TRAWL_DATA", value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
    /// PostgreSQL database for accounts and crawls: `postgres://user:password@host/database`, or
    /// the folder of its socket (default: a SQLite file in the data directory).
    #[arg(long, env = "TRAWL_STORE", value_name = "URL", hide_env_values = true)]
    store: Option<String>,
    /// Where the pages of crawls are stored, with a PostgreSQL database: `s3://bucket/prefix`, or
    /// `file:///folder` (default: files in the data directory).
    #[arg(long, env = "TRAWL_OBJECTS", value_name = "URL")]
    objects: Option<String>,
    /// Where other servers of the database reach this one: `10.0.0.5:8700` or `name:8700` (default:
    /// the address that it listens on, unless that stands for all of the machine).
    #[arg(long, env = "TRAWL_ADDRESS", value_name = "ADDR")]
    address: Option<String>,
    /// Wait while another server uses the PostgreSQL database, send requests to it, extract pages
    /// for it, and take over when it has ended.
    #[arg(long, env = "TRAWL_STANDBY")]
    standby: bool,
    /// Access log on standard output (default: common on a terminal, otherwise json).
    #[arg(long, env = "TRAWL_ACCESS_LOG", value_enum, value_name = "FORMAT")]
    access_log: Option<AccessLogSetting>,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: ServeArgs) -> anyhow::Result<()> {
    // From now on, so that it does not end a server that starts.
    let hangup = signal(SignalKind::hangup())?;
    let (mut config, plugins) = args.engine.load()?;
    let spans = start_logs(log_filter().as_deref(), &config.trace)?;
    trawl_telemetry::log_panics();
    trawl_telemetry::start_metrics()?;
    keep_private();
    if let Some(setting) = args.access_log {
        config.http.access_log = setting;
    }
    if args.store.is_some() {
        config.store.url = args.store;
    }
    if args.objects.is_some() {
        config.store.objects = args.objects;
    }
    if args.address.is_some() {
        config.store.address = args.address;
    }
    config.store.standby |= args.standby;
    descriptors::raise();
    let paths = Paths {
        data: args.data,
        plugins,
    };
    let listener = listen(args.listen).await?;
    let address = listener.local_addr()?;
    let (app, listener) = if config.store.standby {
        build_in_turn(listener, config, &paths).await?
    } else {
        (App::build(config, &paths).await?, listener)
    };
    let exporting = spans.map(|spans| app.export_spans(spans)).transpose()?;
    greet(&app, address, &paths.data).await?;
    let stopping = Arc::clone(&app);
    let mut stop_signals = StopSignals::listen(hangup)?;
    let signals = tokio::spawn(async move {
        stop_signals.received().await;
        tracing::info!("shutting down: new requests are refused, requests in flight finish");
        stopping.stop();
    });
    let served = app.serve(listener).await;
    signals.abort();
    if let Some(exporting) = exporting {
        exporting.finish().await;
    }
    served
}

/// Waits for the database, and sends requests to the server that has it meanwhile.
async fn build_in_turn(
    listener: TcpListener,
    config: Config,
    paths: &Paths,
) -> anyhow::Result<(Arc<App>, TcpListener)> {
    // Two of one socket: the first ends with the wait.
    let own = listener.into_std()?;
    let waiting = TcpListener::from_std(own.try_clone()?)?;
    let (learned, ended) = (Waiting::default(), CancellationToken::new());
    let standing_by = App::stand_by(&config, waiting, &learned, ended.clone())?;
    tokio::spawn(standing_by);
    let app = App::build_in_turn(config, paths, &learned).await?;
    ended.cancel();
    Ok((app, TcpListener::from_std(own)?))
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on `{address}`; choose another address with `--listen`")
    })
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
async fn greet(app: &App, address: SocketAddr, data: &Path) -> anyhow::Result<()> {
    let billing = app.billing();
    let accounts = billing.accounts();
    let (account, key) = match accounts.first() {
        Some((account, _)) => (account.name.clone(), None),
        None => {
            let (account, key) = billing.create_account(FIRST_ACCOUNT, FIRST_BALANCE).await?;
            (account.name.clone(), Some(key))
        }
    };
    let program = std::env::args_os().next();
    let program = program.map(|program| program.to_string_lossy().into_owned());
    let admin_key = app.unused_admin_key();
    let printed = print(&greeting(&Greeting {
        address,
        program: program.as_deref().unwrap_or("trawl"),
        data,
        account: &account,
        key: key.as_ref(),
        admin_key,
    }));
    // The keys would be lost otherwise.
    if key.is_some() || admin_key.is_some() {
        return printed.context("cannot print the new keys to standard output");
    }
    if let Err(error) = printed {
        tracing::warn!(error = %error, "standard output cannot be written");
    }
    Ok(())
}

/// What the greeting says.
struct Greeting<'a> {
    address: SocketAddr,
    /// The program as it was called.
    program: &'a str,
    data: &'a Path,
    /// An account, and its key if it is new.
    account: &'a str,
    key: Option<&'a Secret>,
    admin_key: Option<&'a Secret>,
}

/// The text of the greeting. Its commands can be pasted into a shell.
fn greeting(it: &Greeting<'_>) -> String {
    let address = on_this_machine(it.address);
    let account = it.account;
    let mut text = format!("\nTrawl is listening on http://{}\n", it.address);
    if let Some(key) = it.key {
        text += &format!(
            "\nCreated the account `{account}` with a balance of {FIRST_BALANCE}. Its key is shown only once:\n\n    {}\n",
            key.expose()
        );
    } else {
        let mut command = format!(
            "{} account key create {}",
            quoted(it.program),
            quoted(account)
        );
        if it.data != Path::new(DATA_DEFAULT) {
            command += &format!(" --data {}", quoted(&it.data.to_string_lossy()));
        }
        text += &format!(
            "\nKeys are shown only when they are created. To create another one:\n\n    {command}\n"
        );
    }
    if let Some(key) = it.admin_key {
        text += &format!(
            "\nThe admin key, for /admin, /providers and /metrics, is shown until its first use:\n\n    {}\n",
            key.expose()
        );
    }
    text += &console(address, it.key);
    let shown = it.key.map_or("$TRAWL_KEY", Secret::expose);
    let with = match it.key {
        Some(_) => "",
        None => " with a key in the variable TRAWL_KEY",
    };
    text += &format!(
        "\nTry it{with} (the sample site is built in, no network needed):\n\n    \
         curl -s http://{address}/scrape -H \"Authorization: Bearer {shown}\" -H 'Content-Type: application/json' \
         -d '{{\"url\":\"http://{SAMPLE_HOST}/\",\"return_format\":\"markdown\"}}'\n"
    );
    text
}

/// The paragraph about the console. With a new key it is a link that signs the browser in; what
/// follows `#` is not sent to any server, and the console takes it out of the browser's address.
fn console(address: SocketAddr, key: Option<&Secret>) -> String {
    match key {
        Some(key) => format!(
            "\nThe console, signed in:\n\n    http://{address}/#key={}\n",
            key.expose()
        ),
        None => format!("\nThe console, which asks for a key:\n\n    http://{address}/\n"),
    }
}

/// The word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The signals that stop the server: SIGTERM, SIGINT, and SIGHUP on a terminal, which is being
/// closed. Elsewhere it comes from tools that rotate logs, and means nothing. Decision D301.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    is_on_terminal: bool,
}

impl StopSignals {
    fn listen(hangup: Signal) -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup,
            is_on_terminal: std::io::stderr().is_terminal(),
        })
    }

    /// Waits for one of them.
    async fn received(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                hung_up = self.hangup.recv() => match hung_up {
                    Some(()) if self.is_on_terminal => return,
                    Some(()) => tracing::info!("SIGHUP is ignored: there is nothing to reopen or reload"),
                    None => return,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again<'a>(address: &str, data: &'a Path, account: &'a str) -> Greeting<'a> {
        Greeting {
            address: address.parse().expect("an address"),
            program: "target/release/trawl",
            data,
            account,
            key: None,
            admin_key: None,
        }
    }

    #[test]
    fn a_second_start_prints_commands_that_can_be_pasted() {
        let data = Path::new("/srv/my data");
        let text = greeting(&again("0.0.0.0:8700", data, "it's mine"));
        let command =
            r"    target/release/trawl account key create 'it'\''s mine' --data '/srv/my data'";
        assert!(text.lines().any(|line| line == command), "{text}");
        assert!(text.contains(" listening on http://0.0.0.0:8700\n"));
        let curl =
            r#"    curl -s http://127.0.0.1:8700/scrape -H "Authorization: Bearer $TRAWL_KEY" "#;
        assert!(text.contains(curl), "{text}");
        assert!(!text.contains("admin"), "{text}");
        assert!(text.contains("\n    http://127.0.0.1:8700/\n"), "{text}");
        let text = greeting(&again("[::]:8700", Path::new(DATA_DEFAULT), "default"));
        assert!(text.contains("    target/release/trawl account key create default\n"));
        assert!(text.contains("curl -s http://[::1]:8700/scrape"));
    }

    #[test]
    fn keys_are_shown_when_they_are_new() {
        let (key, admin) = (Secret::new("tr_one"), Secret::new("tra_two"));
        let text = greeting(&Greeting {
            key: Some(&key),
            admin_key: Some(&admin),
            ..again("127.0.0.1:1", Path::new(DATA_DEFAULT), "default")
        });
        assert_eq!(text.matches("\n    tr_one\n").count(), 1);
        assert_eq!(text.matches("\n    tra_two\n").count(), 1);
        assert!(text.contains("\n    http://127.0.0.1:1/#key=tr_one\n"));
        assert_eq!(text.matches("tra_two").count(), 1, "not in the link");
        assert!(text.contains("\"Authorization: Bearer tr_one\""), "{text}");
    }
}
