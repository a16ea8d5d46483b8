// What the visitor may do, and what is needed for the rest.
import { signIn } from "./dialog.js";
import { h } from "./dom.js";
import { state } from "./state.js";

// needsToken says that a change needs a token: the text begins the sentence.
export function needsToken(text) {
  if (!state.me.tokens) return h("span", { class: "hint" }, text, "this node needs a token of an operator, and none is set up.");
  return h("span", { class: "hint" }, text, h("button", { type: "button", class: "link", onclick: signIn }, "sign in"), " with a token of an operator.");
}
