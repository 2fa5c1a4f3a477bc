// What an action was done with, and what an event was about, in a few words.
import { ROUTES, cut, number, outcome } from "../format.js";

const MOST = 60;
const quoted = (text) => `“${cut(text ?? "", MOST)}”`;
const chosen = ({ choice }) => (choice ? `${choice.point}: ${choice.option}` : "");

const SAYS = {
  Route: ({ route }) => ROUTES[route] ?? route,
  Choose: chosen,
  SearchLayer: ({ layer, query, follows }) => `${layer ?? "all layers"}, ${quoted(query)}${follows ? `, led to by ${cut(follows, MOST)}` : ""}`,
  DrillDown: ({ from, to }) => `${from} → ${to}`,
  FilterByRelevance: ({ min_score }) => `score ${min_score} or more`,
  FilterByRecency: ({ max_age }) => `no older than ${max_age}`,
  RecursiveCall: ({ sub_query }) => quoted(sub_query),
  Aggregate: ({ strategy }) => strategy,
  Reason: ({ query }) => quoted(query),
  Get: () => "by id",
};

export const said = ({ kind, params }) => {
  const text = Object.hasOwn(SAYS, kind) ? SAYS[kind](params) : chosen(params);
  return `${text ?? ""}${params.failed ? `, failed: ${params.failed}` : ""}`;
};

const quality = (one) => number(one.quality_score, 2);

// For each topic of signals: in a word, and in full.
const HEARD = {
  "context.usage": (one) => [`used ${one.memories}`, `used ${one.memories} of its memories (quality ${quality(one)}): ${one.memory_ids.join(", ")}${one.memories > one.memory_ids.length ? ", …" : ""}`],
  feedback: (one) => [`feedback ${quality(one)}`, `feedback: quality ${quality(one)}${one.memory_id ? ` of ${one.memory_id}` : ""}`],
  "query.refinements": (one) => ["reworded", `reworded to “${one.new_query}”`],
  "session.abandonments": (one) => (one.whole_session ? ["session abandoned", "its session was abandoned"] : ["abandoned", "abandoned"]),
};

// All that became of a search, in the order of time.
export function events(told) {
  const answered = { at: told.completed_at, kind: "answered", name: "answered", text: `answered with ${told.result_count} memories` };
  const signals = told.heard.map((one) => {
    const [name, text] = HEARD[one.kind](one);
    return { at: one.at, kind: "signal", name, text };
  });
  const labels = told.labels.map((one) => {
    const what = one.revision ? `corrected (revision ${one.revision})` : "labelled";
    return { at: one.at, kind: `label ${one.outcome}`, name: `${what}: ${outcome(one.outcome)}`, text: `${what}: ${outcome(one.outcome)}, reward ${number(one.reward)}` };
  });
  const since = Date.parse(told.completed_at);
  return [answered, ...[...signals, ...labels].sort((one, two) => Date.parse(one.at) - Date.parse(two.at))]
    .map((one) => ({ ...one, after: Math.max(Date.parse(one.at) - since, 0) / 1000 }));
}
