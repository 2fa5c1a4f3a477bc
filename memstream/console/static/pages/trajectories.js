// Searches: the newest, and one of them from its first action to its last label.
import { get } from "../api.js";
import { card, facts, h, plain, table } from "../dom.js";
import { OUTCOME_TYPES, ROUTES, count, milliseconds, moment, number, outcome, to } from "../format.js";
import { afterwards, timeline } from "../timelines.js";
import { events, said } from "./actions.js";

const choice = (name, label, options, chosen) => [h("label", { for: `by-${name}` }, label),
  h("select", { id: `by-${name}`, name }, h("option", { value: "" }, "any"),
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)))];

function filters(given) {
  const form = h("form", { class: "filters", "aria-label": "Filter" },
    h("label", { for: "by-tenant" }, "Tenant"), h("input", { id: "by-tenant", name: "tenant", value: given.tenant ?? "", maxlength: 256, autocomplete: "off" }),
    choice("route", "Route", Object.entries(ROUTES), given.route),
    choice("outcome", "Outcome", OUTCOME_TYPES.map((one) => [one, outcome(one)]), given.outcome),
    h("button", { type: "submit" }, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = to("trajectories", Object.fromEntries(new FormData(form)));
  });
  return form;
}

const shows = (told) => [table("The newest searches whose outcome is known", ["query", "tenant", "route", "outcome", "reward", "took", "actions", "results", "version", "completed"],
  told.trajectories.map((one) => [
    h("a", { href: to("trajectory", { tenant: one.tenant_id, id: one.trajectory_id }), "data-key": `${one.tenant_id}/${one.trajectory_id}` }, one.query || "(by id)"),
    one.tenant_id, ROUTES[one.route] + (one.fallback ? `, fell back: ${one.fallback}` : ""), outcome(one.outcome), number(one.reward, 2), milliseconds(one.duration_ms),
    count(one.actions), count(one.result_count), one.policy_version, moment(one.completed_at)]),
  { empty: "No such searches among the newest." })];

export const trajectories = { title: () => "Trajectories", fixed: filters, asks: (given) => get("trajectories", given), shows };

function one(told) {
  const began = Date.parse(told.started_at);
  const steps = told.actions.map((action) => ({ name: `${action.kind} ${said(action)}`, depth: action.depth, start: Math.max(Date.parse(action.started_at) - began, 0), duration: action.duration_ms }));
  const became = events(told);
  return [
    card("The search", facts([["query", told.query || "(by id)"], ["tenant", h("a", { href: to("tenant", { tenant: told.tenant_id }), "data-key": "tenant" }, told.tenant_id)],
      ["route", ROUTES[told.route] + (told.fallback ? `, fell back: ${told.fallback}` : "")], ["outcome", outcome(told.outcome.type)], ["reward", number(told.reward)],
      ["quality", number(told.outcome.quality_score, 2)], ["reworded to", told.outcome.new_query ?? "–"], ["learned from", told.trainable ? "yes" : "no"],
      ["policy version", told.policy_version], ["started", moment(told.started_at)], ["took", milliseconds(told.duration_ms)], ["tokens", count(told.tokens_used)],
      ["session", told.session_id], ["request", told.request_id],
      ["complexity", `${number(told.complexity_score, 2)}: ${Object.entries(told.signals).map(([name, value]) => `${name} ${number(value, 2)}`).join(", ")}`]], "beside")),
    card("Timeline", h("h3", {}, "Until it was answered"), timeline("Actions", steps),
      h("h3", {}, "Afterwards"), afterwards("What became of it", became),
      h("ol", { class: "story" }, became.map((event) => h("li", { class: event.kind }, h("time", { datetime: event.at }, moment(event.at)), ` ${event.text}`))),
      h("p", { class: "note" }, "Signals are shown as they were sent, those that are still known; what counted of them, the labels say.")),
    card("Actions", table("Actions, in order", ["action", "what", "began after", "took", "depth", "results", "tokens", "propensity", "with"],
      told.actions.map((action, at) => [action.kind, said(action), milliseconds(steps[at].start), milliseconds(action.duration_ms), action.depth, action.result_count, action.tokens, number(action.propensity, 2),
        h("details", { "data-key": `action/${at}` }, h("summary", { "data-key": `action/${at}/summary` }, "parameters"), plain(`action/${at}`, JSON.stringify(action.params, null, 2)))]),
      { empty: "No actions were recorded." })),
    card("Memories shown", table("Memories in the answer, best first", ["rank", "memory", "text", "used", "propensity"],
      told.shown.map((memory) => [memory.rank, memory.memory_id, memory.content ?? "(no longer there)", memory.used ? "used" : "", number(memory.propensity, 2)]), { empty: "None." })),
  ];
}

export const trajectory = { title: () => "Trajectory", asks: ({ tenant, id }) => get("trajectory", { tenant, id }), shows: one };
