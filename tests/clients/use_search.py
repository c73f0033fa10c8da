"""Searches with the published client for Python.

    python use_search.py URL API_KEY

The client knows one server only; its session sends those requests to the URL. Prints one line of
JSON with what was answered: results alone, and results with their pages.
"""

import json
import sys

from requests.adapters import HTTPAdapter
from spider import Spider

# The server that the client knows.
PUBLISHED = "https://api.spider.cloud"


class Elsewhere(HTTPAdapter):
    """Sends requests to another server than the one they name."""

    def __init__(self, url):
        super().__init__()
        self.url = url

    def send(self, request, **settings):
        request.url = request.url.replace(PUBLISHED, self.url, 1)
        return super().send(request, **settings)


def main(url, api_key):
    client = Spider(api_key=api_key)
    client._session.mount(PUBLISHED, Elsewhere(url))
    some = {"num": 2, "language": "en", "country": "de", "tbs": "qdr:w", "fetch_page_content": False}
    results = client.search("tides & ebb", some)
    pages = client.search("tides", {"search_limit": 1, "fetch_page_content": True, "return_format": "markdown"})
    said = {"results": results, "pages": pages, "limit": client.rate_limit.limit}
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
