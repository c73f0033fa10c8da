// The keys of the account: new ones, budgets, revoking.

import { copyButton, dialog, dollars, field, h, table, time } from "../ui.js";
import { ask, many, read, view, withQuery } from "../views.js";

/** Shows a new key, once. */
function shownKey(key) {
  dialog("The new key", [
    h("p", {}, "It is shown only now. Keep it where only those who need it can read it."),
    h("pre", { class: "wrap", tabindex: 0 }, key),
    copyButton(() => key),
  ], { Done: () => undefined });
}

/** Dollars of a field; null if it is empty. */
const budgetOf = ({ input }) => (input.value.trim() === "" ? null : input.value.trim());

/** The view of the keys. */
export function keysView(context) {
  const body = h("div");
  const said = h("p", { class: "bad", role: "alert" });
  /** Does what a dialog was closed with, and reads the keys again. */
  const act = async (work) => {
    said.textContent = "";
    try {
      await work();
      again();
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const create = () => {
    const name = field({ label: "Name", maxlength: 100 });
    const budget = field({ label: "Dollars a month at most", inputmode: "decimal", help: "Empty for no budget." });
    dialog("New key", [name.element, budget.element], {
      Create: () => act(async () => {
        const monthly_budget = budgetOf(budget);
        const body = { name: name.input.value, ...(monthly_budget === null ? {} : { monthly_budget }) };
        shownKey((await ask(context, "POST", "/account/keys", body)).json.api_key);
      }),
      Cancel: () => undefined,
    });
  };
  const revoke = (key, path, isOwn) => dialog(`Revoke the key ${key.key}…?`, [
    h("p", {}, key.name ?? "It has no name."),
    h("p", { class: "bad" }, "Programs that use it are refused at once. It cannot be undone."),
  ], {
    // First, so that Enter revokes nothing.
    "Keep it": () => undefined,
    "Revoke it": () => act(() => ask(context, "DELETE", withQuery(path, { current: isOwn ? "true" : null }))),
  });
  const change = (key) => {
    const path = `/account/keys/${encodeURIComponent(key.key)}`;
    const budget = field({ label: "Dollars a month at most", inputmode: "decimal", value: key.monthly_budget ?? "", help: "Empty for no budget." });
    const isOwn = context.key().startsWith(key.key);
    dialog(`Key ${key.key}…`, [
      h("p", {}, key.name ?? "It has no name."), budget.element,
      isOwn && h("p", { class: "bad" }, "This tab uses this key: once it is revoked, the tab needs another one."),
    ].filter(Boolean), {
      "Set the budget": () => act(() => ask(context, "PUT", `${path}/budget`, { monthly_budget: budgetOf(budget) })),
      Revoke: () => revoke(key, path, isOwn),
      Cancel: () => undefined,
    });
  };
  const columns = [
    { label: "Key", width: "10rem", cell: (key) => h("code", {}, `${key.key}…`) },
    { label: "Name", width: "minmax(8rem, 2fr)", cell: (key) => key.name ?? "" },
    { label: "Created", width: "12rem", cell: (key) => time(key.created) },
    { label: "Last used", width: "12rem", cell: (key) => (key.last_used === null ? "never" : time(key.last_used)) },
    { label: "This month", width: "8rem", isNumber: true, cell: (key) => dollars(key.month_spent) },
    { label: "Budget", width: "8rem", isNumber: true, cell: (key) => (key.monthly_budget === null ? "–" : dollars(key.monthly_budget)) },
    { label: "Revoked", width: "12rem", cell: (key) => (key.revoked ? time(key.revoked) : "") },
  ];
  const again = view(body, () => read(context, "/account/keys?all=true"), ({ data }) => {
    const rows = table(columns, { label: "Keys", height: 400, nothing: "No keys.",
      onopen: (key) => { if (!key.revoked) change(key); } });
    rows.set([...data].sort((a, b) => Boolean(a.revoked) - Boolean(b.revoked)));
    const active = data.filter((key) => !key.revoked).length;
    return [h("p", { class: "note" }, `${many(active, "active key")}. Open one to change its budget or to revoke it.`), rows.element];
  });
  return [h("div", { class: "buttons" }, h("button", { type: "button", class: "primary", onclick: create }, "New key")), said, body];
}
