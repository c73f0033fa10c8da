//! The cases and the wishes between an adapter and its vendor.

use trawl_sdk::provider::{Abilities, Charged, Content, Cost, Description, Page, Task, USD};

use super::{
    Adapter, Bill, CASES, ECHO, Expected, ORIGIN, Talk, WISHES, Wish, converse, echo_differences,
    reported, usual_cost,
};
use crate::vendors::{GOOD_KEY, IMAGE, Vendor};

/// Runs every case and every set of wishes between an adapter and its vendor; returns what was not as expected.
pub fn check(adapter: &dyn Adapter, vendor: &dyn Vendor) -> Vec<String> {
    let described = adapter.describe();
    let mut wrong = Vec::new();
    if described.name != vendor.name() {
        wrong.push(format!("{} talks with {}", described.name, vendor.name()));
    }
    for case in CASES {
        for &javascript in case.javascript {
            if !abilities(&described, javascript).contains(case.needs) {
                continue;
            }
            let expected = case.expected_of(&described.name, javascript);
            let task = Task {
                javascript,
                ..Task::new(case.url, ORIGIN)
            };
            let talk = converse(adapter, vendor, case.key, &task);
            let found = differences(&described, &task, &talk, expected).into_iter();
            let about = format!("{} {} javascript={javascript}", described.name, case.name);
            wrong.extend(found.map(|one| format!("{about}: {one}")));
        }
    }
    for javascript in [false, true] {
        for wishes in WISHES {
            wrong.extend(check_wishes(
                adapter, &described, vendor, javascript, wishes,
            ));
        }
    }
    wrong
}

fn abilities(described: &Description, javascript: bool) -> Abilities {
    match javascript {
        true => described.rendered,
        false => described.plain,
    }
}

fn check_wishes(
    adapter: &dyn Adapter,
    described: &Description,
    vendor: &dyn Vendor,
    javascript: bool,
    wishes: &[Wish],
) -> Vec<String> {
    let abilities = abilities(described, javascript);
    let mut task = Task {
        javascript,
        ..Task::new(ECHO, ORIGIN)
    };
    let wishes = wishes.iter().filter(|wish| wish.is_within(abilities));
    let wishes: Vec<_> = wishes.collect();
    if wishes.is_empty() {
        return Vec::new();
    }
    for wish in wishes {
        wish.make(&mut task, abilities);
    }
    let talk = converse(adapter, vendor, GOOD_KEY, &task);
    let mut found = match &talk.outcome {
        Ok(page) => {
            let echo = serde_json::from_slice(&talk.body).unwrap_or_default();
            let mut found = echo_differences(&described.name, &task, &echo);
            found.extend(cost_difference(described, &task, &page.cost, Bill::Usual));
            if page.screenshot.as_deref() != task.screenshot.map(|_| IMAGE.as_slice()) {
                found.push(format!("picture {:?}", page.screenshot));
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

/// Where the outcome is not as expected.
fn differences(
    described: &Description,
    task: &Task,
    talk: &Talk,
    expected: Expected,
) -> Vec<String> {
    let (mut found, cost, bill) = match (&talk.outcome, expected) {
        (
            Ok(got),
            Expected::Page {
                status,
                body,
                moved_to,
                bill,
            },
        ) => {
            let mut found = page_differences(described, task, got, moved_to);
            if got.status != Some(status) {
                found.push(format!("status {:?} instead of {status}", got.status));
            }
            if talk.body != body.bytes() {
                let start = talk.body.get(..200).unwrap_or(&talk.body);
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
            let is_same = (got.class, got.retry_after) == (class, retry_after);
            let found =
                (!is_same).then(|| format!("{got:?} instead of {class:?}, {retry_after:?}"));
            (found.into_iter().collect(), &got.cost, bill)
        }
        (got, expected) => return vec![format!("{got:?} instead of {expected:?}")],
    };
    found.extend(cost_difference(described, task, cost, bill));
    found
}

/// Where the facts about a page are not those of the target, as far as the provider can tell them.
fn page_differences(
    described: &Description,
    task: &Task,
    page: &Page,
    moved_to: Option<&str>,
) -> Vec<String> {
    let abilities = abilities(described, task.javascript);
    let tells = |ability| abilities.contains(ability);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let url = tells(Abilities::FINAL_URL).then(|| moved_to.unwrap_or(&task.url));
    let headers = page.headers.as_deref().unwrap_or_default();
    let mut types = headers.iter().filter(|(name, _)| name == "content-type");
    let media = page
        .content_type
        .as_ref()
        .or(types.next().map(|(_, value)| value));
    let media_there = match task.url.ends_with("/image") {
        true => "image/png",
        false => "text/html",
    };
    // Who turns the vendor away has none of the target's headers.
    let is_target = page.status != Some(403) || task.url.ends_with("/forbidden");
    let x_target = headers.contains(&pair("x-target", "yes")) || !is_target;
    let cookies = [pair("fish", "cod"), pair("sea", "north")];
    let cookies = page.cookies == cookies || !is_target;
    let same = [
        ("url", page.url.as_deref() == url),
        (
            "headers",
            page.headers.is_some() == tells(Abilities::TARGET_HEADERS),
        ),
        ("x-target", x_target || !tells(Abilities::TARGET_HEADERS)),
        ("cookies", cookies || !tells(Abilities::TARGET_COOKIES)),
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
    bill: Bill,
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
