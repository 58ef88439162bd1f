// The page of the playground. Its decisions are made by playStint, which cmd/playground/main.go sets.

// What each algorithm is asked for a limit: so many requests per unit, and so many at once. A row that is shown is
// chosen at first.
const algorithms = [
  { word: "TB", name: "Token bucket", shown: true, ask: (l) => `TB.ACQUIRE user:7 ${l.burst} ${l.limit}/${l.unit}` },
  { word: "LQ", name: "Queue", shown: true, ask: (l) => `LB.QUEUE user:7 ${l.burst} ${l.limit}/${l.unit}` },
  { word: "FW", name: "Fixed window", shown: true, ask: (l) => `FW.ACQUIRE user:7 ${l.limit} 1${l.unit}` },
  { word: "SL", name: "Sliding window log", shown: true, ask: (l) => `SL.ACQUIRE user:7 ${l.limit} 1${l.unit}` },
  { word: "SW", name: "Sliding window counter", ask: (l) => `SW.ACQUIRE user:7 ${l.limit} 1${l.unit}` },
  { word: "MW", name: "Token bucket that waits",
    ask: (l) => `TB.ACQUIRE user:7 ${l.burst} ${l.limit}/${l.unit} MAXWAIT 1s` },
  { word: "CC", name: "Concurrency", ask: (l) => `CC.ACQUIRE user:7 ${l.burst} 60s request-1` },
  { word: "FS", name: "Fair share of two callers", ask: (l) => `FS.ACQUIRE pool ${l.burst} ${l.limit}/${l.unit} {}` },
];

const playground = document.getElementById("playground");
const form = playground.querySelector("form");
const rows = document.getElementById("rows");
const load = () => Object.fromEntries(new FormData(form));

// row is the part of the page for an algorithm.
function row(algorithm) {
  const section = playground.querySelector("template").content.firstElementChild.cloneNode(true);
  const command = section.querySelector("input");
  section.dataset.word = algorithm.word;
  section.querySelector("h2").textContent = algorithm.name;
  command.setAttribute("aria-label", `Command: ${algorithm.name}`);
  command.addEventListener("input", () => draw());
  section.querySelector("button").addEventListener("click", ({ target }) => {
    navigator.clipboard.writeText(`redis-cli ${command.value.replaceAll("{}", "quiet")}`).then(() => {
      target.textContent = "Copied";
      setTimeout(() => { target.textContent = "Copy"; }, 2000);
    });
  });
  return section;
}

// arrange has a row for each chosen algorithm, with the command for the limit in the form.
function arrange() {
  const limit = load();
  rows.replaceChildren(...algorithms.filter(({ word }) => form.elements[word].checked).map((algorithm) => {
    const section = row(algorithm);
    section.querySelector("input").value = algorithm.ask(limit);
    return section;
  }));
  history.replaceState(null, "", `#${new URLSearchParams(new FormData(form))}`);
  draw();
}

// draw plays the traffic through each command, and draws all on one scale.
function draw() {
  if (!form.checkValidity()) return;
  const { kind, perSecond, seconds, work } = load();
  const outcomes = [...rows.children].map((section) => {
    const command = section.querySelector("input").value;
    return [section, playStint(command, kind, Number(perSecond), Number(seconds), Number(work))];
  });
  const highest = Math.max(1, ...outcomes.flatMap(([, { bins = [] }]) =>
    bins.map((b) => Math.max(b.granted + b.waiting + b.denied, b.through))));
  for (const [section, outcome] of outcomes) {
    const text = section.querySelector(".summary");
    text.textContent = outcome.error ?? summary(outcome);
    text.classList.toggle("error", "error" in outcome);
    const picture = section.querySelector("svg");
    picture.setAttribute("aria-label", text.textContent);
    picture.innerHTML = outcome.error ? "" : `<g>${bars(outcome.bins, highest)}</g>`;
  }
  playground.dataset.drawn = Number(playground.dataset.drawn ?? 0) + 1;
}

// bars are the requests of each part of the time, and a line of those that went ahead in it.
function bars(bins, highest) {
  const scale = 125 / highest;
  const width = 1000 / bins.length;
  let line = "";
  const all = bins.map((bin, i) => {
    let top = 130;
    line += `${i ? "L" : "M"}${i * width},${128 - bin.through * scale}H${(i + 1) * width}`;
    return ["granted", "waiting", "denied"].map((kind) => {
      const height = bin[kind] * scale;
      top -= height;
      return `<rect class="${kind}" x="${i * width}" y="${top}" width="${width - 1}" height="${height}"/>`;
    }).join("");
  });
  return `${all.join("")}<path d="${line}"/>`;
}

function summary({ granted, waiting, denied, longestWait, callers }) {
  const parts = [`${granted} granted at once`];
  if (waiting) parts.push(`${waiting} granted after a wait of up to ${longestWait.toFixed(2)} s`);
  parts.push(`${denied} denied`);
  const each = callers.map((c) => `${c.name}: ${c.granted} of ${c.asked} granted`);
  return `${parts.join(", ")}.${each.length ? ` ${each.join("; ")}.` : ""}`;
}

// begin sets the form as the address says, so that what is tried can be sent to somebody else.
function begin() {
  const chosen = new URLSearchParams(location.hash.slice(1));
  for (const { word, name, shown } of algorithms) {
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: word });
    box.checked = chosen.size ? chosen.has(word) : Boolean(shown);
    label.append(box, ` ${name}`);
    document.getElementById("algorithms").append(label);
  }
  for (const [name, value] of chosen) {
    if (form.elements[name] && form.elements[name].type !== "checkbox") form.elements[name].value = value;
  }
  form.addEventListener("input", arrange);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("again").addEventListener("click", draw);
  arrange();
}

async function start() {
  const go = new Go();
  const program = await fetch("playground.wasm.gz");
  const bytes = new Response(program.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const { instance } = await WebAssembly.instantiate(await bytes, go.importObject);
  go.run(instance);
  begin();
}

start().catch((error) => { rows.textContent = `The engine could not be loaded: ${error.message}`; });
