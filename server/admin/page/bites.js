import { $, make, refill, count, rate, whose, clock, share } from "./dom.js";
import { spark } from "./chart.js";
import { ask } from "./server.js";

let nodes = 1, chosen = ""; // the limit whose keys are listed, "" for all keys

// when says since when a limit denies, or from when until when it did.
export function when(b) {
  if (!b.since) return "–";
  const from = clock(b.since), until = clock(b.last);
  return b.perSecond ? `since ${from}` : from === until ? `at ${from}` : `${from} to ${until}`;
}

// showBites lists the limits that deny most.
export function showBites(o) {
  const { limits, denials } = o.bites, others = denials - limits.reduce((sum, b) => sum + b.denied, 0);
  nodes = o.bites.nodes.all;
  $("bites-section").hidden = !limits.length;
  $("bites-nodes").textContent = o.bites.nodes.all === 1 ? "" : `${whose(o.bites.nodes)}.`;
  refill($("bites"), ...limits.map((b) => make("tr", {},
    make("td", { class: "keyname" }, make("button", { type: "button", class: "link mono", "data-look": b.limit, "aria-pressed": String(b.limit === chosen), onclick: () => choose(b.limit === chosen ? "" : b.limit) }, b.limit)),
    make("td", { "data-since": b.limit }, when(b)),
    make("td", { class: "number" }, rate(b.perSecond ?? 0)),
    make("td", {}, b.recent ? spark(b.recent, `Denied in spans of ten seconds: at most ${count(Math.max(...b.recent))}, now ${count(b.recent.at(-1))}`) : ""),
    make("td", { class: "number", "data-bite": b.limit }, count(b.denied)),
    make("td", { class: "number" }, (nodes > 1 ? "≥ " : "") + count(b.keys)), share(b.denied, denials))),
    others > 0 ? make("tr", {}, make("td", {}, "other limits, or not known"), make("td", { colspan: 3 }), make("td", { class: "number" }, count(others)), make("td"), share(others, denials)) : "");
}

// choose lists the keys of one limit instead of all keys.
function choose(limit) {
  chosen = limit;
  $("top-of").hidden = !limit;
  $("top-of").replaceChildren("Only keys of ", make("code", {}, limit), `${nodes > 1 ? ", at this node" : ""}. `, make("button", { type: "button", id: "top-all", onclick: () => choose("") }, "Show all"));
  if (limit) $("top-heading").scrollIntoView({ block: "nearest" });
}

// chosenKeys are the keys of the limit that is chosen, or nothing.
export const chosenKeys = async () => (chosen ? (await ask(`/api/limit?limit=${encodeURIComponent(chosen)}`)).entries : undefined);
