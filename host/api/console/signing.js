// Signing in with a link: `#key=…` and `#admin=…`, alone or with `page=NAME`. Anybody can make a
// link with a key of an account of his own, and would see the requests of those who follow it. So
// the tab asks before a link replaces its key, and says whose key it has if that came with a link.

import * as server from "./api.js";
import { dialog, h } from "./ui.js";
import { facts } from "./views.js";

/** Where the tab keeps the key that came with a link, until the person has said whose it is. */
const LINKED = "trawl.linked";

/** What stands for the account of a key that is none. */
const REFUSED = "no account: the server refuses the key";

/** The account of a key in words. */
async function owner(key) {
  if (key === "") return "no account";
  const { ok, status, json } = await server.api("GET", "/account", undefined, { key });
  if (ok && json) return `${json.name || "an account without a name"} (${json.id})`;
  return status === 401 ? REFUSED : "an account whose name cannot be read";
}

/** The same as a node that is filled once the server has answered. */
function owned(key) {
  const said = h("span", { class: "break" }, "…");
  owner(key).then((name) => { said.textContent = name; });
  return said;
}

/**
 * Keeps the keys of the address and takes them out of it, also out of the tab's history. `first` is
 * the page that is shown if the address names none.
 */
export function signIn(first) {
  const hash = location.hash.slice(1);
  if (hash.startsWith("/") || !/(^|&)(key|admin)=/.test(hash)) return;
  const given = new URLSearchParams(hash);
  history.replaceState(null, "", `#/${given.get("page") ?? first}`);
  const [key, admin] = ["key", "admin"].map((name) => given.get(name)?.trim());
  const keep = () => {
    if (key !== undefined) server.setKey(key);
    if (admin !== undefined) server.setAdmin(admin);
  };
  const isOther = (own, its) => its !== undefined && own !== "" && own !== its;
  const hasOther = isOther(server.key(), key);
  if (!hasOther && !isOther(server.admin(), admin)) {
    if (key && key !== server.key()) sessionStorage.setItem(LINKED, key);
    keep();
    return;
  }
  const question = "This link has another key than this tab. With it, requests are seen by the account of that key.";
  const accounts = hasOther && facts([["This tab", owned(server.key())], ["The link", owned(key)]]);
  dialog("Another key", [h("p", {}, question), accounts], { "Keep mine": () => undefined, "Take the link's": keep });
}

/** Says that the key came with a link, and whose it is, until the person agrees or forgets it. */
export function linkNotice() {
  const said = h("p", { role: "status" });
  const left = () => document.getElementById("main").focus();
  const agree = h("button", { type: "button", onclick: () => {
    sessionStorage.removeItem(LINKED);
    draw();
    left();
  } }, "It is mine");
  const forget = h("button", { type: "button", onclick: () => {
    server.setKey("");
    left();
  } }, "Forget this key");
  const element = h("aside", { class: "linked", "aria-label": "Signed in by a link" }, said, h("div", { class: "buttons" }, agree, forget));
  let shown = "";
  async function draw() {
    const key = sessionStorage.getItem(LINKED) ?? "";
    const isLinked = key !== "" && key === server.key();
    element.hidden = !isLinked;
    if (!isLinked) sessionStorage.removeItem(LINKED);
    const next = isLinked ? key : "";
    if (next === shown) return;
    shown = next;
    said.textContent = isLinked ? "A link has signed this tab in." : "";
    if (!isLinked) return;
    const name = await owner(key);
    if (shown !== key) return;
    said.textContent = name === REFUSED ? "A link has given this tab a key that the server refuses."
      : `A link has signed this tab in to ${name}. That account sees and pays the requests from here.`;
  }
  addEventListener("keys", draw);
  draw();
  return element;
}
