//! Implements the provider world for authors' types; conversions only.

use std::borrow::Cow;

use super::Exported;
use super::format::trawl::types::types;
use super::provider::exports::trawl::provider::provider as wit;
use crate::provider::{
    self as sdk, Abilities, Charged, Class, Content, Credential, Pool, Provider, Screenshot,
};

impl<P: Provider> wit::Guest for Exported<P> {
    fn describe() -> wit::Description {
        P::describe().into()
    }

    fn start(task: wit::Task) -> wit::Step {
        sdk::start::<P>(&task.into()).into()
    }

    fn resume(task: wit::Task, memo: Vec<u8>, reply: wit::Reply) -> wit::Step {
        let reply = sdk::Reply {
            status: reply.status,
            headers: reply.headers,
            body: Cow::Owned(reply.body),
            elapsed_ms: reply.elapsed_ms,
        };
        sdk::resume::<P>(&task.into(), &memo, &reply).into()
    }
}

impl From<sdk::Description> for wit::Description {
    fn from(description: sdk::Description) -> Self {
        Self {
            info: types::Info {
                name: description.name,
                version: description.version,
                summary: description.summary,
                options_schema: description.settings_schema,
                needs: types::Needs::empty(),
            },
            label: description.label,
            credentials: description.credentials,
            base: description.base,
            hosts: description.hosts,
            plain: description.plain.into(),
            rendered: description.rendered.into(),
            units: description.units,
            time_ms: description.time_ms,
        }
    }
}

impl From<Abilities> for wit::Abilities {
    fn from(abilities: Abilities) -> Self {
        let lowered = [
            (Abilities::SERVES, Self::SERVES),
            (Abilities::FIXED_WAIT, Self::FIXED_WAIT),
            (Abilities::WAIT_SELECTOR, Self::WAIT_SELECTOR),
            (Abilities::SCRIPT, Self::SCRIPT),
            (Abilities::HEADERS, Self::HEADERS),
            (Abilities::COOKIES, Self::COOKIES),
            (Abilities::COUNTRY, Self::COUNTRY),
            (Abilities::COUNTRY_RESIDENTIAL, Self::COUNTRY_RESIDENTIAL),
            (Abilities::RESIDENTIAL, Self::RESIDENTIAL),
            (Abilities::BODY, Self::BODY),
            (Abilities::BINARY, Self::BINARY),
            (Abilities::SCREENSHOT, Self::SCREENSHOT),
            (Abilities::TARGET_HEADERS, Self::TARGET_HEADERS),
            (Abilities::TARGET_COOKIES, Self::TARGET_COOKIES),
            (Abilities::FINAL_URL, Self::FINAL_URL),
        ];
        let among = lowered
            .into_iter()
            .filter(|(ability, _)| abilities.contains(*ability));
        among.fold(Self::empty(), |all, (_, lowered)| all | lowered)
    }
}

impl From<wit::Task> for sdk::Task {
    fn from(task: wit::Task) -> Self {
        Self {
            url: task.url,
            method: task.method,
            body: task.body,
            headers: task.headers,
            cookies: task.cookies,
            javascript: matches!(task.javascript, wit::Javascript::On),
            wait_ms: task.wait_ms,
            wait_for: task.wait_for.map(|wait| sdk::WaitFor {
                selector: wait.selector,
                time_ms: wait.time_ms,
            }),
            script: task.script,
            country: task.country,
            pool: match task.pool {
                wit::Pool::Standard => Pool::Standard,
                wit::Pool::Residential => Pool::Residential,
            },
            screenshot: task.screenshot.map(|screenshot| match screenshot {
                wit::Screenshot::Window => Screenshot::Window,
                wit::Screenshot::FullPage => Screenshot::FullPage,
            }),
            time_ms: task.time_ms,
            base: task.base,
            settings: task.settings,
        }
    }
}

impl From<sdk::Step> for wit::Step {
    fn from(step: sdk::Step) -> Self {
        match step {
            sdk::Step::Send(exchange) => Self::Send(wit::Exchange {
                request: exchange.request.into(),
                delay_ms: exchange.delay_ms,
                memo: exchange.memo,
                on_cancel: exchange.on_cancel.map(Into::into),
            }),
            sdk::Step::Done(page) => Self::Done((*page).into()),
            sdk::Step::Failed(failure) => Self::Failed((*failure).into()),
        }
    }
}

impl From<sdk::Request> for wit::Request {
    fn from(request: sdk::Request) -> Self {
        let lower = |credential| match credential {
            Credential::Query(parameter, name) => wit::Credential::Query((parameter, name)),
            Credential::Header(header, name) => wit::Credential::Header((header, name)),
            Credential::Bearer(name) => wit::Credential::Bearer(name),
            Credential::Basic(user, password) => wit::Credential::Basic((user, password)),
        };
        Self {
            method: request.method,
            url: request.url,
            headers: request.headers,
            credentials: request.credentials.into_iter().map(lower).collect(),
            body: request.body,
            time_ms: request.time_ms,
        }
    }
}

impl From<sdk::Page> for wit::Page {
    fn from(page: sdk::Page) -> Self {
        Self {
            content: match page.content {
                Content::Reply => wit::Content::Reply,
                Content::Bytes(bytes) => wit::Content::Bytes(bytes),
                Content::Text(text) => wit::Content::Text(text),
            },
            status: page.status,
            url: page.url,
            headers: page.headers,
            cookies: page.cookies,
            content_type: page.content_type,
            rendered: match page.rendered {
                Some(true) => wit::Rendered::Yes,
                Some(false) => wit::Rendered::No,
                None => wit::Rendered::Unknown,
            },
            route: page.variant,
            request_id: page.request_id,
            screenshot: page.screenshot,
            cost: page.cost.into(),
        }
    }
}

impl From<sdk::Failure> for wit::Failure {
    fn from(failure: sdk::Failure) -> Self {
        Self {
            class: match failure.class {
                Class::Unsupported => wit::Class::Unsupported,
                Class::BadKey => wit::Class::BadKey,
                Class::NoCredit => wit::Class::NoCredit,
                Class::RateLimited => wit::Class::RateLimited,
                Class::BadRequest => wit::Class::BadRequest,
                Class::TargetFailed => wit::Class::TargetFailed,
                Class::TargetBlocked => wit::Class::TargetBlocked,
                Class::TargetUnreachable => wit::Class::TargetUnreachable,
                Class::ProviderTimeout => wit::Class::ProviderTimeout,
                Class::ProviderError => wit::Class::ProviderError,
                Class::Drift => wit::Class::Drift,
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

impl From<sdk::Cost> for wit::Cost {
    fn from(cost: sdk::Cost) -> Self {
        let lower = |quantity: sdk::Quantity| wit::Quantity {
            unit: quantity.unit,
            billionths: quantity.billionths,
        };
        Self {
            quantities: cost.quantities.into_iter().map(lower).collect(),
            charged: match cost.charged {
                Charged::Yes => wit::Charged::Yes,
                Charged::No => wit::Charged::No,
                Charged::Unknown => wit::Charged::Unknown,
            },
            reported: cost.reported,
        }
    }
}
