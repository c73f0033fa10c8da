//! `trawl provider request`: prints the requests of an adapter without sending them.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use trawl_contract::provider::{Class, Failure, Pool, Reply, Screenshot, Step, Task, WaitFor};
use trawl_engine::providers::{Keys, Needs, prepare, unfit};
use trawl_plugins::ProviderPlugin;

use super::{PageArgs, outcome, replies};
use crate::cli::engine_args::EngineArgs;
use crate::cli::standard_output::print;

/// Options of `trawl provider request`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RequestArgs {
    #[command(flatten)]
    page: PageArgs,
    /// Take a full-page screenshot
    #[arg(long)]
    screenshot: bool,
    /// Reply of the service, to see the next request: a raw HTTP/1.1 response, a JSON object with
    /// status, headers and body_text or body_base64, or any other file as the body of a 200; may be
    /// repeated
    #[arg(long, value_name = "FILE")]
    reply: Vec<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) fn run(args: &RequestArgs) -> anyhow::Result<()> {
    let (_, manifest) = args.engine.load()?;
    let registry = super::plugins(manifest)?;
    let plugin = super::named(&registry, &args.page.name)?;
    let (task, keys) = (task(args, &plugin)?, args.page.keys()?);
    let replies: Vec<Reply<'static>> = args
        .reply
        .iter()
        .map(|path| replies::read(path))
        .collect::<anyhow::Result<_>>()?;
    // A service may repeat its credentials; in a file as in a real reply they are cut out.
    let mut replies = replies.into_iter().map(|reply| keys.scrubbed(reply));
    let mut last: Option<Reply<'static>> = None;
    let mut step = match unfit(plugin.description(), Needs::of_task(&task)) {
        Some(reason) => {
            let failure = Failure::new(Class::Unsupported, reason);
            Step::Failed(Box::new(failure))
        }
        None => plugin.start(&task)?,
    };
    loop {
        let exchange = match step {
            Step::Send(exchange) => *exchange,
            Step::Done(page) => {
                let shown = outcome::page(&page, last.as_ref(), plugin.grant());
                return finish(args.json, &shown);
            }
            Step::Failed(failure) => {
                return finish(args.json, &outcome::failure(&failure, plugin.grant()));
            }
        };
        print(&request_text(
            &exchange.request,
            &task,
            &plugin,
            &keys,
            args.json,
        )?)?;
        let Some(reply) = replies.next() else {
            return Ok(());
        };
        step = plugin.resume(&task, &exchange.memo, &reply)?;
        last = Some(reply);
    }
}

fn task(args: &RequestArgs, plugin: &ProviderPlugin) -> anyhow::Result<Task> {
    let page = &args.page;
    let grant = plugin.grant();
    let url = url::Url::parse(&page.url).with_context(|| format!("`{}` is not a URL", page.url))?;
    let target = page.request();
    Ok(Task {
        method: target.method,
        body: target.body,
        headers: page.headers()?,
        cookies: page.cookies()?,
        javascript: page.js,
        wait_ms: page.wait,
        wait_for: page.wait_for.as_ref().map(|selector| WaitFor {
            selector: selector.clone(),
            time_ms: u32::try_from(trawl_plan::WAIT_DEFAULT.as_millis()).unwrap_or(u32::MAX),
        }),
        script: page.script.clone(),
        country: page.country.as_ref().map(|code| code.to_uppercase()),
        pool: if page.residential {
            Pool::Residential
        } else {
            Pool::Standard
        },
        screenshot: args.screenshot.then_some(Screenshot::FullPage),
        time_ms: u32::try_from(grant.time_max.as_millis()).unwrap_or(u32::MAX),
        settings: grant.settings.to_string(),
        ..Task::new(url.as_str(), &grant.base)
    })
}

/// The request as it would be sent. `target` is the request target of RFC 9112 section 3.2.1; the
/// host is a header.
fn request_text(
    request: &trawl_contract::provider::Request,
    task: &Task,
    plugin: &ProviderPlugin,
    keys: &Keys,
    is_json: bool,
) -> anyhow::Result<String> {
    let request = prepare(request, task, plugin.grant(), keys).map_err(|reason| {
        let reason = reason.to_string();
        let is_missing = reason.starts_with("there is no value");
        let hint = if is_missing {
            ", give it with --credential NAME=VALUE"
        } else {
            ""
        };
        anyhow::anyhow!("the host refuses the request: {reason}{hint}")
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

fn finish(is_json: bool, outcome: &Value) -> anyhow::Result<()> {
    let text = if is_json {
        outcome.to_string()
    } else {
        serde_json::to_string_pretty(outcome)?
    };
    print(&text)?;
    let failure = &outcome["failure"];
    if failure["class"] != Class::Unsupported.name() {
        return Ok(());
    }
    let reason = failure["message"].as_str().unwrap_or_default();
    bail!("nothing would be sent: {reason}")
}
