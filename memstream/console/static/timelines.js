// What happened in a search and after it: a row for each, with its name.
import { kindColour } from "./charts.js";
import { h } from "./dom.js";
import { cut, duration, number } from "./format.js";
import { axis, chart, literal } from "./plot.js";

// Names are on the left; on a phone each is above its row, where there is room for it.
const WIDE = { left: 260, row: 24, letters: 38, at: 0, high: 0.66 };
const PHONE = { left: 16, row: 40, letters: 44, at: 0.2, high: 0.4 };

const named = (name, at, shape, { narrow, colour }) => ({
  xref: "paper", x: 0, y: narrow ? at - 0.48 : at, xanchor: narrow ? "left" : "right", yanchor: narrow ? "top" : "middle",
  xshift: narrow ? -14 : -8, showarrow: false, borderpad: 0, bgcolor: colour("card"), text: literal(cut(name, shape.letters)),
});

function rows(title, names, most, draws, ticks) {
  const figure = (look) => {
    const shape = look.narrow ? PHONE : WIDE;
    return {
      data: [{ y: names.map((_, at) => at + shape.at), hoverinfo: "text", cliponaxis: false, ...draws(look, shape) }],
      layout: {
        height: names.length * shape.row + 34, margin: { l: shape.left, r: 30, t: 2, b: 30 }, annotations: names.map((name, at) => named(name, at, shape, look)),
        xaxis: axis(look, ticks(look)), yaxis: axis(look, { visible: false, range: [names.length - 0.5, -0.5] }),
      },
    };
  };
  return h("figure", {}, chart(`chart/${title}`, `${title}: ${most}`, figure));
}

// steps: [{name, start, duration, depth}] in milliseconds since the beginning
export function timeline(title, steps) {
  if (!steps.length) return h("p", { class: "empty" }, "No actions were recorded.");
  const end = Math.max(...steps.map((one) => one.start + one.duration), 1);
  return rows(title, steps.map((one) => `${"· ".repeat(one.depth)}${one.name}`), `${steps.length} actions in ${number(end, 1)} ms`,
    (look, shape) => ({
      type: "bar", orientation: "h", base: steps.map((one) => one.start), width: shape.high, marker: { color: look.colour("c0"), cornerradius: 3 },
      // What took no time at all is still to be seen.
      x: steps.map((one) => Math.max(one.duration, (3 * end) / (look.width - shape.left))), hovertext: steps.map((one) => literal(`${number(one.duration, 1)} ms`)), textposition: "none",
    }),
    (look) => ({ range: [0, end], ticksuffix: " ms", separatethousands: true, nticks: look.narrow ? 4 : 7 }));
}

// events: [{name, after, kind}] in seconds; the first seconds matter as much as the last hours, so by their logarithm
const MOMENTS = [0, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000];
export function afterwards(title, events) {
  const end = Math.max(...events.map((one) => one.after), 1);
  const place = (seconds) => Math.log1p(Math.max(seconds, 0)) / Math.log1p(end);
  const colour = (kind, look) => (kind === "signal" ? look.colour("c1") : kindColour(kind.split(" ").at(-1), look, kind.startsWith("label") ? "silent" : "c0"));
  return rows(title, events.map((one) => one.name), `${events.length} events in ${duration(end)}`,
    (look) => ({
      type: "scatter", mode: "markers", x: events.map((one) => place(one.after)), text: events.map((one) => literal(`after ${duration(one.after)}`)),
      marker: { size: 12, color: events.map((one) => colour(one.kind, look)) },
    }),
    (look) => {
      const apart = look.narrow ? 0.16 : 0.05;
      const marked = MOMENTS.filter((at) => at <= end)
        .reduce((kept, at) => (kept.length && place(at) - place(kept.at(-1)) < apart ? kept : [...kept, at]), []);
      return { range: [look.narrow ? 0 : -0.01, 1.003], tickvals: marked.map(place), ticktext: marked.map((at) => (at ? duration(at) : "0 s")) };
    });
}
