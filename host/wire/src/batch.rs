//! The request object of a batch: the pages that it lists, over parameters that they have in
//! common. Decision D510.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use trawl_model::urls;
use trawl_parameters::{BatchRequest, Crawls, RequestObject, Route, ScrapeRequest};
use trawl_plan::crawl::{CrawlPlan, Fold, SitemapPlan};
use trawl_plan::scope::ScopePlan;
use trawl_plan::{
    Allowance, BatchPage, BatchPlan, Ignored, PAGES_MAX, PagePlan, PlanError, Prefer, RefusedPage,
    address,
};

use super::body::{WireError, fields, is_array, objects};
use super::checked_catalog::CheckedCatalog;
use super::crawl::{CrawlParameters, CrawlRequest, PlannedCrawl, names_no_event};
use super::defaults::PlanContext;
use super::error::RequestError;
use super::fields::{Parsed, read};
use super::pages::{Planning, plans_of};
use super::secrets::{hide_webhooks, missing, secrets_of, without_secrets};
use super::verb::Verb;

const URLS: &str = "urls";
const URL: &str = "url";

/// The pages of a batch: of a body that is an object with `urls`, or an array of its items.
///
/// # Errors
/// See [`RequestError`]. That of an item begins with its place: `urls[3].return_format`, or
/// `[3].return_format` in an array.
pub fn batch_request(body: &[u8], context: PlanContext<'_>) -> Result<CrawlRequest, RequestError> {
    let checked_catalog = CheckedCatalog::new(context.catalog);
    let context = PlanContext {
        catalog: &checked_catalog,
        ..context
    };
    let sent = Sent::read(body)?;
    let items = sent.items()?;
    let mut allowance = Allowance::default();
    let mut common: Parsed<ScrapeRequest> = read(&sent.common)?;
    let crawls = std::mem::take(&mut common.value.crawls);
    let parameters = CrawlParameters::new(crawls, &mut allowance)?;
    if parameters.webhook.as_ref().is_some_and(names_no_event) {
        common.fields.without_effect.push("webhooks");
    }
    let mut ignored = Ignored::default();
    let mut planner = Planner {
        context,
        allowance: &mut allowance,
        ignored: &mut ignored,
        list: sent.list,
        copied_bytes: 0,
    };
    let pages = planner.pages(common, &sent, &items)?;
    let copied_bytes = planner.copied_bytes;
    let in_background = parameters.in_background;
    if in_background {
        check_secrets(&items).map_err(|(error, number)| error.in_item(sent.list, number))?;
    }
    let stored = stored(&sent, &items, &pages, in_background);
    let needs_secrets = !missing(&stored).is_empty();
    let waits = in_background && needs_secrets;
    let seed = first_page(&pages)?;
    Ok(CrawlRequest {
        crawls: vec![PlannedCrawl {
            plan: CrawlPlan {
                batch: Some(Arc::new(BatchPlan {
                    pages: with_duplicates(pages),
                    copied_bytes,
                })),
                depth: 0,
                scope: ScopePlan::default(),
                prefer: Prefer::default(),
                fold: Fold::default(),
                anchors: false,
                sitemap: SitemapPlan::default(),
                ..parameters.plan(seed, Vec::new(), &mut allowance)?
            },
            request: Value::Object(stored).to_string(),
            needs_secrets,
            secrets: waits.then(|| secrets_of(sent.common.get(), &[])),
        }],
        ignored,
    })
}

/// A body.
struct Sent {
    /// The object with all that its pages have in common.
    common: Box<RawValue>,
    /// The items of `urls`.
    urls: Vec<Box<RawValue>>,
    /// What precedes the number of an item in errors.
    list: &'static str,
}

