// Charts of numbers; each has its numbers in a table or in words next to it.
import { h } from "./dom.js";
import { clock, moment, number, share } from "./format.js";
import { axis, chart, literal } from "./plot.js";

const LEAST_MS = 10_000; // A shorter time has no ticks that differ.
const BETWEEN = 30;

// Plotly's times have no zone: these are written as the clock of whoever looks shows them.
const local = (at) => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
const CLOCK = [
  { dtickrange: [null, 59_999], value: "%H:%M:%S\n%-d %b" },
  { dtickrange: [60_000, 86_399_999], value: "%H:%M\n%-d %b" },
  { dtickrange: [86_400_000, null], value: "%-d %b\n%Y" },
];

function period(all, marks) {
  const first = Math.min(...all.map(([x]) => x));
  const last = Math.max(...all.map(([x]) => x), ...marks.map((one) => one.at));
  const lacking = Math.max(LEAST_MS - (last - first), 0) / 2;
  return [first - lacking, last + lacking];
}

const points = (some, more) => ({
  type: "scatter", x: some.map(([at]) => local(at)), y: some.map(([, y]) => y), hoverinfo: "text", cliponaxis: false, ...more,
});

// A line goes on, dashed, where it becomes unsure; a point that has no line is a dot.
function line(one, place, young, colour) {
  const sure = one.points.filter(([at]) => at < young).length;
  const parts = [[one.points.slice(0, sure), place ? "6px,3px" : "solid"], [one.points.slice(Math.max(sure - 1, 0)), "3px,4px"]].filter(([some]) => some.length > 1);
  return (parts.length ? parts : [[one.points, "solid"]]).map(([some, dash]) => points(some, {
    name: literal(one.name), mode: some.length > 1 ? "lines" : "markers", line: { color: colour, width: 2, dash }, marker: { color: colour, size: 8 },
    text: some.map(([at, y]) => literal(`${clock(at)} ${one.name}: ${number(y)}`)),
  }));
}

const KINDS = { up: ["good", "triangle-up"], down: ["bad", "triangle-down"] };
const signs = (kind, marks, top, { colour }) => points(marks.filter((one) => one.kind === kind).map((one) => [one.at, top]), {
  name: kind, mode: "markers", marker: { color: colour(KINDS[kind][0]), symbol: KINDS[kind][1], size: 12 }, text: marks.filter((one) => one.kind === kind).map((one) => literal(one.text)),
});

// lines: [{name, points: [[x, y]]}]; marks: [{at, kind, text}]; dots: [[x, y]]; young: from when on not all is known
export function course(title, lines, { height = 210, low = 0, high, marks = [], dots = [], unit = "", young = Infinity } = {}) {
  const all = lines.flatMap((one) => one.points).concat(dots);
  if (!all.length) return h("p", { class: "empty" }, "Nothing to draw yet.");
  const ys = all.map(([, y]) => y);
  // What became of a policy after the last search is drawn too; what did before the first is in the table.
  const drawn = marks.filter((one) => one.at >= Math.min(...all.map(([x]) => x)));
  const [first, last] = period(all, drawn);
  const [bottom, top] = [Math.min(low, ...ys), high ?? Math.max(Math.max(...ys) * 1.1, low + 1)];
  // Plotly draws no grid at the very edge.
  const edge = (top - bottom) / 50;
  const figure = (look) => ({
    data: [
      points(dots, { name: "dots", mode: "markers", marker: { color: look.colour("silent"), size: 5, opacity: 0.6 }, text: dots.map(([at, y]) => literal(`${moment(at)}: ${number(y)}`)) }),
      ...lines.flatMap((one, place) => line(one, place, young, look.colour(`c${place}`))),
      ...Object.keys(KINDS).map((kind) => signs(kind, drawn, top, look)),
    ],
    layout: {
      height, margin: { l: 46, r: 28, t: 8, b: 42 },
      xaxis: axis(look, { type: "date", range: [local(first), local(last)], tickformatstops: CLOCK, ticklabelstandoff: 4, showgrid: false, nticks: Math.round(look.width / 90) }),
      yaxis: axis(look, { range: [bottom - edge, top + edge], nticks: 6, ticklabelstandoff: 4, separatethousands: true }),
      shapes: [
        ...(young < last ? [{ type: "rect", name: "young", x0: local(Math.max(young, first)), x1: local(last), yref: "paper", y0: 0, y1: 1, layer: "below", fillcolor: look.colour("silent"), opacity: 0.16, line: { width: 0 } }] : []),
        ...drawn.map((one) => ({ type: "line", name: one.kind, x0: local(one.at), x1: local(one.at), yref: "paper", y0: 0, y1: 1, line: { color: look.colour(KINDS[one.kind][0]), width: 1, dash: "2px,3px" } })),
      ],
    },
  });
  return h("figure", {}, chart(`chart/${title}`, `${title}, from ${clock(first)} to ${clock(last)}`, figure),
    h("figcaption", {}, lines.map((one, place) => h("span", { class: `key key${place}` }, one.name)),
      drawn.some((one) => one.kind === "up") && h("span", { class: "key up" }, "▲ promoted"),
      drawn.some((one) => one.kind === "down") && h("span", { class: "key down" }, "▼ rolled back or suspended"),
      drawn.length < marks.length && h("span", { class: "unit" }, `${marks.length - drawn.length} earlier ones are in the table`),
      unit && h("span", { class: "unit" }, unit)));
}

