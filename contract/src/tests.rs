//! The types of this crate against the contract: every field and every case, in its order.

const PROVIDER: &str = include_str!("../../wit/provider/1/provider.wit");
const SEARCH: &str = include_str!("../../wit/search/1/search.wit");
const ANALYST: &str = include_str!("../../wit/analyst/1/analyst.wit");

/// Source of this crate's types.
const TYPES: [&str; 7] = [
    include_str!("analyst.rs"),
    include_str!("provider/cost.rs"),
    include_str!("provider/describe.rs"),
    include_str!("provider/outcome.rs"),
    include_str!("provider/request.rs"),
    include_str!("provider/reply.rs"),
    include_str!("provider/task.rs"),
];

/// Types of searches, some of which are called like those of conversations.
const SEARCH_TYPES: [&str; 1] = [include_str!("search.rs")];

/// What this crate writes otherwise than a translation of the contract: the type, the translation,
/// and what is here instead.
const OTHERWISE: [(&str, &str, &str); 10] = [
    (
        "description",
        "info: Info",
        "name: String\nversion: String\nsummary: String\nsettings_schema: String",
    ),
    ("task", "javascript: Javascript", "javascript: bool"),
    (
        "credential",
        "Query((String, String))",
        "Query(String, String)",
    ),
    (
        "credential",
        "Header((String, String))",
        "Header(String, String)",
    ),
    (
        "credential",
        "Basic((Option<String>, Option<String>))",
        "Basic(Option<String>, Option<String>)",
    ),
    ("reply", "body: Vec<u8>", "body: Cow<'a, [u8]>"),
    ("page", "rendered: Rendered", "rendered: Option<bool>"),
    ("page", "route: String", "variant: String"),
    ("step", "Send(Exchange)", "Send(Box<Exchange>)"),
    (
        "step",
        "Done(Page)\nFailed(Failure)",
        "Done(Box<Page>)\nFailed(Box<Failure>)",
    ),
];

/// Checks one type: its members in the contract, translated, are those of the type here.
#[track_caller]
fn check(contract: &str, kind: &str, name: &str) {
    let opening = format!("    {kind} {name} {{\n");
    let (_, rest) = contract.split_once(&opening).expect("in the contract");
    let (body, _) = rest.split_once("\n    }").expect("its end");
    let mut expected = members(body, translated_member);
    for (_, translation, own) in OTHERWISE.into_iter().filter(|row| row.0 == name) {
        assert!(expected.contains(translation), "{name}: `{translation}`");
        expected = expected.replace(translation, own);
    }
    let types: &[&str] = match contract {
        SEARCH => &SEARCH_TYPES,
        _ => &TYPES,
    };
    assert_eq!(own_members(types, &camel(name)), expected, "{name}");
}

/// Members of the type of this crate, one a line.
fn own_members(types: &[&str], name: &str) -> String {
    let openings = [
        format!("pub struct {name} {{\n"),
        format!("pub struct {name}<'a> {{\n"),
        format!("pub enum {name} {{\n"),
    ];
    let mut found = types.iter().flat_map(|text| {
        let parts = openings.iter().map(|opening| text.split_once(opening));
        parts.flatten().collect::<Vec<_>>()
    });
    let (_, rest) = found.next().expect("a type of this crate");
    let (body, _) = rest.split_once("\n}").expect("its end");
    members(body, |member| {
        member.strip_prefix("pub ").unwrap_or(member).to_owned()
    })
}

/// The members in the body of a type, without their documentation, one a line.
fn members(body: &str, write: impl Fn(&str) -> String) -> String {
    let lines = body.lines().map(str::trim);
    let members = lines.filter(|line| !line.starts_with("///") && !line.starts_with('#'));
    let written = members.map(|member| write(member.trim_end_matches(',')));
    written.collect::<Vec<_>>().join("\n")
}

/// A field or case of the contract in Rust.
fn translated_member(member: &str) -> String {
    if let Some((name, form)) = member.split_once(": ") {
        return format!("{}: {}", name.replace('-', "_"), translated(form));
    }
    match member.split_once('(') {
        Some((name, payload)) => {
            let form = payload.strip_suffix(')').expect("one payload");
            format!("{}({})", camel(name), translated(form))
        }
        None => camel(member),
    }
}

/// A type of the contract in Rust.
fn translated(form: &str) -> String {
    let inside = |opening: &str| form.strip_prefix(opening)?.strip_suffix('>');
    if let Some(inner) = inside("list<") {
        return format!("Vec<{}>", translated(inner));
    }
    if let Some(inner) = inside("option<") {
        return format!("Option<{}>", translated(inner));
    }
    if let Some(inner) = inside("tuple<") {
        let (first, second) = inner.split_once(", ").expect("a pair");
        return format!("({}, {})", translated(first), translated(second));
    }
    match form {
        "bool" | "u8" | "u16" | "u32" | "u64" => form.to_owned(),
        named => camel(named),
    }
}

/// `wait-for` as `WaitFor`.
fn camel(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect()
}

#[test]
fn records_of_a_conversation_are_those_of_the_contract() {
    for name in [
        "description",
        "wait-for",
        "task",
        "request",
        "reply",
        "quantity",
        "cost",
        "page",
        "failure",
        "exchange",
    ] {
        check(PROVIDER, "record", name);
    }
}

#[test]
fn cases_of_a_conversation_are_those_of_the_contract() {
    for name in ["pool", "screenshot", "charged", "class"] {
        check(PROVIDER, "enum", name);
    }
    for name in ["credential", "content", "step"] {
        check(PROVIDER, "variant", name);
    }
}

#[test]
fn records_of_a_search_are_those_of_the_contract() {
    for name in ["description", "query", "hit", "results"] {
        check(SEARCH, "record", name);
    }
    check(SEARCH, "enum", "freshness");
}

#[test]
fn messages_to_the_model_are_those_of_the_contract() {
    check(ANALYST, "record", "message");
    check(ANALYST, "enum", "role");
}