impl Sent {
    fn read(body: &[u8]) -> Result<Self, RequestError> {
        let found = objects(body, PAGES_MAX)?;
        if is_array(body) {
            let urls: Vec<Box<RawValue>> = found.into_iter().map(ToOwned::to_owned).collect();
            let reason = "the array is empty, send at least one URL or request object";
            check_number(&urls, reason)?;
            return Ok(Self {
                common: object(&[])?,
                urls,
                list: "",
            });
        }
        let Some(whole) = found.first() else {
            return Err(WireError::body("the body is empty, send a JSON object").into());
        };
        let sent: Parsed<BatchRequest> = read(whole)?;
        let urls = sent.value.batches.urls.map(|list| list.0);
        let reason = "is missing or empty, send a list of URLs, or of objects with a `url`";
        let urls = urls.unwrap_or_default();
        check_number(&urls, reason)?;
        let common = fields(whole)?.into_iter();
        let common: Vec<_> = common.filter(|(name, _)| name != URLS).collect();
        Ok(Self {
            common: object(&common)?,
            urls,
            list: URLS,
        })
    }

    /// Where parameters of the whole batch are sent.
    fn common_place(&self) -> &'static str {
        if self.list.is_empty() {
            "send the array as `urls` of an object, and it next to `urls`"
        } else {
            "send it next to `urls`"
        }
    }

    /// The items, each with its URL.
    fn items(&self) -> Result<Vec<Item<'_>>, RequestError> {
        let items = self.urls.iter().enumerate().map(|(number, json)| {
            Item::read(json, self.common_place()).map_err(|error| error.in_item(self.list, number))
        });
        items.collect()
    }
}

/// A list of pages has at least one.
fn check_number(urls: &[Box<RawValue>], reason: &str) -> Result<(), PlanError> {
    match urls.is_empty() {
        true => Err(PlanError::new(URLS, reason)),
        false => Ok(()),
    }
}

/// A page of the list.
struct Item<'a> {
    url: String,
    /// The object, if it is one.
    json: Option<&'a RawValue>,
    /// Its own parameters, by name.
    own: Vec<(String, &'a RawValue)>,
}

impl<'a> Item<'a> {
    fn read(json: &'a RawValue, common_place: &str) -> Result<Self, RequestError> {
        let is_text = json.get().starts_with('"');
        let item = if is_text {
            Self {
                url: text(json)?,
                json: None,
                own: Vec::new(),
            }
        } else {
            let mut url = None;
            let mut own = Vec::new();
            // Null is not set.
            for (name, value) in fields(json)?
                .into_iter()
                .filter(|(_, json)| json.get() != "null")
            {
                if name == URL {
                    url = Some(text(value)?);
                    continue;
                }
                if let Some(row) = Crawls::row(&name).filter(|row| row.routes.has(Route::Batch)) {
                    let reason = format!("is a parameter of the whole batch: {common_place}");
                    return Err(PlanError::new(row.name, reason).into());
                }
                own.push((name, value));
            }
            own.sort_by(|one, other| one.0.cmp(&other.0));
            Self {
                url: url.unwrap_or_default(),
                json: Some(json),
                own,
            }
        };
        if item.url.is_empty() {
            let reason = "is missing or empty, send the URL of a page";
            return Err(PlanError::new(URL, reason).into());
        }
        Ok(item)
    }

    /// Its own parameters as a text: pages with the same ones are planned together.
    fn own_text(&self) -> Result<String, RequestError> {
        match self.own.as_slice() {
            [] => Ok(String::new()),
            own => Ok(object(own)?.get().to_owned()),
        }
    }
}

/// A URL.
fn text(json: &RawValue) -> Result<String, WireError> {
    let text: String = serde_json::from_str(json.get())
        .map_err(|_| WireError::wrong_type(URL, "is not a string"))?;
    Ok(urls::trim(&text).to_owned())
}

/// An object with these fields.
fn object(fields: &[(String, &RawValue)]) -> Result<Box<RawValue>, WireError> {
    let written = fields
        .iter()
        .map(|(name, json)| format!("{}:{}", Value::from(name.as_str()), json.get()));
    let written = written.collect::<Vec<_>>().join(",");
    RawValue::from_string(format!("{{{written}}}")).map_err(|error| WireError::json(None, &error))
}

