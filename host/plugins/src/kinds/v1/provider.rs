//! Providers in version 1 of their contract: conversions between the contract's types, which the
//! host uses, and the bindings'.

use trawl_contract::provider as contract;
use trawl_contract::provider::{Credential, Description, Pool, Screenshot, Step};
use trawl_contract::{convert_answers, convert_exchanges};

use super::Export;
use super::bindings::exports::trawl::provider::provider as wit;
use super::bindings::trawl::provider::service;
use crate::call::instance::LinkedComponent;
use crate::call::plugin::Measured;
use crate::error::Fault;
use crate::info::{Described, Needs};
use crate::kinds::provider::Converse;

/// An opened adapter: its description as a plugin, its description as a provider, its functions.
type Opened = (Described, Description, Box<dyn Converse>);

/// Opens a provider component: looks up its exports and calls `describe`.
///
/// # Errors
/// The failure of `describe`, or a missing export.
pub(crate) fn open_provider(component: LinkedComponent) -> Result<Opened, Fault> {
    let indices = wit::GuestIndices::new(component.linked()).map_err(|error| Fault::Trap {
        reason: error.to_string(),
    })?;
    let described = component.call(|store, instance| {
        let description = indices.load(&mut *store, instance)?.call_describe(store)?;
        Ok(Ok(description))
    });
    let description = described.result?;
    let provider = describe(&description);
    let export = Export {
        component,
        indices,
        needs: Needs::default(),
    };
    Ok((
        Described::from(description.info),
        provider,
        Box::new(export),
    ))
}

impl Converse for Export<wit::GuestIndices> {
    fn start(&self, task: &contract::Task) -> Measured<Step> {
        let lent = Lent::of(task);
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            Ok(Ok(exports.call_start(store, lent.task(task))?.into()))
        })
    }

    fn resume(
        &self,
        task: &contract::Task,
        memo: &[u8],
        reply: &contract::Reply<'_>,
    ) -> Measured<Step> {
        let lent = Lent::of(task);
        let headers = pairs(&reply.headers);
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let reply = lend(reply, &headers);
            Ok(Ok(exports
                .call_resume(store, lent.task(task), memo, reply)?
                .into()))
        })
    }
}

/// Lists of a task, borrowed as the bindings require.
struct Lent<'a> {
    headers: Vec<(&'a str, &'a str)>,
    cookies: Vec<(&'a str, &'a str)>,
}

impl<'a> Lent<'a> {
    fn of(task: &'a contract::Task) -> Self {
        Self {
            headers: pairs(&task.headers),
            cookies: pairs(&task.cookies),
        }
    }

    fn task(&'a self, task: &'a contract::Task) -> wit::Task<'a> {
        wit::Task {
            url: &task.url,
            method: &task.method,
            body: &task.body,
            headers: &self.headers,
            cookies: &self.cookies,
            javascript: if task.javascript {
                wit::Javascript::On
            } else {
                wit::Javascript::Off
            },
            wait_ms: task.wait_ms,
            wait_for: task.wait_for.as_ref().map(|wait| wit::WaitFor {
                selector: &wait.selector,
                time_ms: wait.time_ms,
            }),
            script: task.script.as_deref(),
            country: task.country.as_deref(),
            pool: match task.pool {
                Pool::Standard => wit::Pool::Standard,
                Pool::Residential => wit::Pool::Residential,
            },
            screenshot: task.screenshot.map(|screenshot| match screenshot {
                Screenshot::Window => wit::Screenshot::Window,
                Screenshot::FullPage => wit::Screenshot::FullPage,
            }),
            time_ms: task.time_ms,
            base: &task.base,
            settings: &task.settings,
        }
    }
}

/// A reply as the bindings require it, with its [`pairs`].
pub(super) fn lend<'a>(
    reply: &'a contract::Reply<'_>,
    headers: &'a [(&'a str, &'a str)],
) -> service::Reply<'a> {
    service::Reply {
        status: reply.status,
        headers,
        body: &reply.body,
        elapsed_ms: reply.elapsed_ms,
    }
}

/// Pairs, borrowed as the bindings require.
pub(super) fn pairs(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

fn describe(description: &wit::Description) -> Description {
    Description {
        name: description.info.name.clone(),
        version: description.info.version.clone(),
        summary: description.info.summary.clone(),
        settings_schema: description.info.options_schema.clone(),
        label: description.label.clone(),
        credentials: description.credentials.clone(),
        base: description.base.clone(),
        hosts: description.hosts.clone(),
        plain: description.plain.into(),
        rendered: description.rendered.into(),
        units: description.units.clone(),
        time_ms: description.time_ms,
    }
}

convert_exchanges!(service => contract);
convert_answers!(wit => contract);

impl From<wit::Step> for Step {
    fn from(step: wit::Step) -> Self {
        match step {
            wit::Step::Send(exchange) => Self::Send(Box::new(exchange.into())),
            wit::Step::Done(page) => Self::Done(Box::new(page.into())),
            wit::Step::Failed(failure) => Self::Failed(Box::new(failure.into())),
        }
    }
}

impl From<service::Credential> for Credential {
    fn from(credential: service::Credential) -> Self {
        match credential {
            service::Credential::Query((parameter, name)) => Self::Query(parameter, name),
            service::Credential::Header((header, name)) => Self::Header(header, name),
            service::Credential::Bearer(name) => Self::Bearer(name),
            service::Credential::Basic((user, password)) => Self::Basic(user, password),
        }
    }
}

impl From<wit::Page> for contract::Page {
    fn from(page: wit::Page) -> Self {
        Self {
            content: page.content.into(),
            status: page.status,
            url: page.url,
            headers: page.headers,
            cookies: page.cookies,
            content_type: page.content_type,
            rendered: match page.rendered {
                wit::Rendered::Yes => Some(true),
                wit::Rendered::No => Some(false),
                wit::Rendered::Unknown => None,
            },
            variant: page.route,
            request_id: page.request_id,
            screenshot: page.screenshot,
            cost: page.cost.into(),
        }
    }
}
