// The crawls of the account, newest first.

import { bytes, count, dollars, empty, failed, field, h, table, time } from "../ui.js";
import { list, many, poll, settled, words } from "../views.js";

/** Crawls that are shown. */
const CRAWLS_MAX = 10_000;
/** Milliseconds between two looks, while a crawl runs and otherwise. */
const [SOON, LATER] = [3_000, 15_000];

const COLUMNS = [
  { label: "Begun", width: "12rem", cell: (crawl) => time(crawl.created) },
  { label: "URL", width: "minmax(12rem, 2fr)", cell: (crawl) => h("span", { title: crawl.url }, crawl.url ?? "–") },
  { label: "State", width: "12rem", cell: (crawl) => state(crawl) },
  { label: "Pages", width: "6rem", isNumber: true, cell: (crawl) => count(crawl.pages) },
  { label: "Failed", width: "5rem", isNumber: true, cell: (crawl) => count(crawl.failed) },
  { label: "Size", width: "6rem", isNumber: true, cell: (crawl) => bytes(crawl.bytes) },
  { label: "Cost", width: "7rem", isNumber: true, cell: (crawl) => dollars(crawl.total_cost) },
];

/** The state of a crawl in words. */
export const state = (crawl) =>
  [words(crawl.state), crawl.stop_reason && `: ${words(crawl.stop_reason)}`].filter(Boolean).join("");

const isOver = (crawl) => crawl.state === "ended" || crawl.state === "parked";

export function show(container, context) {
  let crawls = [];
  const search = field({ label: "Search", type: "search", value: context.query.get("search") ?? "" });
  const rows = table(COLUMNS, { label: "Crawls", height: 560, nothing: "No crawl has these words.",
    onopen: (crawl) => context.open("crawls", { id: crawl.id }) });
  const begin = () => h("a", { class: "button primary", href: context.address("crawls", { new: 1 }) }, "New crawl");
  const said = h("p", { class: "note", role: "status" }, "Loading…");
  const body = h("div", {}, search.element, rows.element);
  const other = h("div");
  container.append(h("div", { class: "title" }, h("h1", {}, "Crawls"), begin()), other, body, said);

  const draw = () => {
    const wanted = search.input.value.trim().toLowerCase();
    const has = (crawl) => `${crawl.url} ${state(crawl)} ${crawl.verb} ${crawl.id}`.toLowerCase().includes(wanted);
    rows.set(wanted === "" ? crawls : crawls.filter(has));
  };
  search.input.addEventListener("input", settled(() => {
    context.keep({ search: search.input.value });
    draw();
  }));
  body.hidden = true;

  async function look() {
    try {
      const found = await list(context, "/crawl", {}, CRAWLS_MAX);
      crawls = found.rows;
      body.hidden = crawls.length === 0;
      // Its link may have the focus.
      if (crawls.length > 0 || !other.querySelector(".button")) other.replaceChildren(crawls.length === 0
        ? empty("No crawls yet. A crawl follows the links of a site and keeps its pages for 7 days.", begin()) : "");
      const cut = found.count > crawls.length ? `, of which the newest ${count(crawls.length)} are here` : "";
      const text = crawls.length === 0 ? "" : `${many(found.count, "crawl")}${cut}; those that ended are deleted after 7 days.`;
      // A reader says it anew each time that it is written.
      if (said.textContent !== text) said.textContent = text;
      draw();
    } catch (error) {
      body.hidden = true;
      said.textContent = "";
      other.replaceChildren(failed(error.message, follow));
      return false;
    }
    return true;
  }
  let stop = () => undefined;
  // A look that failed ends it; trying again goes on.
  function follow() {
    let last = 0;
    stop();
    stop = poll(async () => {
      const wait = crawls.every(isOver) ? LATER : SOON;
      if (Date.now() - last < wait && last !== 0) return true;
      last = Date.now();
      return look();
    }, SOON);
  }
  follow();
  return () => stop();
}
