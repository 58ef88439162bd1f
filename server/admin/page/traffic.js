import { $, make, rate, seconds, whose, clock } from "./dom.js";
import { lines } from "./chart.js";
import { ask } from "./server.js";
import { marks } from "./events.js";

// The charts of decisions and latencies, of all nodes or one. A point is known of the nodes that are in it: those without are named, the lines
// are broken where the nodes in the sum change, and what lies there is no dip.

const recentMinutes = 5, fewest = 30; // points of a chart
let recent = new Map(), day = new Map(); // points by their times in seconds: one a second, one a minute
let dayAsked = 0, newest, nodes = [];

// at is the node that is chosen, "" for all.
const at = () => $("node").value;

// asked is where the newest points are.
export const asked = () => `/api/overview?since=${Math.max(0, ...recent.keys())}${at() && `&node=${encodeURIComponent(at())}`}`;

// remember takes in the points of an answer, which may replace those there are, and forgets old ones.
export function remember(o) {
  if (o.node !== at()) return; // another was chosen meanwhile
  for (const p of o.history) recent.set(p.at, p);
  const first = Math.max(0, ...recent.keys()) - recentMinutes * 60;
  for (const time of recent.keys()) if (time <= first) recent.delete(time);
}

// askDay asks for the points of the day, once a minute while they are shown.
export async function askDay() {
  if (Number($("range").value) === recentMinutes || Date.now() - dayAsked < 60_000) return;
  dayAsked = Date.now();
  day = new Map((await ask(`/api/history${at() && `?node=${encodeURIComponent(at())}`}`)).history.map((p) => [p.at, p]));
}

// latest is the newest point.
export const latest = () => recent.get(Math.max(...recent.keys())) ?? { nodes: 0, granted: 0, denied: 0, median: 0, tail: 0 };

// range is the points that the charts show, undefined where nothing is known. While the server is young, they begin at its start.
function range() {
  const minutes = Number($("range").value), all = minutes === recentMinutes ? recent : day, every = minutes === recentMinutes ? 1 : 60;
  const last = Math.max(0, ...all.keys()), known = (last - Math.min(last, ...all.keys())) / every + 1;
  const points = Math.min((minutes * 60) / every, Math.max(fewest, known));
  return { every, points: Array.from({ length: points }, (_, i) => all.get(last - (points - 1 - i) * every)) };
}

// rates are the points that the charts show and that are known.
export const rates = () => range().points.filter(Boolean);

// spansWithout are the runs of points that lack the same nodes: [first, last, text], as the chart has them.
function spansWithout(points) {
  const all = [];
  points.forEach((p, i) => {
    const names = p?.without?.join(", ");
    if (!names) return;
    const last = all.at(-1);
    if (last?.names === names && last.to === i - 1) last.to = i;
    else all.push({ names, from: i, to: i });
  });
  const time = (i) => clock(1000 * points[i].at, true);
  return all.map(({ names, from, to }) => ({ from, to, text: `${to === points.length - 1 ? `since ${time(from)}` : from === to ? `at ${time(from)}` : `from ${time(from)} to ${time(to)}`} without ${names}` }));
}

// drawTraffic draws the range that is chosen.
export function drawTraffic(o) {
  newest = o;
  const { every, points } = range(), now = latest(), gaps = spansWithout(points);
  const values = (kind) => points.map((p) => (p?.nodes ? p[kind] : null)), some = (kind) => values(kind).map((v) => v || null);
  const nodesOf = (p) => `${p?.nodes} ${p?.without?.join()}`, breaks = points.map((p, i) => i > 0 && nodesOf(p) !== nodesOf(points[i - 1]));
  const same = { points: points.length, every, marks: marks(o), breaks, gaps };
  lines($("rates"), [{ kind: "granted", values: values("granted") }, { kind: "denied", values: values("denied") }], { ...same, format: rate, stacked: true,
    label: `Now ${rate(now.granted)} granted and ${rate(now.denied)} denied per second` });
  lines($("latencies"), [{ kind: "median", values: some("median") }, { kind: "tail", values: some("tail") }], { ...same, format: (v) => (v ? seconds(v) : "0"),
    label: `Now half of the commands take at most ${seconds(now.median)}, and 99 % at most ${seconds(now.tail)}` });
  if (!o.cluster) return;
  const without = now.without ?? [], said = at() ? (without.length ? `Node ${at()} does not report.` : `Node ${at()} only.`) : `${whose({ all: now.nodes + without.length, without })}, added up.`;
  const most = 3, earlier = gaps.slice(-most).map((g) => g.text).join("; ");
  const text = `${said}${earlier && ` Shaded in the charts${gaps.length > most ? ", most recently" : ""}: ${earlier}.`}`;
  if ($("in-sum").textContent !== text) $("in-sum").textContent = text; // screen readers speak what changes
}

// showWhose offers the nodes to choose from.
export function showWhose(o) {
  const names = (o.cluster?.members ?? []).map((m) => m.id);
  $("whose").hidden = names.length < 2;
  $("slowest").textContent = names.length < 2 || at() ? "" : " at the slowest node";
  if (names.join() === nodes.join()) return;
  const before = at();
  nodes = names;
  $("node").replaceChildren(make("option", { value: "" }, "all nodes"), ...names.map((name) => make("option", { value: name }, `node ${name}`)));
  $("node").value = names.includes(before) ? before : "";
  if (at() !== before) forget();
}

// forget is for when another node is chosen.
function forget() {
  recent = new Map();
  day = new Map();
  dayAsked = 0;
}

async function again() {
  dayAsked = 0;
  await askDay().catch(() => undefined); // the next refresh tells
  if (newest) drawTraffic(newest);
}

$("range").addEventListener("change", again);
$("node").addEventListener("change", () => {
  forget();
  again();
});
