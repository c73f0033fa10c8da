// The pages of the console in the order of the navigation; the first one is shown at `/`. Each module
// is `NAME.js` in this folder, is loaded when its page is first shown, and exports
// `render(container, context)`; what `render` returns, if it is a function, is called when the page
// is left. A page is rendered anew when a key is added or forgotten, unless it has `followsKeys`: it
// looks after them by itself, since what was typed in stays.

/** Pages by the name that is in their address: `#/NAME?…`. */
export const pages = {
  playground: { title: "Playground", followsKeys: true, load: () => import("./playground.js") },
  crawls: { title: "Crawls", load: () => import("./crawls.js") },
  account: { title: "Account", load: () => import("./account.js") },
  operator: { title: "Operator", load: () => import("./operator.js") },
};
