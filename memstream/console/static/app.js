// The console: which page is shown, and how it stays current.
import { Refusal, get, login, loggedIn } from "./api.js";
import { h, show } from "./dom.js";
import { dead_letters } from "./pages/dead_letters.js";
import { overview } from "./pages/overview.js";
import { policies, policy } from "./pages/policy.js";
import { tenant, tenants } from "./pages/tenant.js";
import { trajectories, trajectory } from "./pages/trajectories.js";

const EVERY_MS = 2000;
// Each page: its title, what its fixed part is, what it asks for, and how that is shown.
const PAGES = {
  "": overview, tenants, tenant, trajectories, trajectory, policies, policy, "dead-letters": dead_letters,
};
// Under which entry of the navigation a page is.
const PARENTS = { tenant: "tenants", trajectory: "trajectories", policy: "policies" };

const main = document.getElementById("main");
const live = document.getElementById("live");
const pause = document.getElementById("pause");
let turn = 0;
let access = null;

function where() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: Object.hasOwn(PAGES, path) ? path : "", given: Object.fromEntries(new URLSearchParams(query)) };
}

const tell = (text, bad = false) => {
  if (live.textContent !== text) live.textContent = text;
  live.classList.toggle("bad", bad);
};

const paused = () => pause.getAttribute("aria-pressed") === "true";

function askForToken(reason) {
  const field = h("input", { id: "token", type: "password", autocomplete: "off", required: true, "aria-describedby": "token-why" });
  const form = h("form", { class: "login" }, h("p", { id: "token-why" }, reason),
    h("label", { for: "token" }, "Token"), field, h("button", { type: "submit" }, "Log in"));
  form.addEventListener("submit", (event) => { event.preventDefault(); login(field.value.trim()); open(); });
  show(main, h("h1", {}, "Log in"), form);
  field.focus();
}

async function open() {
  const mine = ++turn;
  const { name, given } = where();
  const page = PAGES[name];
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.getAttribute("href") === `#/${PARENTS[name] ?? name}`;
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.title = `${page.title(given)} · memstream`;
  try {
    access = await get("access");
  } catch (error) {
    tell(error.message, true);
    setTimeout(() => mine === turn && open(), EVERY_MS);
    return;
  }
  if (mine !== turn) return;
  if (access.login === "needed" && !loggedIn()) { tell("logged out"); askForToken("This console shows its data to those who know MEMSTREAM_WEB_TOKEN."); return; }
  const body = h("div", { class: "body" }, h("p", {}, "Loading …"));
  show(main, h("h1", {}, page.title(given)), page.fixed?.(given, () => refresh(true)) ?? null, body);
  let last = null;

  async function refresh(anyway = false) {
    if (mine !== turn) return;
    if (anyway || !(paused() || document.hidden) || last === null) {
      try {
        const told = await page.asks(given);
        if (mine !== turn) return;
        const text = JSON.stringify(told);
        if (text !== last) {
          last = text;
          show(body, page.shows(told, { access, given, again: () => refresh(true) }));
        }
        tell(told.unread ? `not all could be read: ${told.unread}` : paused() ? "paused" : "live", Boolean(told.unread));
      } catch (error) {
        if (mine !== turn) return;
        if (!(error instanceof Refusal)) { tell("this page failed", true); throw error; }
        if (error.status === 401) { login(null); tell("logged out"); askForToken(error.message); return; }
        tell(error.message, true);
        if (last === null) show(body, h("p", { role: "alert" }, error.message));
      }
    }
    if (!anyway) setTimeout(refresh, EVERY_MS);
  }
  refresh();
}

// An address is a page here: the link must not lead to another one.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
pause.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(!paused()));
  pause.textContent = paused() ? "Resume" : "Pause";
  tell(paused() ? "paused" : "live");
});
window.addEventListener("hashchange", () => { if (location.hash.startsWith("#/") || !location.hash) open().then(() => main.focus({ preventScroll: true })); });
open();
