// How numbers and moments are written.
const NONE = "–";

// Nothing is less than nothing: what is rounded to zero has no sign.
export const number = (value, digits = 3) =>
  value === null || value === undefined ? NONE : value.toFixed(digits).replace(/^-(?=[0.]+$)/, "");

export const count = (value) =>
  value === null || value === undefined ? NONE : Math.round(value).toLocaleString("en");

export const signed = (value, digits = 3) => (value > 0 ? "+" : "") + number(value, digits);

export const share = (part, whole) => (whole ? `${Math.round((100 * part) / whole)}\u00a0%` : NONE);

export function milliseconds(value) {
  if (value === null || value === undefined) return NONE;
  if (value >= 10_000) return `${(value / 1000).toFixed(1)}\u00a0s`;
  return `${value.toFixed(value < 10 ? 1 : 0)}\u00a0ms`;
}

const DAY = { day: "numeric", month: "short" };
export const moment = (text) => (text ? `${new Date(text).toLocaleDateString("en-GB", DAY)} ${clock(text)}`.replaceAll(" ", "\u00a0") : NONE);

export const duration = (seconds) => {
  for (const [unit, length] of [["d", 86_400], ["h", 3600], ["min", 60]]) {
    if (seconds >= length) return `${Number((seconds / length).toFixed(1))}\u00a0${unit}`;
  }
  return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))}\u00a0s`;
};

export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export const clock = (value) => new Date(value).toLocaleTimeString("en-GB", { hour12: false });

export const interval = (told) => {
  if (!told || told.estimate === null || told.estimate === undefined) return NONE;
  if (told.lower === null || told.lower === undefined) return number(told.estimate);
  return `${number(told.estimate)} (${number(told.lower)} to ${number(told.upper)})`;
};

const OUTCOMES = {
  result_used: "used", query_refined: "reworded", result_ignored: "ignored", no_signal: "no signal",
};
export const outcome = (type) => OUTCOMES[type] ?? type;
export const ROUTES = { standard: "standard", rlm: "decomposed" };
export const OUTCOME_TYPES = Object.keys(OUTCOMES);

export const to = (page, given = {}) => {
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value)).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
};
