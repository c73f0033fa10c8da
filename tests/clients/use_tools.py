"""Uses the tools of a server with the official client of MCP for Python.

    python use_tools.py URL API_KEY MODE [PROGRAM]

MODE is `legacy` for a client that begins with `initialize`, or a version of the stateless protocol.
With a PROGRAM it is started as `PROGRAM mcp`, and the client talks to it. Prints one line of JSON
with what the server answered.
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

SAMPLE = "http://sample.trawl.test"
# How long a call may wait for the end of the crawl.
WAIT_SECONDS = 50


def texts(result):
    return [block.text for block in result.content if block.type == "text"]


async def crawled(client):
    """A crawl to its end, with its progress, its pages and the resource of the first."""
    reports = []

    async def progress(done, total, message):
        reports.append([done, total, message])

    begun = await client.call_tool("crawl", {"url": f"{SAMPLE}/", "limit": 3})
    crawl = begun.structured_content["id"]
    follow = {"id": crawl, "wait_seconds": WAIT_SECONDS}
    state = await client.call_tool("crawl_status", follow, progress_callback=progress)
    pages = await client.call_tool("crawl_pages", {"id": crawl})
    uri = pages.structured_content["pages"][0]["resource"]
    resource = await client.read_resource(uri)
    return {
        "state": state.structured_content["state"],
        "pages": len(pages.structured_content["pages"]),
        "same": pages.structured_content["pages"][0]["content"] == resource.contents[0].text,
        "uri": uri,
        "reports": reports,
    }


async def used(client):
    tools = await client.list_tools()
    page = await client.call_tool("scrape", {"url": f"{SAMPLE}/tides"})
    refused = await client.call_tool("scrape", {"url": f"{SAMPLE}/", "return_format": "pdf"})
    templates = await client.list_resource_templates()
    return {
        "version": client.protocol_version,
        "tools": [tool.name for tool in tools.tools],
        "text": texts(page)[0],
        "cost": page.structured_content["costs"]["total_cost"],
        "refused": [refused.is_error, texts(refused)[0]],
        "templates": [template.uri_template for template in templates.resource_templates],
        "crawl": await crawled(client),
    }


async def main():
    url, key, mode, *program = sys.argv[1:]
    if program:
        env = {"TRAWL_KEY": key}
        server = StdioServerParameters(command=program[0], args=["mcp", "--url", url], env=env)
        async with Client(server, mode=mode) as client:
            print(json.dumps(await used(client)))
        return
    headers = {"Authorization": f"Bearer {key}"}
    async with create_mcp_http_client(headers=headers) as http_client:
        transport = streamable_http_client(f"{url}/mcp", http_client=http_client)
        async with Client(transport, mode=mode) as client:
            print(json.dumps(await used(client)))


asyncio.run(main())
