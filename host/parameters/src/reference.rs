//! The tables as a page of the documentation.

use std::fmt::Write;

use trawl_model::SkipReason;

use super::row::{Object, Parameter, Range, Shape};
use super::statuses::{ANSWERS, CAUSES, CauseRow, Status, has_site_status};
use super::tables::{GROUPS, STEPS};

const INTRODUCTION: &str = "\
# Reference: parameters and statuses

This page is generated from the tables by which the server validates requests (`host/parameters/src`); a test compares them.

A request is a JSON object, or an array of them. `null` means \"not set\". The choices of a parameter are case-insensitive. A value of the wrong
type is a 400 that names its path. Unknown parameters and unknown keys of nested objects are ignored; the response header
`X-Ignored-Parameters` lists their paths, and those of parameters that have no effect on the request. With `fetch_page_content`, `/search` takes
all parameters of `/scrape` but `url`.

The tools of `/mcp` ([`mcp.md`](mcp.md)) have some of these parameters as arguments, with the same names.
";

const HEADERS: &str = "
## Parameters as headers

`GET` and `POST /fetch/…` take the parameters of `/scrape` as headers, too: `return_format` is `X-Return-Format`, `wait_for` is `X-Wait-For`.
Numbers, booleans and texts are written as they are, lists of texts with commas between them, objects as JSON. In a `POST` the body wins.

## Response headers

| header | meaning |
|---|---|
| `X-Ignored-Parameters` | paths of unknown parameters and of those without effect, separated by commas; `...` at the end if there are more |
| `X-Parameter-Hints` | for unknown parameters, the known one with the closest name: `webhooks.on_fnd=webhooks.on_find` |
| `X-Request-Id` | identifies the request, also in the server's log |
| `X-Crawl-Id` | ids of the crawls that the request started, or of the batch |
| `X-Page-Status`, `X-Page-Url`, `X-Cost` | with the content alone of a `/fetch`: status, URL and cost of the page |
| `X-Left-Out` | `urls=n`: n URLs of the text are beyond the first 100,000 and not crawled |
| `X-Next-Cursor` | cursor of the next page of a list |
| `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` | requests per minute, requests left, seconds until the window ends |
| `RateLimit-Policy`, `RateLimit` | the same as structured fields of draft-ietf-httpapi-ratelimit-headers-11: `\"minute\";q=10000;w=60` and `\"minute\";r=9999;t=60` |
| `Retry-After` | seconds to wait, with a 429 or 503 |
| `X-Concurrency-Limit`, `X-Concurrency-Active` | seats of the Unlimited plan, and how many are in use |
| `Idempotency-Replayed` | the response is a repetition of that to an earlier request with the same `Idempotency-Key` |
| `Deprecation`, `Link` | whether the endpoint is deprecated, and its successor |
| `Access-Control-Allow-Origin`, `Access-Control-Expose-Headers` | to a request with `Origin`: that web pages of any origin may read the response; only where an account's key is needed |
";

/// The form of errors.
const ERRORS: &str = "
Errors are JSON objects with an `error`. Where `Accept` names `application/problem+json`, with the weight of `application/json` at least, they are
problem details (RFC 9457): `type`, `title`, `status`, `detail` (the same as `error`), and the other members of the error.
";

/// `docs/reference.md`.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for group in GROUPS {
        section(&mut page, group.title);
        table(&mut page, group.rows, true);
    }
    section(&mut page, "Nested objects");
    for object in nested() {
        line(&mut page, &format!("\n### `{}`\n", object.name));
        table(&mut page, object.rows, false);
    }
    section(&mut page, "Steps of `automation_scripts`");
    line(
        &mut page,
        "\nEvery step has two forms: `{\"Click\": \"#a\"}` and `{\"type\": \"Click\", \"selector\": \
         \"#a\"}`. In the first, the value of a step with\none key is the value of that key.\n",
    );
    line(
        &mut page,
        "| step | keys | meaning | example |\n|---|---|---|---|",
    );
    for kind in STEPS {
        let keys = kind.rows.iter().map(|row| {
            let names = names(row).join(" or ");
            format!("{names}: {}", row.shape.phrase())
        });
        let keys = keys.collect::<Vec<_>>().join("; ");
        row(
            &mut page,
            &[&code(kind.name), &keys, kind.doc, &code(kind.example)],
        );
    }
    section(&mut page, "Statuses and causes of page entries");
    line(
        &mut page,
        "\nThe `status` of an entry is the status of the site's response. A 4xx or 5xx of the site is a failure entry \
         that keeps its `content`; it costs nothing. If\nthere was no response, the status is one \
         of those below. Several causes may share a status, so every failed page has the name of \
         its\n`cause` next to `error`, whose text may change. A page whose site responded and whose \
         content could not be made (`unsupported_media`, for\nexample) has the site's status. 520 \
         is not used. Causes may be added.\n\n`GET /data/crawl_logs` and `GET /data/pages` have the \
         same `cause`, and so have the bodies of page events.\n",
    );
    causes(&mut page, CAUSES);
    section(&mut page, "Reasons of skipped URLs");
    line(
        &mut page,
        "\n`GET /crawl/{id}/skipped` lists the URLs that a crawl did not fetch, each with a \
         `reason`.\n\n| reason | meaning |\n|---|---|",
    );
    for reason in SkipReason::ALL {
        row(&mut page, &[&code(reason.name()), skipped(reason)]);
    }
    section(&mut page, "Statuses of HTTP responses");
    line(&mut page, ERRORS);
    statuses(&mut page, ANSWERS);
    page.push_str(HEADERS);
    page
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

