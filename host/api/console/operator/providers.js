// Third-party providers: whether they can run, what they served, why they failed, what they cost.

import { count, duration, h, percent, table, took } from "../ui.js";
import { facts, read, view, words } from "../views.js";

/** The calls of a provider on the caller's and on the operator's credentials together. */
function calls({ own_keys, pooled }) {
  const failures = { ...own_keys.failures };
  for (const [name, n] of Object.entries(pooled.failures)) failures[name] = (failures[name] ?? 0) + n;
  return { calls: own_keys.calls + pooled.calls, served: own_keys.served + pooled.served, failures };
}

/** Whether a provider can run now, in words: the breaker of its credentials. */
function breaker(provider) {
  if (provider.paused_credentials > 0) {
    return h("span", { class: "bad" }, `${count(provider.paused_credentials)} paused, ${duration(provider.paused_seconds * 1000)} left`);
  }
  return provider.has_pooled_credentials ? h("span", { class: "good" }, "runs") : "keys of callers only";
}

const COLUMNS = [
  { label: "Provider", width: "9rem", cell: (row) => row.name },
  { label: "Product", width: "minmax(8rem, 2fr)", cell: (row) => h("span", { title: row.label }, row.label) },
  { label: "Credentials", width: "12rem", cell: breaker },
  { label: "Calls", width: "6rem", isNumber: true, cell: (row) => count(calls(row).calls) },
  { label: "Served", width: "6rem", isNumber: true, cell: (row) => (calls(row).calls === 0 ? "–" : percent(calls(row).served / calls(row).calls)) },
  { label: "Most frequent failure", width: "minmax(8rem, 2fr)", cell: (row) => words(Object.entries(calls(row).failures).sort(([, a], [, b]) => b - a)[0]?.[0]) },
  { label: "Mean time", width: "7rem", isNumber: true, cell: (row) => (calls(row).calls === 0 ? "–" : took(Math.max(row.pooled.mean_ms, row.own_keys.mean_ms))) },
  { label: "Cost", width: "8rem", isNumber: true, cell: (row) => `$${row.pooled.vendor_cost}` },
  { label: "Billed", width: "8rem", isNumber: true, cell: (row) => `$${row.pooled.billed}` },
];

const payment = (title, made) => [
  h("h3", {}, title),
  facts([
    ["Calls", count(made.calls)],
    ["Served a page", count(made.served)],
    ...Object.entries(made.failures).map(([name, n]) => [`Failed: ${words(name)}`, count(n)]),
    ["Mean time", made.calls === 0 ? "–" : took(made.mean_ms)],
    ["Longest time", made.calls === 0 ? "–" : took(made.slowest_ms)],
    ["Cost", `$${made.vendor_cost}`],
    ["Billed", `$${made.billed}`],
    ["Margin", `$${made.margin}`],
  ]),
];

const shownProvider = (provider) => [
  h("h2", {}, `${provider.label} (${provider.name})`),
  facts([
    ["Adapter", provider.version],
    ["Credentials", breaker(provider)],
    ["Base URL", h("span", { class: "break" }, provider.grant.base)],
    ["Hosts", provider.grant.hosts.join(", ")],
    ["A page costs at most", `$${provider.grant.prices.most}`],
    ["Prices of", provider.grant.prices.date],
  ]),
  payment("On the operator's credentials", provider.pooled),
  payment("On keys of callers", provider.own_keys),
].flat();

/** The view. */
export function providersView(context) {
  const body = h("div");
  // The address names the provider that is open.
  let opened = context.query.get("provider");
  const again = view(body, () => read(context, "/providers"), ({ providers }) => {
    const one = h("section", { "aria-live": "polite" });
    const rows = table(COLUMNS, { label: "Providers", height: 420, nothing: "No provider is configured.",
      onopen: (provider) => show(provider) });
    const show = (provider) => {
      opened = provider.name;
      one.replaceChildren(...shownProvider(provider));
      context.keep({ tab: "providers", provider: provider.name });
    };
    rows.set(providers);
    const named = providers.find((provider) => provider.name === opened);
    if (named !== undefined) show(named);
    return [h("p", { class: "note" }, "Since the server started. Open one to see its failures by class."), rows.element, one];
  });
  return [h("div", { class: "buttons" }, h("button", { type: "button", onclick: again }, "Read again")), body];
}
