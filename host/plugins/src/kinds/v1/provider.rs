//! Providers in version 1 of their contract: conversions between the contract's types, which the
//! host uses, and the bindings'.

use trawl_contract::provider as contract;
use trawl_contract::provider::{
    Abilities, Charged, Class, Content, Credential, Description, Pool, Screenshot, Step,
};

use super::Export;
use super::bindings::exports::trawl::provider::provider as wit;
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
            let reply = wit::Reply {
                status: reply.status,
                headers: &headers,
                body: &reply.body,
                elapsed_ms: reply.elapsed_ms,
            };
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

fn pairs(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
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
        plain: abilities(description.plain),
        rendered: abilities(description.rendered),
        units: description.units.clone(),
        time_ms: description.time_ms,
    }
}

fn abilities(description: wit::Abilities) -> Abilities {
    use wit::Abilities as Flags;
    let lifted = [
        (Flags::SERVES, Abilities::SERVES),
        (Flags::FIXED_WAIT, Abilities::FIXED_WAIT),
        (Flags::WAIT_SELECTOR, Abilities::WAIT_SELECTOR),
        (Flags::SCRIPT, Abilities::SCRIPT),
        (Flags::HEADERS, Abilities::HEADERS),
        (Flags::COOKIES, Abilities::COOKIES),
        (Flags::COUNTRY, Abilities::COUNTRY),
        (Flags::COUNTRY_RESIDENTIAL, Abilities::COUNTRY_RESIDENTIAL),
        (Flags::RESIDENTIAL, Abilities::RESIDENTIAL),
        (Flags::BODY, Abilities::BODY),
        (Flags::BINARY, Abilities::BINARY),
        (Flags::SCREENSHOT, Abilities::SCREENSHOT),
        (Flags::TARGET_HEADERS, Abilities::TARGET_HEADERS),
        (Flags::TARGET_COOKIES, Abilities::TARGET_COOKIES),
        (Flags::FINAL_URL, Abilities::FINAL_URL),
    ];
    let among = lifted
        .into_iter()
        .filter(|(flag, _)| description.contains(*flag));
    among.fold(Abilities::NOTHING, |all, (_, ability)| all | ability)
}

impl From<wit::Step> for Step {
    fn from(step: wit::Step) -> Self {
        match step {
            wit::Step::Send(exchange) => Self::Send(Box::new(contract::Exchange {
                request: exchange.request.into(),
                delay_ms: exchange.delay_ms,
                memo: exchange.memo,
                on_cancel: exchange.on_cancel.map(Into::into),
            })),
            wit::Step::Done(page) => Self::Done(Box::new(page.into())),
            wit::Step::Failed(failure) => Self::Failed(Box::new(failure.into())),
        }
    }
}

impl From<wit::Request> for contract::Request {
    fn from(request: wit::Request) -> Self {
        let lift = |credential| match credential {
            wit::Credential::Query((parameter, name)) => Credential::Query(parameter, name),
            wit::Credential::Header((header, name)) => Credential::Header(header, name),
            wit::Credential::Bearer(name) => Credential::Bearer(name),
            wit::Credential::Basic((user, password)) => Credential::Basic(user, password),
        };
        Self {
            method: request.method,
            url: request.url,
            headers: request.headers,
            credentials: request.credentials.into_iter().map(lift).collect(),
            body: request.body,
            time_ms: request.time_ms,
        }
    }
}

impl From<wit::Page> for contract::Page {
    fn from(page: wit::Page) -> Self {
        Self {
            content: match page.content {
                wit::Content::Reply => Content::Reply,
                wit::Content::Bytes(bytes) => Content::Bytes(bytes),
                wit::Content::Text(text) => Content::Text(text),
            },
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

impl From<wit::Failure> for contract::Failure {
    fn from(failure: wit::Failure) -> Self {
        Self {
            class: match failure.class {
                wit::Class::Unsupported => Class::Unsupported,
                wit::Class::BadKey => Class::BadKey,
                wit::Class::NoCredit => Class::NoCredit,
                wit::Class::RateLimited => Class::RateLimited,
                wit::Class::BadRequest => Class::BadRequest,
                wit::Class::TargetFailed => Class::TargetFailed,
                wit::Class::TargetBlocked => Class::TargetBlocked,
                wit::Class::TargetUnreachable => Class::TargetUnreachable,
                wit::Class::ProviderTimeout => Class::ProviderTimeout,
                wit::Class::ProviderError => Class::ProviderError,
                wit::Class::Drift => Class::Drift,
            },
            message: failure.message,
            code: failure.code,
            target_status: failure.target_status,
            retry_after: failure.retry_after,
            retryable: failure.retryable,
            request_id: failure.request_id,
            cost: failure.cost.into(),
        }
    }
}

impl From<wit::Cost> for contract::Cost {
    fn from(cost: wit::Cost) -> Self {
        let lift = |quantity: wit::Quantity| contract::Quantity {
            unit: quantity.unit,
            billionths: quantity.billionths,
        };
        Self {
            quantities: cost.quantities.into_iter().map(lift).collect(),
            charged: match cost.charged {
                wit::Charged::Yes => Charged::Yes,
                wit::Charged::No => Charged::No,
                wit::Charged::Unknown => Charged::Unknown,
            },
            reported: cost.reported,
        }
    }
}
