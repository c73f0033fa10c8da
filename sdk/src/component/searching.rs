//! Implements the search world for authors' types; conversions only.

use super::Exported;
use super::format::trawl::types::types;
use super::provider::trawl::provider::service;
use super::search::exports::trawl::search::search as wit;
use crate::search::{self as sdk, Freshness, Search};

impl<P: Search> wit::Guest for Exported<P> {
    fn describe() -> wit::Description {
        P::describe().into()
    }

    fn start(query: wit::Query) -> Result<service::Request, service::Failure> {
        let request = sdk::start::<P>(&query.into())?;
        Ok(request.into())
    }

    fn resume(query: wit::Query, reply: service::Reply) -> Result<wit::Results, service::Failure> {
        let results = sdk::resume::<P>(&query.into(), &reply.into())?;
        Ok(results.into())
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
            takes: description.takes,
            count_max: description.count_max,
            units: description.units,
            time_ms: description.time_ms,
        }
    }
}

impl From<wit::Query> for sdk::Query {
    fn from(query: wit::Query) -> Self {
        Self {
            text: query.text,
            count: query.count,
            page: query.page,
            country: query.country,
            language: query.language,
            location: query.location,
            freshness: query.freshness.map(|freshness| match freshness {
                wit::Freshness::Hour => Freshness::Hour,
                wit::Freshness::Day => Freshness::Day,
                wit::Freshness::Week => Freshness::Week,
                wit::Freshness::Month => Freshness::Month,
                wit::Freshness::Year => Freshness::Year,
            }),
            time_ms: query.time_ms,
            base: query.base,
            settings: query.settings,
        }
    }
}

impl From<sdk::Results> for wit::Results {
    fn from(results: sdk::Results) -> Self {
        let hits = results.hits.into_iter().map(|hit| wit::Hit {
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
