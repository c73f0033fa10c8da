// The baseline of the browser benchmark: playwright-core with a new context for every page.
//
//   node peer.mjs EXECUTABLE URL CONCURRENCY PAGES [FLAGS] [TEXT]
//
// FLAGS: additional Chromium flags as a JSON list. Prints one line of JSON: {"pages", "seconds",
// "p50_ms", "p95_ms"}, and with TEXT also "without_text": pages that were returned before this text
// was on them. CONCURRENCY pages are loaded as a warm-up.
import { chromium } from 'playwright-core';

/** How long no request, or at most a few, must be in flight after the load event. */
const QUIET_MS = 350;
const ALMOST_IDLE = 2;
const QUIET_ALMOST_MS = 1_500;
/** Upper bound on the wait for a page that never becomes quiet after its load event. */
const QUIET_TIME_MAX_MS = 5_000;
/** Upper bound on the load time of a page. */
const LOAD_TIME_MAX_MS = 30_000;

/** Chromium resolves only these names, whatever a page requests. */
const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost'];
const NO_NETWORK = `--host-resolver-rules=MAP * ~NOTFOUND, ${LOOPBACK.map((host) => `EXCLUDE ${host}`).join(', ')}`;

function parse([executable, url, concurrency, pages, flags = '[]', text = '']) {
  const plan = { executable, url, concurrency: Number(concurrency), pages: Number(pages), flags: JSON.parse(flags), text };
  if (!(plan.concurrency >= 1) || !(plan.pages >= 1) || !Array.isArray(plan.flags)) {
    throw new Error('usage: node peer.mjs EXECUTABLE URL CONCURRENCY PAGES [FLAGS as a JSON list] [TEXT]');
  }
  if (!LOOPBACK.includes(new URL(url).hostname)) throw new Error(`\`${url}\` is not on this machine`);
  return plan;
}

/** Counts the requests of a page from now on. `quiet()` waits until none, or only a few for longer, are in flight. */
function watch(page) {
  let inFlight = 0;
  let begun = 0;
  let heard = () => {};
  const count = (step) => () => {
    inFlight += step;
    begun += step > 0 ? 1 : 0;
    heard();
  };
  page.on('request', count(1));
  page.on('requestfinished', count(-1));
  page.on('requestfailed', count(-1));
  const quiet = () =>
    new Promise((resolve) => {
      const windows = [
        { most: 0, ms: QUIET_MS },
        { most: ALMOST_IDLE, ms: QUIET_ALMOST_MS },
      ];
      const end = () => {
        for (const window of windows) clearTimeout(window.timer);
        heard = () => {};
        resolve();
      };
      heard = () => {
        for (const window of windows) {
          if (inFlight > window.most) {
            clearTimeout(window.timer);
            window.timer = undefined;
          } else {
            window.timer ??= setTimeout(end, window.ms);
          }
        }
      };
      heard();
    });
  return { quiet, begun: () => begun };
}

/** The wait condition, as in the server: a quiet network, and scripts with nothing left to do. */
async function settled(page, requests) {
  const end = performance.now() + QUIET_TIME_MAX_MS;
  for (;;) {
    const before = requests.begun();
    await requests.quiet();
    await page.evaluate(() => new Promise((resolve) => requestIdleCallback(() => setTimeout(resolve, 0))));
    if (requests.begun() === before || performance.now() > end) return;
  }
}

/** Loads a page in a new context. Returns the time in milliseconds and whether the text is on it. */
async function load(browser, { url, text }) {
  const start = performance.now();
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const requests = watch(page);
    await page.goto(url, { waitUntil: 'load', timeout: LOAD_TIME_MAX_MS });
    await settled(page, requests);
    const hasText = (await page.content()).includes(text);
    await context.close();
    return { ms: performance.now() - start, hasText };
  } catch (error) {
    await context.close();
    throw error;
  }
}

/** Loads `pages` pages, `concurrency` at a time. */
async function run(browser, plan, pages) {
  const loaded = [];
  let begun = 0;
  const worker = async () => {
    while (begun < pages) {
      begun += 1;
      loaded.push(await load(browser, plan));
    }
  };
  await Promise.all(Array.from({ length: plan.concurrency }, worker));
  return loaded;
}

/** The percentile of the times for this share. */
function percentile(sorted, share) {
  return Math.round(sorted[Math.ceil(sorted.length * share) - 1] * 10) / 10;
}

const plan = parse(process.argv.slice(2));
const browser = await chromium.launch({
  executablePath: plan.executable,
  args: [NO_NETWORK, ...plan.flags],
});
try {
  await run(browser, plan, plan.concurrency);
  const start = performance.now();
  const loaded = await run(browser, plan, plan.pages);
  const seconds = Math.round(performance.now() - start) / 1000;
  const times = loaded.map(({ ms }) => ms).sort((a, b) => a - b);
  const report = { pages: times.length, seconds, p50_ms: percentile(times, 0.5), p95_ms: percentile(times, 0.95) };
  if (plan.text) report.without_text = loaded.filter(({ hasText }) => !hasText).length;
  console.log(JSON.stringify(report));
} finally {
  await browser.close();
}
