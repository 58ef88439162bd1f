import { $, make, tile, count, rate, bytes, seconds } from "./dom.js";
import { lines } from "./chart.js";
import { ask } from "./server.js";
import { showPolicies } from "./policies.js";
import { look, holders } from "./key.js";

const points = 121; // seconds shown
const history = { granted: [], denied: [], median: [], tail: [] };
let before;

// sum adds up the values of a metric whose labels have the values given.
function sum(overview, name, labels = {}) {
  return (overview.metrics[name] ?? []).filter((s) => Object.entries(labels).every(([k, v]) => s.labels?.[k] === v))
    .reduce((total, s) => total + s.value, 0);
}

// quantile is a latency that a part of those since the last answer did not exceed, null without any.
function quantile(now, last, part) {
  const counts = now.buckets.map((n, i) => n - last.buckets[i]);
  const rank = part * counts.reduce((a, b) => a + b, 0);
  if (rank === 0) return null;
  for (let i = 0, total = 0; i < counts.length; i++) {
    total += counts[i];
    if (total >= rank) return now.bounds[i];
  }
  return null;
}

function remember(name, value) {
  history[name].push(value);
  if (history[name].length > points) history[name].shift();
}

function showNow(o) {
  const granted = sum(o, "stint_decisions_total", { outcome: "granted" });
  const denied = sum(o, "stint_decisions_total", { outcome: "denied" });
  const now = { time: o.unixNano / 1e9, granted, denied, latency: o.latency };
  if (before && now.time > before.time && granted >= before.granted && denied >= before.denied) {
    const passed = now.time - before.time;
    remember("granted", (granted - before.granted) / passed);
    remember("denied", (denied - before.denied) / passed);
    remember("median", quantile(o.latency, before.latency, 0.5));
    remember("tail", quantile(o.latency, before.latency, 0.99));
  }
  before = now;
  const last = (name) => history[name].at(-1) ?? 0;
  $("tiles").replaceChildren(...[
    tile("granted per second", rate(last("granted")), { kind: "granted" }),
    tile("denied per second", rate(last("denied")), { kind: "denied" }),
    tile("median latency", seconds(last("median"))),
    tile("99 % within", seconds(last("tail"))),
    tile("connections", count(sum(o, "stint_connections")), { metric: "stint_connections" }),
    tile("keys", count(sum(o, "stint_keys")), { metric: "stint_keys" }),
    tile("memory of keys", bytes(sum(o, "stint_keys_bytes"))),
  ].flat().map(pair));
  lines($("rates"), [{ kind: "granted", values: history.granted }, { kind: "denied", values: history.denied }], points, rate,
    `Now ${rate(last("granted"))} granted and ${rate(last("denied"))} denied per second`);
  lines($("latencies"), [{ kind: "median", values: history.median }, { kind: "tail", values: history.tail }], points, (v) => (v ? seconds(v) : "0"),
    `Now a median of ${seconds(last("median"))}, 99 % within ${seconds(last("tail"))}`);
}

// pair keeps a name and its number in one cell of the grid.
function pair(element, i, all) {
  return i % 2 === 0 ? make("div", {}, element, all[i + 1]) : "";
}

function showTotals(o) {
  const outcomes = ["granted", "denied", "error"];
  const policies = ["granted", "denied", "shadow_denied"];
  $("totals").replaceChildren(...[
    ...outcomes.map((of) => tile(of, count(sum(o, "stint_decisions_total", { outcome: of })), { metric: "stint_decisions_total", of })),
    ...outcomes.slice(0, 2).map((of) => tile(`tokens ${of}`, count(sum(o, "stint_tokens_total", { outcome: of })), { metric: "stint_tokens_total", of })),
    ...policies.map((of) => tile(`by policies ${of.replace("_", " ")}`, count(sum(o, "stint_policy_decisions_total", { outcome: of })), { metric: "stint_policy_decisions_total", of })),
    tile("commands", count(sum(o, "stint_commands_total")), { metric: "stint_commands_total" }),
    tile("errors", count(sum(o, "stint_command_errors_total")), { metric: "stint_command_errors_total" }),
    tile("connections let in", count(sum(o, "stint_connections_accepted_total")), { metric: "stint_connections_accepted_total" }),
    tile("keys expired", count(sum(o, "stint_expired_keys_total")), { metric: "stint_expired_keys_total" }),
  ].flat().map(pair));
}

// keyCell shows a key, which can be looked up if it is whole.
const keyCell = (e) => make("td", { class: "keyname" }, e.whole ? make("button", { type: "button", class: "link mono", onclick: () => look(e.key) }, e.key || "(empty)") : make("code", {}, e.key));

function showLent(o) {
  $("lent-section").hidden = !o.lent.length;
  $("lent").replaceChildren(...o.lent.map((e) => make("tr", {}, keyCell(e),
    make("td", { class: "number", "data-lent": e.key }, count(e.tokens)), make("td", {}, holders(e.loans)))));
}

function showTop(o) {
  const notes = { off: "Not counted: --top-keys is off.", hashed: "Keys are shown as hashes; look up a key to see its hash." };
  const most = Math.max(1, ...o.top.entries.map((e) => e.count));
  $("top-note").textContent = notes[o.top.mode] ?? (o.top.entries.length ? `${count(o.top.total)} denials of all keys.` : "No denials.");
  $("top").replaceChildren(...o.top.entries.map((e) => make("tr", {},
    keyCell(e),
    make("td", { class: "number", "data-top": e.key }, count(e.count)),
    make("td", { class: "number" }, count(e.error)),
    make("td", { class: "wide" }, make("meter", { value: e.count, max: most, "aria-label": `${e.count} of ${most}` })))));
}

function showCluster(o) {
  $("cluster").hidden = !o.cluster;
  if (!o.cluster) return;
  const c = o.cluster;
  $("cluster-state").textContent = `This node, ${c.nodeId}, is ${c.state} in term ${c.term}; ` + (c.leader ? `${c.leader} leads.` : "there is no leader.");
  $("members").replaceChildren(...c.members.map((m) => make("tr", { "data-member": m.id },
    make("td", {}, m.id, m.id === c.nodeId ? " (this)" : ""),
    make("td", { class: "part" }, m.leader ? "leader" : m.voter ? "follower" : "non-voter"),
    make("td", { class: m.reachable ? "" : "over" }, m.reachable ? "yes" : "no"),
    make("td", { class: "number" }, count(m.lag)),
    make("td", { class: "number" }, m.contactMs < 0 ? "–" : count(Math.round(m.contactMs))),
    make("td", {}, m.client))));
}

function show(o) {
  $("about").textContent = `${o.version}${o.cluster ? `, node ${o.cluster.nodeId}` : ""}`;
  $("ready").textContent = o.ready;
  $("ready").className = `pill ${o.ready === "ready" ? "good" : "bad"}`;
  showNow(o);
  showCluster(o);
  showTop(o);
  showLent(o);
  showTotals(o);
  $("refreshed").textContent = `as of ${new Date(o.unixNano / 1e6).toLocaleTimeString()}`;
  document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
}

async function refresh() {
  if (!document.hidden) {
    try {
      show(await ask("/api/overview"));
      await showPolicies();
      $("problem").hidden = true;
    } catch (error) {
      $("problem").hidden = false;
      $("problem").textContent = `No answer: ${error.message}. Trying again.`;
      $("ready").className = "pill bad";
    }
  }
  setTimeout(refresh, 1000);
}

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
refresh();
