// How this worker does, and all tenants together.
import { get } from "../api.js";
import { course, mixture } from "../charts.js";
import { behind, card, facts, h, stack, table } from "../dom.js";
import { OUTCOME_TYPES, ROUTES, clock, count, milliseconds, moment, number, outcome, to } from "../format.js";

// Always in the same order, however many there are of each.
const ORDER = [...OUTCOME_TYPES, ...Object.keys(ROUTES)];

export const mixed = (title, counts, named) => mixture(title,
  Object.entries(counts).sort(([one], [two]) => ORDER.indexOf(one) - ORDER.indexOf(two))
    .map(([kind, many]) => ({ name: named(kind), kind, count: many })));

export const tenantTable = (tenants, page) => table("Tenants with searches among the newest", ["tenant", "searches", "mean reward", "policy version", "last search"],
  tenants.map((one) => [
    h("a", { href: to(page, { tenant: one.tenant_id }), "data-key": `tenant/${one.tenant_id}` }, one.tenant_id),
    count(one.searches), number(one.reward), one.policy_version, moment(one.last_at)]),
  { empty: "No labelled searches yet. They appear when their outcome is known." });

const tile = (name, value, note) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value, note && h("small", {}, note)));

function shows(told) {
  const lag = Object.values(told.lag).reduce((sum, one) => sum + one, 0);
  const dead = told.dead_letters.reduce((sum, one) => sum + one.count, 0);
  const line = (name, of) => ({ name, points: told.course.map((one) => [Date.parse(one.at), of(one)]).filter(([, y]) => y !== null) });
  return [
    h("p", { class: told.ready ? "good" : "bad", id: "state" }, told.ready ? "This worker is ready." :
      `This worker is not ready: ${Object.entries(told.reasons).map(([part, why]) => `${part}: ${why}`).join("; ")}`),
    h("dl", { class: "tiles" },
      tile("Searches a second", number(told.searches_per_s ?? 0, 1), "this worker, last minute"),
      tile("Latency p50", milliseconds(told.search_ms?.p50), "batch taken to results published"),
      tile("Latency p95", milliseconds(told.search_ms?.p95), "last minute"),
      tile("Decompositions p95", milliseconds(told.decomposition_ms?.p95), "last minute"),
      tile("Lag", count(lag), "messages not read yet"),
      tile("Dead letters", h("a", { href: to("dead-letters"), "data-key": "dead" }, count(dead)), "since this worker started")),
    h("div", { class: "cards" },
      card("Searches a second", course("Searches a second", [line("searches a second", (one) => one.searches_per_s)])),
      card("Latency", course("Latency in milliseconds", [line("p50", (one) => one.search_ms.p50), line("p95", (one) => one.search_ms.p95)], { unit: "ms" }),
        behind("latency", table("Every look of the last minutes, the newest first", ["at", "searches/s", "p50", "p95"],
          told.course.slice(-60).reverse().map((one) => [clock(one.at), number(one.searches_per_s, 1), milliseconds(one.search_ms.p50), milliseconds(one.search_ms.p95)]))))),
    h("div", { class: "cards three" }, stack(
      card("Routes since this worker started", mixed("Routes", told.routes, (kind) => ROUTES[kind] ?? kind)),
      card(`Outcomes of the newest ${count(told.searches)} searches`, mixed("Outcomes", told.outcomes, outcome)),
      card("Dead letters", table("Dead letters since this worker started", ["topic", "code", "letters"], told.dead_letters.map((one) => [one.topic, one.code, count(one.count)]), { empty: "None." }))),
      card("Not read yet", table("Lag by topic, of all workers together", ["topic", "messages"], Object.entries(told.lag).map(([topic, many]) => [topic, count(many)]))),
      card("The join", facts([["open searches", count(told.join.open)], ["waiting signals", count(told.join.parked)],
        ["to be published", count(told.join.outbox)], ["refused by the broker", count(told.join.refused)], ["read until", `${number(told.behind_s, 1)} s ago`]]),
        h("p", { class: "note" }, "Open: the outcome is not known yet. Waiting: their search was not heard of yet."))),
    card("Tenants", tenantTable(told.tenants, "tenant")),
  ];
}

export const overview = { title: () => "Overview", asks: () => get("overview"), shows };
