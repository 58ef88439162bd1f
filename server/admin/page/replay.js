import { make, count, many, percent, span } from "./dom.js";
import { lines } from "./chart.js";

const minutes = 5;

// headline is the effect on the recent requests in one sentence.
export function headline(r) {
  if (!r?.then) return [];
  const before = r.before ?? r.happened, more = r.then.callers - before.callers;
  const callers = more === 0 ? "for as many callers" : `for ${count(Math.abs(more))} ${more > 0 ? "more" : "fewer"} caller${Math.abs(more) === 1 ? "" : "s"}`;
  return [make("p", { id: "headline" }, make("strong", {}, `Of ${count(r.requests)} recent requests, ${percent(before.denied, r.requests)} → ${percent(r.then.denied, r.requests)} would be denied, ${callers}.`))];
}

// showReplay shows the recent requests as they were decided, and with the limits of now and of the draft.
export function showReplay(r, draft, nodes) {
  const title = make("h4", {}, "On recent requests");
  if (!r) return [title, make("p", { class: "soft" }, `No requests for ${draft.of || draft.name} came to this node in the last ${minutes} minutes, or --top-keys is off.`)];
  const row = (name, kind, l) => make("tr", { "data-replay": kind }, make("th", { scope: "row" }, name),
    ...(l ? [r.requests - l.denied, l.denied].map((n) => make("td", { class: "number" }, count(n))).concat(
      make("td", { class: "number" }, percent(l.denied, r.requests)), make("td", { class: "number" }, count(l.callers))) : [make("td", { colspan: 4 }, "cannot be replayed")]));
  const table = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "On recent requests" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "limits"), ...["granted", "denied", "share denied", "callers denied"].map((t) => make("th", { scope: "col", class: "number" }, t)))),
    make("tbody", {}, row("at the time", "happened", r.happened), row("present limits, replayed", "before", r.before), row("limits above, replayed", "then", r.then))));
  return [title, make("p", {}, basis(r)), table, r.then ? chart(r) : "", make("p", { class: "soft" }, caveats(r, nodes))];
}

function basis(r) {
  const sample = r.oneIn > 1 ? `: all requests of one in ${count(r.oneIn)} callers, chosen at random` : "";
  return `${many(r.requests, "request")} of ${many(r.callers, "caller")} on ${r.of}, which came to this node in the last ${span(r.withinMs)}${sample}.`;
}

// caveats says by how much the replay may be wrong.
function caveats(r, nodes) {
  const without = [...new Set([...(r.before?.without ?? []), ...(r.then?.without ?? [])])];
  return [`The replay begins ${r.withinMs > 0 ? `${span(r.withinMs)} ago ` : ""}with nothing taken, so a limit over hours denies less here than it would have denied. With other limits, callers who wait or try again would also behave differently.`,
    nodes > 1 ? "The record has only this node’s requests: callers who use several nodes would be denied more." : "",
    without.length ? `Left out, because the record ${r.oneIn > 1 ? "does not have all callers, or " : ""}does not say when a request ended: ${without.join(", ")}.` : "",
    r.leftOut ? `Not replayed: ${many(r.leftOut, "request")} without a field that the limits need, or too long to be recorded.` : ""].filter(Boolean).join(" ");
}

function chart(r) {
  const seconds = (minutes * 60) / r.then.points.length;
  const begins = Math.floor(r.then.points.length * (1 - r.withinMs / (minutes * 60_000))); // nothing is known before
  const into = make("div"), perSecond = (l) => l.points.map((n, i) => (i < begins ? null : n / seconds));
  lines(into, [...(r.before ? [{ kind: "before", values: perSecond(r.before) }] : []), { kind: "denied", values: perSecond(r.then) }], { points: r.then.points.length, every: seconds,
    format: (n) => count(n), label: `Denied per second in the replay: ${count(r.before?.denied ?? 0)} in all with the present limits, ${count(r.then.denied)} with the limits above` });
  return make("figure", {}, make("figcaption", {}, "Denied per second ", make("span", { class: "key before" }, "present limits"), " ", make("span", { class: "key denied" }, "limits above")), into);
}
