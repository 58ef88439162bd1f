import { $, make, refill, label, tile, share, count, many, rate, bytes, seconds, span, clock } from "./dom.js";
import { askDay, asked, drawTraffic, latest, remember, rates, showWhose } from "./traffic.js";
import { ask } from "./server.js";
import { showPolicies } from "./policies.js";
import { look, holders, part } from "./key.js";
import { showBites, chosenKeys } from "./bites.js";
import { showEvents, rows } from "./events.js";
import { offerCSV, save } from "./csv.js";

let newest, newestKeys; // the last answer, and the keys that are listed
let errors = []; // [time, commands answered with an error so far], of the last answers

// sum adds up the values of a metric whose labels have the values given.
function sum(overview, name, labels = {}) {
  return (overview.metrics[name] ?? []).filter((s) => Object.entries(labels).every(([k, v]) => s.labels?.[k] === v))
    .reduce((total, s) => total + s.value, 0);
}

// errorRate is the number of commands a second that were answered with an error, in the last seconds.
function errorRate(o) {
  errors = [...errors.slice(-5), [o.unixNano / 1e9, sum(o, "stint_command_errors_total")]];
  const [then, before] = errors[0], [at, all] = errors.at(-1);
  return at > then && all > before ? (all - before) / (at - then) : 0;
}

// memory is the memory for keys, and of how much if it is bounded.
function memory(o) {
  const limit = sum(o, "stint_keys_limit_bytes"), used = sum(o, "stint_keys_bytes");
  return tile(`memory${here(o)}`, limit > 0 ? make("span", {}, bytes(used), make("small", {}, ` of ${bytes(limit)}`)) : bytes(used));
}

function showNow(o) {
  remember(o);
  showWhose(o);
  const { nodes, granted, denied, median, tail } = latest();
  $("tiles").replaceChildren(...[
    tile("granted/s", nodes ? rate(granted) : "–", { kind: "granted" }),
    tile("denied/s", nodes ? rate(denied) : "–", { kind: denied > 0 ? "denied" : "" }),
    tile("p50 latency", seconds(median)),
    tile("p99 latency", seconds(tail)),
    tile(`connections${here(o)}`, count(sum(o, "stint_connections")), { metric: "stint_connections" }),
    tile("keys", count(sum(o, "stint_keys")), { metric: "stint_keys" }),
    memory(o),
    tile(`errors/s${here(o)}`, rate(errorRate(o))),
  ].flat().map(pair));
  drawTraffic(o);
}

// here says that a number is this node's alone.
const here = (o) => (o.cluster ? ` (${o.cluster.nodeId})` : "");

// pair keeps a name and its number in one cell of the grid.
function pair(element, i, all) {
  return i % 2 === 0 ? make("div", {}, element, all[i + 1]) : "";
}

function showTotals(o) {
  const outcomes = ["granted", "denied", "error"];
  const policyWords = { granted: "granted by policies", denied: "denied by policies", shadow_denied: "shadow denials" };
  $("totals").replaceChildren(...[
    ...outcomes.map((of) => tile(of === "error" ? "requests with errors" : `requests ${of}`, count(sum(o, "stint_decisions_total", { outcome: of })), { metric: "stint_decisions_total", of })),
    ...outcomes.slice(0, 2).map((of) => tile(`tokens ${of}`, count(sum(o, "stint_tokens_total", { outcome: of })), { metric: "stint_tokens_total", of })),
    ...Object.keys(policyWords).map((of) => tile(policyWords[of], count(sum(o, "stint_policy_decisions_total", { outcome: of })), { metric: "stint_policy_decisions_total", of })),
    tile("commands", count(sum(o, "stint_commands_total")), { metric: "stint_commands_total" }),
    tile("commands with errors", count(sum(o, "stint_command_errors_total")), { metric: "stint_command_errors_total" }),
    tile("connections accepted", count(sum(o, "stint_connections_accepted_total")), { metric: "stint_connections_accepted_total" }),
    tile("keys expired", count(sum(o, "stint_expired_keys_total")), { metric: "stint_expired_keys_total" }),
  ].flat().map(pair));
}

