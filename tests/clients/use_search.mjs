// Searches with the published client for JavaScript.
//
//   node use_search.mjs URL API_KEY
//
// Prints one line of JSON with what was answered: results alone, and results with their pages.
import { createRequire } from 'node:module';

const { Spider, setBaseUrl } = createRequire(import.meta.url)('@spider-cloud/spider-client');

const [url, apiKey] = process.argv.slice(2);
setBaseUrl(url);
const client = new Spider({ apiKey });
const some = { num: 2, language: 'en', country: 'de', tbs: 'qdr:w', fetch_page_content: false };
const results = await client.search('tides & ebb', some);
const pages = await client.search('tides', { search_limit: 1, fetch_page_content: true, return_format: 'markdown' });
console.log(JSON.stringify({ results, pages, limit: client.rateLimit?.limit ?? null }));
