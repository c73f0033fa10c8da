// One crawl: live curves, the site as a tree, its pages, what it skipped, its request.

import { bytes, count, curve, dollars, download, empty, failed, field, h, loading, tabs, time, took } from "../ui.js";
import { ask, asking, facts, worker } from "../views.js";
import { FILES } from "./files.js";
import { curves, follow } from "./follow.js";
import { state } from "./list.js";
import { pagesView } from "./pages.js";
import { skippedView } from "./skipped.js";
import { treeView } from "./tree.js";

/** Milliseconds between two drawings of what pages are added up for; more if there are many. */
const redraw = (pages) => Math.max(1_500, pages.length / 20);

/** The live view: `{element, update(shown)}`. */
function liveView() {
  const element = h("div", { class: "curves" }, loading());
  const rate = (value) => `${value.toFixed(value < 10 ? 1 : 0)}/s`;
  return {
    element,
    update: ({ pages, looks }) => {
      const { speed, bytes: size, cost, statuses } = curves(pages);
      element.replaceChildren(
        curve("Pages per second", [{ label: "pages", points: speed }], rate),
        curve("Pages by status", [...statuses].map(([label, points]) => ({ label, points }))),
        looks.length > 1
          ? curve("Queue", [
            { label: "waiting", points: looks.map(([at, waiting]) => [at, waiting]) },
            { label: "in flight", points: looks.map(([at, , inFlight]) => [at, inFlight]) },
          ])
          : empty("The queue is shown while the crawl runs and is looked at."),
        curve("Size of the entries", [{ label: "bytes", points: size }], bytes),
        curve("Cost", [{ label: "dollars", points: cost }], dollars),
      );
    },
  };
}

/** The objects that have secrets, innermost first. */
const HOLDERS = [["router", "credentials"], ["router"], ["headers"], []];

/** Puts a value at the path `headers.authorization`. Names of headers may have dots. */
export function put(object, path, value) {
  const holder = HOLDERS.find((names) => path.startsWith(names.map((name) => `${name}.`).join("")));
  let at = object;
  for (const name of holder) {
    at[name] ??= {};
    at = at[name];
  }
  at[path.slice(holder.join(".").length).replace(/^\./, "")] = value;
}

/** Asks for the secrets that a parked crawl lost, and resumes it. */
function resume(context, crawl, onresumed) {
  const fields = (crawl.missing_secrets ?? []).map((name) => [name, field({ label: name, type: "password" })]);
  const go = async () => {
    const body = {};
    for (const [name, { input }] of fields) put(body, name, input.value);
    await ask(context, "POST", `/crawl/${encodeURIComponent(crawl.id)}/resume`, body);
    onresumed();
  };
  if (fields.length === 0) return go();
  const sentence = h("p", {}, "Secrets of a request are not stored. Give them once more:");
  return asking("Resume the crawl", [sentence, fields.map(([, { element }]) => element)], "Resume", go);
}

/** The buttons that make files of the crawl. */
function downloads(context, id) {
  const said = h("span", { role: "status" });
  const ends = new AbortController();
  const made = Object.values(FILES).map(({ label, ending, make }) => worker(label, async () => {
    const onprogress = (n) => { said.textContent = `${count(n)} pages…`; };
    try {
      const blob = await make(context, id, { onprogress, signal: ends.signal });
      download(`crawl-${id}${ending}`, blob.type, blob);
    } finally {
      said.textContent = "";
    }
  }));
  return { element: h("div", { class: "buttons" }, h("span", {}, "Download:"), made, said), stop: () => ends.abort() };
}

