// Webhooks: the secret that signs events, what was sent last with the answers, and what waits.

import { copyButton, count, h, table, time, took } from "../ui.js";
import { ask, asking, facts, list, read, view, worker } from "../views.js";

/** Events that are shown. */
const EVENTS_MAX = 5_000;

function secretView(context) {
  const body = h("div", { class: "buttons" });
  const show = (secret) => body.replaceChildren(h("code", { class: "break" }, secret), copyButton(() => secret));
  const sentence = "X-Trawl-Signature is made with the new one at once. For a day webhook-signature has the signatures of both.";
  const renew = () => asking("A new secret", [h("p", {}, sentence)], "Replace it", async () => {
    show((await ask(context, "POST", "/account/webhook-secret")).json.webhook_secret);
  });
  return [
    h("h2", {}, "Signing secret"), body,
    h("div", { class: "buttons" },
      worker("Show it", async () => show((await read(context, "/account/webhook-secret")).webhook_secret)),
      worker("Replace it", renew)),
  ];
}

const outcome = (delivery) => {
  const isGood = delivery.status !== null && delivery.status >= 200 && delivery.status < 300;
  return h("span", { class: isGood ? "good" : "bad" }, delivery.status ?? "no answer");
};

const DELIVERIES = [
  { label: "Sent", width: "12rem", cell: (row) => time(row.at) },
  { label: "Event", width: "10rem", cell: (row) => row.event },
  { label: "Answer", width: "6rem", cell: outcome },
  { label: "Took", width: "6rem", isNumber: true, cell: (row) => took(row.milliseconds) },
  { label: "Attempt", width: "5rem", isNumber: true, cell: (row) => count(row.attempt) },
  { label: "Receiver", width: "minmax(10rem, 2fr)", cell: (row) => h("span", { title: row.destination }, row.destination) },
];

const WAITING = [
  { label: "Happened", width: "12rem", cell: (row) => time(row.created) },
  { label: "Event", width: "10rem", cell: (row) => row.event },
  { label: "Attempts", width: "6rem", isNumber: true, cell: (row) => count(row.attempts) },
  { label: "Next attempt", width: "12rem", cell: (row) => time(row.due) },
  { label: "Last failure", width: "minmax(10rem, 2fr)", cell: (row) => h("span", { title: row.last_error ?? "" }, row.last_error ?? "") },
  { label: "Receiver", width: "minmax(10rem, 2fr)", cell: (row) => h("span", { title: row.destination }, row.destination) },
];

function deliveries(context, body) {
  return view(body, () => read(context, "/account/deliveries"), ({ data }) => {
    const one = h("section", { "aria-live": "polite" });
    const rows = table(DELIVERIES, { label: "Last deliveries", height: 300, nothing: "Nothing was sent since the server started.",
      onopen: (row) => one.replaceChildren(facts([
        ["Event", h("code", { class: "break" }, row.id)],
        ["Receiver", h("span", { class: "break" }, row.destination)],
        ["Answer", outcome(row)],
        row.answer !== null && ["It said", h("pre", { class: "wrap", tabindex: 0 }, row.answer === "" ? "(nothing)" : row.answer)],
        row.error !== null && ["Why there was none", row.error],
      ])) });
    rows.set(data);
    return [rows.element, one];
  });
}

export function webhooksView(context) {
  const [sent, waiting] = [h("div"), h("div")];
  const again = deliveries(context, sent);
  const look = view(waiting, () => list(context, "/data/webhooks", {}, EVENTS_MAX), ({ rows, count: total }) => {
    const events = table(WAITING, { label: "Events that wait", height: 300, nothing: "No event waits." });
    events.set(rows);
    return [total > rows.length && h("p", { class: "note" }, `The first ${count(rows.length)} of ${count(total)}.`), events.element];
  });
  const both = () => {
    again();
    look();
  };
  return [
    secretView(context),
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: both }, "Read again")),
    h("h2", {}, "Last deliveries"), sent,
    h("h2", {}, "Events that wait"), waiting,
  ];
}
