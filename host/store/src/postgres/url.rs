//! The address of a PostgreSQL database, as the configuration has it.

use std::fmt;
use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// The database behind a path alone.
const DATABASE: &str = "trawl";

/// A database: `postgres://user:password@host/database`, or the path of the folder that has the
/// server's socket, which means the database `trawl`. What is left out has the defaults of
/// PostgreSQL's own clients.
///
/// A host that is another machine must show a certificate of a known authority, unless `sslmode`
/// says otherwise.
#[derive(Clone)]
pub struct PostgresUrl {
    options: PgConnectOptions,
    shown: String,
}

/// The text is not a [`PostgresUrl`]. It is not repeated, because it may have a password.
#[derive(Debug, thiserror::Error)]
#[error(
    "is neither `postgres://user:password@host/database` nor the path of a socket's folder: {reason}"
)]
pub struct NotAPostgresUrl {
    reason: String,
}

impl FromStr for PostgresUrl {
    type Err = NotAPostgresUrl;

    fn from_str(text: &str) -> Result<Self, NotAPostgresUrl> {
        let refusal = |reason: String| NotAPostgresUrl { reason };
        let options = if text.starts_with('/') {
            PgConnectOptions::new().socket(text).database(DATABASE)
        } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let parsed = PgConnectOptions::from_str(text);
            parsed.map_err(|error| refusal(error.to_string()))?
        } else {
            let reason = "it begins with neither `postgres://` nor `/`";
            return Err(refusal(reason.to_owned()));
        };
        let has_mode = text.contains("sslmode=") || text.contains("ssl-mode=");
        let options = match has_mode || is_here(&options) {
            true => options,
            false => options.ssl_mode(PgSslMode::VerifyFull),
        };
        let shown = shown(&options);
        Ok(Self { options, shown })
    }
}

impl PostgresUrl {
    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// The server and the database, without user and password.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl fmt::Debug for PostgresUrl {
    /// Without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresUrl").field(&self.shown).finish()
    }
}

/// Whether the server is on this machine.
fn is_here(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

fn shown(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or("(the user's)");
    match options.get_socket() {
        Some(socket) => format!("{}, database {database}", socket.display()),
        None => {
            let (host, port) = (options.get_host(), options.get_port());
            format!("{host}:{port}, database {database}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> PostgresUrl {
        text.parse().expect(text)
    }

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        let url = parse("postgres://ann:s3cret@db.example:6000/pages");
        assert_eq!(url.shown(), "db.example:6000, database pages");
        assert!(!format!("{url:?}").contains("s3cret"));
        let socket = parse("/run/postgresql");
        assert_eq!(socket.shown(), "/run/postgresql, database trawl");
    }

    #[test]
    fn another_machine_must_show_its_certificate() {
        let is_verified = |text: &str| {
            let mode = parse(text).options.get_ssl_mode();
            matches!(mode, PgSslMode::VerifyFull)
        };
        assert!(is_verified("postgres://db.example/pages"));
        assert!(!is_verified("postgres://db.example/pages?sslmode=disable"));
        for here in [
            "/run/postgresql",
            "postgres://localhost/pages",
            "postgres://127.0.0.1/pages",
            "postgres://[::1]/pages",
            "postgres:///pages?host=/run/postgresql",
        ] {
            assert!(!is_verified(here), "{here}");
        }
    }

    #[test]
    fn other_texts_are_refused_without_repeating_them() {
        for text in [
            "",
            "mysql://ann:s3cret@db/x",
            "db.example",
            "postgres://[s3cret",
        ] {
            let refusal = text.parse::<PostgresUrl>().expect_err(text).to_string();
            assert!(!refusal.contains("s3cret"), "{refusal}");
            assert!(refusal.contains("postgres://user"), "{refusal}");
        }
    }
}
