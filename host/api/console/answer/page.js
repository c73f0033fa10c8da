// The page of an answer in its frame, with what is drawn over it: hidden text, and what
// `readability` leaves out.

import { BASE } from "../api.js";
import { count, dollars, empty, h } from "../ui.js";
import { ask, many, tick, words } from "../views.js";

/** Longest HTML that is shown in the frame, in characters. */
export const FRAME_MAX = 5_000_000;

/** What a page that is too long for the frame shows; null for any other. */
export const tooLong = (html) => (html.length <= FRAME_MAX ? null
  : empty(`The page has ${count(html.length)} characters; the frame shows at most ${count(FRAME_MAX)}.`));

/**
 * The frame of a page. It is as hostile as the page: see `frame/frame.js`, which also says what
 * `first()`, the message that shows the page, and others may be. `onmessage(data)` receives the
 * frame's messages, `onload()` is called when the page has lost all that was sent to it.
 *
 * Returns `{element, post(message)}`.
 */
export function frame(first, { onmessage = () => undefined, onload = () => undefined } = {}) {
  const heard = ({ source, data }) => {
    if (!element.isConnected) removeEventListener("message", heard);
    else if (source === element.contentWindow) onmessage(data);
  };
  const post = (message) => element.contentWindow?.postMessage(message, "*");
  const element = h("iframe", {
    class: "frame", title: "The page", sandbox: "allow-scripts", referrerpolicy: "no-referrer",
    src: new URL("console/frame/index.html", BASE).href,
    // A frame that was taken out and put in again is a new one.
    onload: () => {
      addEventListener("message", heard);
      post(first());
      onload();
    },
  });
  return { element, post };
}

/** Has the server make something of the page's HTML; returns the columns of its answer. */
async function transformed(context, page, html, parameters) {
  const body = { data: [{ html, url: page.url }], ...parameters };
  return (await ask(context, "POST", "/transform", body)).json;
}

/** The texts that the page hides from its readers. */
async function hiddenTexts(context, page, html) {
  if (Array.isArray(page.metadata?.hidden_text)) return { texts: page.metadata.hidden_text, cost: 0 };
  const json = await transformed(context, page, html, { return_format: "empty", return_hidden_text: true });
  return { texts: json.metadata?.[0]?.hidden_text ?? [], cost: json.costs?.total_cost ?? 0 };
}

/** The HTML that `readability` leaves. */
async function reduced(context, page, html) {
  const json = await transformed(context, page, html, { return_format: "raw", readability: true });
  return { kept: json.content?.[0] ?? "", cost: json.costs?.total_cost ?? 0 };
}

function saidHidden(texts) {
  const reasons = new Map();
  for (const { by } of texts) reasons.set(by, (reasons.get(by) ?? 0) + 1);
  const by = [...reasons].map(([name, n]) => `${count(n)} by ${words(name)}`).join(", ");
  return texts.length === 0 ? "No text is hidden." : `${many(texts.length, "text")} hidden from readers and left out: ${by}.`;
}

/** The view. `context` has `api`. */
export function pageView(context, request, page, html) {
  const long = tooLong(html);
  if (long !== null) return long;
  const state = { html };
  const { element, post } = frame(() => state);
  const wrong = h("p", { class: "bad", role: "alert" });
  /** Draws what a box stands for, or removes it: `make()` returns a message for the frame and a sentence. */
  const drawer = (label, name, make) => {
    const said = h("small", { role: "status" });
    const { input, element: box } = tick({ label, onchange: async () => {
      wrong.textContent = "";
      delete state[name];
      try {
        const asked = input.checked ? await make() : undefined;
        // It may have been unticked meanwhile.
        const made = input.checked ? asked : undefined;
        if (made !== undefined) state[name] = made.value;
        said.textContent = made === undefined ? "" : `${made.sentence}${made.cost > 0 ? ` It cost ${dollars(made.cost)}.` : ""}`;
        post(state);
      } catch (error) {
        input.checked = false;
        wrong.textContent = error.message;
      }
    } });
    box.append(said);
    return box;
  };
  const boxes = [
    drawer("Show hidden text", "hidden", async () => {
      const { texts, cost } = await hiddenTexts(context, page, html);
      return { value: texts, sentence: saidHidden(texts), cost };
    }),
    drawer("Fade what readability leaves out", "kept", async () => {
      const { kept, cost } = await reduced(context, page, html);
      return { value: kept, sentence: `readability keeps ${count(kept.length)} of ${count(html.length)} characters of HTML.`, cost };
    }),
  ];
  const isReduced = request.readability === true;
  return [
    h("p", { class: "note" }, "Without scripts and without anything that the page loads.",
      isReduced && " The request has readability, so this is what it left: send it without to see the whole page."),
    boxes, wrong, element,
  ];
}
