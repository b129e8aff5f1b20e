// The page: reads its state from the address, asks, and draws one view at a time.

import { make, say } from "./dom.js";
import { ask, isFile, recordInput, sendPicture } from "./source.js";
import { readState, writeState } from "./state.js";
import { alike, drawAnswers, drawForm } from "./form.js";
import { showAlignment } from "./alignment.js";
import { showHead } from "./head.js";
import { showImage } from "./image.js";
import { showOverview } from "./overview.js";
import { showPositions } from "./positions.js";
import { firstRow, showTable } from "./table.js";
import { leaveTraining, showTraining } from "./training.js";

const ATTENDS = ["pair", "summary", "text", "gaps", "label", "image"];
const VIEWS = {
  image: { title: "Image", kinds: ["image"], show: showImage, input: true },
  alignment: { title: "Alignment", kinds: ["pair", "summary"], show: showAlignment, input: true },
  overview: { title: "Overview", kinds: ATTENDS, show: showOverview, input: true },
  head: { title: "Head", kinds: ATTENDS, show: showHead, input: true },
  table: { title: "Table", kinds: ["row"], input: true },
  positions: { title: "Positions", kinds: [...ATTENDS, null], show: showPositions },
  training: { title: "Training", kinds: null },
};
const parts = Object.fromEntries(["tabs", "input", "trouble", "answers", "view"].map((id) => [id, document.getElementById(id)]));
let runs = [];
let state = readState();
let recorded = []; // for each run that is shown: its number, what it answered, and what it answered before
let kept = null; // the input of an exported page, which cannot be changed
let newest = 0; // renders that were overtaken by another draw nothing

function possible() {
  const { kind, problem } = runs[state.run];
  const fits = ({ kinds, input }) => kinds === null || (!problem && kinds.includes(kind) && !(input && isFile && !kept));
  return Object.keys(VIEWS).filter((name) => fits(VIEWS[name]));
}

function settle() {
  if (!runs[state.run]) state.run = 0;
  const other = runs[state.with];
  if (!other || state.with === state.run || !alike(runs[state.run], other)) state.with = null;
  const views = possible();
  const curves = runs[state.run].kind === null || runs[state.run].study; // nothing to give it, or one of very many
  if (!views.includes(state.view)) state.view = curves ? "training" : views[0];
  if (kept) Object.assign(state, kept);
}

function chosen() {
  return state.with === null ? [state.run] : [state.run, state.with];
}

async function change(changes, draw = true) {
  Object.assign(state, changes);
  settle();
  writeState(state);
  if (draw) await render();
}

async function render() {
  const turn = ++newest;
  const late = () => turn !== newest;
  drawTabs();
  if (state.view !== "training") leaveTraining();
  const view = VIEWS[state.view];
  parts.input.hidden = parts.answers.hidden = state.view === "training";
  try {
    trouble("");
    if (state.view === "training") {
      parts.answers.replaceChildren();
      await fill((room) => showTraining(room, runs, state, change), late);
      return;
    }
    drawForm(parts.input, runs, state, { choose: (one) => { say(""); return change(one); }, give: (given) => change({ ...given, token: null }), send });
    if (!view.input) {
      parts.answers.replaceChildren();
      const shown = chosen().map((number) => ({ run: runs[number], number }));
      await fill((room) => view.show(room, shown), late);
      return;
    }
    if (!(await record(late)) || late()) return;
    if (state.view === "table") {
      parts.answers.replaceChildren();
      showTable(parts.view, recorded, state, { cells: (row) => change({ row }) });
      return;
    }
    drawAnswers(parts.answers, recorded);
    await fill((room) => view.show(room, recorded, state, change), late);
  } catch (error) {
    if (!late()) trouble(error.message);
  }
}

// A view is drawn aside and put in place when it is whole, unless the person has gone on to another.
async function fill(show, late) {
  const room = make("div");
  const ready = show(room);
  if (!parts.view.firstChild) parts.view.append(room);
  await ready;
  if (!late()) parts.view.replaceChildren(room);
}

// Asks the runs on show for an answer to the input; what they have answered already is not asked again.
async function record(late) {
  const row = state.view === "table";
  const image = runs[state.run].kind === "image";
  const typed = image ? { image: state.image } : { text: state.text, target: state.target };
  const given = row ? { row: state.row || firstRow(runs[state.run]) } : typed;
  if (!row && !given.text && !given.image && !isFile) {
    const how = image ? "Choose a picture above" : "Type something above";
    parts.answers.replaceChildren();
    parts.view.replaceChildren(make("p", { class: "faint" }, `${how}, and see what the model looks at.`));
    return false;
  }
  const asked = JSON.stringify(given);
  const found = await Promise.all(chosen().map(async (number) => {
    const old = recorded.find((one) => one.number === number);
    if (old && old.asked === asked) return old;
    const recording = await recordInput(number, given);
    return { run: runs[number], number, asked, recording, before: row && old ? old.recording : null };
  }));
  if (late()) return false;
  recorded = found;
  return true;
}

// A file that cannot be read leaves what is shown as it is.
async function send(file) {
  if (!file) return;
  try {
    const { image } = await sendPicture(file);
    await change({ image, token: null });
  } catch (error) {
    trouble(error.message);
  }
}

function takesFiles(event) {
  return !isFile && runs[state.run]?.kind === "image" && event.dataTransfer.types.includes("Files");
}

function drawTabs() {
  const views = possible();
  const tabs = views.map((name) => make("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view", "aria-selected": String(name === state.view),
    tabindex: name === state.view ? "0" : "-1", onclick: () => { say(""); change({ view: name }); },
  }, VIEWS[name].title));
  const held = parts.tabs.contains(document.activeElement);
  parts.tabs.replaceChildren(...tabs);
  parts.view.setAttribute("aria-labelledby", `tab-${state.view}`);
  if (held) parts.tabs.querySelector("[aria-selected=true]").focus();
}

parts.tabs.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const views = possible();
  change({ view: views[(views.indexOf(state.view) + step + views.length) % views.length] });
});

function trouble(words) {
  parts.trouble.hidden = !words;
  parts.trouble.textContent = words;
}

async function begin() {
  try {
    runs = (await ask("api/runs")).runs;
    if (isFile) {
      const answers = await Promise.all(runs.map((_, number) => recordInput(number).catch(() => null)));
      const first = answers.findIndex((answer) => answer !== null);
      if (first >= 0) kept = answers[first].input;
      if (first >= 0 && !location.hash) state.run = first;
    }
    await change({});
  } catch (error) {
    trouble(error.message);
  }
}

document.addEventListener("dragover", (event) => { if (takesFiles(event)) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  if (!takesFiles(event)) return;
  event.preventDefault();
  send(event.dataTransfer.files[0]);
});
window.addEventListener("hashchange", () => { state = readState(); change({}); });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => render());
begin();
