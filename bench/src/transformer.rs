//! Runs the first-party components on pages as the server does, without a server.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;
use trawl_engine::extract::{self, CpuTime, Input, Outputs};
use trawl_model::{Content, Piece};
use trawl_plan::OutputPlan;
use trawl_plugins::Registry;
use url::Url;

use crate::corpus;

/// Deadline of one page, far above any measured time.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The loaded first-party components.
pub(crate) struct Transformer {
    registry: Arc<Registry>,
}

impl Transformer {
    /// Loads the components that `plugins.toml` of the repository lists.
    pub(crate) fn new(cache: &Path) -> anyhow::Result<Self> {
        let registry = corpus::registry(cache)?;
        Ok(Self { registry })
    }

    /// Output plan of a request object.
    pub(crate) fn plan(&self, request: Value) -> anyhow::Result<Arc<OutputPlan>> {
        let mut request = request;
        request["url"] = "page.invalid".into();
        let page = trawl_wire::plan(&request, &*self.registry)?.pop();
        let page = page.and_then(Result::ok);
        Ok(page.context("the request has no page")?.output)
    }

    /// Text content of a page, and the CPU time it took.
    ///
    /// # Errors
    /// A plugin failed, or the content is not text.
    pub(crate) fn text(
        &self,
        url: &str,
        html: &[u8],
        plan: &OutputPlan,
    ) -> anyhow::Result<(String, CpuTime)> {
        let (outputs, cpu) = self.run(url, html, plan)?;
        if let Some(failure) = outputs.failure {
            anyhow::bail!("{url}: {}", failure.message);
        }
        match outputs.content {
            Content::One(Piece::Text(text)) => Ok((text, cpu)),
            other => anyhow::bail!("{url}: expected text, got {other:?}"),
        }
    }

    /// All outputs of a page, including a failure, and the CPU time they took.
    pub(crate) fn run(
        &self,
        url: &str,
        html: &[u8],
        plan: &OutputPlan,
    ) -> anyhow::Result<(Outputs, CpuTime)> {
        let input = Input {
            url: Url::parse(url).unwrap_or(Url::parse("https://page.invalid/")?),
            body: html.to_vec().into(),
            content_type: "text/html; charset=utf-8".to_owned(),
            is_serialised: false,
            screenshot: None,
        };
        let deadline = Instant::now() + TIME_MAX;
        Ok(extract::run(&self.registry, &input, plan, deadline))
    }
}
