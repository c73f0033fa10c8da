// Balance, subscription, and limits with what is used of them.

import { bytes, count, dollars, h, time } from "../ui.js";
import { facts, read, share, view, words } from "../views.js";

/** Limits that are numbers of bytes. */
const isBytes = (name) => name.endsWith("_bytes");

function shownAccount(account) {
  const { subscription, notices, limits } = account;
  return [
    facts([
      ["Balance", h("strong", { class: "large" }, dollars(account.balance))],
      ["Reserved for pages in flight", dollars(account.reserved)],
      ["Available", dollars(account.available)],
      ["Credits", account.credits],
      ["Name", account.name],
      ["Id", h("code", {}, account.id)],
    ]),
    h("h2", {}, "Unlimited plan"),
    subscription === null
      ? h("p", { class: "note" }, "The account has no seats: it pays for each page.")
      : [
        share("Seats in use", subscription.active, subscription.seats),
        facts([
          ["State", subscription.state],
          ["Period", `${time(subscription.from)} to ${time(subscription.to)}`],
          ["Price of the period", dollars(subscription.price)],
          ["Seats from the next period on", count(subscription.next_seats)],
        ]),
      ],
    h("h2", {}, "Limits"),
    Object.entries(limits ?? {}).map(([name, { limit, used }]) => share(words(name), used, limit, isBytes(name) ? bytes : count)),
    h("h2", {}, "Balance alerts"),
    notices === null
      ? h("p", { class: "note" }, "No webhook receives an event when the balance is low; PUT /account/notices sets one.")
      : facts([
        ["Webhook", h("span", { class: "break" }, notices.destination)],
        ["Low below", dollars(notices.low_balance_dollars)],
      ]),
  ];
}

export function overview(context) {
  const body = h("div");
  const again = view(body, () => read(context, "/account"), shownAccount);
  return [h("div", { class: "buttons" }, h("button", { type: "button", onclick: again }, "Read again")), body];
}
