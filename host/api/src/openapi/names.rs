//! Ids of operations, after which generated clients name their methods.

/// Words of a path that say what is done, rather than to what.
const ACTIONS: [&str; 2] = ["resume", "suspend"];
/// Words that are left out.
const SILENT: [&str; 1] = ["pipeline"];
/// Parameters that are said, since a path without them is there, too.
const SAID: [&str; 1] = ["{url}"];
/// Words that read the list of all when they end a path.
const LISTED: [&str; 2] = ["crawl", "batch"];
/// What is made anew rather than added.
const RENEWED: [&str; 1] = ["webhook_secret"];

/// The id of an operation: `scrape`, `get_crawl`, `create_admin_account_key`, `resume_crawl`.
pub(super) fn operation_id(method: &str, path: &str) -> String {
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let mut words = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        if SAID.contains(segment) {
            words.push(segment.trim_matches(['{', '}']).to_owned());
            continue;
        }
        if segment.starts_with('{') || SILENT.contains(segment) {
            continue;
        }
        let has_parameter = segments
            .get(at + 1)
            .is_some_and(|next| next.starts_with('{') && !SAID.contains(next));
        let mut said = word(segment, has_parameter);
        if method == "get" && at + 1 == segments.len() && LISTED.contains(segment) {
            said.push_str(if said.ends_with("ch") { "es" } else { "s" });
        }
        words.push(said);
    }
    let action = words.pop_if(|word| ACTIONS.contains(&word.as_str()));
    let is_record = segments
        .first()
        .is_some_and(|first| ["admin", "account"].contains(first));
    let is_renewed = words
        .last()
        .is_some_and(|last| RENEWED.contains(&last.as_str()));
    let verb = match (method, action) {
        (_, Some(action)) => Some(action),
        ("get", None) => Some("get".to_owned()),
        ("delete", None) => Some("delete".to_owned()),
        ("put", None) => Some("set".to_owned()),
        ("post", None) if is_renewed => Some("renew".to_owned()),
        ("post", None) if is_record => {
            if let Some(last) = words.last_mut() {
                *last = word(last, true);
            }
            Some("create".to_owned())
        }
        _ => None,
    };
    let words: Vec<String> = verb.into_iter().chain(words).collect();
    words.join("_")
}

/// A segment of a path as a word, in the singular if one of many is meant.
fn word(segment: &str, is_one: bool) -> String {
    let plain = segment.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    match plain.strip_suffix('s') {
        Some(one) if is_one => one.to_owned(),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_what_is_done() {
        let check = |method: &str, path: &str, id: &str| {
            assert_eq!(operation_id(method, path), id, "{method} {path}");
        };
        check("post", "/scrape", "scrape");
        check("post", "/unlimited/scrape", "unlimited_scrape");
        check("post", "/pipeline/extract-contacts", "extract_contacts");
        check("get", "/crawl/{id}", "get_crawl");
        check("get", "/crawl", "get_crawls");
        check("get", "/batch", "get_batches");
        check("post", "/batch/{id}/resume", "resume_batch");
        check("post", "/crawl", "crawl");
        check("delete", "/crawl/{id}", "delete_crawl");
        check("get", "/crawl/{id}/pages", "get_crawl_pages");
        check("post", "/crawl/{id}/resume", "resume_crawl");
        check("get", "/fetch/{domain}/{path}", "get_fetch");
        check("post", "/fetch/{domain}/{path}", "fetch");
        check("get", "/fetch/{url}", "get_fetch_url");
        check("post", "/fetch/{url}", "fetch_url");
        check("post", "/account/keys", "create_account_key");
        check(
            "post",
            "/account/webhook-secret",
            "renew_account_webhook_secret",
        );
        check(
            "get",
            "/account/webhook-secret",
            "get_account_webhook_secret",
        );
        check("get", "/admin/accounts", "get_admin_accounts");
        check("get", "/admin/accounts/{account}", "get_admin_account");
        check("post", "/admin/accounts", "create_admin_account");
        check(
            "post",
            "/admin/accounts/{account}/keys",
            "create_admin_account_key",
        );
        check(
            "delete",
            "/admin/accounts/{account}/keys/{prefix}",
            "delete_admin_account_key",
        );
        check("get", "/openapi.json", "get_openapi_json");
        check("put", "/account/notices", "set_account_notices");
        check(
            "put",
            "/account/keys/{prefix}/budget",
            "set_account_key_budget",
        );
    }
}
