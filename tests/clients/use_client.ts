// Uses the TypeScript types that are generated from the OpenAPI document.
//
//   tsc && node out/use_client.js BASE_URL API_KEY
//
// The generated types are in `schema.d.ts`. Prints one line of JSON with what the server answered.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

type PageEntry = components['schemas']['PageEntry'];
type QueuedCrawl = components['schemas']['QueuedCrawl'];
type Client = ReturnType<typeof connect>;

const SAMPLE = 'http://sample.trawl.test';
/** How long the crawl may take. */
const DEADLINE_MS = 60_000;

/** A client for answers as JSON, which have other formats as well. */
function connect(baseUrl: string, key: string) {
  const headers = { authorization: `Bearer ${key}` };
  return createClient<paths, 'application/json'>({ baseUrl, headers });
}

function found<T>(value: T | undefined, error: unknown): T {
  if (value === undefined) throw new Error(JSON.stringify(error));
  return value;
}

function isQueued(answer: components['schemas']['CrawlAnswer']): answer is QueuedCrawl {
  return !Array.isArray(answer);
}

/** A page with its metadata. */
async function scraped(client: Client) {
  const { data, error, response } = await client.POST('/scrape', {
    body: { url: `${SAMPLE}/tides`, return_format: 'markdown', request: 'http', metadata: true },
  });
  const [page] = found<PageEntry[]>(data, error);
  return {
    status: page.status,
    content: page.content,
    title: page.metadata?.['title'],
    cost: page.costs.total_cost,
    request_id: response.headers.get('x-request-id'),
  };
}

/** Two request objects in one request. */
async function batch(client: Client) {
  const { data, error } = await client.POST('/scrape', {
    body: [{ url: `${SAMPLE}/tides` }, { url: `${SAMPLE}/knots` }],
  });
  return found(data, error).map((page) => page.url);
}

/** A crawl in the background, to its end. */
async function crawled(client: Client) {
  const { data, error } = await client.POST('/crawl', {
    body: { url: `${SAMPLE}/`, limit: 3, return_format: 'text', run_in_background: true },
  });
  const queued = found(data, error);
  if (!isQueued(queued)) throw new Error('the crawl is not in the background');
  const path = { id: queued.id };
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const shown = await client.GET('/crawl/{id}', { params: { path } });
    const state = found(shown.data, shown.error);
    if (state.state === 'ended') {
      const stored = await client.GET('/crawl/{id}/pages', { params: { path } });
      const pages = found(stored.data, stored.error);
      return { reason: state.stop_reason, pages: pages.length, status: pages[0].status };
    }
    if (Date.now() > deadline) throw new Error(`the crawl did not end: ${JSON.stringify(state)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A page whose URL is in the path, with parameters in headers. */
async function fetched(client: Client) {
  const whole = await client.GET('/fetch/{url}', {
    params: {
      path: { url: `${SAMPLE}/tides?x=1` },
      header: { 'X-Return-Format': 'markdown', 'X-Metadata': true },
    },
  });
  const text = await client.GET('/fetch/{domain}/{path}', {
    params: { path: { domain: 'sample.trawl.test', path: 'tides' } },
    headers: { accept: 'text/plain' },
    parseAs: 'text',
  });
  const [page] = found<PageEntry[]>(whole.data, whole.error);
  return { url: page.url, content: page.content, text: found(text.data, text.error) };
}

/** A request that is wrong, and one with a wrong key. */
async function refused(client: Client, baseUrl: string) {
  const { error, response } = await client.POST('/scrape', {
    body: { url: SAMPLE, return_format: 'pdf' },
  });
  const denied = await connect(baseUrl, 'wrong').GET('/account');
  return { status: response.status, error: error?.error, denied: denied.response.status };
}

const [baseUrl, key] = process.argv.slice(2);
const client = connect(baseUrl, key);
const account = await client.GET('/account');
const said = {
  scrape: await scraped(client),
  batch: await batch(client),
  crawl: await crawled(client),
  fetch: await fetched(client),
  error: await refused(client, baseUrl),
  account: found(account.data, account.error).name,
};
console.log(JSON.stringify(said));
