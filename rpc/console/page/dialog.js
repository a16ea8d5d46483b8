// Dialogs.
import { h, patch } from "./dom.js";
import { problem } from "./parts.js";

// ask opens a dialog with a form. The act gets the form's values and may fail: the dialog then stays open and says why.
// It resolves to what the act gives, or to null when the visitor cancels.
export function ask({ title, text = [], fields = [], button, dangerous = false, act }) {
  return new Promise((resolve) => {
    const said = h("div", { class: "said" });
    const go = h("button", { class: dangerous ? "danger" : "primary" }, button);
    const form = h("form", { method: "dialog" },
      h("h2", { id: "dialog-title" }, title), text.map((t) => h("p", {}, t)), fields, said,
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), go));
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, form);
    let result = null;
    form.onsubmit = async (e) => {
      e.preventDefault();
      go.disabled = true;
      patch(said);
      try {
        result = (await act(Object.fromEntries(new FormData(form)))) ?? true;
        dialog.close();
      } catch (err) {
        patch(said, problem(err));
        go.disabled = false;
      }
    };
    dialog.onclose = () => {
      dialog.remove();
      resolve(result);
    };
    document.body.append(dialog);
    dialog.showModal();
    (form.querySelector("input, select, textarea") ?? go).focus();
  });
}

// signIn opens the form that sends a token to the node. It is an ordinary form: the node answers with a cookie and this page.
export function signIn() {
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
    h("form", { method: "post", action: `console/sign-in${location.hash}` },
      h("h2", { id: "dialog-title" }, "Sign in"),
      h("p", {}, "Who signs in with a token of an operator may change limits, fill buckets and block keys."),
      h("label", {}, "Token ", h("input", { name: "token", type: "password", autocomplete: "current-password", required: true })),
      h("p", { class: "hint" }, "Of a cluster with a key, ", h("code", {}, "jeton cluster token"), " prints one. A node on a machine of its own has made one, in the file token of its data directory."),
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), h("button", { class: "primary" }, "Sign in"))));
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("input").focus();
}
