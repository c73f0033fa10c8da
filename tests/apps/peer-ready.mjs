// The baseline of the benchmark of ready pages: playwright-core with a new context for every page.
//
//   node peer-ready.mjs EXECUTABLE WAIT URLS
//
// WAIT: `load` or `networkidle`. URLS: a JSON list. Prints a JSON list with {"text", "at_ms"} for each: what the page and its frames
// show, and when it was returned, in milliseconds since the epoch.
import { chromium } from 'playwright-core';

/** Upper bound on the load time of a page; it is read as it is then. */
const LOAD_TIME_MAX_MS = 15_000;
/** Chromium resolves only these names, whatever a page requests. */
const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost'];
const NO_NETWORK = `--host-resolver-rules=MAP * ~NOTFOUND, ${LOOPBACK.map((host) => `EXCLUDE ${host}`).join(', ')}`;

/** What the page and its frames show. */
async function shown(page) {
  const texts = page.frames().map((frame) => frame.evaluate(() => document.body?.innerText ?? '').catch(() => ''));
  return (await Promise.all(texts)).join('\n');
}

async function load(browser, url, waitUntil) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(url, { waitUntil, timeout: LOAD_TIME_MAX_MS }).catch(() => {});
    const text = await shown(page);
    return { text, at_ms: Date.now() };
  } finally {
    await context.close();
  }
}

const [executable, wait, list] = process.argv.slice(2);
const urls = JSON.parse(list ?? '[]');
if (!['load', 'networkidle'].includes(wait) || urls.some((url) => !LOOPBACK.includes(new URL(url).hostname))) {
  throw new Error('usage: node peer-ready.mjs EXECUTABLE load|networkidle URLS on this machine');
}
const browser = await chromium.launch({ executablePath: executable, args: [NO_NETWORK, '--no-sandbox'] });
try {
  if (urls.length > 0) await load(browser, urls[0], wait);
  const returned = [];
  for (const url of urls) returned.push(await load(browser, url, wait));
  console.log(JSON.stringify(returned));
} finally {
  await browser.close();
}
