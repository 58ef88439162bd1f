import { $, make, tile, count, many, rate, percent, bytes, span } from "./dom.js";
import { columns, lines, stacks } from "./chart.js";
import { ask } from "./server.js";
import { offer } from "./keyactions.js";

const points = 120, every = 500; // half seconds shown
let watched, remaining = [], timer;

// look watches a key: its level now, and as it drains and refills.
export function look(key) {
  $("key").value = key;
  history.replaceState(null, "", `#key=${encodeURIComponent(key)}`); // to be sent to somebody
  watched = key;
  remaining = [];
  offer(key);
  $("key-heading").replaceChildren("Key ", make("code", {}, key));
  $("key-section").hidden = false;
  $("key-section").scrollIntoView({ block: "nearest" });
  clearTimeout(timer);
  poll();
}

function close() {
  watched = undefined;
  clearTimeout(timer);
  $("key-section").hidden = true;
  history.replaceState(null, "", location.pathname);
  $("key").focus();
}

// holderName is a holder's name; of a process of a node, that of the node.
const holderName = (holder) => holder.replace(/^node\/(.+)#[^#/]*\/[0-9a-f]+$/, "node $1").replace(/^group\//, "group ");

// holders lists loans in one line.
export const holders = (loans) => loans.map((l) => `${holderName(l.holder)}: ${count(l.tokens)}${l.leftMs ? ` for ${span(l.leftMs)}` : ""}`).join(", ");

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
  const hash = make("p", { class: "soft" }, "Where keys are hashed, this key is shown as ", make("code", {}, v.hash));
  const reasons = [recent(v.recent), ...why(v)];
  offer(v.key, v);
  if (remaining.length === 1) $("key-status").textContent = v.found ? `${v.key}: ${count(v.remaining)} of ${count(v.limit)} left` : `${v.key} does not exist`; // said once, though the numbers go on
  if (!v.found) {
    $("key-result").replaceChildren(make("p", {}, "The key does not exist or has expired: its full limit is available."), ...reasons, hash);
    return;
  }
  const parameters = Object.entries(v.params).map(([name, text]) => `${name.replaceAll("_", " ")} ${text}${name === "period" ? " s" : ""}`).join(", ");
  const chart = make("div");
  lines(chart, [{ kind: "median", values: remaining }], { points, every: every / 1000, format: rate, label: `${count(v.remaining)} of ${count(v.limit)} left`, full: v.limit });
  $("key-result").replaceChildren(
    make("p", {}, v.algorithm.replaceAll("-", " "), `: ${parameters}`),
    make("dl", { class: "tiles small" }, ...[
      tile("left", count(v.remaining), { kind: v.remaining > 0 ? "" : "denied" }), tile("of", count(v.limit)),
      tile("full again in", span(v.resetMs)), tile("memory used", bytes(v.bytes)),
    ].map((pair) => make("div", {}, ...pair))),
    make("meter", { min: 0, max: v.limit, value: Math.max(0, v.remaining), "aria-label": `${count(v.remaining)} of ${count(v.limit)} left` }),
    v.lent ? make("p", { id: "key-lent" }, `${count(v.lent)} lent: ${holders(v.loans)}`) : "",
    ...reasons, make("figure", {}, make("figcaption", {}, "Tokens left"), chart), usage(v.windows), hash);
}

// recent draws what became of the requests for the key.
function recent(r) {
  if (!r) return make("p", { class: "soft", id: "key-recent" }, "No requests for this key were counted at this node in the last 5 minutes. The requests of a key are counted if a policy limits it, or after its first denial. With --top-keys off, none are.");
  const every = r.everyMs / 1000, sum = (all) => all.reduce((a, b) => a + b, 0);
  const said = `${many(sum(r.granted), "request")} granted and ${count(sum(r.denied))} denied`;
  const note = [r.oneIn > 1 ? ` Only one in ${count(r.oneIn)} callers is counted.` : "", r.knownMs < 299_000 ? ` Counted for ${span(r.knownMs)}.` : ""].join("");
  return make("figure", { id: "key-recent" }, make("figcaption", {}, `In the last 5 minutes ${said} at this node.${note} `, make("span", { class: "key granted" }, "granted"), " ", make("span", { class: "key denied" }, "denied")),
    stacks(r.granted, r.denied, { minutes: 5, label: said, title: (i) => `${span((r.granted.length - i) * 1000 * every)} ago: ${count(r.granted[i])} granted, ${count(r.denied[i])} denied in ${every} s` }));
}

// usage draws what was used in the windows that are kept.
function usage(windows) {
  if (!windows) return "";
  const oldestFirst = windows.map((w) => ({ ...w, title: `${w.startMs ? `from ${new Date(w.startMs).toISOString().slice(0, 16).replace("T", " ")} UTC: ` : ""}${count(w.used)} used${w.reserved ? `, ${count(w.reserved)} reserved` : ""}` })).reverse();
  const now = oldestFirst[oldestFirst.length - 1].title;
  return make("figure", { id: "key-usage" }, make("figcaption", {}, `Used in the last ${many(windows.length, "window")}; in the present one, ${now}`), columns(oldestFirst, `Used in the last ${windows.length} windows`));
}

// part is the share of a key's own requests that was denied; where only some requests are counted, with the most by which it is off.
export const part = (own) => percent(own.part, 1) + (own.error > 0 ? ` ± ${percent(own.error, 1)}` : "");

const own = (v) => (v.own ? `${part(v.own)} of its ${count(v.own.requests)} requests in the last ${span(v.own.withinMs)}, ` : "");

// why says which limits of which policies deny, and how much of all denials the key has.
function why(v) {
  const denials = v.denied ? `${many(v.denied, "denial")} in the last 5 minutes: ${own(v)}${percent(v.denied, v.deniedAll)} of the denials of all keys${v.decided >= v.denied ? `, and ${percent(v.denied, v.decided)} of all requests` : ""}.`
    : "This key is not among those denied most in the last 5 minutes.";
  const none = v.policies.length ? "" : make("p", { class: "soft" }, "No policy limits this key: its limit comes with each request.");
  return [make("p", { id: "key-denials" }, denials), none, ...v.policies.map((p) => make("div", { "data-why": p.name },
    make("p", {}, "Policy ", make("code", {}, p.name), p.shadow ? ", in shadow mode," : "", p.limits.some((l) => l.denies) ? " would deny the next request:" : " would grant the next request:"),
    make("ul", {}, ...p.limits.map((l) => make("li", { class: l.denies ? "over" : "" }, make("code", {}, l.spec), `: ${count(Math.max(0, l.left))} of ${count(l.limit)} left`,
      l.denies ? (l.waitMs < 0 ? ", never enough" : `, enough again in ${span(l.waitMs)}`) : "")))))];
}

// address looks at the key that the page's address names, if it names one.
function address() {
  const named = /^#key=(.*)$/.exec(location.hash);
  if (!named) return;
  try {
    look(decodeURIComponent(named[1]));
  } catch { /* it is no address of this page */ }
}

$("key-close").addEventListener("click", close);
addEventListener("hashchange", address);
address();
$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  look($("key").value);
});
