//! The files of the console, embedded in the program.

/// The first document, which loads the others.
pub(super) const INDEX: &str = "index.html";
/// The document that shows a page of others.
pub(super) const FRAME: &str = "frame/index.html";

/// A file below `host/api/console`.
#[derive(Debug)]
pub(super) struct File {
    /// Its path in that folder, the same as below `/console/`.
    pub(super) path: &'static str,
    /// Its content.
    pub(super) text: &'static str,
}

macro_rules! files {
    ($($path:literal,)*) => {
        &[$(File {
            path: $path,
            text: include_str!(concat!("../../console/", $path)),
        },)*]
    };
}

/// All of them.
pub(super) const FILES: &[File] = files![
    "account/hosts.js",
    "account/keys.js",
    "account/overview.js",
    "account/period.js",
    "account/spending.js",
    "account/statement.js",
    "account/webhooks.js",
    "answer.js",
    "answer/chunks.js",
    "answer/compare.js",
    "answer/diff.js",
    "answer/page.js",
    "answer/pick.js",
    "answer/served.js",
    "answer/text.js",
    "api.js",
    "app.js",
    "code.js",
    "console.css",
    "crawls/files.js",
    "crawls/follow.js",
    "crawls/list.js",
    "crawls/new.js",
    "crawls/one.js",
    "crawls/pages.js",
    "crawls/request.js",
    "crawls/skipped.js",
    "crawls/tree.js",
    "crawls/zip.js",
    "form.js",
    "frame/dom.js",
    "frame/frame.js",
    "frame/index.html",
    "frame/inside.js",
    "frame/marks.js",
    "frame/selectors.js",
    "icon.svg",
    "index.html",
    "markdown.js",
    "operator/accounts.js",
    "operator/log.js",
    "operator/overview.js",
    "operator/plugins.js",
    "operator/providers.js",
    "pages/account.js",
    "pages/crawls.js",
    "pages/index.js",
    "pages/operator.js",
    "pages/playground.js",
    "schema.js",
    "signing.js",
    "ui.js",
    "views.css",
    "views.js",
];

/// The media type of a file by the end of its name; `None` if the console has no such files.
pub(super) fn media_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    match ending {
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "html" => Some("text/html; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}
