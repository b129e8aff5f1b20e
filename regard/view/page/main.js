// The page: reads its state from the address, fetches the data, and draws one view at a time.

import { make, setStatus } from "./dom.js";
import { getJSON, isFile, recordInput, uploadFile } from "./source.js";
import { readState, writeState } from "./state.js";
import { drawAnswers, drawForm, takeSameInput } from "./form.js";
import { showAlignment } from "./alignment.js";
import { showContacts, showResidues } from "./contacts.js";
import { showHead } from "./head.js";
import { showImage } from "./image.js";
import { showOverview } from "./overview.js";
import { showPositions } from "./positions.js";
import { showSequences } from "./sequences.js";
import { firstRow, showTable } from "./table.js";
import { leaveTraining, showTraining } from "./training.js";

const WITH_ATTENTION = ["pair", "summary", "text", "gaps", "label", "image"];
const VIEWS = {
  image: { title: "Image", kinds: ["image"], show: showImage, input: true },
  alignment: { title: "Alignment", kinds: ["pair", "summary"], show: showAlignment, input: true },
  contacts: { title: "Contacts", kinds: ["family"], show: showContacts, input: true },
  residues: { title: "Residues", kinds: ["family"], show: showResidues, input: true },
  sequences: { title: "Sequences", kinds: ["family"], show: showSequences, input: true },
  overview: { title: "Overview", kinds: [...WITH_ATTENTION, "family"], show: showOverview, input: true },
  head: { title: "Head", kinds: [...WITH_ATTENTION, "family"], show: showHead, input: true },
  table: { title: "Table", kinds: ["row"], input: true },
  positions: { title: "Positions", kinds: [...WITH_ATTENTION, null], show: showPositions },
  training: { title: "Training", kinds: null },
};
const EMPTY_HINTS = {
  image: "Choose an image above",
  family: "Choose or paste an alignment above",
};
const NEW_FAMILY = { structure: null, first: null, sequence: null, residue: null, above: null };
const STRUCTURE = /\.(pdb|cif|mmcif|ent|npz)(\.gz)?$/i;
const parts = Object.fromEntries(["tabs", "input", "error", "answers", "view", "status"].map((id) => [id, document.getElementById(id)]));
let runs = [];
let state = readState();
let recorded = []; // for each shown run: its number, its input and recording, and the previous recording
let fixedInput = null; // the input of an exported page, which cannot be changed
let newest = 0; // a render that was overtaken by a newer one draws nothing

function possibleViews() {
  const { kind, problem } = runs[state.run];
  const fits = ({ kinds, input }) => kinds === null || (!problem && kinds.includes(kind) && !(input && isFile && !fixedInput));
  return Object.keys(VIEWS).filter((name) => fits(VIEWS[name]));
}

// Replace what does not fit the runs by defaults.
function validate() {
  if (!runs[state.run]) state.run = 0;
  const other = runs[state.with];
  if (!other || state.with === state.run || !takeSameInput(runs[state.run], other)) state.with = null;
  const views = possibleViews();
  const curvesFirst = runs[state.run].kind === null || runs[state.run].study; // it takes no input, or is one of many
  if (!views.includes(state.view)) state.view = curvesFirst ? "training" : views[0];
  if (fixedInput) Object.assign(state, fixedInput);
}

function chosenRuns() {
  return state.with === null ? [state.run] : [state.run, state.with];
}

async function change(changes, draw = true) {
  Object.assign(state, changes);
  validate();
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
  parts.status.classList.toggle("quiet", state.view === "training"); // the charts have read-outs of their own
  parts.view.setAttribute("aria-busy", "true");
  try {
    showError("");
    if (state.view === "training") {
      parts.answers.replaceChildren();
      await fill((room) => showTraining(room, runs, state, change), late);
      return;
    }
    drawForm(parts.input, runs, state, {
      choose: (changes) => { setStatus(""); return change(changes); },
      submit: (input) => change({ ...input, token: null }),
      upload,
    });
    if (!view.input) {
      parts.answers.replaceChildren();
      const shown = chosenRuns().map((number) => ({ run: runs[number], number }));
      await fill((room) => view.show(room, shown), late);
      return;
    }
    if (!(await record(late)) || late()) return;
    if (state.view === "table") {
      parts.answers.replaceChildren();
      showTable(parts.view, recorded, state, { cells: (row) => change({ row, without: leftOut() }) });
      return;
    }
    drawAnswers(parts.answers, recorded);
    await fill((room) => view.show(room, recorded, state, change), late);
  } catch (error) {
    if (!late()) showError(error.message);
  } finally {
    if (!late()) parts.view.setAttribute("aria-busy", "false");
  }
}