// keyCell shows a key, which can be looked up if it is whole.
const keyCell = (e, by) => make("td", { class: "keyname" }, e.whole ? make("button", { type: "button", class: "link mono", "data-look": e.key, onclick: () => look(e.key) }, e.key || "(empty)") : make("code", {}, e.key),
  by ? make("div", { class: "soft" }, by) : "");

function showLent(o) {
  $("lent-section").hidden = !o.lent.length;
  refill($("lent"), ...o.lent.map((e) => make("tr", {}, keyCell(e),
    make("td", { class: "number", "data-lent": e.key }, count(e.tokens)), make("td", {}, holders(e.loans)))));
}

function showTop(o, entries) {
  const notes = { off: "Denied keys are not counted, because --top-keys is off.", hashed: "Keys are shown as hashes; look up a key to see its hash." };
  $("top-note").textContent = notes[o.top.mode] ?? (o.top.entries.length ? `${many(o.top.total, "denial")} in all${o.cluster ? " at this node" : ""}.` : `Nothing was denied${o.cluster ? " at this node" : ""}.`);
  $("top").closest("table").classList.toggle("exact", entries.every((e) => e.error === 0));
  refill($("top"), ...entries.map((e) => make("tr", {},
    keyCell(e, e.by),
    make("td", { class: "number", "data-top": e.key }, count(e.count)),
    make("td", { class: "number fewer" }, count(e.error)),
    make("td", { class: "number", "data-own": e.key }, e.own ? part(e.own) : "–"),
    share(e.count, o.top.total))));
  $("top-more").hidden = $("top").className === "all" || entries.length <= 10;
}

const reported = ["granted", "denied", "connections"];

// roleOf is what a node does in the cluster: with groups of keys, those that it leads.
function roleOf(m, groups) {
  const led = groups.filter((g) => g.leader === m.id).map((g) => g.group);
  if (led.length) return `leads ${led.join(", ")}`;
  return m.leader && !groups.length ? "leader" : m.voter ? "follower" : "nonvoter";
}

function showCluster(o) {
  $("cluster").hidden = !o.cluster;
  if (!o.cluster) return;
  const c = o.cluster;
  const led = c.groups.length ? "the list of nodes (group 0)" : "the cluster";
  $("cluster-state").textContent = `This is the page of node ${c.nodeId}. ${c.leader ? `Node ${c.leader}` : "No node"} leads ${led}, in term ${c.term}.`;
  refill($("members"), ...c.members.map((m) => make("tr", { "data-member": m.id, class: m.reachable ? "" : "over" },
    make("td", {}, m.id === c.nodeId || !m.traffic?.admin ? m.id : make("a", { "data-look": m.id, href: `${location.protocol}//${m.traffic.admin}/` }, m.id), m.id === c.nodeId ? " (this)" : ""),
    make("td", { class: "part" }, roleOf(m, c.groups)),
    make("td", {}, m.reachable ? "yes" : "no"),
    ...reported.map((of) => make("td", { class: "number", "data-of": of }, m.traffic ? rate(m.traffic[of]) : "–")),
    make("td", { class: "number" }, count(m.lag)),
    make("td", { class: "number" }, m.contactMs < 0 ? "–" : span(m.contactMs)),
    make("td", {}, m.client))));
  $("groups-table").hidden = !c.groups.length;
  refill($("groups"), ...c.groups.map((g) => make("tr", { "data-group": g.group },
    make("td", {}, g.group), make("td", {}, g.slots), make("td", { class: g.leader ? "" : "over" }, g.leader || "none"),
    make("td", { class: "number" }, count(g.term)), make("td", { class: "number" }, count(g.lag)), make("td", { class: "number" }, bytes(g.logBytes)),
    make("td", {}, g.replicas.join(" ")))));
  const reports = c.members.map((m) => m.traffic).filter(Boolean);
  $("members-total").replaceChildren(make("tr", {}, make("th", { scope: "row", colspan: 3 }, reports.length === c.members.length ? "all nodes" : `${reports.length} of ${c.members.length} nodes`),
    ...reported.map((of) => make("td", { class: "number", "data-of": of }, rate(reports.reduce((sum, r) => sum + r[of], 0)))), make("td", { colspan: 3 })));
  label($("members-total"));
}

