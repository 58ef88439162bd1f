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

// tile is one number with its name; metric says which value of /metrics it is.
export function tile(name, value, { kind = "", metric, of } = {}) {
  return [make("dt", {}, name), make("dd", { class: kind, "data-metric": metric, "data-of": of }, value)];
}

const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });
const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);
export const rate = (n) => (n < 1000 ? whole.format(Math.round(n)) : short.format(n));

export function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i === 0 ? n : n.toPrecision(3)} ${units[i]}`;
}

export function seconds(s) {
  if (!s) return "–";
  if (s < 1e-3) return `${(s * 1e6).toPrecision(3)} µs`;
  if (s < 1) return `${(s * 1e3).toPrecision(3)} ms`;
  return `${s.toPrecision(3)} s`;
}

export function span(ms) {
  const s = Math.round(ms / 1000);
  if (ms < 1000) return `${ms} ms`;
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`;
}
