// How one tenant is doing.
import { get } from "../api.js";
import { course } from "../charts.js";
import { behind, card, facts, h, table, tinted } from "../dom.js";
import { OUTCOME_TYPES, ROUTES, count, duration, interval, milliseconds, moment, number, outcome, share, signed, to } from "../format.js";
import { mixed, tenantTable } from "./overview.js";

const LEAST = 20; // As many searches as learning learns from at a time.
const SAME = 1e-9;

export function chooser(page, label) {
  const field = h("input", { id: "tenant-id", name: "tenant", required: true, maxlength: 256, autocomplete: "off" });
  const form = h("form", { class: "filters" }, h("label", { for: "tenant-id" }, "Tenant"), field, h("button", { type: "submit" }, label));
  form.addEventListener("submit", (event) => { event.preventDefault(); location.hash = to(page, { tenant: field.value }); });
  return form;
}

export const tenants = {
  title: () => "Tenants", fixed: () => chooser("tenant", "Open"), asks: () => get("overview"),
  shows: (told) => [tenantTable(told.tenants, "tenant")],
};

const UPWARDS = ["promoted", "bootstrapped"];
const DOWNWARDS = ["rolled back", "suspended"];

export const marks = (history) => history
  .filter((one) => [...UPWARDS, ...DOWNWARDS].includes(one.kind))
  .map((one) => ({ at: Date.parse(one.at), kind: UPWARDS.includes(one.kind) ? "up" : "down", text: `${one.kind}: version ${one.version}, ${moment(one.at)}` }));

// The mean of each bucket and as many before it as make up enough searches.
function moving({ buckets, width_ms }) {
  return buckets.map((last, at) => {
    let [searches, sum] = [0, 0];
    for (let place = at; place >= 0 && searches < LEAST; place -= 1) {
      searches += buckets[place].searches;
      sum += buckets[place].searches * buckets[place].reward;
    }
    return [last.at + width_ms / 2, sum / searches];
  });
}

const cell = (text, share) => tinted(h("td", { role: "cell" }, text), share);

// Each weight as the tenant was given it and as it is now; the one that moved farthest first.
export function heatMap({ weights, learns_from_others: shares }) {
  const all = Object.entries(weights).map(([name, one]) => ({ name, ...one, moved: one.weight - one.prior }));
  const columns = ["weight", "shipped", ...(shares ? ["global prior"] : []), "learned", "moved"];
  // The ranking's and those of choices are of different things: each has its own scale.
  const rows = (some, of) => {
    const most = Math.max(...some.flatMap((one) => [one.weight, one.prior, one.shipped].map(Math.abs)), SAME);
    const farthest = Math.max(...some.map((one) => Math.abs(one.moved)), SAME);
    return some.sort((one, two) => Math.abs(two.moved) - Math.abs(one.moved)).map((one) => [of(one.name),
      cell(number(one.shipped, 2), one.shipped / most), ...(shares ? [cell(number(one.prior, 2), one.prior / most)] : []),
      cell(number(one.weight, 2), one.weight / most), cell(Math.abs(one.moved) > SAME ? signed(one.moved, 2) : "0", one.moved / farthest)]);
  };
  const ranking = rows(all.filter((one) => one.name.startsWith("rank/")), (name) => name.slice("rank/".length));
  const half = Math.ceil(ranking.length / 2);
  const choices = all.filter((one) => !one.name.startsWith("rank/"));
  const moved = all.filter((one) => Math.abs(one.moved) > SAME).length;
  return [
    h("p", { class: "note" }, `${moved ? `${moved} of ${all.length} weights moved` : "Every weight is as shipped"}. Blue is above zero, red below; the deeper, the farther.`,
      shares ? " Moved is against the global prior: what all tenants who share have learned together, this one too." : " This tenant starts from what is shipped: nothing is taken from other tenants."),
    h("div", { class: "heatmaps" },
      table("Weights of the ranking", columns, ranking.slice(0, half), { kind: "heatmap" }),
      table("Weights of the ranking that moved less", columns, ranking.slice(half), { kind: "heatmap" }),
      table("Weights of choices: point · option · sign", columns, rows(choices, (name) => name.replaceAll("/", " · ")), { kind: "heatmap", empty: "No choices were learned yet." }))];
}

