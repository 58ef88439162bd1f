import { make, span } from "./dom.js";

const width = 600, height = 180, left = 72, bottom = 20, top = 14;

// lines draws series: [{kind, values}], one value every so many seconds, the newest value last, null where there is none.
// Stacked ones stand on each other; values are null in all of them or in none. The scale ends at full, or at a round number that no value exceeds.
// No line leads to a value whose place is in breaks; gaps are shaded: {from, to, text}.
export function lines(into, series, { points, every, format, label, full, marks = [], stacked = false, breaks = [], gaps = [] }) {
  const sums = stacked ? series.map((_, n) => series[0].values.map((v, i) => (v === null ? null : series.slice(0, n + 1).reduce((sum, s) => sum + s.values[i], 0)))) : series.map((s) => s.values);
  const most = full || nice(Math.max(0, ...sums.flatMap((values) => values.filter((v) => v !== null))));
  const x = (i, n) => left + ((width - left) * (points - n + i)) / Math.max(1, points - 1);
  const y = (v) => top + (height - top - bottom) * (1 - v / most);
  const drawing = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const part of [0, 0.5, 1]) {
    drawing.append(
      make("line", { class: "grid", x1: left, x2: width, y1: y(most * part), y2: y(most * part) }),
      make("text", { x: left - 6, y: y(most * part) + 4, "text-anchor": "end" }, format(most * part)));
  }
  drawing.append(make("text", { x: left, y: height - 4 }, ago(points, every)),
    make("text", { x: width, y: height - 4, "text-anchor": "end" }, "now"));
  for (const { from, to, text } of gaps) drawing.append(make("rect", { class: "gap", x: x(from - 0.5, points).toFixed(1), width: (x(to + 1, points) - x(from, points)).toFixed(1), y: top, height: height - top - bottom }, make("title", {}, text)));
  for (const [seconds, text] of marks) { // events
    const at = x(points - 1 - seconds / every, points);
    if (at >= left) drawing.append(make("line", { class: "mark", x1: at, x2: at, y1: top, y2: height - bottom }, make("title", {}, text)));
  }
  for (const n of [...series.keys()].reverse()) { // the highest first, where they are stacked
    const parts = runs(sums[n], breaks).map((run) => ({ from: x(run[0].i, sums[n].length).toFixed(1),
      path: `M${run.map(({ v, i }) => `${x(i, sums[n].length).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}${run.length === 1 ? "h1" : ""}` }));
    if (stacked && parts.length) drawing.append(make("path", { class: `area ${series[n].kind}`, d: parts.map((p) => `${p.path}V${y(0)}H${p.from}Z`).join("") }));
    drawing.append(make("path", { class: series[n].kind, d: parts.map((p) => p.path).join("") || "M0 0" }));
  }
  into.replaceChildren(drawing);
  const at = make("text", { x: left + 4, y: top, class: "at" });
  drawing.append(at);
  pointed(into, drawing, (share) => {
    const place = Math.round(((share * width - left) / (width - left)) * (points - 1)), from = (s) => place - points + s.values.length;
    const values = series.map((s) => s.values[from(s)] ?? null);
    at.textContent = values.some((v) => v !== null) ? `${ago(points - 1 - place, every)}: ${values.map((v) => (v === null ? "–" : format(v))).join(", ")}` : "";
  });
}

// runs are the values, with their places, that a line joins.
function runs(values, breaks) {
  const all = [];
  values.forEach((v, i) => {
    if (v === null) return;
    if (i === 0 || values[i - 1] === null || breaks[i]) all.push([]);
    all.at(-1).push({ v, i });
  });
  return all;
}

// ago is how long ago a value is that is so many places before the newest.
const ago = (places, every) => (Math.round(places * every) > 0 ? `${span(1000 * Math.round(places * every))} ago` : "now");

// pointed calls show with the place of the pointer in a drawing, as a share of its width, also when the drawing has been replaced under it.
function pointed(into, drawing, show) {
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    into.dataset.at = (event.clientX - box.left) / box.width;
    show(Number(into.dataset.at));
  });
  drawing.addEventListener("pointerleave", () => { if (drawing.isConnected) delete into.dataset.at; show(NaN); });
  if (into.dataset.at) show(Number(into.dataset.at));
}

// nice is a round number at or above n.
function nice(n) {
  if (n <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].map((m) => m * power).find((m) => m >= n);
}

// bins draws how many callers have taken how much, in tenths.
export function bins(counts, label) {
  const most = Math.max(1, ...counts);
  const drawing = make("svg", { viewBox: "0 0 120 24", role: "img", "aria-label": label }, make("title", {}, label));
  counts.forEach((n, i) => {
    const size = n === 0 ? 1 : Math.max(2, (22 * n) / most);
    drawing.append(make("rect", { class: i === 9 ? "bin full" : "bin", x: i * 12 + 1, y: 24 - size, width: 10, height: size }));
  });
  return drawing;
}

// spark draws a row of numbers, the newest at the right.
export function spark(values, label) {
  const most = Math.max(1, ...values), wide = 120 / values.length;
  const drawing = make("svg", { viewBox: "0 0 120 24", role: "img", "aria-label": label, class: "spark" }, make("title", {}, label));
  values.forEach((n, i) => {
    const size = n === 0 ? 0.5 : Math.max(2, (23 * n) / most);
    drawing.append(make("rect", { class: n === 0 ? "bin none" : "bin full", x: (i * wide).toFixed(1), y: (24 - size).toFixed(1), width: (wide - 1).toFixed(1), height: size.toFixed(1) }));
  });
  return drawing;
}

// stacks draws two rows of numbers, the second on top of the first, from some minutes ago until now.
export function stacks(granted, denied, { minutes, label, title }) {
  const most = nice(Math.max(0, ...granted.map((n, i) => n + denied[i]))), wide = (width - left) / granted.length, full = height / 2 - bottom - top;
  const drawing = make("svg", { viewBox: `0 0 ${width} ${height / 2}`, role: "img", "aria-label": label });
  for (const part of [0, 1]) {
    const y = top + full * (1 - part);
    drawing.append(make("line", { class: "grid", x1: left, x2: width, y1: y, y2: y }), make("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, most * part));
  }
  granted.forEach((n, i) => {
    let under = top + full;
    for (const [kind, value] of [["granted", n], ["denied", denied[i]]]) {
      const size = (full * value) / most;
      under -= size;
      drawing.append(make("rect", { class: `bin ${kind}`, x: (left + i * wide + 1).toFixed(1), y: under.toFixed(1), width: (wide - 2).toFixed(1), height: size.toFixed(1) }, make("title", {}, title(i))));
    }
  });
  drawing.append(make("text", { x: left, y: height / 2 - 4 }, `${minutes} min ago`), make("text", { x: width, y: height / 2 - 4, "text-anchor": "end" }, "now"));
  return drawing;
}

// columns draws what was used in windows, the oldest first, and on top of it what is reserved: [{used, reserved, title}].
export function columns(windows, label) {
  const most = Math.max(1, ...windows.map((w) => w.used + w.reserved)), wide = 120 / Math.max(12, windows.length);
  const drawing = make("svg", { viewBox: "0 0 120 24", role: "img", "aria-label": label }, make("title", {}, label));
  windows.forEach((w, i) => {
    const used = (23 * w.used) / most, reserved = (23 * w.reserved) / most;
    drawing.append(
      make("rect", { class: "bin", x: i * wide + 1, y: 24 - Math.max(1, used), width: wide - 1, height: Math.max(1, used) }, make("title", {}, w.title)),
      make("rect", { class: "bin reserved", x: i * wide + 1, y: 24 - used - reserved, width: wide - 1, height: reserved }, make("title", {}, w.title)));
  });
  return drawing;
}