fn section(page: &mut String, title: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "\n## {title}");
}

fn row(page: &mut String, cells: &[&str]) {
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn names(row: &Parameter) -> Vec<String> {
    let names = std::iter::once(&row.name).chain(row.aliases);
    names.map(|name| code(name)).collect()
}

fn table(page: &mut String, rows: &[Parameter], has_routes: bool) {
    line(
        page,
        "\n| parameter | value | default | meaning | has an effect | example |\n|---|---|---|---|---|---|",
    );
    for parameter in rows {
        let mut meaning = parameter.doc.to_owned();
        if parameter.since != "0.1" {
            let _ = write!(meaning, " Since {}.", parameter.since);
        }
        row(
            page,
            &[
                &names(parameter).join(", "),
                &value(&parameter.shape),
                parameter.default,
                &meaning,
                &effect(parameter, has_routes),
                &code(parameter.example),
            ],
        );
    }
}

/// The shape with its range or choices.
fn value(shape: &Shape) -> String {
    match shape {
        Shape::Count(range) => count(*range),
        Shape::Number(range) => format!("a number, {range}"),
        Shape::Text(what) => format!("a string: {what}"),
        Shape::Name(choices) => {
            let choices = choices.iter().map(|choice| {
                let aliases: Vec<_> = choice.aliases.iter().map(|alias| code(alias)).collect();
                match aliases.as_slice() {
                    [] => code(choice.name),
                    aliases => format!("{} ({})", code(choice.name), aliases.join(", ")),
                }
            });
            choices.collect::<Vec<_>>().join(", ")
        }
        Shape::Either(shapes) => {
            let shapes: Vec<_> = shapes.iter().map(value).collect();
            shapes.join(", or ")
        }
        Shape::List(item) => format!("a list, each item {}", value(item)),
        Shape::Map(keys, of) => format!("an object whose keys are {keys}, each with {}", value(of)),
        Shape::Object(object) => format!("an object, see `{}`", object.name),
        Shape::Switch | Shape::Scalar | Shape::Bytes | Shape::Steps => shape.phrase(),
        Shape::Options(_) | Shape::Any(..) => shape.phrase(),
    }
}

fn count(range: Range) -> String {
    match range.most {
        u64::MAX if range.least == 0 => format!("a whole number of {}", range.unit),
        u64::MAX => format!("a whole number of {}, at least {}", range.unit, range.least),
        most => format!("{} to {most} {}", range.least, range.unit),
    }
}

fn effect(parameter: &Parameter, has_routes: bool) -> String {
    let needs = parameter.condition();
    match (has_routes, needs.is_empty()) {
        (true, true) => parameter.routes.to_string(),
        (true, false) => format!("{}; {needs}", parameter.routes),
        (false, true) => "always".to_owned(),
        (false, false) => needs,
    }
}

/// Every nested object once, in the order of the tables.
fn nested() -> Vec<&'static Object> {
    fn add(shape: &Shape, found: &mut Vec<&'static Object>) {
        match shape {
            Shape::Object(object) if found.iter().any(|known| known.name == object.name) => {}
            Shape::Object(object) => {
                found.push(object);
                object.rows.iter().for_each(|row| add(&row.shape, found));
            }
            Shape::List(of) | Shape::Map(_, of) => add(of, found),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| add(shape, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    super::all().for_each(|row| add(&row.shape, &mut found));
    found
}

fn statuses(page: &mut String, statuses: &[Status]) {
    line(page, "| status | meaning | what to do |\n|---|---|---|");
    for status in statuses {
        row(
            page,
            &[&status.code.to_string(), status.meaning, status.advice],
        );
    }
}

fn causes(page: &mut String, rows: &[CauseRow]) {
    line(
        page,
        "| status | cause | meaning | what to do |\n|---|---|---|---|",
    );
    let mut last = None;
    for one in rows {
        let status = match has_site_status(one.cause) {
            true => "the site's".to_owned(),
            false => one.cause.status().to_string(),
        };
        let shown: &str = if last.as_ref() == Some(&status) {
            ""
        } else {
            &status
        };
        row(
            page,
            &[shown, &code(one.cause.name()), one.meaning, one.advice],
        );
        last = Some(status);
    }
}

/// What a reason of a skipped URL means.
const fn skipped(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Robots => "robots.txt does not allow it.",
        SkipReason::Nofollow => "Every link to it has `nofollow`, and robots rules are obeyed.",
        SkipReason::Depth => "It has more hops from the seed than `depth`.",
        SkipReason::Budget => "A path of `budget` is used up.",
        SkipReason::Limit => "The crawl reached `limit` first.",
        SkipReason::Spend => {
            "The crawl ran out of money first: its ceiling, the budget of its key or the balance."
        }
        SkipReason::Scope => "Its host or path is not part of the crawl.",
        SkipReason::Blacklist => "`blacklist` matches it.",
        SkipReason::Whitelist => "`whitelist` does not match it.",
        SkipReason::Duplicate => "The crawl has the page under another URL.",
        SkipReason::Scheme => "It is not an `http` or `https` URL.",
        SkipReason::TooLong => "It is longer than a URL may be.",
        SkipReason::Full => "The crawl knows as many URLs as it may.",
        SkipReason::Stopped => "The crawl ended first.",
        SkipReason::Trap => {
            "It is one of a crawler trap: its path repeats itself, or only its session id is new."
        }
        SkipReason::HostLimit => "Its host has `host_limit` pages.",
        SkipReason::Rights => "Its site refuses the use that `purpose` names.",
    }
}