const of = (value, whole, shown) => (value === null || value === undefined ? "–" : `${shown(value)} (${share(value, whole)})`);

function budget({ latency_ms: time, tokens, context_tokens: contexts }) {
  const row = (name, key) => [name, of(time[key], time.most, milliseconds), of(contexts[key], contexts.most, count), count(tokens[key])];
  return table("Time and tokens, against the tenant's budgets", ["", "time", "context", "models"],
    [row("p50", "p50"), row("p95", "p95"), row("most", "max"), ["budget", milliseconds(time.most), count(contexts.most), "–"]]);
}

function rewards(told, marked) {
  const { buckets, width_ms: width } = told.course;
  const young = Date.parse(told.settled_until);
  const window = duration(told.outcome_window_s);
  const last = buckets.length && Math.max(buckets.at(-1).at + width, ...marked.map((one) => one.at));
  return card("Reward over time",
    course("Reward", [{ name: `mean of the last ${LEAST} searches`, points: moving(told.course) }],
      { low: -0.5, high: 1, dots: buckets.map((one) => [one.at + width / 2, one.reward]), marks: marked, young, height: 240 }),
    h("p", { class: "note" }, `A dot is the mean of ${duration(width / 1000)}.`,
      young < last && ` Shaded: younger than the outcome window (${window}). Results that are used are labelled at once, those that came to nothing only when it is over: this stretch looks better than it is.`),
    behind("rewards", table("Reward over time, the newest first", ["from", "searches", "mean reward", ...OUTCOME_TYPES.map(outcome)],
      buckets.slice(-60).reverse().map((one) => [moment(one.at), count(one.searches), number(one.reward), ...OUTCOME_TYPES.map((type) => count(one.outcomes[type]))])),
    table("Promotions and rollbacks", ["at", "what"], marked.map((one) => [moment(one.at), one.text]), { empty: "No promotions or rollbacks." })));
}

function shows(told) {
  const { policy } = told;
  return [
    h("p", { class: "links" }, h("a", { href: to("policy", { tenant: told.tenant_id }), "data-key": "policy" }, "Policy and its history"), " · ",
      h("a", { href: to("trajectories", { tenant: told.tenant_id }), "data-key": "searches" }, "Its searches")),
    rewards(told, marks(told.history)),
    h("div", { class: "cards three" },
      card("How it stands", facts([["newest searches", count(told.searches)], ["mean reward", number(told.reward)], [`older than ${duration(told.outcome_window_s)}`, number(told.settled_reward)],
        ["policy version", policy.version ? String(policy.version) : "0 (as shipped)"], ["learned from", `${count(policy.trained)} searches in ${count(policy.steps)} steps`],
        ["reward of this version", interval(policy.live)], ["suspended", policy.suspended ? `until ${policy.suspended_until} searches` : "no"]])),
      card("Outcomes and routes", mixed("Outcomes", told.outcomes, outcome), mixed("Routes", told.routes, (kind) => ROUTES[kind] ?? kind),
        h("h3", {}, "Exploration"), facts([["exploration rate", number(policy.exploration_rate)], ["tried something out", `${count(told.tried)} (${share(told.tried, told.searches)})`]]),
        h("p", { class: "note" }, "Tried out: an action was chosen that had a probability below one half.")),
      card("Budget use", budget(told.budgets))),
    card("Learned weights", heatMap(policy)),
  ];
}

export const tenant = { title: ({ tenant: id }) => `Tenant ${id ?? ""}`, asks: ({ tenant: id }) => get("tenant", { tenant: id }), shows };
