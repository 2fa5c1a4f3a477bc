// Asks the worker. The token, if one is needed, lives as long as the tab.
const KEPT = "memstream-token";

export class Refusal extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export const login = (token) => (token ? sessionStorage.setItem(KEPT, token) : sessionStorage.removeItem(KEPT));
export const loggedIn = () => sessionStorage.getItem(KEPT) !== null;

async function ask(path, options = {}) {
  const token = sessionStorage.getItem(KEPT);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch {
    throw new Refusal(0, "the worker does not answer");
  }
  const told = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
  if (!answer.ok) throw new Refusal(answer.status, told.error ?? `status ${answer.status}`);
  return told;
}

export const get = (path, given = {}) => {
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value)).toString();
  return ask(query ? `${path}?${query}` : path);
};

export const order = (path, given, body) => ask(
  `${path}?${new URLSearchParams(given)}`,
  { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) },
);
