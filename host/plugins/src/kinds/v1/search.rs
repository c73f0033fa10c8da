//! Search adapters in version 1 of their contract: conversions between the contract's types, which
//! the host uses, and the bindings'.

use trawl_contract::provider::{Reply, Request};
use trawl_contract::search::{Description, Freshness, Hit, Query, Results};

use super::Export;
use super::bindings::exports::trawl::search::search as wit;
use super::provider::{lend, pairs};
use crate::call::instance::LinkedComponent;
use crate::call::plugin::Measured;
use crate::error::Fault;
use crate::info::{Described, Needs};
use crate::kinds::search::{Answered, Seek};

/// An opened adapter: its description as a plugin, its description as an adapter, its functions.
type Opened = (Described, Description, Box<dyn Seek>);

/// Opens a search component: looks up its exports and calls `describe`.
///
/// # Errors
/// The failure of `describe`, or a missing export.
pub(crate) fn open_search(component: LinkedComponent) -> Result<Opened, Fault> {
    let indices = wit::GuestIndices::new(component.linked()).map_err(|error| Fault::Trap {
        reason: error.to_string(),
    })?;
    let described = component.call(|store, instance| {
        let description = indices.load(&mut *store, instance)?.call_describe(store)?;
        Ok(Ok(description))
    });
    let description = described.result?;
    let search = describe(&description);
    let export = Export {
        component,
        indices,
        needs: Needs::default(),
    };
    Ok((Described::from(description.info), search, Box::new(export)))
}

impl Seek for Export<wit::GuestIndices> {
    fn start(&self, query: &Query) -> Measured<Answered<Request>> {
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let request = exports.call_start(store, lend_query(query))?;
            Ok(Ok(request.map(Into::into).map_err(Into::into)))
        })
    }

    fn resume(&self, query: &Query, reply: &Reply<'_>) -> Measured<Answered<Results>> {
        let headers = pairs(&reply.headers);
        self.component.call(|store, instance| {
            let exports = self.indices.load(&mut *store, instance)?;
            let reply = lend(reply, &headers);
            let results = exports.call_resume(store, lend_query(query), reply)?;
            Ok(Ok(results.map(Into::into).map_err(Into::into)))
        })
    }
}

fn lend_query(query: &Query) -> wit::Query<'_> {
    wit::Query {
        text: &query.text,
        count: query.count,
        page: query.page,
        country: query.country.as_deref(),
        language: query.language.as_deref(),
        location: query.location.as_deref(),
        freshness: query.freshness.map(|freshness| match freshness {
            Freshness::Hour => wit::Freshness::Hour,
            Freshness::Day => wit::Freshness::Day,
            Freshness::Week => wit::Freshness::Week,
            Freshness::Month => wit::Freshness::Month,
            Freshness::Year => wit::Freshness::Year,
        }),
        time_ms: query.time_ms,
        base: &query.base,
        settings: &query.settings,
    }
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
        takes: description.takes.clone(),
        count_max: description.count_max,
        units: description.units.clone(),
        time_ms: description.time_ms,
    }
}

impl From<wit::Results> for Results {
    fn from(results: wit::Results) -> Self {
        let hits = results.hits.into_iter().map(|hit| Hit {
            url: hit.url,
            title: hit.title,
            snippet: hit.snippet,
            date: hit.date,
            site_name: hit.site_name,
        });
        Self {
            hits: hits.collect(),
            request_id: results.request_id,
            cost: results.cost.into(),
        }
    }
}