// A view is drawn aside and shown when it is complete, unless the user has moved on to another.
async function fill(show, late) {
  const room = make("div");
  const ready = show(room);
  if (!parts.view.firstChild) parts.view.append(room);
  await ready;
  if (!late()) parts.view.replaceChildren(room);
}

// The training row that the prediction must not attend to: the one with which the page begins, however it is edited.
function leftOut() {
  return state.row ? state.without : runs[state.run].example.row;
}

// Gives the input to the shown runs; recordings of the same input are reused. Returns whether there is something to draw.
async function record(late) {
  const row = state.view === "table";
  const { kind } = runs[state.run];
  const input = row ? { row: state.row || firstRow(runs[state.run]), without: leftOut() } : typedInput(kind);
  if (!row && !input.text && !input.image && !input.alignment && !isFile) {
    parts.answers.replaceChildren();
    parts.view.replaceChildren(make("p", { class: "faint" }, `${EMPTY_HINTS[kind] ?? "Type a text above"} to see the model\'s attention.`));
    return false;
  }
  const key = JSON.stringify(input);
  if (kind === "family" && !isFile && recorded[0]?.key !== key) setStatus("Reading the alignment …");
  const found = await Promise.all(chosenRuns().map(async (number) => {
    const old = recorded.find((one) => one.number === number);
    if (old && old.key === key) return old;
    const recording = await recordInput(number, input);
    return { run: runs[number], number, key, recording, before: row && old ? old.recording : null };
  }));
  if (late()) return false;
  if (kind === "family" && recorded[0]?.key !== key) setStatus("");
  recorded = found;
  return true;
}

function typedInput(kind) {
  if (kind === "image") return { image: state.image };
  if (kind === "family") return { alignment: state.alignment, structure: state.structure, first: state.first ?? 1 };
  return { text: state.text, target: state.target };
}

// A file that cannot be read changes nothing. Another alignment has another structure.
async function upload(kind, file) {
  if (!file) return;
  try {
    const answer = await uploadFile(kind, file);
    await change({ ...(kind === "alignment" ? NEW_FAMILY : {}), [kind]: answer[kind], token: null });
  } catch (error) {
    showError(error.message);
  }
}

// What a file on this page would be, or null if it takes none.
function kindOfFile(name) {
  const kind = isFile ? null : runs[state.run]?.kind;
  if (kind === "family") return STRUCTURE.test(name) ? "structure" : "alignment";
  return kind === "image" ? kind : null;
}

function acceptsFiles(event) {
  return kindOfFile("") !== null && event.dataTransfer.types.includes("Files");
}

function drawTabs() {
  const views = possibleViews();
  const tabs = views.map((name) => make("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view", "aria-selected": String(name === state.view),
    tabindex: name === state.view ? "0" : "-1", onclick: () => { setStatus(""); change({ view: name }); },
  }, VIEWS[name].title));
  const focused = parts.tabs.contains(document.activeElement);
  parts.tabs.replaceChildren(...tabs);
  parts.view.setAttribute("aria-labelledby", `tab-${state.view}`);
  if (focused) parts.tabs.querySelector("[aria-selected=true]").focus();
}

parts.tabs.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const views = possibleViews();
  change({ view: views[(views.indexOf(state.view) + step + views.length) % views.length] });
});

function showError(text) {
  parts.error.hidden = !text;
  parts.error.textContent = text;
}

async function start() {
  try {
    runs = (await getJSON("api/runs")).runs;
    if (isFile) {
      const answers = await Promise.all(runs.map((_, number) => recordInput(number).catch(() => null)));
      const first = answers.findIndex((answer) => answer !== null);
      if (first >= 0) fixedInput = answers[first].input;
      if (first >= 0 && !location.hash) state.run = first;
    }
    await change({});
  } catch (error) {
    showError(error.message);
  }
}

document.addEventListener("dragover", (event) => { if (acceptsFiles(event)) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  if (!acceptsFiles(event)) return;
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file) upload(kindOfFile(file.name), file);
});
window.addEventListener("hashchange", () => { state = readState(); change({}); });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => render());
start();
