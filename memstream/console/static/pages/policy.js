// What was learned for a tenant, what waits, what became of it, and control of it.
import { get, order } from "../api.js";
import { intervals } from "../charts.js";
import { ask } from "../dialog.js";
import { card, facts, h, table } from "../dom.js";
import { count, interval, moment, number } from "../format.js";
import { tenantTable } from "./overview.js";
import { chooser, heatMap } from "./tenant.js";

export const policies = {
  title: () => "Policies", fixed: () => chooser("policy", "Open"), asks: () => get("overview"),
  shows: (told) => [tenantTable(told.tenants, "policy")],
};

const WHY = [{ name: "why", label: "Why (for its history)", required: true }];
const ORDERS = {
  promote: ["Promote", (id) => `Everything that was learned for ${id} serves at once, proven or not.`],
  rollback: ["Roll back", (id) => `The version before serves ${id} again, and nothing is promoted for a while.`],
};

const button = (name, id, again) => h("button", { type: "button", "data-key": name, onclick: () =>
  ask(ORDERS[name][0], ORDERS[name][1](id), WHY, async ({ why }) => { await order("policy", { tenant: id }, { order: name, why }); await again(); }) }, ORDERS[name][0], " …");

function control(id, { access, again }) {
  if (!access.writable) return h("p", { class: "note" }, "Read-only: with MEMSTREAM_WEB_TOKEN set, policies can be promoted and rolled back here.");
  return h("p", { class: "buttons" }, button("promote", id, again), button("rollback", id, again));
}

const judged = (one) => [one.why || one.reason || "", one.estimate === null || one.estimate === undefined ? "" : ` ${interval(one)}`].join("");

function shows(told, page) {
  const { policy } = told;
  const staged = Object.entries(policy.staged).map(([name, one]) => ({ name, ...one }));
  return [
    control(told.tenant_id, page),
    card("What serves", facts([["version", policy.version ? String(policy.version) : "0 (as shipped)"], ["since", policy.served_at ? moment(policy.served_at) : "always"],
        ["learned from", `${count(policy.trained)} searches in ${count(policy.steps)} steps, ${count(policy.pending)} waiting`], ["exploration rate", number(policy.exploration_rate)],
        ["baseline", number(policy.baseline)], ["reward of this version", interval(policy.live)],
        ["signals", `${policy.signals.tell ? "tell memories apart" : "not seen to tell memories apart yet"} (${count(policy.signals.lists)} lists)`], ["suspended", policy.suspended ? `until ${policy.suspended_until} searches` : "no"],
        ["other tenants", `${policy.learns_from_others ? "learns from them" : "nothing taken from them"}, ${policy.contributes ? "they learn from it" : "nothing given to them"}`]], "beside")),
    card("What waits to be promoted", h("div", { class: "split" }, intervals("Better than what serves, by", staged),
      table("Off-policy estimates: better than what serves, by", ["part", "searches", "estimate and interval", "state"],
          staged.map((one) => [one.name, count(one.lessons), interval(one), one.lessons_needed ? `${one.lessons_needed} more to judge it` : "not shown to be better yet"]),
          { empty: "Nothing waits.", kind: "stacks" }))),
    card("History", table("What became of it, the newest first", ["at", "what", "version", "searches", "by", "why"],
      told.history.map((one) => [moment(one.at), one.part && one.part !== "policy" ? `${one.kind} ${one.part}` : one.kind, one.version, count(one.trained), one.actor ?? "", judged(one)]),
      { empty: "Nothing has become of this policy yet." })),
    card("Learned weights", heatMap(policy)),
  ];
}

export const policy = { title: ({ tenant }) => `Policy of ${tenant ?? ""}`, asks: ({ tenant }) => get("policy", { tenant }), shows };
