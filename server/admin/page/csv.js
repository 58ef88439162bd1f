import { $, make } from "./dom.js";

// field is a cell's text for a file. A key may begin like a formula of a spreadsheet program, so such a text gets a quote before it.
function field(text) {
  const safe = /^[=+\-@\t\r\n]/.test(text) && !/^-?[0-9.]+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// csv is a table of texts and numbers as RFC 4180 has it.
export const csv = (rows) => rows.map((row) => row.map((cell) => field(String(cell ?? ""))).join(",") + "\r\n").join("");

// save has the browser keep a text in a file.
export function save(name, type, text) {
  const file = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: file, download: name }).click();
  URL.revokeObjectURL(file);
}

// saveCSV has the browser keep rows as a file.
export const saveCSV = (name, rows) => save(`stint-${name}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.csv`, "text/csv", csv(rows));

// offerCSV has a button save rows as a file. The first row is the heading.
export function offerCSV(id, name, rows) {
  $(id).addEventListener("click", () => saveCSV(name, rows()));
}
