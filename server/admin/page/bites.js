import { $, make, refill, count, rate, span, whose, clock, share } from "./dom.js";
import { spark } from "./chart.js";
import { ask } from "./server.js";

let nodes = 1, chosen = ""; // the limit whose keys are listed, "" for all keys

// when says since when a limit denies, or how long it has not.
function when(b, now) {
  if (!b.since) return "–";
  const quiet = now - b.last;
  return quiet > 60_000 ? `not for ${span(quiet)}` : `${clock(b.since)}, for ${span(Math.max(0, now - b.since))}`;
}

// showBites lists the limits that deny most.
export function showBites(o) {
  const { limits, denials } = o.bites, now = o.unixNano / 1e6;
  nodes = o.bites.nodes.all;
  $("bites-section").hidden = !limits.length;
  $("bites-nodes").textContent = o.bites.nodes.all === 1 ? "" : `${whose(o.bites.nodes)}.`;
  refill($("bites"), ...limits.map((b) => make("tr", {},
    make("td", { class: "keyname" }, make("button", { type: "button", class: "link mono", "data-look": b.limit, "aria-pressed": String(b.limit === chosen), onclick: () => choose(b.limit === chosen ? "" : b.limit) }, b.limit)),
    make("td", { "data-since": b.limit }, when(b, now)),
    make("td", { class: "number" }, rate(b.perSecond ?? 0)),
    make("td", {}, b.recent ? spark(b.recent, `Denied in spans of ten seconds: at most ${count(Math.max(...b.recent))}, now ${count(b.recent.at(-1))}`) : ""),
    make("td", { class: "number", "data-bite": b.limit }, count(b.denied)),
    make("td", { class: "number" }, (nodes > 1 ? "≥ " : "") + count(b.keys)), share(b.denied, denials))));
}

// choose lists the keys of one limit in place of all.
function choose(limit) {
  chosen = limit;
  $("top-of").hidden = !limit;
  $("top-of").replaceChildren("Of ", make("code", {}, limit), ` alone${nodes > 1 ? ", at this node" : ""}. `, make("button", { type: "button", id: "top-all", onclick: () => choose("") }, "Show all"));
  if (limit) $("top-heading").scrollIntoView({ block: "nearest" });
}

// chosenKeys are the keys of the limit that is chosen, or nothing.
export const chosenKeys = async () => (chosen ? (await ask(`/api/limit?limit=${encodeURIComponent(chosen)}`)).entries : undefined);
