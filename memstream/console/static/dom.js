// Makes elements. Text is only ever set as text: whatever is stored may be hostile.
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(2)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// A colour from data, by the root so that small numbers have one too; a style attribute would be against the page's policy.
export function tinted(element, share) {
  element.style.setProperty("--share", `${Math.round(Math.sqrt(Math.abs(share)) * 100)}%`);
  element.classList.add("heat", share < 0 ? "less" : "more");
  return element;
}

// With many columns, a phone shows each row as a list; the roles keep it a table for readers.
const MANY = 5;

export function table(caption, columns, rows, { empty = "Nothing yet.", label, kind = "" } = {}) {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  // Wide tables scroll by themselves, so they must be reachable with the keyboard.
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label ?? caption, "data-key": `table/${caption}` },
    h("table", { role: "table", class: kind || (columns.length >= MANY ? "stacks" : undefined) },
      h("caption", {}, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map((one) => h("th", { scope: "col", role: "columnheader" }, one)))),
      h("tbody", { role: "rowgroup" }, rows.map((cells) => h("tr", { role: "row" }, cells.map((cell, at) => {
        if (cell instanceof HTMLTableCellElement) return cell;
        return at === 0 ? h("th", { scope: "row", role: "rowheader" }, cell) : h("td", { role: "cell", "data-label": columns[at] }, cell);
      }))))));
}

// What is long scrolls by itself too.
export const plain = (key, text) => h("pre", { tabindex: 0, "data-key": `${key}/pre` }, text);

export const facts = (pairs, kind = "") => h("dl", { class: `facts ${kind}` },
  pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));

export const card = (title, ...children) =>
  h("section", { class: "card", "aria-label": title }, h("h2", {}, title), ...children);

export const stack = (...cards) => h("div", { class: "stack" }, ...cards);

export const behind = (key, ...children) =>
  h("details", { "data-key": key }, h("summary", { "data-key": `${key}/summary` }, "As a table"), ...children);

// Replaces what an element holds, and leaves the charts, the focus, what was unfolded and what was scrolled where they were.
export function show(element, ...children) {
  const { activeElement: focused } = document;
  const within = element.contains(focused) && focused !== element;
  const open = new Set([...element.querySelectorAll("details[open][data-key]")].map((one) => one.dataset.key));
  const scrolled = new Map([...element.querySelectorAll(".scroll, pre")].map((one) => [one.dataset.key, [one.scrollLeft, one.scrollTop]]));
  const charts = new Map([...element.querySelectorAll("memstream-chart")].map((one) => [one.dataset.key, one]));
  const next = document.createDocumentFragment();
  next.append(...children.flat(2).filter((one) => one));
  for (const fresh of next.querySelectorAll("memstream-chart")) charts.get(fresh.dataset.key)?.become(fresh);
  element.replaceChildren(next);
  const keyed = new Map([...element.querySelectorAll("[data-key]")].map((one) => [one.dataset.key, one]));
  for (const key of open) if (keyed.get(key)?.tagName === "DETAILS") keyed.get(key).open = true;
  for (const [key, [left, top]] of scrolled) keyed.get(key)?.scrollTo(left, top);
  // What is no longer there cannot have the focus; what is around it can, so that nobody starts at the top of the page.
  if (within) (keyed.get(focused.dataset.key) ?? element.closest("main") ?? element).focus({ preventScroll: true });
}
