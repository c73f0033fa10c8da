"""Uses the Python client that is generated from the OpenAPI document.

    python use_client.py BASE_URL API_KEY

The generated package is `trawl_client`. Prints one line of JSON with what the server answered.
"""

import json
import sys
import time

from trawl_client import AuthenticatedClient
from trawl_client.api.account import get_account
from trawl_client.api.crawls import crawl, get_crawl, get_crawl_pages
from trawl_client.api.pages import get_fetch, get_fetch_url, scrape
from trawl_client.models import CrawlRequest, Error, PageEntry, QueuedCrawl, ScrapeRequest

SAMPLE = "http://sample.trawl.test"
# How long the crawl may take.
DEADLINE_SECONDS = 60


def scraped(client):
    """A page with its metadata."""
    request = ScrapeRequest(url=f"{SAMPLE}/tides", return_format="markdown", metadata=True)
    answer = scrape.sync_detailed(client=client, body=request)
    [page] = answer.parsed
    assert isinstance(page, PageEntry)
    return {
        "status": page.status,
        "content": page.content,
        "title": page.metadata["title"],
        "cost": page.costs.total_cost,
        "request_id": answer.headers["x-request-id"],
    }


def batch(client):
    """Two request objects in one request."""
    requests = [ScrapeRequest(url=f"{SAMPLE}/tides"), ScrapeRequest(url=f"{SAMPLE}/knots")]
    return [page.url for page in scrape.sync(client=client, body=requests)]


def crawled(client):
    """A crawl in the background, to its end."""
    request = CrawlRequest(url=f"{SAMPLE}/", limit=3, return_format="text", run_in_background=True)
    queued = crawl.sync(client=client, body=request)
    assert isinstance(queued, QueuedCrawl)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while (state := get_crawl.sync(queued.id, client=client)).state != "ended":
        assert time.monotonic() < deadline, state
        time.sleep(0.05)
    pages = get_crawl_pages.sync(queued.id, client=client)
    return {"reason": state.stop_reason, "pages": len(pages), "status": pages[0].status}


def fetched(client):
    """A page whose URL is in the path, with parameters in headers."""
    whole = get_fetch_url.sync(f"{SAMPLE}/tides?x=1", client=client, x_return_format="markdown", x_metadata=True)
    parts = get_fetch.sync("sample.trawl.test", "tides", client=client, x_return_format="text")
    return {"url": whole[0].url, "content": whole[0].content, "text": parts[0].content}


def refused(client):
    """A request that is wrong, and one with a wrong key."""
    answer = scrape.sync_detailed(client=client, body=ScrapeRequest(url=SAMPLE, return_format="pdf"))
    assert isinstance(answer.parsed, Error)
    stranger = AuthenticatedClient(base_url=client._base_url, token="wrong")
    denied = get_account.sync_detailed(client=stranger)
    assert isinstance(denied.parsed, Error)
    return {
        "status": int(answer.status_code),
        "error": answer.parsed.error,
        "denied": int(denied.status_code),
    }


def main(base_url, api_key):
    client = AuthenticatedClient(base_url=base_url, token=api_key, raise_on_unexpected_status=True)
    said = {
        "scrape": scraped(client),
        "batch": batch(client),
        "crawl": crawled(client),
        "fetch": fetched(client),
        "error": refused(client),
        "account": get_account.sync(client=client).name,
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
