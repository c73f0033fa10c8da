"""What Schemathesis has to know of the server under test.

Requests are made harmless: nothing leaves this machine, and nothing takes long. In requests that
are to be accepted, what no schema can say is put right: texts that a parser reads, and parameters
that go together. What is wrong with a request that is to be refused stays wrong.
"""

import re

import schemathesis

SAMPLE = "http://sample.trawl.test/tides"
# Most pages of a crawl.
PAGES_MAX = 2
# Pages of a list further behind are read by their cursor.
LIST_PAGES_MAX = 100
# Parameters that would have the server call others, or wait for as long as they say.
OUTWARD = ["webhooks", "webhook", "router", "sitemap_path", "sitemaps", "destination"]
SLOW = ["delay", "crawl_timeout", "wait_for", "scroll", "request_timeout"]
# Texts that a parser reads: a selector, an expression, a script, the steps of a page.
PARSED = {
    "root_selector": "main",
    "exclude_selector": "nav",
    "blacklist": ["/private"],
    "whitelist": ["/tides"],
    "external_domains": ["docs.example.org"],
    "css_extraction_map": {"title": "h1"},
    "link_rewrite": {"type": "replace", "find": "a", "replace": "b"},
    "automation_scripts": {"*": []},
    "execution_scripts": {},
    "evaluate_on_new_document": "1",
    "content_type": "product",
    "chunking_alg": "words",
    "extractors": {"links": True},
    "headers": {"accept": "text/html"},
}
# Parameters that depend on others: options of formats that are asked for, pixels of a window.
TOGETHER = {"return_format": "markdown", "format_options": {}, "viewport": {"width": 390}}


def is_url(value):
    """Whether a value names a page, if only by its form."""
    return isinstance(value, str) and re.search(r"[^\s,]", value) is not None


def tame(part, is_positive):
    """Makes a request object harmless, and one that is to be accepted right."""
    if isinstance(part, list):
        for item in part:
            tame(item, is_positive)
        return
    if not isinstance(part, dict):
        return
    if is_url(part.get("url")):
        part["url"] = SAMPLE
    if isinstance(part.get("text"), str):
        part["text"] = f"See {SAMPLE}."
    if ("url" in part or "text" in part) and part.get("limit") in (None, 0):
        part["limit"] = PAGES_MAX
    if isinstance(part.get("limit"), int) and part["limit"] > PAGES_MAX:
        part["limit"] = PAGES_MAX
    for key in OUTWARD + SLOW:
        value = part.get(key)
        if isinstance(value, (str, list, dict)) or isinstance(value, (int, float)) and value >= 0:
            del part[key]
    if is_positive:
        for key, value in (PARSED | TOGETHER).items():
            if part.get(key) is not None:
                part[key] = value
        tame(part.get("data"), is_positive)


def header(parameter):
    """The header of a parameter."""
    return "X-" + "-".join(word.capitalize() for word in parameter.split("_"))


@schemathesis.hook
def before_call(context, case, kwargs):
    is_positive = case.meta is None or case.meta.generation.mode.is_positive
    tame(case.body, is_positive)
    if "/fetch/" in case.path:
        paths = case.path_parameters or {}
        if paths.get("domain"):
            paths["domain"] = "sample.trawl.test"
        if is_url(paths.get("url")):
            paths["url"] = SAMPLE
        headers = case.headers or {}
        for key in OUTWARD + SLOW + (list(PARSED) + list(TOGETHER) if is_positive else []):
            headers.pop(header(key), None)
    query = case.query or {}
    if query.get("cursor") and is_positive:
        query.pop("page", None)
    if isinstance(query.get("page"), int) and query["page"] > LIST_PAGES_MAX:
        query["page"] = LIST_PAGES_MAX
