//! A server of the command's own.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::body::{Body, Bytes};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, Request, header};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use trawl_model::Nanodollars;
use trawl_model::secret::Secret;

use super::server::{Answer, Server, authorization};
use crate::app::{App, Paths};
use crate::config::{AccessLogSetting, Config};

/// The account that is charged. No real money is involved; the charges show what a server would
/// bill.
const ACCOUNT: &str = "agent";
/// Its balance: more than any work costs.
const BALANCE: Nanodollars = Nanodollars(1_000_000 * trawl_model::money::PER_DOLLAR);

/// A server in this process.
pub(super) struct Own {
    app: Arc<App>,
    interface: Router,
    /// Of this process: it is revoked at its end.
    key: Secret,
    serving: Mutex<Option<JoinHandle<anyhow::Result<()>>>>,
}

impl Own {
    /// Starts the server in a data directory, which is created if it is missing.
    ///
    /// # Errors
    /// The directory is in use, or a setting is invalid.
    pub(super) async fn start(
        mut config: Config,
        data: PathBuf,
        plugins: PathBuf,
    ) -> anyhow::Result<Self> {
        // Standard output is for messages alone.
        config.http.access_log = AccessLogSetting::Off;
        let advice = || {
            format!(
                "cannot run a server in `{}`: give another folder with `--data`, or run `trawl serve` and give \
                 its `--url` and `--key`",
                data.display()
            )
        };
        let paths = Paths {
            data: data.clone(),
            plugins,
        };
        let app = App::build_alone(config, &paths).await;
        let app = app.with_context(advice)?;
        let key = key(&app).await?;
        // What serves also does the work of background crawls.
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let serving = tokio::spawn(Arc::clone(&app).serve(listener));
        Ok(Self {
            interface: app.interface(),
            app,
            key,
            serving: Mutex::new(Some(serving)),
        })
    }

    /// Stops the server. Its crawls continue at the next start.
    ///
    /// # Errors
    /// It failed while it served.
    pub(super) async fn stop(&self) -> anyhow::Result<()> {
        let billing = self.app.billing();
        if let Some(account) = billing.find(ACCOUNT) {
            billing.revoke_key(&account.id, self.key.expose()).await?;
        }
        self.app.stop();
        match self.serving.lock().await.take() {
            Some(serving) => serving.await?,
            None => Ok(()),
        }
    }
}

/// A new key of the account, which the first start creates.
async fn key(app: &App) -> anyhow::Result<Secret> {
    let billing = app.billing();
    match billing.find(ACCOUNT) {
        Some(account) => Ok(billing.create_key(&account.id, "mcp", None).await?),
        None => Ok(billing.create_account(ACCOUNT, BALANCE).await?.1),
    }
}

impl Server for Own {
    fn post(
        &self,
        mut headers: HeaderMap,
        message: Bytes,
    ) -> BoxFuture<'_, anyhow::Result<Answer>> {
        Box::pin(async move {
            headers.insert(header::AUTHORIZATION, authorization(&self.key)?);
            let mut request = Request::new(Body::from(message));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = http::Uri::from_static("/mcp");
            *request.headers_mut() = headers;
            let Ok(response) = self.interface.clone().oneshot(request).await;
            let (parts, body) = response.into_parts();
            let chunks = body.into_data_stream();
            let chunks = chunks.map(|chunk| chunk.map_err(anyhow::Error::from));
            Ok(Answer::new(parts.status, &parts.headers, chunks))
        })
    }
}
