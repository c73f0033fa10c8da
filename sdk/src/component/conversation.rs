//! Implements the provider world for authors' types; conversions only.

use std::borrow::Cow;

use trawl_contract::{convert_answers, convert_exchanges};

use super::Exported;
use super::format::trawl::types::types;
use super::provider::exports::trawl::provider::provider as wit;
use super::provider::trawl::provider::service;
use crate::provider::{self as sdk, Credential, Pool, Provider, Screenshot};

impl<P: Provider> wit::Guest for Exported<P> {
    fn describe() -> wit::Description {
        P::describe().into()
    }

    fn start(task: wit::Task) -> wit::Step {
        sdk::start::<P>(&task.into()).into()
    }

    fn resume(task: wit::Task, memo: Vec<u8>, reply: service::Reply) -> wit::Step {
        sdk::resume::<P>(&task.into(), &memo, &reply.into()).into()
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

convert_exchanges!(sdk => service);
convert_answers!(sdk => wit);

impl From<service::Reply> for sdk::Reply<'static> {
    fn from(reply: service::Reply) -> Self {
        Self {
            status: reply.status,
            headers: reply.headers,
            body: Cow::Owned(reply.body),
            elapsed_ms: reply.elapsed_ms,
        }
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
            sdk::Step::Send(exchange) => Self::Send((*exchange).into()),
            sdk::Step::Done(page) => Self::Done((*page).into()),
            sdk::Step::Failed(failure) => Self::Failed((*failure).into()),
        }
    }
}

impl From<Credential> for service::Credential {
    fn from(credential: Credential) -> Self {
        match credential {
            Credential::Query(parameter, name) => Self::Query((parameter, name)),
            Credential::Header(header, name) => Self::Header((header, name)),
            Credential::Bearer(name) => Self::Bearer(name),
            Credential::Basic(user, password) => Self::Basic((user, password)),
        }
    }
}

impl From<sdk::Page> for wit::Page {
    fn from(page: sdk::Page) -> Self {
        Self {
            content: page.content.into(),
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
