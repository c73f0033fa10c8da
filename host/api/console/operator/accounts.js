// Accounts for the operator: new ones, top-ups, seats, and for each its statement and its hosts.

import { copyButton, count, dialog, dollars, field, h, table, tabs, time } from "../ui.js";
import { ask, asking, facts, many, read, settled, share, view, withQuery, worker } from "../views.js";
import { hostsView } from "../account/hosts.js";
import { period } from "../account/period.js";
import { statementView } from "../account/statement.js";

/** Accounts that are shown. */
const ACCOUNTS_MAX = 20_000;

const COLUMNS = [
  { label: "Name", width: "minmax(8rem, 2fr)", cell: (one) => h("span", { title: one.name }, one.name) },
  { label: "Id", width: "12rem", cell: (one) => h("code", {}, one.id) },
  { label: "Balance", width: "8rem", isNumber: true, cell: (one) => h("span", { class: one.balance <= 0 ? "bad" : null }, dollars(one.balance)) },
  { label: "Reserved", width: "8rem", isNumber: true, cell: (one) => dollars(one.reserved) },
  { label: "Plan", width: "9rem", cell: (one) => one.subscription?.state ?? "pays by page" },
  { label: "Seats", width: "6rem", isNumber: true, cell: (one) => (one.subscription ? `${count(one.subscription.active)}/${count(one.subscription.seats)}` : "") },
];

/** The accounts, and how many there are: `{rows, total}`; this list has no cursor. */
async function accounts(context) {
  const found = { rows: [], total: 0 };
  for (let page = 1; found.rows.length < ACCOUNTS_MAX; page += 1) {
    const { data, count: total } = await read(context, withQuery("/admin/accounts", { limit: 1000, page }));
    found.rows.push(...data);
    found.total = total;
    if (data.length === 0 || found.rows.length >= total) break;
  }
  return found;
}

function create(context, ondone) {
  const name = field({ label: "Name", maxlength: 100 });
  const paid = field({ label: "Dollars paid in", inputmode: "decimal", help: "Empty for none; $500 and more earn a bonus." });
  return asking("New account", [name.element, paid.element], "Create", async () => {
    const dollarsPaid = paid.input.value.trim();
    const body = { name: name.input.value, ...(dollarsPaid === "" ? {} : { dollars: dollarsPaid }) };
    const made = (await ask(context, "POST", "/admin/accounts", body)).json;
    dialog("The first key", [
      h("p", {}, `Only now the key of ${made.name} is shown.`),
      h("pre", { class: "wrap", tabindex: 0 }, made.api_key),
      copyButton(() => made.api_key),
    ], { Done: () => undefined });
    ondone();
  });
}

/** Top-ups whose answer is not known to be good, by path: they may be paid in. */
const unconfirmed = new Map();

/** An id that no other payment has. `randomUUID` is for encrypted connections only. */
const paymentId = () => `console-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16).padStart(8, "0")).join("")}`;

function topUp(context, path, again) {
  // A top-up that is sent again has the id of before.
  const before = unconfirmed.get(path);
  const made = before?.id ?? paymentId();
  const paid = field({ label: "Dollars", inputmode: "decimal", value: before?.dollars ?? "" });
  const id = field({ label: "Id of the payment", maxlength: 100, value: made, help: "Paid in once only, however often it is sent." });
  const warning = before && h("p", { class: "bad" }, "The last top-up failed, or its answer was lost. With the same id it is paid in only once.");
  return asking("Top up", [warning, paid.element, id.element].filter(Boolean), "Pay in", async () => {
    const sent = { dollars: paid.input.value.trim(), id: id.input.value.trim() || made };
    unconfirmed.set(path, sent);
    const { repeated } = (await ask(context, "POST", `${path}/top-ups`, sent)).json;
    unconfirmed.delete(path);
    if (repeated) dialog("Paid in before", [h("p", {}, `The payment ${sent.id} was paid in before: the balance did not change.`)], { Done: () => undefined });
    again();
  });
}

