//! `trawl provider request`: a conversation on paper.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};
use trawl_sdk::provider::{Pool, Reply, Screenshot, Step, Task, WaitFor};

use super::{WantedArgs, replies};
use crate::cli::engine_args::EngineArgs;
use trawl_engine::providers::{Keys, prepare};
use trawl_plugins::ProviderPlugin;

/// Options of `trawl provider request`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RequestArgs {
    #[command(flatten)]
    wanted: WantedArgs,
    /// Method of the page's request
    #[arg(long, default_value = "GET")]
    method: String,
    /// Body of the page's request
    #[arg(long, default_value = "")]
    body: String,
    /// Have a picture of the whole page made
    #[arg(long)]
    screenshot: bool,
    /// A reply of the service, to see what is sent next: a raw HTTP/1.1 response, a JSON object with status, headers and
    /// body_text or body_base64, or any other file as the body of a 200; may be repeated
    #[arg(long, value_name = "FILE")]
    reply: Vec<PathBuf>,
    /// Print a JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) fn run(args: &RequestArgs) -> anyhow::Result<()> {
    let (_, manifest) = args.engine.load()?;
    let registry = super::plugins(manifest)?;
    let plugin = super::named(&registry, &args.wanted.name)?;
    let (task, keys) = (task(args, &plugin)?, args.wanted.keys()?);
    let replies: Vec<Reply<'static>> = args
        .reply
        .iter()
        .map(|path| replies::read(path))
        .collect::<anyhow::Result<_>>()?;
    let mut replies = replies.iter();
    let mut step = plugin.start(&task)?;
    loop {
        let exchange = match step {
            Step::Send(exchange) => *exchange,
            Step::Done(page) => {
                return end(
                    args.json,
                    &json!({"page": {
                        "status": page.status, "url": page.url, "route": page.variant, "request_id": page.request_id,
                        "cost": plugin.grant().prices.dollars(&page.cost).dollars_text(),
                    }}),
                );
            }
            Step::Failed(failure) => {
                return end(
                    args.json,
                    &json!({"failure": {
                        "class": failure.class.name(), "message": failure.message, "target_status": failure.target_status,
                        "retry_after": failure.retry_after,
                    }}),
                );
            }
        };
        crate::cli::print(&shown(&exchange.request, &task, &plugin, &keys, args.json)?)?;
        let Some(reply) = replies.next() else {
            return Ok(());
        };
        step = plugin.resume(&task, &exchange.memo, reply)?;
    }
}

fn task(args: &RequestArgs, plugin: &ProviderPlugin) -> anyhow::Result<Task> {
    let wanted = &args.wanted;
    let grant = plugin.grant();
    let url = url::Url::parse(&wanted.url)
        .with_context(|| format!("`{}` is not an address", wanted.url))?;
    Ok(Task {
        method: args.method.to_uppercase(),
        body: args.body.clone().into_bytes(),
        headers: wanted.headers()?,
        cookies: wanted.cookies()?,
        javascript: wanted.js,
        wait_ms: wanted.wait,
        wait_for: wanted.wait_for.as_ref().map(|selector| WaitFor {
            selector: selector.clone(),
            time_ms: u32::try_from(trawl_plan::WAIT_DEFAULT.as_millis()).unwrap_or(u32::MAX),
        }),
        script: wanted.script.clone(),
        country: wanted.country.as_ref().map(|code| code.to_uppercase()),
        pool: match wanted.residential {
            true => Pool::Residential,
            false => Pool::Standard,
        },
        screenshot: args.screenshot.then_some(Screenshot::FullPage),
        time_ms: u32::try_from(grant.time_max.as_millis()).unwrap_or(u32::MAX),
        settings: grant.settings.to_string(),
        ..Task::new(url.as_str(), &grant.base)
    })
}

/// The request as it would be sent: `target` is the request target of RFC 9112 section 3.2.1, the host is among the headers.
fn shown(
    request: &trawl_sdk::provider::Request,
    task: &Task,
    plugin: &ProviderPlugin,
    keys: &Keys,
    is_json: bool,
) -> anyhow::Result<String> {
    let request = prepare(request, task, plugin.grant(), keys).map_err(|reason| {
        let reason = reason.to_string();
        let hint = match reason.starts_with("there is no value") {
            true => ", give it with --credential NAME=VALUE",
            false => "",
        };
        anyhow::anyhow!("the request is refused: {reason}{hint}")
    })?;
    let url = request.url();
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut headers = vec![("host".to_owned(), host.to_owned())];
    let sent = request.headers().iter();
    headers.extend(sent.map(|(name, value)| (name.as_str().to_owned(), text(value))));
    let body = request.body().and_then(|body| body.as_bytes());
    let body = String::from_utf8_lossy(body.unwrap_or_default()).into_owned();
    if is_json {
        let object = json!({
            "method": request.method().as_str(), "target": target, "url": url.as_str(), "headers": headers,
            "body_text": body,
        });
        return Ok(object.to_string());
    }
    let lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    Ok(format!(
        "{} {target}\n{}\n\n{body}",
        request.method(),
        lines.join("\n")
    ))
}

fn end(is_json: bool, outcome: &Value) -> anyhow::Result<()> {
    let text = match is_json {
        true => outcome.to_string(),
        false => serde_json::to_string_pretty(outcome)?,
    };
    crate::cli::print(&text)?;
    match outcome["failure"]["class"].as_str() {
        Some("unsupported") => bail!("the provider cannot do this; nothing would be sent"),
        _ => Ok(()),
    }
}
