// What could not be handled, why, and sending it again.
import { get, order } from "../api.js";
import { ask } from "../dialog.js";
import { h, plain, table } from "../dom.js";
import { count, moment, to } from "../format.js";

const NAMES = [["tenant", "Tenant"], ["code", "Reason"], ["topic", "Topic"]];

function filters(given) {
  const form = h("form", { class: "filters", "aria-label": "Filter" },
    NAMES.map(([name, label]) => [h("label", { for: `by-${name}` }, label), h("input", { id: `by-${name}`, name, value: given[name] ?? "", autocomplete: "off" })]),
    h("button", { type: "submit" }, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = to("dead-letters", Object.fromEntries(new FormData(form)));
  });
  return form;
}

const TOKEN = [{ name: "token", label: "Token of the letters' tenant", type: "password", required: true, most: 16_384 }];

function resend(letter, { access, again }) {
  return h("button", { type: "button", "data-key": `replay/${letter.offset}`, "aria-label": `Replay letter ${letter.offset} …`, onclick: () =>
    ask("Replay", `Letter ${letter.offset} is sent to ${letter.topic || "nowhere"} again, as it was. What took effect before does not take effect twice.`,
      access.auth === "jwt" ? TOKEN : [], async ({ token }) => {
        const done = await order("dead-letters", {}, { offsets: [letter.offset], ...(token ? { token } : {}) });
        if (done.refused.length) throw new Error(done.refused[0].why);
        if (!done.sent) throw new Error("it is no longer among the dead letters");
        await again();
      }) }, "Replay …");
}

const shows = (told, page) => [
  !page.access.writable && h("p", { class: "note" }, "Read-only: with MEMSTREAM_WEB_TOKEN set, letters can be sent again here."),
  table("The newest messages that could not be handled", ["offset", "when", "topic", "tenant", "reason", "message", "payload", "replays", ...(page.access.writable ? ["again"] : [])],
    told.dead_letters.map((one) => [one.offset, moment(one.at), one.topic, one.tenant_id || "–", one.code, h("span", { class: "told" }, one.message),
      h("details", { "data-key": `payload/${one.offset}` }, h("summary", { "data-key": `payload/${one.offset}/summary` }, `${count(one.bytes)} bytes`),
        plain(`payload/${one.offset}`, one.payload), one.cut && h("p", { class: "note" }, "Only its beginning is shown."), h("p", { class: "note" }, `key ${one.key || "–"}, offset ${one.original_offset} of partition ${one.partition}`)),
      one.replays || "", ...(page.access.writable ? [resend(one, page)] : [])]),
    { empty: "No dead letters." }),
];

export const dead_letters = { title: () => "Dead letters", fixed: filters, asks: (given) => get("dead-letters", given), shows };
