//! Runs all cases and features between an adapter and its vendor.

use trawl_sdk::provider::{Abilities, Charged, Content, Cost, Description, Page, Task, USD};

use super::{
    Adapter, Bill, CASES, Conversation, ECHO, Expected, FEATURES, Feature, ORIGIN, converse,
    echo_differences, reported, usual_cost,
};
use crate::vendors::{GOOD_KEY, IMAGE, Vendor};

/// Runs every case and every set of features between an adapter and its vendor, and returns the
/// differences from what is expected.
pub fn check(adapter: &dyn Adapter, vendor: &Vendor) -> Vec<String> {
    let described = adapter.describe();
    let mut wrong = Vec::new();
    if described.name != vendor.name() {
        wrong.push(format!("{} talks with {}", described.name, vendor.name()));
    }
    for case in CASES.iter() {
        for &javascript in &case.javascript {
            if !abilities(&described, javascript).contains(case.needs) {
                continue;
            }
            let expected = case.expected_of(&described.name, javascript);
            let task = Task {
                javascript,
                ..Task::new(&case.url, ORIGIN)
            };
            let conversation = converse(adapter, vendor, case.key(), &task);
            let found = differences(&described, &task, &conversation, expected).into_iter();
            let about = format!("{} {} javascript={javascript}", described.name, case.name);
            wrong.extend(found.map(|one| format!("{about}: {one}")));
        }
    }
    for javascript in [false, true] {
        for features in FEATURES {
            wrong.extend(check_features(
                adapter, &described, vendor, javascript, features,
            ));
        }
    }
    wrong
}

fn abilities(described: &Description, javascript: bool) -> Abilities {
    if javascript {
        described.rendered
    } else {
        described.plain
    }
}

fn check_features(
    adapter: &dyn Adapter,
    described: &Description,
    vendor: &Vendor,
    javascript: bool,
    features: &[Feature],
) -> Vec<String> {
    let abilities = abilities(described, javascript);
    let mut task = Task {
        javascript,
        ..Task::new(ECHO, ORIGIN)
    };
    let features = features
        .iter()
        .filter(|feature| feature.is_supported(abilities));
    let features: Vec<_> = features.collect();
    if features.is_empty() {
        return Vec::new();
    }
    for feature in features {
        feature.add_to(&mut task, abilities);
    }
    let conversation = converse(adapter, vendor, GOOD_KEY, &task);
    let mut found = match &conversation.outcome {
        Ok(page) => {
            let echo = serde_json::from_slice(&conversation.body).unwrap_or_default();
            let mut found = echo_differences(&described.name, &task, &echo);
            found.extend(cost_difference(described, &task, &page.cost, &Bill::Usual));
            if page.screenshot.as_deref() != task.screenshot.map(|_| IMAGE.as_slice()) {
                found.push(format!("screenshot {:?}", page.screenshot));
            }
            found
        }
        Err(failure) => vec![format!("{failure:?}")],
    };
    for one in &mut found {
        *one = format!("{} {task:?}: {one}", described.name);
    }
    found
}

/// How the outcome differs from the expected one.
fn differences(
    described: &Description,
    task: &Task,
    conversation: &Conversation,
    expected: &Expected,
) -> Vec<String> {
    let (mut found, cost, bill) = match (&conversation.outcome, expected) {
        (
            Ok(got),
            Expected::Page {
                status,
                body,
                moved_to,
                bill,
            },
        ) => {
            let mut found = page_differences(described, task, got, moved_to.as_deref());
            if got.status != Some(*status) {
                found.push(format!("status {:?} instead of {status}", got.status));
            }
            if conversation.body != body.bytes() {
                let start = conversation.body.get(..200).unwrap_or(&conversation.body);
                found.push(format!("body {:?}", String::from_utf8_lossy(start)));
            }
            (found, &got.cost, bill)
        }
        (
            Err(got),
            Expected::Failure {
                class,
                bill,
                retry_after,
            },
        ) => {
            let is_same = (got.class, got.retry_after) == (*class, *retry_after);
            let found =
                (!is_same).then(|| format!("{got:?} instead of {class:?}, {retry_after:?}"));
            (found.into_iter().collect(), &got.cost, bill)
        }
        (got, expected) => return vec![format!("{got:?} instead of {expected:?}")],
    };
    found.extend(cost_difference(described, task, cost, bill));
    found
}

/// How the metadata of a page differs from the target's, if the provider reports it.
fn page_differences(
    described: &Description,
    task: &Task,
    page: &Page,
    moved_to: Option<&str>,
) -> Vec<String> {
    let abilities = abilities(described, task.javascript);
    let reports = |ability| abilities.contains(ability);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let url = reports(Abilities::FINAL_URL).then(|| moved_to.unwrap_or(&task.url));
    let headers = page.headers.as_deref().unwrap_or_default();
    let mut types = headers.iter().filter(|(name, _)| name == "content-type");
    let media = page
        .content_type
        .as_ref()
        .or(types.next().map(|(_, value)| value));
    let media_there = if task.url.ends_with("/image") {
        "image/png"
    } else {
        "text/html"
    };
    // A response in which the vendor blocks the request has no headers of the target.
    let is_target = page.status != Some(403) || task.url.ends_with("/forbidden");
    let x_target = headers.contains(&pair("x-target", "yes")) || !is_target;
    let cookies = [pair("fish", "cod"), pair("sea", "north")];
    let cookies = page.cookies == cookies || !is_target;
    let same = [
        ("url", page.url.as_deref() == url),
        (
            "headers",
            page.headers.is_some() == reports(Abilities::TARGET_HEADERS),
        ),
        ("x-target", x_target || !reports(Abilities::TARGET_HEADERS)),
        ("cookies", cookies || !reports(Abilities::TARGET_COOKIES)),
        (
            "content type",
            media.is_some_and(|media| media.starts_with(media_there)),
        ),
        (
            "rendered",
            page.rendered
                .is_none_or(|rendered| rendered == task.javascript),
        ),
    ];
    let wrong = same.iter().filter(|(_, same)| !same);
    wrong
        .map(|(name, _)| {
            format!(
                "{name} in {:?}",
                Page {
                    content: Content::Reply,
                    ..page.clone()
                }
            )
        })
        .collect()
}

fn cost_difference(
    described: &Description,
    task: &Task,
    cost: &Cost,
    bill: &Bill,
) -> Option<String> {
    let declared = |unit: &String| unit == USD || described.units.contains(unit);
    let is_declared = cost
        .quantities
        .iter()
        .all(|quantity| declared(&quantity.unit));
    let expected = match bill {
        Bill::Free => None,
        Bill::Usual => Some(usual_cost(&described.name, task)),
        Bill::Credits(amount) => Some(reported("credit", amount)),
    };
    let is_same = match &expected {
        Some(expected) => cost == expected,
        None => cost.charged == Charged::No,
    };
    (!is_same || !is_declared).then(|| format!("{cost:?} instead of {expected:?}"))
}
