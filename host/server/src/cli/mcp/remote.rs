//! A server that runs elsewhere.

use std::sync::Arc;

use anyhow::Context;
use axum::body::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::{HeaderMap, header};
use url::Url;

use trawl_model::secret::Secret;
use trawl_net::egress::{Egress, EgressConfig, Reply};

use super::server::{Answer, Server, authorization};

/// A server by its URL, for an account by its key.
pub(super) struct Remote {
    egress: Arc<Egress>,
    url: Url,
    key: Secret,
}

impl Remote {
    /// The server with its tools at this URL.
    ///
    /// # Errors
    /// Connections cannot be set up.
    pub(super) fn new(url: Url, key: Secret) -> anyhow::Result<Self> {
        let egress = Egress::new(EgressConfig {
            grants: vec![url.clone()],
            ..EgressConfig::default()
        })?;
        Ok(Self { egress, url, key })
    }
}

impl Server for Remote {
    fn post(
        &self,
        mut headers: HeaderMap,
        message: Bytes,
    ) -> BoxFuture<'_, anyhow::Result<Answer>> {
        Box::pin(async move {
            headers.insert(header::AUTHORIZATION, authorization(&self.key)?);
            let url = self.url.clone();
            let reply = self.egress.post_granted(url, headers, message).await;
            let reply = reply.with_context(|| {
                let origin = self.url.origin().ascii_serialization();
                format!("no answer from the server at {origin}")
            })?;
            let (status, headers) = (reply.status(), reply.headers().clone());
            Ok(Answer::new(status, &headers, chunks(reply)))
        })
    }
}

fn chunks(reply: Reply) -> impl stream::Stream<Item = anyhow::Result<Bytes>> + Send + 'static {
    stream::try_unfold(reply, |mut reply| async move {
        let chunk = reply.chunk().await?;
        anyhow::Ok(chunk.map(|chunk| (chunk, reply)))
    })
}
