// The pages of a crawl, with search, and one of them as it is stored.

import { bytes, count, dollars, field, h, table, time } from "../ui.js";
import { choice, inPlayground, read, settled, view, withQuery } from "../views.js";
import { contentOf } from "./files.js";
import { isFailed } from "./follow.js";

/** Characters of a page's content that are shown. */
const CONTENT_MAX = 200_000;

const columns = (context) => [
  { label: "No.", width: "4.5rem", isNumber: true, cell: (page) => count(page.seq) },
  { label: "Status", width: "4.5rem", isNumber: true, cell: (page) => h("span", { class: isFailed(page) ? "bad" : null }, page.status) },
  { label: "URL", width: "minmax(14rem, 3fr)", cell: (page) => h("span", { title: page.url }, page.url) },
  { label: "Error", width: "minmax(8rem, 2fr)", cell: (page) => h("span", { class: "bad", title: page.error ?? "" }, page.error ?? "") },
  { label: "Size", width: "6rem", isNumber: true, cell: (page) => bytes(page.bytes) },
  { label: "Cost", width: "7rem", isNumber: true, cell: (page) => dollars(page.total_cost) },
  { label: "Finished", width: "12rem", cell: (page) => (page.at === null ? "" : time(page.at)) },
  { label: "Open in", width: "7rem", cell: (page) => inPlayground(context, page.url) },
];

/** An entry as it is stored. */
function shownEntry(context, entry) {
  const { content: _content, ...rest } = entry;
  const text = contentOf(entry) ?? "";
  return [
    h("h2", { class: "break" }, entry.url),
    h("p", {}, inPlayground(context, entry.url, "Open in the playground")),
    entry.error && h("p", { class: "bad" }, entry.error),
    h("h3", {}, "Content"),
    text === "" ? h("p", { class: "note" }, "The entry has no content as text.")
      : h("pre", { class: "wrap tall", tabindex: 0 }, text.slice(0, CONTENT_MAX)),
    text.length > CONTENT_MAX && h("p", { class: "note" }, `The first ${count(CONTENT_MAX)} of ${count(text.length)} characters; a download has all.`),
    h("h3", {}, "The rest of the entry"),
    h("pre", { class: "wrap tall", tabindex: 0 }, JSON.stringify(rest, null, 2)),
  ];
}

/** The view: `{element, update({pages}), open(page)}`. */
export function pagesView(context, id) {
  let pages = [];
  const search = field({ label: "Search in URL, status and error", type: "search" });
  const which = choice({ label: "Pages", options: [["all", "All"], ["good", "Good"], ["failed", "Failed"]], value: "all" });
  const said = h("p", { class: "note", role: "status" });
  const one = h("section", { "aria-label": "The page", class: "one" });
  const open = (page) => view(one, async () => {
    context.keep({ id, tab: "pages", page: page.seq });
    const path = `/crawl/${encodeURIComponent(id)}/pages`;
    const [entry] = await read(context, withQuery(path, { cursor: page.seq - 1, limit: 1, follow: false }));
    if (entry === undefined) throw new Error("the page is no longer stored");
    return entry;
  }, (entry) => shownEntry(context, entry));
  const rows = table(columns(context), { label: "Pages of the crawl", height: 480, nothing: "No such pages.", onopen: (page) => {
    open(page);
    one.scrollIntoView({ block: "nearest" });
  } });

  const draw = () => {
    const wanted = search.input.value.trim().toLowerCase();
    const kind = which.input.value;
    const has = (page) =>
      (kind === "all" || isFailed(page) === (kind === "failed")) &&
      (wanted === "" || `${page.status} ${page.url} ${page.error ?? ""} ${page.cause ?? ""}`.toLowerCase().includes(wanted));
    const found = pages.filter(has);
    const text = `${count(found.length)} of ${count(pages.length)} pages`;
    if (said.textContent !== text) said.textContent = text;
    rows.set(found);
  };
  search.input.addEventListener("input", settled(draw));
  which.input.addEventListener("input", draw);
  // The address names the page that is open.
  const named = Number(context.query.get("page") ?? 0);
  if (named > 0) open({ seq: named });
  return {
    element: h("div", {}, h("div", { class: "fields" }, search.element, which.element), said, rows.element, one),
    open,
    update: (shown) => {
      pages = shown.pages;
      draw();
    },
  };
}
