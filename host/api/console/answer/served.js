// Who served a page and why, and where its time went.

import { dollars, duration, h, percent, took } from "../ui.js";
import { facts, many, words } from "../views.js";

/** Engines in words. */
const ENGINES = { http: "plain HTTP", browser: "the browser", provider: "a third-party provider", cache: "the page cache" };

/** The value of a fact, however it is written. */
const shown = (value) => (typeof value === "string" ? words(value) : JSON.stringify(value));

/** What the metadata of a page says of its way, as facts. */
export function servedFacts(page) {
  const { rendered_by, render_reason, cache, decoded_by, page_count, provider_attempts, body_fault } = page.metadata ?? {};
  const vendor = page.costs?.vendor;
  return [
    rendered_by !== undefined && ["Served by", ENGINES[rendered_by] ?? String(rendered_by)],
    render_reason !== undefined && ["Why", String(render_reason)],
    vendor && ["Provider", `${vendor.provider} on ${vendor.route}, after ${many(vendor.attempts, "attempt")}; ${dollars(vendor.vendor_cost)}`],
    cache !== undefined && ["Page cache", shown(cache)],
    decoded_by !== undefined && ["Decoded by", String(decoded_by)],
    page_count !== undefined && ["Pages of the document", String(page_count)],
    body_fault !== undefined && ["Fault of the body", String(body_fault)],
    ...(provider_attempts ?? []).map((attempt, at) => [`Attempt ${at + 1} at a provider`, shown(attempt)]),
  ].filter(Boolean);
}

/** Steps in words; a plugin is `plugin:markdown`. */
const STEPS = {
  host_wait: "Wait for the host", robots: "robots.txt", dns: "DNS", connect: "Connect", first_byte: "Request to first byte", body: "Body",
  browser: "Browser", provider: "Provider", parse: "Parse", queue: "Wait for a core", settle: "Settle",
};
const stepName = (step) => STEPS[step] ?? words(step.replace(/^plugin:/, "plugin "));

/** Steps `{step, start_ms, ms}` as bars one below the other, over the time of the page. */
export function waterfall(steps, total) {
  const end = Math.max(total, ...steps.map(({ start_ms, ms }) => start_ms + ms), 0.001);
  const row = ({ step, start_ms, ms }) => {
    const bar = h("span", { class: `bar-of-time step-${step.split(":")[0]}` });
    bar.style.marginInlineStart = `${(start_ms / end) * 100}%`;
    bar.style.width = `${Math.max(0.3, (ms / end) * 100)}%`;
    return h("tr", {}, h("th", { scope: "row" }, stepName(step)), h("td", { class: "number" }, duration(start_ms)),
      h("td", { class: "number" }, took(ms)), h("td", { class: "number" }, percent(ms / end)), h("td", { class: "track", "aria-hidden": "true" }, bar));
  };
  const heads = ["Step", "Begins after", "Takes", "Share"].map((name) => h("th", { scope: "col" }, name));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Timing" }, h("table", { class: "costs waterfall" },
    h("thead", {}, h("tr", {}, heads, h("td"))), h("tbody", {}, steps.map(row))));
}

/** The view. */
export function servedView(page, response) {
  const all = servedFacts(page);
  const timing = Array.isArray(page.metadata?.timing) ? page.metadata.timing : [];
  const whole = page.duration_elasped_ms;
  return [
    all.length > 0 ? facts(all) : h("p", { class: "note" }, "Served by the engine that the request names."),
    h("h3", {}, "Timing"),
    facts([whole !== undefined && ["The page", took(whole)], ["The answer, seen from here", took(response.milliseconds)]]),
    timing.length > 0 ? waterfall(timing, whole ?? 0)
      : h("p", { class: "note" }, "Send the request with return_timing to see where the time went."),
  ];
}
