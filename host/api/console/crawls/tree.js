// A site as a tree by host and path.

import { bytes, count, dollars, h, table } from "../ui.js";
import { inPlayground } from "../views.js";
import { isFailed } from "./follow.js";

/** Folders within each other; what is deeper is one name. */
const DEPTH_MAX = 50;

/** A node: its name, what is below it, the page at it if there is one, and sums of all of them. */
const node = (name, depth) => ({ name, depth, below: new Map(), page: null, pages: 0, failed: 0, bytes: 0, cost: 0 });

/** The names on the way from the root to a page. */
function way(url) {
  try {
    const { host, pathname, search } = new URL(url);
    const parts = pathname.split("/").filter((part) => part !== "");
    const names = [host, ...parts.slice(0, DEPTH_MAX)];
    if (parts.length > DEPTH_MAX) names.push(parts.slice(DEPTH_MAX).join("/"));
    // A folder's own page, and one with a query, stand below it.
    if (search !== "") names.push(search);
    else if (pathname.endsWith("/") && parts.length > 0) names.push("/");
    return names;
  } catch {
    return [url];
  }
}

/** A tree that grows page by page. */
export class Tree {
  root = node("", -1);
  #seen = 0;

  /** Adds the pages that were not there before. */
  grow(pages) {
    for (; this.#seen < pages.length; this.#seen += 1) this.#add(pages[this.#seen]);
  }

  #add(page) {
    let at = this.root;
    const met = [at];
    for (const name of way(page.url)) {
      if (!at.below.has(name)) at.below.set(name, node(name, at.depth + 1));
      at = at.below.get(name);
      met.push(at);
    }
    at.page = page;
    for (const one of met) {
      one.pages += 1;
      one.failed += isFailed(page) ? 1 : 0;
      one.bytes += page.bytes;
      one.cost += page.total_cost;
    }
  }

  /** The nodes that are seen when these are open, in order. */
  rows(open) {
    const rows = [];
    const walk = (at) => {
      const below = [...at.below.values()].sort((a, b) => b.below.size - a.below.size || (a.name < b.name ? -1 : 1));
      for (const one of below) {
        rows.push(one);
        if (open.has(one)) walk(one);
      }
    };
    walk(this.root);
    return rows;
  }
}

/** The view: `{element, update({pages})}`. `onpage(page)` is called for a page that is opened. */
export function treeView(context, onpage) {
  const tree = new Tree();
  const open = new Set();
  const name = (one) => {
    const mark = one.below.size === 0 ? "" : open.has(one) ? "▾ " : "▸ ";
    const text = h("span", { title: one.page?.url ?? one.name }, mark, one.name);
    text.style.paddingInlineStart = `${one.depth * 1.1}rem`;
    return text;
  };
  const list = table([
    { label: "Path", width: "minmax(14rem, 3fr)", cell: name },
    { label: "Status", width: "5rem", isNumber: true, cell: (one) => (one.page === null ? "" : h("span", { class: isFailed(one.page) ? "bad" : null }, one.page.status)) },
    { label: "Pages", width: "5rem", isNumber: true, cell: (one) => count(one.pages) },
    { label: "Failed", width: "5rem", isNumber: true, cell: (one) => (one.failed === 0 ? "" : h("span", { class: "bad" }, count(one.failed))) },
    { label: "Size", width: "6rem", isNumber: true, cell: (one) => bytes(one.bytes) },
    { label: "Cost", width: "7rem", isNumber: true, cell: (one) => dollars(one.cost) },
    { label: "Open in", width: "7rem", cell: (one) => (one.page === null ? "" : inPlayground(context, one.page.url)) },
  ], { label: "The site by path", height: 560, nothing: "No pages yet.", onopen: (one) => {
    if (one.below.size > 0) {
      if (!open.delete(one)) open.add(one);
      draw();
    } else if (one.page !== null) {
      onpage(one.page);
    }
  } });
  const draw = () => list.set(tree.rows(open));
  return {
    element: list.element,
    update: ({ pages }) => {
      const isFirst = tree.root.pages === 0;
      tree.grow(pages);
      if (isFirst) for (const host of tree.root.below.values()) open.add(host);
      draw();
    },
  };
}