const PARTS = { result_used: "used", query_refined: "reworded", result_ignored: "ignored", standard: "c0", rlm: "c1" };
export const kindColour = (kind, { colour }, other) => colour(PARTS[kind] ?? other);

// parts: [{name, count, kind}]
export function mixture(title, parts) {
  const whole = parts.reduce((sum, one) => sum + one.count, 0);
  if (!whole) return h("p", { class: "empty" }, "Nothing yet.");
  const figure = (look) => ({
    data: parts.filter((one) => one.count).map((one) => ({
      type: "bar", orientation: "h", name: literal(one.name), x: [one.count], y: [0], hoverinfo: "text", hovertext: literal(`${one.name} ${one.count} (${share(one.count, whole)})`),
      marker: { color: kindColour(one.kind, look, "silent"), cornerradius: 3, line: { color: look.colour("card"), width: 2 } },
    })),
    layout: {
      height: 34, barmode: "stack", bargap: 0, margin: { l: 0, r: 0, t: 0, b: 0 },
      xaxis: axis(look, { visible: false, range: [0, whole] }), yaxis: axis(look, { visible: false, range: [-0.5, 0.5] }),
    },
  });
  return h("figure", {}, chart(`chart/${title}`, `${title}: ${parts.map((one) => `${one.count} ${one.name}`).join(", ")}`, figure),
    h("figcaption", {}, parts.map((one) => h("span", { class: `key part ${one.kind}` }, `${one.name} ${one.count} (${share(one.count, whole)})`))));
}

// rows: [{name, estimate, lower, upper}]: estimates with intervals around a line at zero
export function intervals(title, rows) {
  const drawn = rows.filter((one) => one.estimate !== null && one.estimate !== undefined)
    .map((one) => ({ ...one, lower: one.lower ?? one.estimate, upper: one.upper ?? one.estimate }));
  if (!drawn.length) return null;
  const room = Math.max(...drawn.flatMap((one) => [one.estimate, one.lower, one.upper]).map(Math.abs)) * 1.15 || 1;
  // The roundest number that is still in it: a phone has room for one on each side.
  const power = 10 ** Math.floor(Math.log10(room));
  const round = power * [5, 2, 1].find((one) => one * power <= room);
  const figure = (look) => ({
    data: [{
      type: "scatter", mode: "markers", x: drawn.map((one) => one.estimate), y: drawn.map((_, at) => at), marker: { color: look.colour("c0"), size: 10 },
      error_x: { type: "data", symmetric: false, color: look.colour("c0"), thickness: 2, width: 4, array: drawn.map((one) => one.upper - one.estimate), arrayminus: drawn.map((one) => one.estimate - one.lower) },
      hoverinfo: "text", text: drawn.map((one) => literal(`${one.name} ${number(one.estimate)} (${number(one.lower)} to ${number(one.upper)})`)),
    }],
    layout: {
      height: drawn.length * BETWEEN + 34, margin: { l: look.narrow ? 136 : 150, r: 20, t: 4, b: 30 },
      xaxis: axis(look, { range: [-room, room], zeroline: true, zerolinecolor: look.colour("soft"), ...(look.narrow ? { tickvals: [-round, 0, round] } : { nticks: 6 }) }),
      yaxis: axis(look, { range: [drawn.length - 0.5, -0.5], showgrid: false, ticklabelstandoff: 4, tickvals: drawn.map((_, at) => at), ticktext: drawn.map((one) => literal(one.name)) }),
    },
  });
  return h("figure", {}, chart(`chart/${title}`, `${title}: ${drawn.map((one) => `${one.name} ${number(one.estimate)}`).join(", ")}`, figure));
}