// showVerdict says whether all is well, and what is not: red if requests or promises suffer, amber if they may.
function showVerdict(o) {
  const worst = o.problems.some((p) => p.grave) ? "bad" : o.problems.length ? "warn" : "good";
  $("ready").textContent = worst === "good" ? "all well" : o.ready === "ready" ? "degraded" : "not ready";
  $("ready").className = `pill ${worst}`;
  $("problems").hidden = worst === "good";
  const text = JSON.stringify(o.problems.map((p) => [p.text, p.grave]));
  if ($("problems").dataset.shown === text) { // screen readers speak what changes
    o.problems.forEach((p, i) => { $("problems").children[i].querySelector("time").textContent = since(p, o); });
    return;
  }
  $("problems").dataset.shown = text;
  $("problems").replaceChildren(...o.problems.map((p) => make("li", { class: p.grave ? "bad" : "warn" }, make("strong", {}, p.text), " ",
    make("time", {}, since(p, o)), " · ", make("a", { href: `https://github.com/stintdb/stint/blob/main/docs/operations.md#${p.runbook}` }, "what to do"))));
}

function since(p, o) {
  const passed = o.unixNano / 1e6 - p.since;
  return `since ${clock(p.since)}${passed < 60_000 ? "" : `, for ${span(passed)}`}`;
}

function show(o, keys) {
  newest = o;
  newestKeys = keys ?? o.top.entries;
  $("about").textContent = `${o.version}${o.cluster ? `, node ${o.cluster.nodeId}` : ""}, up ${span(1000 * sum(o, "stint_uptime_seconds"))}`;
  showVerdict(o);
  showNow(o);
  showCluster(o);
  showBites(o);
  showEvents(o);
  showTop(o, newestKeys);
  showLent(o);
  showTotals(o);
  $("refreshed").textContent = `as of ${clock(o.unixNano / 1e6, true)}`;
  document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
}

async function refresh() {
  if (!document.hidden) {
    try {
      await askDay();
      const keys = await chosenKeys();
      show(await ask(asked()), keys);
      await showPolicies();
      $("problem").hidden = true;
    } catch (error) {
      $("problem").hidden = false;
      $("problem").textContent = `The server does not answer: ${error.message}. The page tries again every second.`;
      $("ready").className = "pill bad";
    }
  }
  setTimeout(refresh, 1000);
}

$("top-more").addEventListener("click", () => { $("top").className = "all"; $("top-more").hidden = true; });
$("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(dark === "dark" ? "light" : "dark");
});

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
}

if (localStorage.getItem("theme")) setTheme(localStorage.getItem("theme"));
addEventListener("keyup", (event) => { // not keydown, after which the character would be typed
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) $("key").focus();
});
$("export").addEventListener("click", () => save(`stint-${new Date(newest.unixNano / 1e6).toISOString()}.json`, "application/json", JSON.stringify({ ...newest, history: rates() }, null, 1)));
offerCSV("rates-csv", "decisions", () => [["time", "granted per second", "denied per second", "p50 latency in seconds", "p99 latency in seconds", "nodes in the sum", "without"],
  ...rates().map((p) => [new Date(1000 * p.at).toISOString(), ...(p.nodes ? [p.granted, p.denied, p.median || "", p.tail || ""] : ["", "", "", ""]), p.nodes, (p.without ?? []).join(" ")])]);
offerCSV("members-csv", "nodes", () => [["node", "role", "reachable", ...reported, "log entries behind", "last heard in ms", "address for clients"],
  ...newest.cluster.members.map((m) => [m.id, roleOf(m, newest.cluster.groups), m.reachable, ...reported.map((of) => m.traffic?.[of]), m.lag, m.contactMs, m.client])]);
offerCSV("bites-csv", "limits", () => [["limit", "since", "denied per second", "denied in 5 minutes", "keys"],
  ...newest.bites.limits.map((b) => [b.limit, b.since ? new Date(b.since).toISOString() : "", b.perSecond, b.denied, b.keys])]);
offerCSV("top-csv", "keys", () => [["key", "limit", "denied in 5 minutes", "too high by at most", "part of its requests"], ...newestKeys.map((e) => [e.key, e.by, e.count, e.error, e.own?.part])]);
offerCSV("events-csv", "events", () => rows(newest));
offerCSV("lent-csv", "lent", () => [["key", "tokens lent", "lent to"], ...newest.lent.map((e) => [e.key, e.tokens, holders(e.loans)])]);
refresh();
