//! Files whose types must be named by files that they use.

/// A file that may be used by the files that it uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// The crate's folder.
    pub(super) of: &'static str,
    /// The file, `lib` for the crate's root.
    pub(super) file: &'static str,
    /// Why its names are not in a file below both.
    pub(super) reason: &'static str,
}

/// All of them. A row that breaks no circle is refused.
pub(super) const LISTED: &[Shared] = &[
    row(
        "contract",
        "provider/outcome",
        "requests, replies and steps of a conversation name each other",
    ),
    row(
        "host/api",
        "lib",
        "the state that handlers get holds the description of all handlers",
    ),
    row(
        "host/billing",
        "lib",
        "repeated requests are a part of `Billing` with a file of its own",
    ),
    row(
        "host/engine",
        "ai",
        "the cooldown counts answers and refusals of the model",
    ),
    row(
        "host/engine",
        "cache",
        "keys and hashes of bodies name stored pages in all parts of the cache",
    ),
    row(
        "host/engine",
        "extract",
        "decoding and analysis work on the page as it is read",
    ),
    row(
        "host/engine",
        "providers",
        "candidates, keys and failures of a provider pass through all of its parts",
    ),
    row(
        "host/engine",
        "routing/smart",
        "rules judge the signals of a page and are named in its verdict",
    ),
    row(
        "host/net",
        "egress/proxy",
        "connections and forwarded requests belong to a channel",
    ),
    row(
        "host/net",
        "fetch/decode",
        "a decoder for each coding reports progress and errors of the whole",
    ),
    row(
        "host/net",
        "politeness",
        "a host gives permits and turns to owners, at a pace",
    ),
    row(
        "host/net",
        "robots/rules",
        "both forms of a group have the same rules and weights",
    ),
    row(
        "host/plan",
        "lib",
        "the types of a plan are the root of the crate, their rules a file a subject",
    ),
    row(
        "host/plan",
        "render",
        "what is read becomes the parts of the plan",
    ),
    row(
        "host/server",
        "app",
        "health and foundation are parts of `App` with files of their own",
    ),
    row(
        "host/server",
        "cli/crawl",
        "what follows a crawl and what continues it run on its server and request",
    ),
    row(
        "host/server",
        "cli/provider",
        "each command has the page as its arguments",
    ),
    row(
        "plugins/analyst-contacts",
        "addresses",
        "addresses of lines are completed as all others are",
    ),
    row(
        "plugins/analyst-contacts",
        "lib",
        "questions follow the options",
    ),
    row(
        "plugins/analyst-filter-links",
        "lib",
        "links are ranked for a request",
    ),
    row(
        "plugins/analyst-label",
        "lib",
        "the taxonomy is made of labels and their kinds",
    ),
    row("plugins/analyst-qa", "lib", "all steps follow the options"),
    row(
        "plugins/decoder-pdf",
        "page",
        "a run writes the glyphs of a page",
    ),
    row(
        "plugins/format-markdown",
        "inline",
        "marks are written by the writer of a line",
    ),
    row(
        "plugins/format-markdown",
        "walk",
        "links are rendered by the renderer of a page",
    ),
    row(
        "plugins/lib/chunk",
        "lib",
        "a cutter cuts at the ends that the trait describes",
    ),
    row(
        "plugins/lib/xpath",
        "lib",
        "every step may fail with an error of the whole",
    ),
    row(
        "plugins/lib/xpath",
        "tree",
        "a pool holds texts and keys of a tree, the tree its pools",
    ),
    row(
        "sdk",
        "view/document",
        "a document gives elements, an element its document",
    ),
    row("sdk", "view/hidden", "rules tell how an element is hidden"),
    row(
        "sdk",
        "view/names",
        "the name of an element and its shown text need each other",
    ),
    row(
        "sdk",
        "view/node",
        "an element is a node, a node may be an element",
    ),
    row(
        "sdk/build",
        "lib",
        "every step has the request and fails with the error of the whole",
    ),
];

const fn row(of: &'static str, file: &'static str, reason: &'static str) -> Shared {
    Shared { of, file, reason }
}
