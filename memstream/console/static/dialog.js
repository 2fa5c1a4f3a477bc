// Asks before something is done, and for why.
import { h } from "./dom.js";

const dialog = document.getElementById("dialog");

// fields: [{name, label, type, required}]; does(values) is awaited, and what it throws is shown.
export function ask(title, text, fields, does) {
  const wrong = h("p", { role: "alert", class: "bad" });
  const inputs = fields.map((one) => [one, h("input", {
    id: `ask-${one.name}`, type: one.type ?? "text", required: one.required, maxlength: one.most ?? 1000, autocomplete: "off",
  })]);
  const yes = h("button", { type: "submit", class: "strong" }, title);
  const form = h("form", { method: "dialog" }, h("h2", { id: "dialog-title" }, title), h("p", {}, text),
    inputs.map(([one, input]) => [h("label", { for: input.id }, one.label), input]), wrong,
    h("p", { class: "buttons" }, yes, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    yes.disabled = true;
    try {
      await does(Object.fromEntries(inputs.map(([one, input]) => [one.name, input.value.trim()])));
      dialog.close();
    } catch (error) {
      wrong.textContent = error.message;
    } finally {
      yes.disabled = false;
    }
  });
  // The page may have been drawn anew meanwhile, and the button with it.
  const { activeElement: opener } = document;
  const key = opener?.dataset?.key;
  dialog.addEventListener("close", () => {
    const back = opener?.isConnected || !key ? opener : document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    back?.focus();
  }, { once: true });
  dialog.replaceChildren(form);
  dialog.showModal();
}
