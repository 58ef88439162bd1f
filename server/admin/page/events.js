import { $, make, refill, many, clock } from "./dom.js";

// by says who did it, and at which node.
function by(e) {
  const page = e.from?.startsWith("admin/");
  return [e.user ? (page ? `by the page, from ${e.from.slice(6)}` : `by ${e.user} from ${e.from}`) : "", e.node ? `at node ${e.node}` : "",
    e.more ? `and ${many(e.more, "such change")} just before` : ""].filter(Boolean).join(", ");
}

// showEvents lists what happened, the newest first.
export function showEvents(o) {
  const text = JSON.stringify(o.events);
  if ($("events").dataset.shown === text) return;
  $("events").dataset.shown = text;
  refill($("events"), ...o.events.map((e) => make("li", { class: e.bad ? "over" : "" }, make("time", { datetime: new Date(e.at).toISOString() }, clock(e.at, true)), " ", make("span", {}, e.text), " ", make("span", { class: "soft" }, by(e)))));
}

// marks are the events of the last minutes, as the charts have them: [seconds ago, text].
export const marks = (o) => (o?.events ?? []).map((e) => [(o.unixNano / 1e6 - e.at) / 1000, `${clock(e.at, true)} ${e.text}`]);

// rows are the events as a file has them.
export const rows = (o) => [["time", "kind", "event", "user", "from", "node", "such changes just before"],
  ...o.events.map((e) => [new Date(e.at).toISOString(), e.kind, e.text, e.user, e.from, e.node, e.more])];
