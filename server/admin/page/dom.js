// Elements are made with their texts as text, so nothing a client sends can become markup.

export const $ = (id) => document.getElementById(id);

const svgTags = new Set(["svg", "path", "line", "text", "rect", "title"]);

// make returns an element with attributes, listeners (onclick: …) and children.
export function make(tag, attributes = {}, ...children) {
  const element = svgTags.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((c) => c !== undefined && c !== null));
  return element;
}

// refill gives a part of the page other children. The focus stays on the button or link of the same key, policy or node, if there still is one.
export function refill(into, ...children) {
  const had = into.contains(document.activeElement) ? document.activeElement.dataset : {};
  into.replaceChildren(...children);
  label(into);
  if (!had.look && !had.edit) return;
  [...into.querySelectorAll("button, a")].find((b) => b.dataset.look === had.look && b.dataset.edit === had.edit)?.focus();
}

// label gives each cell of a table the heading of its column, which a phone shows beside the cell.
export function label(rows) {
  const heads = rows.closest("table")?.tHead.rows[0].cells ?? [];
  for (const row of rows.rows ?? []) {
    let column = 0;
    for (const cell of row.cells) {
      if (heads[column]) cell.dataset.label = heads[column].textContent;
      column += cell.colSpan;
    }
  }
}

// tile is one number with its name; metric says which value of /metrics it is.
export function tile(name, value, { kind = "", metric, of } = {}) {
  return [make("dt", {}, name), make("dd", { class: kind, "data-metric": metric, "data-of": of }, value)];
}

// whose says which nodes' counts are added up.
export const whose = (n) => (n.without.length ? `${n.all - n.without.length} of ${n.all} nodes, without ${n.without.join(", ")}` : `All ${n.all} nodes`);

const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);
export const many = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
export const rate = (n) => (n < 999.5 ? three : short).format(n);

// percent is a share, which an estimate may make larger than all.
export function percent(part, all) {
  const n = all > 0 ? Math.min(100, (100 * part) / all) : 0;
  return n > 0 && n < 0.1 ? "< 0.1 %" : `${tenths.format(n)} %`;
}

// share is a cell with a part of all denials.
export const share = (n, all) => make("td", { class: "wide" }, make("meter", { value: n, max: Math.max(1, all), "aria-label": `${count(n)} of ${count(all)}` }), make("span", { class: "soft" }, percent(n, all)));

// clock is a time of day; of an earlier day, with its date.
export function clock(ms, exact) {
  const at = new Date(ms), today = at.toDateString() === new Date().toDateString();
  return at.toLocaleString([], { hour: "2-digit", minute: "2-digit", second: exact ? "2-digit" : undefined, hourCycle: "h23", ...(today ? {} : { month: "short", day: "numeric" }) });
}

// scaled is a number in the first unit that makes it smaller than 1000, with three digits.
function scaled(n, step, units) {
  let i = 0;
  for (; n >= 999.5 && i < units.length - 1; i++) n /= step;
  return `${three.format(n)} ${units[i]}`;
}

export const bytes = (n) => scaled(n, 1024, ["B", "KB", "MB", "GB", "TB"]);
export const seconds = (s) => (s ? scaled(s * 1e6, 1000, ["µs", "ms", "s"]) : "–");

export function span(ms) {
  const s = Math.round(ms / 1000);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`;
}
