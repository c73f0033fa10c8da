// Uses the tools of a server with the official client of MCP for TypeScript.
//
//   node use_tools.mjs URL API_KEY [PROGRAM]
//
// With a PROGRAM it is started as `PROGRAM mcp`, and the client talks to it. Prints one line of JSON
// with what the server answered.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const SAMPLE = 'http://sample.trawl.test';
/** How long a call may wait for the end of the crawl. */
const WAIT_SECONDS = 50;

const [url, key, program] = process.argv.slice(2);

function transport() {
  if (program) {
    const env = { ...process.env, TRAWL_KEY: key };
    return new StdioClientTransport({ command: program, args: ['mcp', '--url', url], env });
  }
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit });
}

const texts = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text);

/** A crawl to its end, with its progress, its pages and the resource of the first. */
async function crawled(client) {
  const reports = [];
  const onprogress = ({ progress, total, message }) => reports.push([progress, total ?? null, message]);
  const begun = await client.callTool({ name: 'crawl', arguments: { url: `${SAMPLE}/`, limit: 3 } });
  const { id } = begun.structuredContent;
  const follow = { name: 'crawl_status', arguments: { id, wait_seconds: WAIT_SECONDS } };
  const state = await client.callTool(follow, undefined, { onprogress });
  const pages = await client.callTool({ name: 'crawl_pages', arguments: { id } });
  const [first] = pages.structuredContent.pages;
  const resource = await client.readResource({ uri: first.resource });
  return {
    state: state.structuredContent.state,
    pages: pages.structuredContent.pages.length,
    same: first.content === resource.contents[0].text,
    uri: first.resource,
    reports,
  };
}

const client = new Client({ name: 'trawl-test', version: '1.0.0' });
await client.connect(transport());
const tools = await client.listTools();
const page = await client.callTool({ name: 'scrape', arguments: { url: `${SAMPLE}/tides` } });
const wrong = { url: `${SAMPLE}/`, return_format: 'pdf' };
const refused = await client.callTool({ name: 'scrape', arguments: wrong });
const templates = await client.listResourceTemplates();
const said = {
  tools: tools.tools.map((tool) => tool.name),
  text: texts(page)[0],
  cost: page.structuredContent.costs.total_cost,
  refused: [refused.isError, texts(refused)[0]],
  templates: templates.resourceTemplates.map((template) => template.uriTemplate),
  crawl: await crawled(client),
};
await client.close();
console.log(JSON.stringify(said));
