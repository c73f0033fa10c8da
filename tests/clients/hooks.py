"""What Schemathesis has to know of the server under test.

Strings in the formats that the document names are made here. Requests are made harmless: nothing
leaves this machine, and nothing takes long. What a schema cannot say is put right: which parameters
go together, and how many bytes a text has.
"""

import re

import schemathesis
from hypothesis import strategies as st

SAMPLE = "http://sample.trawl.test/tides"
# Parameters that would have the server call others, or wait for as long as they say.
OUTWARD = ["webhooks", "webhook", "router", "sitemap_path", "sitemaps", "destination"]
SLOW = ["delay", "crawl_timeout", "wait_for", "scroll", "request_timeout"]
# Options that only formats take which `return_format` names, and text that a plugin parses.
TOGETHER = ["format_options", "css_extraction_map", "content_type", "link_rewrite"]
# Scripts and steps: texts that a browser would run.
SCRIPTS = ["automation_scripts", "execution_scripts", "evaluate_on_new_document"]
# Most pages of a crawl.
PAGES_MAX = 2
# Pages of a list further behind are read by their cursor.
LIST_PAGES_MAX = 100

FORMATS = {
    "css-selector": ["h1", "main > p", ".price, #a", "[href]", "nav:not(.x)"],
    "regular-expression": ["^https?://", "[a-z]+", "/a.*b"],
    "path-or-expression": ["/docs", "^https?://", "/a.*b", ""],
    "host-or-expression": ["docs.example.org", ".*[.]example[.]org", "*"],
}
for name, values in FORMATS.items():
    schemathesis.openapi.format(name, st.sampled_from(values))


def is_url(value):
    """Whether a value names a page, if only by its form."""
    return isinstance(value, str) and re.search(r"[^\s,]", value) is not None


def is_of_some_type(value):
    """Whether a value has a type that the parameters in question may have: others stay wrong."""
    return isinstance(value, (str, list, dict))


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
        for key in OUTWARD + TOGETHER + SCRIPTS:
            if is_of_some_type(part.get(key)):
                del part[key]
        for key in SLOW:
            if is_of_some_type(part.get(key)) or isinstance(part.get(key), int) and part[key] >= 0:
                del part[key]
        limit = part.get("limit", 0)
        if isinstance(limit, int) and not 0 < limit <= PAGES_MAX and limit >= 0:
            part["limit"] = PAGES_MAX


@schemathesis.hook
def before_call(context, case, kwargs):
    tame(case.body)
    if "/fetch/" in case.path:
        paths = case.path_parameters or {}
        if paths.get("domain"):
            paths["domain"] = "sample.trawl.test"
        if is_url(paths.get("url")):
            paths["url"] = SAMPLE
        for key in OUTWARD + SLOW + TOGETHER + SCRIPTS:
            header = "X-" + "-".join(word.capitalize() for word in key.split("_"))
            (case.headers or {}).pop(header, None)
    page = (case.query or {}).get("page")
    if isinstance(page, int) and page > LIST_PAGES_MAX:
        case.query["page"] = LIST_PAGES_MAX
