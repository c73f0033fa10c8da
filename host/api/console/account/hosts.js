// What the pages of each host cost, and why pages of it failed. Of the key's account, or of one
// that the operator looks at.

import { bytes, count, dollars, duration, field, h, percent, table } from "../ui.js";
import { facts, many, read, settled, view, withQuery } from "../views.js";

const reasonsOf = (host) => Object.entries(host.reasons).sort(([, a], [, b]) => b - a);

const COLUMNS = [
  { label: "Host", width: "minmax(10rem, 2fr)", cell: (row) => h("span", { title: row.host }, row.host || "others, and without a URL") },
  { label: "Pages", width: "6rem", isNumber: true, cell: (row) => count(row.pages) },
  { label: "Failed", width: "6rem", isNumber: true, cell: (row) => h("span", { class: row.failed_pages > 0 ? "bad" : null }, count(row.failed_pages)) },
  { label: "Share failed", width: "7rem", isNumber: true, cell: (row) => percent(row.failed_pages / Math.max(1, row.pages + row.failed_pages)) },
  { label: "Most frequent reason", width: "minmax(10rem, 3fr)", cell: (row) => reasonsOf(row)[0]?.[0] ?? "" },
  { label: "Size", width: "6rem", isNumber: true, cell: (row) => bytes(row.bytes) },
  { label: "Cost", width: "8rem", isNumber: true, cell: (row) => dollars(row.total_cost) },
];

function shownHost(context, path, host) {
  const isOwn = path === "/account/hosts" && host.host !== "";
  return [
    h("h3", { class: "break" }, host.host || "Other hosts"),
    facts([
      ["Pages", count(host.pages)],
      ["Failed", count(host.failed_pages)],
      ["Size", bytes(host.bytes)],
      ["CPU", duration(host.cpu_seconds * 1000)],
      ["Cost", dollars(host.total_cost)],
    ]),
    host.failed_pages === 0
      ? h("p", { class: "good" }, "No page of it failed.")
      : h("ul", {}, reasonsOf(host).map(([reason, n]) => h("li", {}, `${count(n)}: ${reason}`))),
    isOwn && h("p", {}, h("a", { href: context.address("account", { tab: "statement", search: host.host }) }, "Its entries in the statement")),
  ].filter(Boolean);
}

/** The nodes of the view. `path` is the endpoint, `from` the start of the period; null for all. */
export function hostsView(context, path, from) {
  const body = h("div");
  view(body, () => read(context, withQuery(path, { from: from ?? "1970-01-01", limit: 1000 })), ({ hosts, n_hosts, others }) => {
    const all = others === null ? hosts : [...hosts, others];
    const one = h("section", { "aria-live": "polite" });
    const search = field({ label: "Search in hosts and reasons", type: "search" });
    const rows = table(COLUMNS, { label: "Usage by host", height: 360, nothing: "No such hosts in this period.",
      onopen: (host) => one.replaceChildren(...shownHost(context, path, host)) });
    const draw = () => {
      const wanted = search.input.value.trim().toLowerCase();
      rows.set(all.filter((row) => `${row.host} ${Object.keys(row.reasons).join(" ")}`.toLowerCase().includes(wanted)));
    };
    search.input.addEventListener("input", settled(draw));
    draw();
    return [h("p", { class: "note" }, `${many(n_hosts, "host")}, dearest first. Open one to see why its pages failed.`), search.element, rows.element, one];
  });
  return [body];
}