function seats(context, path, again, account) {
  const n = field({ label: "Seats", type: "number", min: 0, value: String(account.subscription?.next_seats ?? 0), help: "They are charged from the balance; 0 ends the plan with its period." });
  return asking("Seats", [n.element], "Set", async () => {
    await ask(context, "PUT", `${path}/seats`, { seats: Number(n.input.value) });
    again();
  });
}

/** One account. */
function shownAccount(context, path, account, again) {
  const { subscription, keys } = account;
  const chosen = period("7", { label: "Pages of", isBeside: true });
  const hosts = h("div");
  const look = () => hosts.replaceChildren(...hostsView(context, `${path}/hosts`, chosen.from()));
  chosen.input.addEventListener("input", look);
  const views = [
    { name: "hosts", label: "Hosts and failures", make: () => {
      look();
      return [chosen.element, hosts];
    } },
    { name: "statement", label: "Statement", make: () => statementView(context, `${path}/statement`) },
    { name: "keys", label: "Keys", make: () => {
      const rows = table([
        { label: "Key", width: "10rem", cell: (key) => h("code", {}, `${key.key}…`) },
        { label: "Name", width: "minmax(8rem, 2fr)", cell: (key) => key.name ?? "" },
        { label: "Last used", width: "12rem", cell: (key) => (key.last_used === null ? "never" : time(key.last_used)) },
        { label: "This month", width: "8rem", isNumber: true, cell: (key) => dollars(key.month_spent) },
        { label: "Budget", width: "8rem", isNumber: true, cell: (key) => (key.monthly_budget === null ? "–" : dollars(key.monthly_budget)) },
      ], { label: "Keys of the account", height: 280, nothing: "No keys." });
      rows.set(keys ?? []);
      return rows.element;
    } },
  ];
  return [
    h("h2", { class: "break" }, account.name),
    facts([
      ["Id", h("code", {}, account.id)],
      ["Balance", dollars(account.balance)],
      ["Reserved", dollars(account.reserved)],
      ["Plan", subscription === null ? "pays by page" : `${subscription.state}, to ${time(subscription.to)}`],
    ]),
    subscription && share("Seats in use", subscription.active, subscription.seats),
    h("div", { class: "buttons" },
      worker("Top up", () => topUp(context, path, again), { class: "primary" }),
      worker("Seats", () => seats(context, path, again, account))),
    tabs("Views of the account", views, "hosts"),
  ];
}

/** The view: the list, or the account that the address names. */
export function accountsView(context) {
  const [body, one] = [h("div"), h("section", { "aria-label": "The account" })];
  const open = (name) => {
    const path = `/admin/accounts/${encodeURIComponent(name)}`;
    const again = view(one, () => read(context, path), (account) => shownAccount(context, path, account, () => {
      again();
      look();
    }));
  };
  const look = view(body, () => accounts(context), ({ rows: all, total }) => {
    const search = field({ label: "Search in names and ids", type: "search" });
    const rows = table(COLUMNS, { label: "Accounts", height: 360, nothing: "No such accounts.", onopen: (account) => {
      context.keep({ tab: "accounts", account: account.id });
      open(account.id);
    } });
    const draw = () => {
      const wanted = search.input.value.trim().toLowerCase();
      rows.set(all.filter((account) => `${account.name} ${account.id}`.toLowerCase().includes(wanted)));
    };
    search.input.addEventListener("input", settled(draw));
    draw();
    return [h("p", { class: "note" }, `${many(total, "account")}${total > all.length ? `, of which the first ${count(all.length)} are here` : ""}. Open one to see its money, and why its pages failed.`), search.element, rows.element];
  });
  const named = context.query.get("account");
  if (named) open(named);
  return [h("div", { class: "buttons" }, worker("New account", () => create(context, look))), body, one];
}
