// The pages of the console in the order of the navigation; the first one is shown at `/`. Each module
// is `NAME.js` in this folder and exports `title` and `render(container, context)`; what `render`
// returns, if it is a function, is called when the page is left. A page is rendered anew when a key
// is added or forgotten, unless it exports `followsKeys`.

import * as account from "./account.js";
import * as crawls from "./crawls.js";
import * as operator from "./operator.js";
import * as playground from "./playground.js";

/** Pages by the name that is in their address: `#/NAME?…`. */
export const pages = { playground, crawls, account, operator };
