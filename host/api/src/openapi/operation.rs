//! One operation of the document, as far as what it shares with others depends on it.

use serde_json::Value;

use crate::http::drain::MONITORING;

/// Endpoints that crawl, without their version and plan.
const CRAWLING: [&str; 3] = ["/crawl", "/links", "/batch"];

/// Operations of whose request object every field may be missing.
const WITHOUT_BODY: [(&str, &str); 4] = [
    ("post", "/account/keys"),
    ("post", "/admin/accounts/{account}/keys"),
    ("post", "/crawl/{id}/resume"),
    ("post", "/batch/{id}/resume"),
];

/// One operation.
pub(super) struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    /// Whether it needs a key.
    pub(super) is_keyed: bool,
    /// Whether it takes a key with a rate limit; the admin key has none.
    pub(super) is_limited: bool,
    /// Whether it takes the admin key.
    pub(super) takes_admin_key: bool,
    /// Whether it reads a body.
    pub(super) has_body: bool,
    /// Whether it has parameters in its path, query or headers.
    pub(super) has_parameters: bool,
    /// Whether it is deprecated.
    pub(super) is_deprecated: bool,
}

impl<'a> Operation<'a> {
    /// The operation of a path, from its description in the document.
    pub(super) fn new(path: &'a str, method: &'a str, described: &Value) -> Self {
        let schemes = || described["security"].as_array().into_iter().flatten();
        let needs = |name: &str| schemes().any(|scheme| scheme.get(name).is_some());
        Self {
            path,
            method,
            is_keyed: schemes().next().is_some(),
            is_limited: needs("key"),
            takes_admin_key: needs("admin"),
            has_body: described["requestBody"].is_object(),
            has_parameters: described["parameters"].is_array(),
            is_deprecated: described["deprecated"] == true,
        }
    }

    /// Whether only the operator may call it.
    pub(super) fn is_of_operator(&self) -> bool {
        self.is_keyed && !self.is_limited
    }

    /// Whether it costs money and takes an idempotency key.
    pub(super) fn is_work(&self) -> bool {
        let is_posted = self.method == "post" && self.has_body && !self.is_below("/account");
        self.is_limited && (is_posted || self.is_fetch())
    }

    /// Whether a request without a body is one with an empty object.
    pub(super) fn may_omit_body(&self) -> bool {
        self.is_fetch() || WITHOUT_BODY.contains(&(self.method, self.path))
    }

    /// Whether its path has the URL of a page.
    pub(super) fn is_fetch(&self) -> bool {
        self.is_below("/fetch")
    }

    /// Whether it is of the Unlimited plan.
    pub(super) fn is_unlimited(&self) -> bool {
        self.is_below("/unlimited")
    }

    /// Whether it is a pipeline.
    pub(super) fn is_pipeline(&self) -> bool {
        self.is_below("/pipeline")
    }

    /// Whether it starts crawls.
    pub(super) fn starts_crawls(&self) -> bool {
        let path = self.path.strip_prefix("/unlimited").unwrap_or(self.path);
        self.method == "post" && (CRAWLING.contains(&path) || self.is_pipeline())
    }

    /// Whether it changes the account of its key.
    pub(super) fn changes_account(&self) -> bool {
        self.is_limited && self.is_below("/account") && self.method != "get"
    }

    /// Whether its path names a crawl.
    pub(super) fn names_crawl(&self) -> bool {
        self.path.contains("/crawl/{id}")
    }

    /// Whether its path names a batch.
    pub(super) fn names_batch(&self) -> bool {
        self.path.contains("/batch/{id}")
    }

    /// Whether its path names an account.
    pub(super) fn names_account(&self) -> bool {
        self.path.contains("{account}")
    }

    /// Whether it stays available while the server shuts down.
    pub(super) fn is_monitoring(&self) -> bool {
        MONITORING.contains(&self.path)
    }

    /// The tag under which documentation and clients list it.
    pub(super) fn tag(&self) -> &'static str {
        let first = self.path.split('/').nth(1).unwrap_or_default();
        let tags = TAGS.iter().find(|tag| tag.segments.contains(&first));
        tags.map_or(OTHER.name, |tag| tag.name)
    }

    fn is_below(&self, folder: &str) -> bool {
        let rest = self.path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }
}

/// A tag.
pub(super) struct Tag {
    /// Its name.
    pub(super) name: &'static str,
    /// What its operations are for.
    pub(super) description: &'static str,
    /// First segments of their paths.
    segments: &'static [&'static str],
}

/// All tags, in the order of the document; the last one has what no other has.
pub(super) const TAGS: [Tag; 8] = [
    Tag {
        name: "pages",
        description: "Pages by their URLs, or by a web search.",
        segments: &[
            "scrape",
            "search",
            "fetch",
            "screenshot",
            "unblocker",
            "transform",
        ],
    },
    Tag {
        name: "crawls",
        description: "Crawls and batches: starting them, their state, their pages. Maps of sites.",
        segments: &["crawl", "links", "batch", "map"],
    },
    Tag {
        name: "unlimited",
        description: "The same for accounts that pay by the month.",
        segments: &["unlimited"],
    },
    Tag {
        name: "data",
        description: "Stored records of an account.",
        segments: &["data"],
    },
    Tag {
        name: "account",
        description: "An account's balance, keys, statement and alerts.",
        segments: &["account"],
    },
    Tag {
        name: "admin",
        description: "What the operator does with the admin key.",
        segments: &["admin"],
    },
    Tag {
        name: "pipelines",
        description: "Crawls with an analysis of their pages. Deprecated.",
        segments: &["pipeline"],
    },
    OTHER,
];

const OTHER: Tag = Tag {
    name: "server",
    description: "The server: its state, plugins and providers, this document.",
    segments: &[],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_and_security_say_what_an_operation_is() {
        let keyed = json!({"security": [{"key": []}], "requestBody": {}});
        let operation =
            |path: &'static str, method: &'static str| Operation::new(path, method, &keyed);
        let scrape = operation("/scrape", "post");
        assert!(scrape.is_limited && scrape.is_work() && !scrape.starts_crawls());
        assert_eq!(scrape.tag(), "pages");
        let crawl = operation("/unlimited/crawl", "post");
        assert!(crawl.is_unlimited() && crawl.starts_crawls() && crawl.is_work());
        assert!(!operation("/account/keys", "post").is_work());
        assert!(operation("/account/keys", "post").changes_account());
        assert!(!operation("/account/keys", "get").changes_account());
        assert!(!scrape.changes_account());
        assert!(operation("/fetch/{url}", "get").is_work());
        let open = Operation::new("/health", "get", &json!({}));
        assert!(open.is_monitoring() && !open.is_keyed && !open.is_of_operator());
        let admin = json!({"security": [{"admin": []}]});
        let admin = Operation::new("/admin/usage", "get", &admin);
        assert!(admin.is_of_operator() && !admin.is_limited && !admin.is_work());
        let both = json!({"security": [{"key": []}, {"admin": []}]});
        let both = Operation::new("/providers", "get", &both);
        assert!(both.is_limited && !both.is_of_operator());
    }
}
