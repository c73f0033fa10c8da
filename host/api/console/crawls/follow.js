// A crawl as it runs: its state, and its pages without their content, read on where the last look
// ended.

import { ask, poll, read, withQuery } from "../views.js";

/** Milliseconds between two looks at a crawl that runs, and at one that waits. */
const PERIOD = 2_000;
/** Pages that are read at once, and that are kept in the tab. */
const [AT_ONCE, PAGES_MAX] = [10_000, 500_000];
/** Looks in a row that may fail: a server may be busy for a while. */
const FAILURES_MAX = 3;
/** Looks that are kept for the curves of the queue: three hours. */
const LOOKS_MAX = 5_400;

/**
 * Follows a crawl until it has ended or the returned function is called. `shown` is
 * `{crawl, pages, looks, isCut}`: its state, its pages so far in order, and what each look saw of
 * the queue. `onchange(shown)` is called after each look, `onfail(message)` if some in a row fail.
 */
export function follow(context, id, onchange, onfail) {
  const path = `/crawl/${encodeURIComponent(id)}`;
  const shown = { crawl: undefined, pages: [], looks: [], isCut: false };
  let [cursor, failures] = [0, 0];
  const ends = new AbortController();
  const { signal } = ends;

  /** The pages since the last look. */
  async function more() {
    let isAtEnd = false;
    while (!isAtEnd && shown.pages.length < PAGES_MAX) {
      const response = await ask(context, "GET", withQuery(`${path}/log`, { cursor, limit: AT_ONCE }), undefined, { signal });
      for (const page of response.json) shown.pages.push(page);
      cursor = Number(response.headers.get("x-next-cursor") ?? cursor);
      isAtEnd = response.json.length < AT_ONCE;
    }
    shown.isCut = shown.pages.length >= PAGES_MAX;
  }

  const stop = poll(async () => {
    try {
      // The state first: what a crawl that has ended stored is complete.
      shown.crawl = await read(context, path, { signal });
      const { urls } = shown.crawl;
      if (urls && shown.looks.length < LOOKS_MAX) shown.looks.push([Date.now(), urls.waiting, urls.in_flight]);
      await more();
      // A look that was under way must not be shown over one that began later.
      if (!signal.aborted) onchange(shown);
    } catch (error) {
      if (signal.aborted) return false;
      failures += 1;
      if (failures < FAILURES_MAX && shown.crawl !== undefined) return true;
      onfail(error.message);
      return false;
    }
    failures = 0;
    return shown.crawl.state !== "ended";
  }, PERIOD);
  return () => {
    stop();
    ends.abort();
  };
}

/** Whether a page failed. */
export const isFailed = (page) => page.error !== null;

/** The class of a page's status: `2xx`, `4xx`, or `not fetched` if it is not of a site. */
export const statusClass = (page) =>
  page.status >= 520 || page.status === 0 ? "not fetched" : `${Math.floor(page.status / 100)}xx`;

/** Parts of a crawl's time that the curves have at most. */
const PARTS_MAX = 150;

/**
 * Pages over time: `{speed, bytes, cost, statuses}`, each a list of points or, of `statuses`, lists
 * by class of status. `speed` is pages per second in each part of the time.
 */
export function curves(pages) {
  const timed = pages.filter((page) => page.at !== null);
  if (timed.length === 0) return { speed: [], bytes: [], cost: [], statuses: new Map() };
  const times = Float64Array.from(timed, (page) => Date.parse(page.at));
  let [from, to] = [Infinity, -Infinity];
  for (const when of times) {
    from = Math.min(from, when);
    to = Math.max(to, when);
  }
  const part = Math.max(1_000, Math.ceil((to - from + 1) / PARTS_MAX));
  const n = Math.floor((to - from) / part) + 1;
  const sums = (of) => {
    const parts = new Float64Array(n);
    timed.forEach((page, index) => { parts[Math.floor((times[index] - from) / part)] += of(page); });
    return parts;
  };
  const at = (index) => from + (index + 1) * part;
  const rising = (parts) => {
    let sum = 0;
    return [[from, 0], ...Array.from(parts, (value, index) => [at(index), (sum += value)])];
  };
  const classes = [...new Set(timed.map(statusClass))].sort();
  return {
    speed: Array.from(sums(() => 1), (value, index) => [at(index), (value * 1000) / part]),
    bytes: rising(sums((page) => page.bytes)),
    cost: rising(sums((page) => page.total_cost)),
    statuses: new Map(classes.map((name) => [name, rising(sums((page) => (statusClass(page) === name ? 1 : 0)))])),
  };
}
