// Charts in plain SVG; each has its numbers in a table next to it.
import { h, s } from "./dom.js";
import { clock, cut, duration, number, share } from "./format.js";

// Drawn as wide as it is shown, so that writing is neither tiny on a phone nor huge on a desk.
const narrow = () => matchMedia("(max-width: 40rem)").matches;
const across = () => (narrow() ? 350 : 600);
const names = () => (narrow() ? 105 : 150);
// As wide as a card that has a row of its own.
const whole = () => (narrow() ? 350 : Math.max(600, Math.min(innerWidth, 1344) - 80));
const LEFT = 46;
const BOTTOM = 24;

const scale = (from, to, start, end) => (value) => start + ((value - from) / (to - from || 1)) * (end - start);

function ticks(low, high, most = 4) {
  const rough = (high - low || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(at);
  return found;
}

const short = (value) => {
  const size = Math.abs(value);
  if (size >= 1000) return `${(value / 1000).toFixed(size >= 10_000 ? 0 : 1)}k`;
  return size >= 10 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(2).replace(/0$/, "");
};

// lines: [{name, points: [[x, y]]}]; marks: [{at, kind, text}]; dots: [[x, y]]; young: from when on not all is known
export function course(title, lines, { height = 200, low = 0, high, marks = [], dots = [], unit = "", young = Infinity, wide = false } = {}) {
  const WIDTH = wide ? whole() : across();
  const all = lines.flatMap((one) => one.points).concat(dots);
  if (!all.length) return h("p", { class: "empty" }, "Nothing to draw yet.");
  const ys = all.map(([, y]) => y);
  const first = Math.min(...all.map(([x]) => x));
  // What became of a policy after the last search is drawn too; what did before the first is in the table.
  const drawn = marks.filter((one) => one.at >= first);
  const last = Math.max(...all.map(([x]) => x), ...drawn.map((one) => one.at));
  const [bottom, top] = [Math.min(low, ...ys), high ?? Math.max(Math.max(...ys) * 1.1, low + 1)];
  const x = scale(first, last === first ? first + 1 : last, LEFT, WIDTH - 8);
  const y = scale(bottom, top, height - BOTTOM, 10);
  const path = (points) => points.map(([a, b], at) => `${at ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const begins = Math.max(x(Math.max(young, first)), LEFT);
  // A line goes on where it becomes unsure.
  const parts = lines.map(({ points }) => {
    const sure = points.filter(([at]) => at < young).length;
    return [points.slice(0, sure), points.slice(Math.max(sure - 1, 0))];
  });
  return h("figure", {},
    s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: wide ? "wide" : "", role: "img", "aria-label": `${title}, from ${clock(first)} to ${clock(last)}` },
      young < last && s("rect", { class: "young", x: begins, y: 10, width: WIDTH - 8 - begins, height: height - BOTTOM - 10 }),
      ticks(bottom, top).map((at) => s("g", { class: "grid" },
        s("line", { x1: LEFT, x2: WIDTH - 8, y1: y(at), y2: y(at) }),
        s("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, short(at)))),
      [first, last].map((at, place) => s("text", { class: "axis", x: place ? WIDTH - 8 : LEFT, y: height - 6, "text-anchor": place ? "end" : "start" }, clock(at))),
      dots.map(([a, b]) => s("circle", { class: "dot", cx: x(a), cy: y(b), r: 2.5 })),
      parts.map(([sure, unsure], place) => [s("path", { class: `line line${place}`, d: path(sure) }), unsure.length > 1 && s("path", { class: `line line${place} unsure`, d: path(unsure) })]),
      drawn.map((one) => s("g", { class: `mark ${one.kind}` },
        s("line", { x1: x(one.at), x2: x(one.at), y1: 10, y2: height - BOTTOM }),
        s("path", { d: one.kind === "up" ? `M${x(one.at) - 6} 14h12l-6 -10z` : `M${x(one.at) - 6} 4h12l-6 10z` }),
        s("title", {}, one.text)))),
    h("figcaption", {}, lines.map((one, place) => h("span", { class: `key key${place}` }, one.name)),
      drawn.some((one) => one.kind === "up") && h("span", { class: "key up" }, "▲ promoted"),
      drawn.some((one) => one.kind === "down") && h("span", { class: "key down" }, "▼ rolled back or suspended"),
      drawn.length < marks.length && h("span", { class: "unit" }, `${marks.length - drawn.length} earlier ones are in the table`),
      unit && h("span", { class: "unit" }, unit)));
}

// parts: [{name, count, kind}]
export function mixture(title, parts) {
  const whole = parts.reduce((sum, one) => sum + one.count, 0);
  if (!whole) return h("p", { class: "empty" }, "Nothing yet.");
  const WIDTH = across();
  let start = 0;
  return h("figure", {},
    s("svg", { viewBox: `0 0 ${WIDTH} 34`, role: "img", class: "mixture", preserveAspectRatio: "none",
      "aria-label": `${title}: ${parts.map((one) => `${one.count} ${one.name}`).join(", ")}` },
      parts.filter((one) => one.count).map((one) => {
        const width = (WIDTH * one.count) / whole;
        const bar = s("rect", { class: `part ${one.kind}`, x: start, y: 0, width: Math.max(width - 2, 1), height: 34, rx: 3 });
        start += width;
        return bar;
      })),
    h("figcaption", {}, parts.map((one) => h("span", { class: `key part ${one.kind}` },
      `${one.name} ${one.count} (${share(one.count, whole)})`))));
}

// rows: [{name, estimate, lower, upper}]: estimates with intervals around a line at zero
export function intervals(title, rows) {
  const drawn = rows.filter((one) => one.estimate !== null && one.estimate !== undefined);
  if (!drawn.length) return null;
  const ends = drawn.flatMap((one) => [one.estimate, one.lower ?? one.estimate, one.upper ?? one.estimate, 0]);
  const room = Math.max(...ends.map(Math.abs)) * 1.15 || 1;
  const [WIDTH, NAMES] = [across(), names()];
  const x = scale(-room, room, NAMES, WIDTH - 12);
  const height = drawn.length * 30 + 26;
  return h("figure", {}, s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img",
    "aria-label": `${title}: ${drawn.map((one) => `${one.name} ${number(one.estimate)}`).join(", ")}` },
    s("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: height - 20 }),
    [-room, 0, room].map((at) => s("text", { class: "axis", x: x(at), y: height - 5, "text-anchor": at < 0 ? "start" : at > 0 ? "end" : "middle" }, number(at, 2))),
    drawn.map((one, at) => s("g", { class: "interval" },
      s("text", { x: NAMES - 8, y: at * 30 + 20, "text-anchor": "end" }, one.name),
      one.lower !== null && one.lower !== undefined && s("line", { x1: x(one.lower), x2: x(one.upper), y1: at * 30 + 16, y2: at * 30 + 16 }),
      s("circle", { cx: x(one.estimate), cy: at * 30 + 16, r: 5 })))));
}

// Rows with their names on the left; on a phone each has its name above it, where there is room for it.
function rows(title, names, most, draws, grid) {
  const [WIDTH, NAMES, ROW, TOP] = narrow() ? [350, 10, 40, 18] : [whole(), 260, 24, 4];
  const x = (share) => NAMES + share * (WIDTH - 34 - NAMES);
  const height = names.length * ROW + 26;
  return h("figure", {}, s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "wide", role: "img", "aria-label": `${title}: ${most}` },
    grid.map(([share, text]) => s("g", { class: "grid" },
      s("line", { x1: x(share), x2: x(share), y1: 0, y2: height - 22 }),
      s("text", { x: x(share), y: height - 6, "text-anchor": share ? "middle" : "start" }, text))),
    names.map((name, at) => s("g", { class: "step" },
      s("text", narrow() ? { x: 10, y: at * ROW + 13 } : { x: NAMES - 10, y: at * ROW + 16, "text-anchor": "end" }, cut(name, narrow() ? 46 : 38)),
      draws(at, x, at * ROW + TOP)))));
}

// steps: [{name, start, duration, depth}] in milliseconds since the beginning
export function timeline(title, steps) {
  if (!steps.length) return h("p", { class: "empty" }, "No actions were recorded.");
  const end = Math.max(...steps.map((one) => one.start + one.duration), 1);
  return rows(title, steps.map((one) => `${"· ".repeat(one.depth)}${one.name}`), `${steps.length} actions in ${number(end, 1)} ms`,
    (at, x, y) => {
      const [from, to] = [x(steps[at].start / end), x((steps[at].start + steps[at].duration) / end)];
      return s("rect", { x: from, y, width: Math.max(to - from, 3), height: 16, rx: 3 });
    },
    ticks(0, end, narrow() ? 3 : 5).map((at) => [at / end, `${short(at)} ms`]));
}

// events: [{name, after, kind}] in seconds; the first seconds matter as much as the last hours, so by their logarithm
const MOMENTS = [0, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000];
export function afterwards(title, events) {
  const end = Math.max(...events.map((one) => one.after), 1);
  const share = (seconds) => Math.log1p(Math.max(seconds, 0)) / Math.log1p(end);
  const shown = MOMENTS.filter((at) => at <= end);
  return rows(title, events.map((one) => one.name), `${events.length} events in ${duration(end)}`,
    (at, x, y) => s("circle", { class: `event ${events[at].kind}`, cx: x(share(events[at].after)), cy: y + 8, r: 6 }),
    shown.filter((at, place) => !place || share(at) - share(shown[place - 1]) > (narrow() ? 0.16 : 0.05)).map((at) => [share(at), at ? duration(at) : "0 s"]));
}
