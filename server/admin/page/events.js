import { $, make, refill, many, clock } from "./dom.js";

// by says who did it, and at which node. Of an address only the host is shown: the port changes with each connection.
function by(e) {
  const [, page, host] = /^(admin\/)?(.*?)(:\d+)?$/.exec(e.from ?? "");
  return [e.user ? `${page ? "on the dashboard" : `by user ${e.user}`} from ${host}` : "", e.node ? `at node ${e.node}` : "",
    e.more ? `after ${many(e.more, "other change")} in quick succession` : ""].filter(Boolean).join(", ");
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