/** What stands above the views of a crawl. */
export function head(crawl) {
  const { urls } = crawl;
  return facts([
    ["State", state(crawl)],
    ["Begun", time(crawl.created)],
    // The clock of this tab may be another than the server's: the time is said once it is known.
    crawl.ended && ["Took", took(Date.parse(crawl.ended) - Date.parse(crawl.created))],
    ["Pages", count(crawl.pages)],
    ["Failed", h("span", { class: crawl.failed > 0 ? "bad" : null }, count(crawl.failed))],
    ["Size", bytes(crawl.bytes)],
    ["Cost", `${dollars(crawl.costs.total_cost)} (${crawl.costs.credits} credits)`],
    urls && ["URLs", `${count(urls.known)} known, ${count(urls.waiting)} waiting, ${count(urls.in_flight)} in flight, ${count(urls.skipped)} skipped`],
  ]);
}

export function show(container, context, id) {
  const top = h("div", {}, loading());
  const buttons = h("div", { class: "buttons" });
  const title = h("h1", { class: "break" }, "Crawl");
  const announcement = h("p", { class: "hidden-label", role: "status" });
  const files = downloads(context, id);
  const pages = pagesView(context, id);
  const views = [
    { name: "live", label: "Live", ...liveView() },
    { name: "tree", label: "Site", ...treeView(context, (page) => {
      body.querySelector("[data-view=pages]")?.click();
      pages.open(page);
    }) },
    { name: "pages", label: "Pages", ...pages },
    { name: "skipped", label: "Skipped", ...skippedView(context, id) },
    { name: "request", label: "Request", element: h("pre", { class: "wrap", tabindex: 0 }) },
  ];
  let shown;
  let chosen = views.find((view) => view.name === context.query.get("tab")) ?? views[0];
  let [drawn, drawnPages] = [0, 0];
  const draw = () => {
    drawn = Date.now();
    if (shown === undefined) return;
    drawnPages = shown.pages.length;
    if (chosen.name === "request") chosen.element.textContent = JSON.stringify(shown.crawl.request, null, 2);
    else chosen.update(shown);
  };
  const body = tabs("Views of the crawl", views.map((view) => ({ ...view, make: () => view.element })), chosen.name, (name) => {
    chosen = views.find((view) => view.name === name);
    context.keep({ id, tab: name });
    draw();
  });

  let stop = () => undefined;
  let shownState;
  const begin = () => {
    stop();
    shownState = undefined;
    stop = follow(context, id, (now) => {
      const isFirst = shown === undefined;
      shown = now;
      const { crawl } = now;
      title.textContent = crawl.request?.url ?? `Crawl ${crawl.id}`;
      top.replaceChildren(head(crawl), now.isCut ? h("p", { class: "note" }, "Curves, tree and list have the first 500,000 pages.") : "");
      const isRunning = crawl.state === "running" || crawl.state === "queued";
      if (crawl.state !== shownState) announcement.textContent = `The crawl: ${state(crawl)}`;
      // Drawn once for each state: a person may be about to press one.
      if (crawl.state !== shownState) buttons.replaceChildren(...[
        isRunning && worker("Stop", async () => {
          await ask(context, "DELETE", `/crawl/${encodeURIComponent(id)}`);
          begin();
        }),
        crawl.state === "parked" && worker("Resume", () => resume(context, crawl, begin), { class: "primary" }),
        crawl.state === "parked" && worker("End", async () => {
          await ask(context, "DELETE", `/crawl/${encodeURIComponent(id)}`);
          begin();
        }),
      ].flat().filter(Boolean));
      shownState = crawl.state;
      const hasMore = now.pages.length !== drawnPages;
      const isDue = (hasMore || chosen.name === "live") && Date.now() - drawn > redraw(now.pages);
      if (isFirst || !isRunning || isDue) draw();
    }, (message) => {
      buttons.replaceChildren();
      top.replaceChildren(failed(message, begin));
    });
  };
  container.append(
    h("p", {}, h("a", { href: context.address("crawls") }, "← Crawls")),
    h("div", { class: "title" }, title, buttons), announcement, top, files.element, body,
  );
  begin();
  return () => {
    stop();
    files.stop();
  };
}
