"""What Schemathesis has to know of the server under test.

Strings of the formats that the document names are made here. Requests are made harmless: nothing
leaves this machine, and nothing takes long.
"""

import re

import schemathesis
from hypothesis import strategies as st

SAMPLE = "http://sample.trawl.test/tides"
# Most milliseconds of anything that waits.
WAIT_MS = 20
# Parameters that would have the server call others, or run for as long as they say.
OUTWARD = ["webhooks", "webhook", "router", "sitemap_path", "sitemaps", "destination"]
SLOW = ["delay", "crawl_timeout", "wait_for", "scroll", "request_timeout", "automation_scripts"]

FORMATS = {
    "css-selector": st.sampled_from(["h1", "main > p", ".price, #a", "[href]", "nav:not(.x)"]),
    "regular-expression": st.sampled_from(["/docs", "^https?://", "[a-z]+", "/a.*b"]),
    "header-value": st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40),
}
for name, strategy in FORMATS.items():
    schemathesis.openapi.format(name, strategy)


def is_url(value):
    """Whether a value names a page, if only by its form."""
    return isinstance(value, str) and re.search(r"[^\s,]", value) is not None


def tame(part):
    """Makes a request object harmless. What is wrong with it stays wrong."""
    if isinstance(part, list):
        for item in part:
            tame(item)
    elif isinstance(part, dict):
        if is_url(part.get("url")):
            part["url"] = SAMPLE
        if isinstance(part.get("text"), str):
            part["text"] = f"See {SAMPLE}."
        for key in SLOW + OUTWARD:
            if isinstance(part.get(key), (int, float, str, dict, list)):
                del part[key]
        if isinstance(part.get("limit"), int) and part["limit"] > 2 or "url" in part and "limit" not in part:
            part["limit"] = 2


@schemathesis.hook
def before_call(context, case, kwargs):
    tame(case.body)
    paths = case.path_parameters or {}
    if "/fetch/" in case.path:
        if "domain" in paths:
            paths["domain"] = "sample.trawl.test"
        if is_url(paths.get("url")):
            paths["url"] = SAMPLE
    return case
