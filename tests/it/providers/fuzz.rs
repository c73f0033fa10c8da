//! Fuzzing of what services reply to the eleven adapters. The first bytes of the input choose
//! adapter, page and key; the rest distorts the replies of the fake vendor, so that conversations
//! get deep before they go wrong.

use http::{HeaderName, HeaderValue};
use trawl_fuzz::{Recipe, changed};
use trawl_sdk::provider::{
    Abilities, Content, Description, Exchange, Failure, MEMO_BYTES_MAX, Page, Reply, Request,
    Screenshot, Step, Task, USD,
};
use trawl_tests::conformance::{CASES, ORIGIN, asked};
use trawl_tests::vendors;

use super::ADAPTERS;

/// Exchanges of one conversation, as the server allows.
const EXCHANGES_MAX: usize = 12;
/// Longest wait before an exchange: a page has 255 seconds.
const DELAY_MS_MAX: u32 = 255_000;
/// Statuses that a service never had before.
const STATUSES: [u16; 12] = [100, 200, 201, 204, 302, 400, 401, 404, 422, 429, 500, 999];
/// Values of headers that adapters read: numbers, times, JSON.
const VALUES: [&str; 8] = [
    "",
    "-1",
    "0",
    "65536",
    "1e400",
    "{}",
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "é",
];

#[test]
fn replies() {
    trawl_fuzz::fuzz!("replies", |input| {
        let mut recipe = Recipe::new(input);
        let number = recipe.below(ADAPTERS.len());
        let (adapter, vendor) = (ADAPTERS[number], vendors::all().swap_remove(number));
        let described = adapter.describe();
        let case = recipe.one_of(CASES.as_slice());
        let task = task(&case.url, &described, &mut recipe);
        let mut step = adapter.start(&task);
        for _ in 0..EXCHANGES_MAX {
            let exchange = match step {
                Step::Send(exchange) => *exchange,
                // Nothing was asked yet.
                Step::Done(_) | Step::Failed(_) => return,
            };
            check_exchange(&exchange, &described, case.key());
            let answered = vendor.answer(&asked(&described, &exchange.request, case.key()));
            let headers = answered.headers.into_iter();
            let mut reply = Reply {
                status: answered.status,
                headers: headers
                    .map(|(name, value)| (name.to_lowercase(), value))
                    .collect(),
                body: answered.body.into(),
                elapsed_ms: 1_200,
            };
            distort(&mut reply, &mut recipe);
            step = adapter.resume(&task, &exchange.memo, &reply);
            assert_eq!(step, adapter.resume(&task, &exchange.memo, &reply), "twice");
            match &step {
                Step::Send(_) => {}
                Step::Done(page) => return check_page(page, &reply, &described),
                Step::Failed(failure) => return check_failure(failure, &described),
            }
        }
    });
}

fn task(url: &str, described: &Description, recipe: &mut Recipe<'_>) -> Task {
    let mut task = Task::new(url, ORIGIN);
    task.javascript = recipe.once_in(2);
    let abilities = if task.javascript {
        described.rendered
    } else {
        described.plain
    };
    if recipe.once_in(4) && abilities.contains(Abilities::SCREENSHOT) {
        task.screenshot = Some(Screenshot::FullPage);
    }
    task
}

/// Changes nothing, the status, a header or the body.
fn distort(reply: &mut Reply<'_>, recipe: &mut Recipe<'_>) {
    if recipe.once_in(3) {
        reply.status = *recipe.one_of(&STATUSES);
    }
    if recipe.once_in(3) && !reply.headers.is_empty() {
        let at = recipe.below(reply.headers.len());
        match recipe.once_in(3) {
            true => drop(reply.headers.remove(at)),
            false => reply.headers[at].1 = (*recipe.one_of(&VALUES)).to_owned(),
        }
    }
    if !recipe.is_over() && !recipe.once_in(4) {
        reply.body = changed(&reply.body, recipe).into();
    }
}

fn check_exchange(exchange: &Exchange, described: &Description, key: &str) {
    assert!(exchange.memo.len() <= MEMO_BYTES_MAX);
    assert!(
        exchange.delay_ms <= DELAY_MS_MAX,
        "{} ms",
        exchange.delay_ms
    );
    check_request(&exchange.request, described, key);
    if let Some(request) = &exchange.on_cancel {
        check_request(request, described, key);
    }
}

/// A request that the host would send: to the service, with credentials that are declared.
fn check_request(request: &Request, described: &Description, key: &str) {
    // It checks origin and credentials.
    asked(described, request, key);
    assert!(http::Method::from_bytes(request.method.as_bytes()).is_ok());
    for (name, value) in &request.headers {
        assert!(HeaderName::from_bytes(name.as_bytes()).is_ok(), "{name:?}");
        assert!(HeaderValue::from_str(value).is_ok(), "{name}: {value:?}");
    }
}

fn check_page(page: &Page, reply: &Reply<'_>, described: &Description) {
    let bytes = match &page.content {
        Content::Reply => 0,
        Content::Bytes(bytes) => bytes.len(),
        Content::Text(text) => text.len(),
    };
    let bytes = bytes + page.screenshot.as_ref().map_or(0, Vec::len);
    // A byte that is not UTF-8 becomes three.
    assert!(
        bytes <= 3 * reply.body.len(),
        "{bytes} of {}",
        reply.body.len()
    );
    assert!(!page.variant.is_empty());
    check_units(&page.cost, described);
}

fn check_failure(failure: &Failure, described: &Description) {
    assert!(!failure.message.trim().is_empty(), "{failure:?}");
    check_units(&failure.cost, described);
}

fn check_units(cost: &trawl_sdk::provider::Cost, described: &Description) {
    for quantity in &cost.quantities {
        let unit = &quantity.unit;
        assert!(unit == USD || described.units.contains(unit), "{unit}");
    }
}
