// A new crawl: its form, and what it would crawl.
//
// The scope is previewed by the server itself: a crawl with the same parameters that fetches the
// seed alone, whose skipped URLs say what each cap and pattern does to the links of the seed. The
// map of the site shows what its sitemaps have in addition.

import { count, dollars, empty, h, table } from "../ui.js";
import { ask, read, view, withQuery, words, worker } from "../views.js";
import { form } from "./request.js";

/** Rows that a preview shows. */
const ROWS_MAX = 10_000;

/** What a reason of a skipped URL means for the real crawl. */
const VERDICTS = { limit: "would be crawled", stopped: "would be crawled" };

const COLUMNS = [
  { label: "URL", width: "minmax(14rem, 3fr)", cell: (row) => h("span", { title: row.url }, row.url) },
  { label: "Crawl", width: "12rem", cell: (row) => h("span", { class: row.isIn ? "good" : "bad" }, row.verdict) },
  { label: "Hops", width: "4rem", isNumber: true, cell: (row) => row.depth ?? "" },
];

/** What happens to the links of the seed. */
async function scope(context, request) {
  const seed = { ...request, limit: 1, return_format: "empty" };
  for (const name of ["run_in_background", "webhooks", "webhook", "final_entry"]) delete seed[name];
  const response = await ask(context, "POST", "/links", seed);
  const id = response.headers.get("x-crawl-id");
  if (id === null) throw new Error("the server did not name the crawl of the preview");
  const skipped = await read(context, withQuery(`/crawl/${encodeURIComponent(id)}/skipped`, { limit: ROWS_MAX }));
  const [entry] = response.json;
  const rows = skipped.map((one) => {
    const verdict = VERDICTS[one.reason];
    return { url: one.url, depth: one.depth, isIn: verdict !== undefined, verdict: verdict ?? `left out: ${words(one.reason)}` };
  });
  return { entry, rows: [...rows.filter((row) => row.isIn), ...rows.filter((row) => !row.isIn)] };
}

function shownScope({ entry, rows }, request) {
  const isIn = rows.filter((row) => row.isIn).length;
  const list = table(COLUMNS, { label: "Links of the seed", height: 400, nothing: "The seed has no links." });
  list.set(rows);
  const more = request.limit && isIn + 1 > request.limit
    ? ` The crawl stops after ${count(request.limit)} of its pages.` : "";
  return [
    entry?.error ? h("p", { class: "bad", role: "alert" }, `The seed failed: ${entry.error}`) : null,
    h("p", {}, `Of ${count(rows.length)} links of the seed, ${count(isIn)} would be crawled.${more}`),
    list.element,
    h("p", { class: "note" }, `Budgets by path and ceilings count while pages are fetched, so they are not part of this. The seed was fetched for it; it cost ${dollars(entry?.costs?.total_cost ?? 0)}.`),
  ];
}

/** The URLs of the site's sitemaps and of the seed. */
async function map(context, request) {
  const taken = ["url", "whitelist", "blacklist", "subdomains", "tld", "below_seed", "external_domains", "headers", "cookies", "proxy", "respect_robots", "request"];
  const body = Object.fromEntries(Object.entries(request).filter(([name]) => taken.includes(name)));
  const lines = (await ask(context, "POST", "/map", { ...body, limit: ROWS_MAX })).json;
  return { end: lines.at(-1), rows: lines.slice(0, -1) };
}

function shownMap({ end, rows }) {
  const list = table([
    { label: "URL", width: "minmax(14rem, 3fr)", cell: (row) => h("span", { title: row.url }, row.url) },
    { label: "Found", width: "8rem", cell: (row) => words(row.found) },
    { label: "Changed", width: "10rem", cell: (row) => row.lastmod ?? "" },
  ], { label: "Map of the site", height: 400, nothing: "No URLs were found." });
  list.set(rows);
  return [
    h("p", {}, `${count(end?.n_found ?? rows.length)} URLs in ${count(end?.sitemaps?.length ?? 0)} sitemaps and on the seed${end?.is_cut ? ", and more" : ""}; ${dollars(end?.total_cost ?? 0)}.`),
    (end?.sitemaps ?? []).filter((one) => one.error).map((one) => h("p", { class: "bad" }, `${one.location}: ${one.error}`)),
    list.element,
  ];
}

export function show(container, context) {
  const { basic, more, request, set, onchange } = form();
  set(context.query);
  const preview = h("div", { class: "preview", "aria-live": "polite" },
    empty("See what the crawl would fetch before it begins: the links of the seed, or the map of the whole site."));
  /** Fills the preview; one that was asked for before does not come over it. */
  const fill = (read, shown) => new Promise((done) => {
    view(preview, () => read().finally(done), shown);
  });
  const text = h("pre", { class: "wrap", tabindex: 0, role: "region", "aria-label": "The request" });
  const write = () => {
    try {
      text.textContent = JSON.stringify({ ...request(), run_in_background: true }, null, 2);
    } catch (error) {
      text.textContent = error.message;
    }
  };
  onchange(write);
  write();

  const begin = worker("Begin", async () => {
    const begun = (await ask(context, "POST", "/crawl", { ...request(), run_in_background: true })).json;
    const { id } = Array.isArray(begun) ? begun[0] : begun;
    context.open("crawls", { id });
  }, { class: "primary", type: "submit" });
  const looks = worker("Preview the links of the seed", async () => {
    const asked = request();
    await fill(() => scope(context, asked), (found) => shownScope(found, asked));
  });
  const maps = worker("Map the site", async () => {
    const asked = request();
    await fill(() => map(context, asked), shownMap);
  });

  container.append(
    h("h1", {}, "New crawl"),
    h("div", { class: "columns" },
      // Enter in a field clicks the button that submits, which does the work.
      h("form", { onsubmit: (event) => event.preventDefault() },
        h("div", { class: "fields" }, basic),
        h("details", {}, h("summary", {}, "More"), h("div", { class: "fields" }, more)),
        h("div", { class: "buttons" }, begin, looks, maps),
        h("h2", {}, "The request"),
        text),
      h("section", { "aria-label": "Preview" }, h("h2", {}, "Preview"), preview)),
  );
}
