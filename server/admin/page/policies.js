import { $, make, refill, count, many, span, whose } from "./dom.js";
import { bins } from "./chart.js";
import { ask } from "./server.js";
import { look } from "./key.js";
import { headline, showReplay } from "./replay.js";
import { offerCSV, saveCSV } from "./csv.js";

const every = 3000;
let newest = [], shown = "", next = 0, recorded = [], nodes;

// showPolicies refreshes the list, now and then: the server goes through keys for it.
export async function showPolicies() {
  if (Date.now() < next || !$("editor").hidden) return; // the editor stands in the list
  next = Date.now() + every;
  const view = await ask("/api/policies");
  const text = JSON.stringify(view);
  recorded = view.recorded;
  if (text === shown) return; // what has the focus keeps it
  shown = text;
  nodes = view.nodes;
  newest = view.policies;
  $("policies-note").textContent = view.count === 0 ? "No policies yet. A policy keeps limits on the server under a name: press New, or use RL.POLICY SET."
    : `${view.count === 1 ? "1 policy" : `${count(view.count)} policies`}${view.count > view.policies.length ? `, showing the first ${view.policies.length}` : ""}. Usage was read from ${count(view.looked)} of ${many(view.keys, "key")}.`;
  refill($("policies"), ...view.policies.map(policy));
}

// of says whose counts follow.
const of = (n) => (n.all === 1 ? "" : `${whose(n)}: `);

function policy(p) {
  return make("article", { "data-policy": p.name },
    make("h3", {}, make("code", {}, p.name), p.shadow ? make("span", { class: "pill" }, "shadow") : "", p.strict ? make("span", { class: "pill" }, "strict") : "",
      make("button", { type: "button", "data-edit": p.name, onclick: () => edit(p) }, "Edit", make("span", { class: "hidden" }, ` ${p.name}`)),
      make("button", { type: "button", class: "link csv", "data-usage": p.name, onclick: () => saveUsage(p.name) }, "CSV", make("span", { class: "hidden" }, ` of the usage of all callers of ${p.name}`))),
    make("p", { class: "soft" }, `${of(p.here ? { ...nodes, without: ["the others, because the names are too long to be sent"] } : nodes)}${count(p.granted)} granted, ${count(p.denied)} denied, ${count(p.shadowDenied)} would have been denied` +
      (p.overrides ? `; ${p.overrides === 1 ? "1 caller has an override" : `${count(p.overrides)} callers have overrides`}` : "")),
    ...p.limits.map(limit));
}

// saveUsage has the browser keep the usage of all callers, which the server lists page by page.
async function saveUsage(policy) {
  const rows = [["id", "with", "key", "limit", "used", "reserved", "lent", "remaining", "start_ms", "end_ms"]];
  try {
    for (let cursor = "0", page; cursor !== "0" || !page; cursor = page.cursor) {
      page = await ask(`/api/policy/usage?${new URLSearchParams({ policy, cursor })}`);
      rows.push(...page.callers.map((c) => [c.id ?? c.id_base64, new URLSearchParams(c.with ?? {}), c.key ?? c.key_base64, c.limit, c.used, c.reserved, c.lent, c.remaining, c.start_ms, c.end_ms]));
      if (page.groups_elsewhere) $("policies-note").textContent = `The file is not complete: the keys of the groups ${page.groups_elsewhere.join(", ")} are on other nodes.`;
    }
    saveCSV(`usage-${policy}`, rows);
  } catch (error) {
    $("policies-note").textContent = error.message;
  }
}

function limit(l) {
  const percent = (part) => `${Math.round(part * 100)} %`;
  let level = "unused";
  if (l.callers > 0) level = l.shared ? `${percent(l.most)} used` : `${many(l.callers, "caller")}, ${count(l.full)} with nothing left, on average ${percent(l.mean)} used`;
  const fullest = l.callers > 0 && !l.shared ? make("button", { type: "button", class: "link mono", "data-look": l.mostKey, onclick: () => look(l.mostKey) }, `most used: ${l.mostKey}`) : "";
  return make("div", { class: "limit" }, make("div", {}, make("code", {}, l.spec), make("div", { class: "soft" }, level, " ", fullest)),
    l.shared ? make("meter", { min: 0, max: 1, high: 0.8, value: l.most, "aria-label": level }) : bins(l.bins, `${level}; callers by usage, in tenths`));
}

// The editor: what is applied is what the effect was shown of.

const draft = () => ({ name: $("draft-name").value, limits: $("draft-limits").value, shadow: $("draft-shadow").checked, strict: $("draft-strict").checked, of: $("draft-of").value });
let previewed = "", version = ""; // the draft whose effect is shown, and the policy that it would replace

function edit(p) {
  (p ? document.querySelector(`[data-policy="${CSS.escape(p.name)}"]`) : $("policies"))?.after($("editor"));
  $("editor").hidden = false;
  $("applied").hidden = true;
  $("editor-heading").textContent = p ? `Change ${p.name}` : "New policy";
  $("draft-name").value = p?.name ?? "";
  $("draft-name").readOnly = Boolean(p);
  $("draft-limits").value = p?.limits.map((l) => l.spec).join("\n") ?? "";
  $("draft-shadow").checked = p?.shadow ?? false;
  $("draft-strict").checked = p?.strict ?? false;
  $("draft-of").replaceChildren(...[...new Set([p?.name ?? "", ...recorded])].map((name) => make("option", { value: name }, name || "the policy of this name")));
  changed();
  $(p ? "draft-limits" : "draft-name").focus();
}

