// Periods that lists and sums are read for.

import { choice } from "../views.js";

const DAYS = { "1": "Last day", "7": "Last 7 days", "30": "Last 30 days", "365": "Last year", all: "All" };

/**
 * A choice of a period: `{element, input, from()}`; `from()` is a text for the query, or null.
 * `more` is what `choice` takes.
 */
export function period(value, more = {}) {
  const made = choice({ label: "Period", options: Object.entries(DAYS).map(([days, text]) => [days, text]), value, ...more });
  return {
    ...made,
    from: () => {
      const days = made.input.value;
      if (days === "all") return null;
      return new Date(Date.now() - Number(days) * 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
    },
  };
}
