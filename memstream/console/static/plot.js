// Draws charts with Plotly, which comes after the page's text and only where there are charts.
import { h } from "./dom.js";

const ADDRESS = document.querySelector("meta[name=charting-library]").content;
const CONFIG = { displayModeBar: false, displaylogo: false, showTips: false, doubleClick: false, scrollZoom: false };
const NARROW = 480;

let loading = null;

// It takes a second to start, in which a page shows nothing new: the text is painted first.
const painted = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });

// A module may be loaded while the page runs; the address of a script may not be set, by the page's policy.
async function load() {
  await painted();
  await import(ADDRESS);
  return globalThis.Plotly;
}

const library = () => (loading ??= load().catch((error) => { loading = null; throw error; }));

// Plotly takes some tags for markup and links: what is stored must have none.
export const literal = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// What a chart is drawn by: how much room it has, and the colours of the page as they are now.
function looking(width) {
  const colours = getComputedStyle(document.documentElement);
  return { width, narrow: width < NARROW, colour: (name) => colours.getPropertyValue(`--${name}`).trim() };
}

const common = ({ width, colour }) => ({
  width, autosize: false, showlegend: false, dragmode: false, hovermode: "closest",
  paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: "system-ui, sans-serif", size: 12, color: colour("soft") },
  hoverlabel: { align: "left", bgcolor: colour("page"), bordercolor: colour("soft"), font: { color: colour("text"), family: "system-ui, sans-serif", size: 13 } },
});

export const axis = ({ colour }, more = {}) => ({
  fixedrange: true, zeroline: false, showline: false, gridcolor: colour("line"), tickfont: { color: colour("soft") }, ...more,
});

class Chart extends HTMLElement {
  #figure = null;
  #due = false;

  static of(key, label, figure) {
    const made = h("memstream-chart", { role: "img", "aria-label": label, "data-key": key });
    made.#figure = figure;
    return made;
  }

  // Goes on in place of the same chart of newer numbers, so that it is not made anew each time.
  become(fresh) {
    this.setAttribute("aria-label", fresh.getAttribute("aria-label"));
    this.#figure = fresh.#figure;
    fresh.replaceWith(this);
  }

  connectedCallback() { sizes.observe(this); this.draw(); }

  // What is only moved is connected again by then.
  disconnectedCallback() {
    queueMicrotask(() => {
      if (this.isConnected) return;
      sizes.unobserve(this);
      if (this.dataset.drawn) globalThis.Plotly.purge(this);
    });
  }

  #drawn() {
    const look = looking(this.clientWidth);
    const { data, layout } = this.#figure(look);
    // As high as it will be, so that nothing jumps when the library has come.
    this.style.height = `${layout.height}px`;
    return [data, { ...common(look), ...layout }, CONFIG];
  }

  async draw() {
    if (this.#due || !this.clientWidth) return;
    this.#drawn();
    this.#due = true;
    try {
      const Plotly = await library();
      if (!this.isConnected || !this.clientWidth) return;
      if (!this.dataset.drawn) this.replaceChildren();
      await Plotly.react(this, ...this.#drawn());
      this.dataset.drawn = "yes";
    } catch (error) {
      if (!this.dataset.drawn) this.replaceChildren("The chart could not be drawn.");
      throw error;
    } finally {
      this.#due = false;
    }
  }
}

// Drawn as wide as it is shown, so that writing is neither tiny on a phone nor huge on a desk.
const sizes = new ResizeObserver((seen) => {
  for (const { target, contentRect } of seen) if (target.layout?.width !== contentRect.width) target.draw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const one of document.querySelectorAll("memstream-chart")) one.draw();
});
customElements.define("memstream-chart", Chart);

// figure: from how it looks to Plotly's {data, layout}; the label says to those who do not see it what is drawn
export const chart = Chart.of;
