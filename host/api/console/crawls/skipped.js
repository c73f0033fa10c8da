// What a crawl found and did not fetch, with the reasons.

import { count, field, h, table } from "../ui.js";
import { ask, choice, inPlayground, settled, view, withQuery, words } from "../views.js";

/** URLs that are read at once, and that are kept in the tab. */
const [AT_ONCE, SKIPPED_MAX] = [50_000, 200_000];

async function readAll(context, id) {
  const rows = [];
  let cursor;
  for (;;) {
    const path = withQuery(`/crawl/${encodeURIComponent(id)}/skipped`, { cursor, limit: AT_ONCE });
    const response = await ask(context, "GET", path);
    for (const row of response.json) rows.push(row);
    cursor = response.headers.get("x-next-cursor");
    if (cursor === null || response.json.length < AT_ONCE || rows.length >= SKIPPED_MAX) return rows;
  }
}

function shownRows(context, rows) {
  const reasons = new Map();
  for (const { reason } of rows) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const options = [...reasons].sort(([, a], [, b]) => b - a).map(([name, n]) => [name, `${words(name)} (${count(n)})`]);
  const which = choice({ label: "Reason", options: [["", `All (${count(rows.length)})`], ...options], value: "" });
  const search = field({ label: "Search in URLs", type: "search" });
  const list = table([
    { label: "URL", width: "minmax(14rem, 3fr)", cell: (row) => h("span", { title: row.url }, row.url) },
    { label: "Reason", width: "10rem", cell: (row) => words(row.reason) },
    { label: "Hops", width: "4rem", isNumber: true, cell: (row) => row.depth },
    { label: "Redirects to", width: "minmax(8rem, 2fr)", cell: (row) => h("span", { title: row.redirects_to ?? "" }, row.redirects_to ?? "") },
    { label: "Open in", width: "7rem", cell: (row) => inPlayground(context, row.url) },
  ], { label: "Skipped URLs", height: 520, nothing: "No URLs were skipped." });
  const draw = () => {
    const [wanted, reason] = [search.input.value.trim().toLowerCase(), which.input.value];
    list.set(rows.filter((row) => (reason === "" || row.reason === reason) && row.url.toLowerCase().includes(wanted)));
  };
  search.input.addEventListener("input", settled(draw));
  which.input.addEventListener("input", draw);
  draw();
  return [
    rows.length >= SKIPPED_MAX && h("p", { class: "note" }, `The first ${count(SKIPPED_MAX)} skipped URLs; GET /crawl/{id}/skipped has all.`),
    h("div", { class: "fields" }, search.element, which.element), list.element,
  ];
}

/** The view: `{element, update({crawl})}`. It is read when it is first seen, and at the end. */
export function skippedView(context, id) {
  const body = h("div");
  let state;
  let again;
  const look = () => {
    if (again === undefined) again = view(body, () => readAll(context, id), (rows) => shownRows(context, rows));
    else again();
  };
  const button = h("button", { type: "button", onclick: look }, "Read again");
  return {
    element: h("div", {}, h("div", { class: "buttons" }, button), body),
    update: ({ crawl }) => {
      if (crawl.state === state) return;
      state = crawl.state;
      look();
    },
  };
}
