"""What Schemathesis has to know of the server under test.

Requests are made harmless: nothing leaves this machine, and nothing takes long. In requests that
are to be accepted, what no schema can say is put right: texts that a parser reads, and parameters
that go together. What is wrong with a request that is to be refused stays wrong.
"""

import copy
import json
import re
from pathlib import Path

import schemathesis

DOCUMENT = json.loads(Path("openapi.json").read_text())

SAMPLE = "http://sample.trawl.test/tides"
# Most pages of a crawl.
PAGES_MAX = 2
# Pages of a list further behind are read by their cursor.
LIST_PAGES_MAX = 100
# Parameters that would have the server call others, or wait for as long as they say.
OUTWARD = ["webhooks", "webhook", "router", "sitemap_path", "sitemaps", "destination"]
SLOW = ["delay", "crawl_timeout", "wait_for", "scroll", "request_timeout"]
# Texts that a parser reads: a selector, an expression, a script, the steps of a page, the items of
# a batch.
PARSED = {
    "urls": [SAMPLE, {"url": SAMPLE, "return_format": "text"}],
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
    "purpose": "search",
    "pages": "1-3",
    "country": "DE",
    "chunking_alg": "words",
    "extractors": {"links": True},
    "filters": {"prune": True},
    "headers": {"accept": "text/html"},
}
# Parameters that depend on others: options of formats that are asked for, pixels of a window.
TOGETHER = {"return_format": "markdown", "format_options": {}, "viewport": {"width": 390}}


def is_url(value):
    """Whether a value names a page, if only by its form."""
    return isinstance(value, str) and re.search(r"[^\s,]", value) is not None


def tame(part):
    """Makes a request object harmless."""
    if isinstance(part, list):
        for item in part:
            tame(item)
        return
    if not isinstance(part, dict):
        return
    if isinstance(part.get("url"), str) and part["url"]:
        part["url"] = SAMPLE
    if isinstance(part.get("text"), str):
        part["text"] = f"See {SAMPLE}."
    if ("url" in part or "text" in part) and part.get("limit") in (None, 0):
        part["limit"] = PAGES_MAX
    if isinstance(part.get("limit"), int) and part["limit"] > PAGES_MAX:
        part["limit"] = PAGES_MAX
    # It is required, and null has no one called.
    destination = part.get("destination")
    for key in OUTWARD + SLOW:
        value = part.get(key)
        if isinstance(value, (str, list, dict)) or isinstance(value, (int, float)) and value >= 0:
            del part[key]
    if isinstance(destination, str):
        part["destination"] = None
    if isinstance(part.get("urls"), list):
        part["urls"] = [SAMPLE if is_url(item) else item for item in part["urls"]]
        tame(part["urls"])
    tame(part.get("data"))


def properties(schema):
    """The keys of a request object, or of the items of a list of them."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    inner = [*schema.get("oneOf", []), schema.get("items", {})]
    return set(schema.get("properties", {})).union(*[properties(one) for one in inner if one])


def elsewhere(operation):
    """Parameters of other endpoints: here they are named as without effect, and their types are
    checked all the same."""
    body = operation.definition.raw.get("requestBody", {}).get("content", {})
    own = properties(body.get("application/json", {}).get("schema", {}))
    return PARAMETERS - own


PARAMETERS = set().union(
    *[
        set(schema.get("properties", {}))
        for name, schema in DOCUMENT["components"]["schemas"].items()
        if name.endswith("Request")
    ]
)


def put_right(part, foreign, is_page=False):
    """Puts right what no schema can say of a request object, or of a page in one."""
    if isinstance(part, list):
        for item in part:
            put_right(item, foreign, is_page)
        return
    if not isinstance(part, dict):
        return
    for key in foreign.intersection(part):
        del part[key]
    # A page has one source.
    sources = [key for key in ("html", "content", "base64") if part.get(key) is not None]
    for key in sources[1:]:
        del part[key]
    if is_page and not sources:
        part["html"] = "<p>text"
    if sources == ["base64"]:
        part["base64"] = "YQ=="
    for key, value in (PARSED | TOGETHER).items():
        if part.get(key) is not None:
            part[key] = copy.deepcopy(value)
    put_right(part.get("data"), set(), is_page=True)


def header(parameter):
    """The header of a parameter, in lower case."""
    return "x-" + parameter.replace("_", "-")


def remove_headers(headers, parameters):
    """Removes the headers of parameters."""
    removed = [header(name) for name in parameters]
    for name in [name for name in headers if name.lower() in removed]:
        del headers[name]


# Headers of `/fetch` whose text may be JSON, of which no schema says what is in it: an example.
FORMS = {
    name.lower(): parameter["schema"]["examples"][0]
    for name, parameter in DOCUMENT["components"]["parameters"].items()
    if parameter["in"] == "header" and "JSON" in parameter["schema"].get("description", "")
}


def put_headers_right(headers):
    """The same of parameters in headers."""
    remove_headers(headers, list(PARSED) + list(TOGETHER))
    for name in headers:
        if name.lower() in FORMS:
            headers[name] = FORMS[name.lower()]


def put_query_right(query):
    """The same of queries: parts that depend on each other, or are read by a parser."""
    if query.get("cursor"):
        query.pop("page", None)
    if query.get("domain"):
        query["domain"] = "example.org"
    for name in ("from", "to"):
        if query.get(name):
            query[name] = "2026-01-31"
    page = str(query.get("page", ""))
    if page.isdigit() and int(page) > LIST_PAGES_MAX:
        query["page"] = LIST_PAGES_MAX


@schemathesis.hook
def filter_case(context, case):
    """Leaves out requests whose only fault is a header that a server may not refuse: an unknown
    one (RFC 9110 section 5.1), or one without a value, which is not set."""
    return not any(
        name.lower().startswith("x-schemathesis") or str(value).strip() in ("", "[]")
        for name, value in (case.headers or {}).items()
    )


@schemathesis.hook
def before_call(context, case, kwargs):
    is_fetch = "/fetch/" in case.path
    tame(case.body)
    if is_fetch:
        paths = case.path_parameters or {}
        if paths.get("domain"):
            paths["domain"] = "sample.trawl.test"
        if is_url(paths.get("url")):
            paths["url"] = SAMPLE
        # A header replaces the same parameter of the body, which is not read then.
        replaced = list(case.body) if isinstance(case.body, dict) else []
        remove_headers(case.headers or {}, OUTWARD + SLOW + replaced)
    # Asked for now: what was wrong with the request may have been removed with the rest.
    if case.meta is None or case.meta.generation.mode.is_positive:
        if case.path.endswith("/batch") and isinstance(case.body, list):
            # It is a list of pages, as `urls`.
            case.body = copy.deepcopy(PARSED["urls"])
        else:
            put_right(case.body, elsewhere(case.operation))
        put_query_right(case.query or {})
        if is_fetch:
            put_headers_right(case.headers or {})
