// The pages of the console in the order of the navigation. Each module is `NAME.js` in this folder
// and exports `title` and `render(container, context)`; what `render` returns, if it is a function,
// is called when the page is left.

import * as start from "./start.js";

/** Pages by the name that is in their address: `#/NAME?…`. */
export const pages = { start };
