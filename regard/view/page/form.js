// The form: which runs to show, and their input; and the answers of the models.

import { dropdown, make } from "./dom.js";
import { formatPercent } from "./numbers.js";
import { isFile } from "./source.js";

const TEXT_KINDS = ["pair", "summary", "text", "gaps", "label"];
const TAIL = 40; // characters of a prompt that are shown before its continuation

// Whether two runs take the same kind of input.
export function takeSameInput(one, other) {
  const group = (kind) => (kind === "pair" || kind === "summary" ? "pair" : kind);
  return group(one.kind) === group(other.kind);
}

export function drawForm(place, runs, state, { choose, submit, upload }) {
  const run = runs[state.run];
  const names = runs.map((one, number) => [number, one.label]);
  const others = names.filter(([number]) => number !== state.run && run.kind && takeSameInput(run, runs[number]));
  const row = make("div", { class: "row" }, dropdown("run", names, state.run, (number) => choose({ run: Number(number), with: null })));
  if (others.length) {
    const options = [["", "no other run"], ...others];
    row.append(dropdown("compare with", options, state.with ?? "", (other) => choose({ with: other === "" ? null : Number(other) })));
  }
  row.append(make("span", { class: "faint", title: run.name }, run.model));
  const focused = place.contains(document.activeElement) ? document.activeElement.name : null;
  place.replaceChildren(row);
  if (run.problem) place.append(make("p", { class: "note" }, run.problem));
  if (TEXT_KINDS.includes(run.kind)) place.append(textForm(run, state, submit));
  if (run.kind === "image" && !isFile) place.append(imageForm(run, upload));
  if (run.kind === "family" && !isFile) place.append(familyForm(run, state, { choose, upload }));
  if (focused) place.querySelector(`[name="${focused}"]`)?.focus();
}

function textForm(run, state, submit) {
  const text = make("textarea", { name: "text", rows: 2, placeholder: run.hint, readonly: isFile, spellcheck: "false" });
  text.value = state.text;
  const fields = [make("label", { class: "wide" }, make("span", {}, run.hint), text)];
  let target = null;
  if (run.kind === "pair" || run.kind === "summary") {
    const hint = "leave empty to let the model write it";
    target = make("textarea", { name: "target", rows: 2, placeholder: hint, readonly: isFile, spellcheck: "false" });
    target.value = state.target ?? "";
    fields.push(make("label", { class: "wide" }, make("span", {}, `target: ${hint}`), target));
  }
  const form = make("form", {}, make("div", { class: "row" }, ...fields));
  if (!isFile) form.lastChild.append(make("button", { class: "first", title: "Ctrl+Enter" }, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isFile) submit({ text: text.value, target: target && target.value ? target.value : null });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  return form;
}

function imageForm(run, upload) {
  const input = make("input", { type: "file", name: "image", accept: "image/*" });
  input.addEventListener("change", () => upload("image", input.files[0]));
  const text = `${run.hint}: choose a file, or drop it on the page`;
  return make("div", { class: "row" }, make("label", {}, make("span", {}, text), input));
}

let pasted = ""; // stays in its field when the form is drawn again

function familyForm(run, state, { choose, upload }) {
  const file = (kind, text, accept = null) => {
    const input = make("input", { type: "file", name: kind, accept });
    input.addEventListener("change", () => upload(kind, input.files[0]));
    return make("label", {}, make("span", {}, text), input);
  };
  const text = make("textarea", { name: "pasted", rows: 2, placeholder: ">first\nMKV-LAW\n>second\nMRVALAW", spellcheck: "false" });
  text.value = pasted;
  text.addEventListener("input", () => { pasted = text.value; });
  const form = make("form", {}, make("div", { class: "row" },
    make("label", { class: "wide" }, make("span", {}, "or paste it, as FASTA, A3M, Stockholm or Clustal"), text), make("button", { class: "first" }, "Show")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    upload("alignment", new File([text.value], "pasted alignment"));
  });
  const files = make("div", { class: "row" }, file("alignment", `${run.hint}: choose a file, or drop it on the page`));
  if (state.alignment) files.append(file("structure", "a structure to compare with (.pdb, .cif, .npz)", ".pdb,.cif,.mmcif,.ent,.npz,.gz"));
  if (state.structure) files.append(make("button", { type: "button", onclick: () => choose({ structure: null, above: null }) }, "Without the structure"));
  return make("div", {}, files, form);
}

export function drawAnswers(place, shown) {
  const panels = shown.map(({ run, recording }) => {
    const panel = make("div", { class: "panel" }, shown.length > 1 ? make("h3", {}, run.label) : null);
    if (recording.name) panel.append(make("p", { class: "faint" }, recording.name));
    panel.append(make("p", { class: "answer" }, run.kind === "text" ? continued(recording) : recording.answer));
    if (recording.probabilities.length) {
      const items = recording.probabilities.map(([name, probability]) => make("li", {}, `${name} ${formatPercent(probability)}`));
      panel.append(make("ul", { class: "inline", "aria-label": "probabilities" }, ...items));
    }
    panel.append(...recording.notes.map((note) => make("p", { class: "note" }, note)));
    return panel;
  });
  place.replaceChildren(make("div", { class: "panels" }, ...panels));
}

// The end of the prompt, and after a bar what the language model wrote.
function continued({ input, answer }) {
  return `${input.text.length > TAIL ? "…" : ""}${input.text.slice(-TAIL)}│${answer}`;
}
