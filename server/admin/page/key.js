import { $, make, tile, count, bytes, span } from "./dom.js";
import { lines } from "./chart.js";
import { ask } from "./server.js";

const points = 121, every = 500; // half seconds shown
let watched, remaining = [], timer;

// look watches a key: its level now, and as it drains and refills.
export function look(key) {
  $("key").value = key;
  watched = key;
  remaining = [];
  clearTimeout(timer);
  poll();
}

// holders lists loans in one line.
export const holders = (loans) => loans.map((l) => `${l.holder} ${count(l.tokens)}${l.leftMs ? ` for ${span(l.leftMs)}` : ""}`).join(", ");

async function poll() {
  const key = watched;
  try {
    const view = await ask(`/api/key?key=${encodeURIComponent(key)}`);
    if (key === watched) show(view);
  } catch (error) {
    if (key === watched) $("key-result").replaceChildren(make("p", { class: "over" }, error.message));
  }
  if (key === watched) timer = setTimeout(poll, document.hidden ? 2000 : every);
}

function show(v) {
  remaining.push(v.found ? Math.max(0, v.remaining) : null);
  if (remaining.length > points) remaining.shift();
  const hash = make("p", { class: "soft" }, "Hash of this key in hashed lists: ", make("code", {}, v.hash));
  if (!v.found) {
    $("key-result").replaceChildren(make("p", {}, "The key does not exist or has expired: its full limit is available."), hash);
    return;
  }
  const parameters = Object.entries(v.params).map(([name, text]) => `${name} ${text}`).join(", ");
  const chart = make("div");
  lines(chart, [{ kind: "median", values: remaining }], points, count, `${v.remaining} of ${v.limit} left`);
  chart.querySelectorAll("text").forEach((t) => { if (t.textContent.endsWith("s ago")) t.textContent = "1 min ago"; });
  $("key-result").replaceChildren(
    make("p", {}, make("code", {}, v.algorithm), ` ${parameters}`),
    make("dl", { class: "tiles small" }, ...[
      tile("left", count(v.remaining), { kind: v.remaining > 0 ? "" : "denied" }), tile("of", count(v.limit)),
      tile("full again in", span(v.resetMs)), tile("memory", bytes(v.bytes)),
    ].map((pair) => make("div", {}, ...pair))),
    make("meter", { min: 0, max: v.limit, value: Math.max(0, v.remaining), "aria-label": `${v.remaining} of ${v.limit} left` }),
    v.lent ? make("p", { id: "key-lent" }, `${count(v.lent)} lent: ${holders(v.loans)}`) : "",
    make("figure", {}, make("figcaption", {}, "Tokens left"), chart), hash);
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  look($("key").value);
});
