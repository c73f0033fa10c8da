//! The attributes that contain URLs.

use std::borrow::Cow;

use encoding_rs::Encoding;
use html5ever::QualName;

use super::resolve::{with_encoded_queries, with_encoded_query};

/// Attributes that are one URL, in HTML, SVG, or by the habit of scripts that load images late.
const URLS: [&str; 22] = [
    "action",
    "background",
    "cite",
    "codebase",
    "data",
    "data-href",
    "data-lazy-src",
    "data-original",
    "data-src",
    "data-url",
    "dynsrc",
    "formaction",
    "href",
    "icon",
    "itemid",
    "longdesc",
    "lowsrc",
    "manifest",
    "poster",
    "profile",
    "src",
    "xlink:href",
];

/// Attributes that are URLs separated by white space, perhaps with other words between them.
const LISTS: [&str; 5] = ["archive", "data-srcset", "imagesrcset", "ping", "srcset"];

/// The value of an attribute for readers in UTF-8: the queries of its URLs are percent-encoded in
/// the encoding of the page. Decision D330.
pub(super) fn value<'v>(
    name: &QualName,
    value: &'v str,
    encoding: &'static Encoding,
) -> Cow<'v, str> {
    if value.is_ascii() {
        return Cow::Borrowed(value);
    }
    let is_linked = name.prefix.is_some() && &*name.local == "href";
    if is_linked || URLS.contains(&&*name.local) {
        with_encoded_query(value, encoding)
    } else if LISTS.contains(&&*name.local) {
        Cow::Owned(with_encoded_queries(value, encoding))
    } else {
        Cow::Borrowed(value)
    }
}