function changed() {
  const isShown = JSON.stringify(draft()) === previewed;
  $("apply").disabled = !isShown;
  $("apply-shadow").disabled = !isShown || draft().shadow;
  if (!isShown) $("effect").replaceChildren();
}

function close() {
  $("editor").hidden = true;
  $("policies").after($("editor")); // out of the list, which is filled again
  $("effect").replaceChildren();
  $("new-policy").focus();
}

async function preview(event) {
  event.preventDefault();
  const d = draft();
  try {
    const effect = await ask("/api/policy/preview", d);
    previewed = JSON.stringify(d);
    version = effect.version;
    changed();
    $("effect").replaceChildren(...describe(effect, d));
  } catch (error) {
    previewed = "";
    changed();
    $("effect").replaceChildren(make("p", { class: "over" }, error.message));
  }
}

// describe begins with the verdict of the replay, and the limits that change; what callers would meet at this instant is folded.
function describe(effect, d) {
  const intro = `${effect.new ? "A new policy" : "Replaces the existing policy"}${d.shadow ? ", in shadow mode: denials are only counted" : ""}.`;
  const changes = make("ul", { class: "diff" },
    ...effect.removed.map((spec) => make("li", {}, make("del", {}, make("code", {}, spec)), " is removed")),
    ...effect.limits.map((l) => make("li", {}, ...(l.before === l.spec ? [make("code", {}, l.spec), " as before"] :
      [l.before ? make("del", {}, make("code", {}, l.before)) : "", " ", make("ins", {}, make("code", {}, l.spec))]))));
  const instant = make("details", {}, make("summary", {}, `At this moment: what the next request for one token would get, for the callers in ${count(effect.looked)} of ${many(effect.keys, "key")}`),
    ...effect.limits.map((l) => make("div", { "data-effect": l.spec },
      make("p", {}, make("code", {}, l.spec), ` ${many(l.callers, "caller")}: ${count(l.deniedNow)} would be denied now, ${count(l.deniedThen)} with the change.`,
        l.wrongType ? make("span", { class: "over" }, ` ${count(l.wrongType)} of them would get errors until their keys expire, because these belong to another algorithm.`) : ""),
      l.examples.length ? examples(l.examples) : make("p", { class: "soft" }, "No difference for any of these callers."))));
  return [...headline(effect.replay), make("p", {}, intro), changes, ...showReplay(effect.replay, d, nodes.all), instant];
}

function examples(list) {
  const word = (allowed, left) => (allowed ? `granted, ${count(left)} left` : "denied");
  return make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, ...["caller's key", "now", "with the change", "wait"].map((t) => make("th", { scope: "col" }, t)))),
    make("tbody", {}, ...list.map((e) => make("tr", {}, make("td", { class: "keyname" }, make("code", {}, e.key)),
      make("td", {}, word(e.nowAllowed, e.nowRemaining)), make("td", {}, word(e.thenAllowed, e.thenRemaining)),
      make("td", {}, e.thenAllowed ? "" : e.waitMs < 0 ? "for ever" : span(e.waitMs)))))));
}

async function apply(change = {}) {
  const d = { ...draft(), ...change, version };
  try {
    const { before } = await ask("/api/policy", d);
    close();
    await applied(d.name, before);
  } catch (error) {
    $("effect").prepend(make("p", { class: "over" }, error.message));
  }
}

// applied shows the new state, and a way back to the one before.
async function applied(name, before) {
  previewed = "";
  next = 0;
  $("applied").hidden = false;
  $("applied").replaceChildren(make("code", {}, name), " is applied. ", make("button", { type: "button", id: "undo", onclick: () => undo(before) }, "Undo"));
  await showPolicies();
}

async function undo(before) {
  try {
    await ask("/api/policy", before);
    $("applied").replaceChildren(make("code", {}, before.name), before.remove ? " is gone again." : " is as it was.");
    next = 0;
    await showPolicies();
  } catch (error) {
    $("applied").replaceChildren(make("span", { class: "over" }, error.message));
  }
}

$("new-policy").addEventListener("click", () => edit());
$("editor").addEventListener("submit", preview);
$("editor").addEventListener("input", changed);
$("editor").addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
$("apply").addEventListener("click", () => apply());
$("apply-shadow").addEventListener("click", () => apply({ shadow: true }));
$("cancel").addEventListener("click", close);
offerCSV("policies-csv", "policies", () => [["policy", "limit", "shadow", "strict", "granted", "denied", "would have been denied", "overrides", "callers", "callers with nothing left", "mean part used"],
  ...newest.flatMap((p) => p.limits.map((l) => [p.name, l.spec, p.shadow, p.strict, p.granted, p.denied, p.shadowDenied, p.overrides, l.callers, l.full, l.mean]))]);
