import { $, make } from "./dom.js";
import { ask } from "./server.js";

// What an operator does to the key that is shown. The elements stay while its numbers are drawn again.

let key, view; // the key, and what is known of it
let seen; // the policy that the form of the override was filled from

// offer shows what can be done to a key; v is what is known of it, or nothing yet.
export function offer(of, v) {
  if (of !== key) {
    closeForms();
    $("key-done").replaceChildren();
  }
  key = of;
  view = v;
  $("key-actions").hidden = !v;
  $("key-override").disabled = !overridable().length;
}

// overridable are the policies in which the key belongs to one caller.
const overridable = () => (view?.policies ?? []).filter((p) => p.id !== "");

function closeForms() {
  $("reset-form").hidden = true;
  $("override-form").hidden = true;
}

// say tells what came of it.
const say = (...said) => $("key-done").replaceChildren(...said);

async function change(path, body, said) {
  try {
    const answer = await ask(path, body);
    closeForms();
    say(...said(answer));
  } catch (error) {
    say(make("span", { class: "over" }, error.message));
  }
}

// quoted is a word as redis-cli takes it.
const quoted = (word) => (/^[^\s"'\\]+$/.test(word) ? word : `"${word.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t")}"`);

$("key-copy").addEventListener("click", async () => {
  const command = `RL.INFO ${quoted(key)}`;
  try {
    await navigator.clipboard.writeText(command); // which browsers only have at https and on the machine itself
    say("Copied: ", make("code", {}, command));
  } catch {
    say("Copy this command: ", make("code", {}, command));
    getSelection().selectAllChildren($("key-done").lastChild);
  }
});

$("key-reset").addEventListener("click", () => {
  closeForms();
  $("reset-question").replaceChildren("Delete ", make("code", {}, key), ", so that its full limit is available at once? This cannot be undone.");
  $("reset-form").hidden = false;
  $("reset-yes").focus();
});
$("reset-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const reset = key;
  change("/api/key/reset", { key: reset }, () => [make("code", {}, reset), " is reset."]);
});

$("key-override").addEventListener("click", () => {
  closeForms();
  $("override-of").replaceChildren(...overridable().map((p) => make("option", { value: p.name }, p.name)));
  fill();
  $("override-form").hidden = false;
  $("override-limits").focus();
});

// fill shows the limits of the caller in the policy that is chosen.
function fill() {
  seen = overridable().find((p) => p.name === $("override-of").value);
  $("override-question").replaceChildren("Limits of the caller ", make("code", {}, seen.id), " instead of the policy’s", seen.overridden ? " (it has an override now)." : ".");
  $("override-limits").value = seen.own.join("\n");
  $("override-end").disabled = !seen.overridden;
}

function override(limits) {
  const before = seen;
  const set = (what, version, said) => change("/api/key/override", { policy: before.name, id: before.id, limits: what, version }, said);
  const undone = () => ["The limits of ", make("code", {}, before.id), " are as they were."];
  set(limits, before.version, (now) => ["The limits of ", make("code", {}, before.id), " are set. ",
    make("button", { type: "button", id: "override-undo", onclick: () => set(before.overridden ? before.own.join("\n") : "", now.version, undone) }, "Undo")]);
}

$("override-of").addEventListener("change", fill);
$("override-form").addEventListener("submit", (event) => {
  event.preventDefault();
  override($("override-limits").value);
});
$("override-end").addEventListener("click", () => override(""));
$("key-actions").addEventListener("click", (event) => { if ("cancel" in event.target.dataset) closeForms(); });
$("key-actions").addEventListener("keydown", (event) => { if (event.key === "Escape") closeForms(); });