/// The plan of one page, and the number of the group that it is planned with.
type Page = (usize, Result<PagePlan, RefusedPage>);

/// Plans the pages of one request.
struct Planner<'a> {
    context: PlanContext<'a>,
    allowance: &'a mut Allowance,
    ignored: &'a mut Ignored,
    list: &'static str,
    /// Bytes of the common parameters that were copied.
    copied_bytes: usize,
}

impl Planner<'_> {
    /// The plan of each item, in order. Items with the same parameters of their own share one.
    fn pages(
        &mut self,
        common: Parsed<ScrapeRequest>,
        sent: &Sent,
        items: &[Item<'_>],
    ) -> Result<Vec<Page>, RequestError> {
        let mut known = HashMap::from([(String::new(), 0)]);
        let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
        for (number, item) in items.iter().enumerate() {
            let group = *known.entry(item.own_text()?).or_insert(groups.len());
            match groups.get_mut(group) {
                Some(members) => members.push(number),
                None => groups.push(vec![number]),
            }
        }
        let mut pages: Vec<Option<Page>> = Vec::new();
        pages.resize_with(items.len(), || None);
        let mut common = Some(common);
        for (group, members) in groups.iter().enumerate() {
            let urls = members.iter().map(|&number| items[number].url.as_str());
            let urls: Vec<&str> = urls.collect();
            let planned = match common.take() {
                Some(common) => self.group(common, urls)?,
                None => {
                    let first = members[0];
                    let planned = self.own_group(sent, &items[first], urls);
                    planned.map_err(|error| error.in_item(self.list, first))?
                }
            };
            for (&number, page) in members.iter().zip(planned) {
                pages[number] = Some((group, page));
            }
        }
        // Every item is in a group.
        Ok(pages.into_iter().flatten().collect())
    }

    /// Plans pages with parameters of their own.
    fn own_group(
        &mut self,
        sent: &Sent,
        item: &Item<'_>,
        urls: Vec<&str>,
    ) -> Result<Vec<Result<PagePlan, RefusedPage>>, RequestError> {
        // All of them are read again for each of these groups.
        let what = "the common parameters, copied for each different object in `urls`,";
        let n_bytes = sent.common.get().len();
        self.allowance.make_bytes(URLS, n_bytes, what)?;
        self.copied_bytes += n_bytes;
        // They are sorted by name.
        let is_own = |name: &str| {
            let own = item.own.as_slice();
            own.binary_search_by(|(own, _)| own.as_str().cmp(name))
                .is_ok()
        };
        let mut merged = fields(&sent.common)?;
        merged.retain(|(name, _)| !is_own(name));
        merged.extend(item.own.iter().cloned());
        let mut parsed: Parsed<ScrapeRequest> = read(&object(&merged)?)?;
        parsed.value.crawls = Crawls::default();
        Ok(self.group(parsed, urls)?)
    }

    /// Plans pages with the same parameters.
    fn group(
        &mut self,
        parsed: Parsed<ScrapeRequest>,
        urls: Vec<&str>,
    ) -> Result<Vec<Result<PagePlan, RefusedPage>>, PlanError> {
        // Without pages, scripts would seem to be of none.
        let mut of_none = Ignored::default();
        let ignored = match urls.is_empty() {
            true => &mut of_none,
            false => &mut *self.ignored,
        };
        let mut planning = Planning {
            verb: Verb::Batch,
            context: self.context,
            allowance: &mut *self.allowance,
            ignored,
        };
        plans_of(urls, parsed, false, &mut planning)
    }
}

/// The pages of a batch, of which equal ones are fetched once.
fn with_duplicates(pages: Vec<Page>) -> Vec<BatchPage> {
    let mut known: HashMap<(usize, String, usize), u32> = HashMap::with_capacity(pages.len());
    let mut listed: Vec<BatchPage> = Vec::with_capacity(pages.len());
    for (index, (group, plan)) in pages.into_iter().enumerate() {
        // Fits: there are at most `PAGES_MAX`.
        let index = index as u32;
        let mut page = BatchPage {
            plan,
            duplicates: Vec::new(),
            original: None,
        };
        // URLs with the same password share a plan, and differ in it from those without.
        let fetch = match &page.plan {
            Ok(plan) => Arc::as_ptr(&plan.fetch).addr(),
            Err(_) => 0,
        };
        match known.entry((group, page.url().to_owned(), fetch)) {
            Entry::Occupied(first) => {
                page.original = Some(*first.get());
                listed[*first.get() as usize].duplicates.push(index);
            }
            Entry::Vacant(vacant) => {
                vacant.insert(index);
            }
        }
        listed.push(page);
    }
    listed
}

/// The first page that can be fetched.
///
/// # Errors
/// There is none.
fn first_page(pages: &[Page]) -> Result<PagePlan, PlanError> {
    let mut refusal = String::new();
    for (_, page) in pages {
        match page {
            Ok(plan) => return Ok(plan.clone()),
            Err(refused) if refusal.is_empty() => refusal.clone_from(&refused.failure.message),
            Err(_) => {}
        }
    }
    Err(PlanError::new(
        URLS,
        format!("none of them can be fetched: {refusal}"),
    ))
}

/// Refuses secrets of single pages in the background: after a restart a batch gets those that all
/// its pages have in common.
///
/// # Errors
/// A page has some; with the number of its item.
fn check_secrets(items: &[Item<'_>]) -> Result<(), (RequestError, usize)> {
    for (number, item) in items.iter().enumerate() {
        let refuse = |what: &str| {
            let reason = format!(
                "{what} cannot be kept for one page of a background batch: send it next to `urls`, or leave out `run_in_background`"
            );
            (RequestError::from(PlanError::new(URL, reason)), number)
        };
        // It is sent as `Authorization`.
        let has_password = item.url.contains('@')
            && address::parse(&item.url).is_ok_and(|target| target.authorization.is_some());
        if has_password {
            return Err(refuse("a password"));
        }
        let secrets = item.json.map(|json| missing(&without_secrets(json)));
        if let Some(secret) = secrets.unwrap_or_default().first() {
            return Err(refuse(&format!("the secret `{secret}`")));
        }
    }
    Ok(())
}

/// The request object as it is stored: without secrets.
fn stored(
    sent: &Sent,
    items: &[Item<'_>],
    pages: &[Page],
    in_background: bool,
) -> Map<String, Value> {
    let mut stored = without_secrets(&sent.common);
    // It has no effect, and may have a password.
    stored.remove(URL);
    if !in_background {
        // It is not continued after a restart, so nothing needs the receiver's secrets.
        hide_webhooks(&mut stored);
    }
    let urls = items.iter().zip(pages).map(|(item, (_, page))| {
        let requested: &str = match page {
            Ok(plan) => &plan.requested,
            Err(refused) => &refused.requested,
        };
        match item.json {
            None => requested.into(),
            Some(json) => {
                let mut own = without_secrets(json);
                keep_blanks(&mut own, item);
                own.insert(URL.to_owned(), requested.into());
                Value::Object(own)
            }
        }
    });
    let urls = urls.collect();
    stored.insert(URLS.to_owned(), Value::Array(urls));
    stored
}

/// Puts back what of a page's own parameters was left out because it says nothing: the common
/// parameter in its place, perhaps a secret, is not for this page.
fn keep_blanks(stored: &mut Map<String, Value>, item: &Item<'_>) {
    for (name, json) in &item.own {
        if !stored.contains_key(name) {
            let blank = serde_json::from_str(json.get()).unwrap_or_default();
            stored.insert(name.clone(), blank);
        }
    }
}
