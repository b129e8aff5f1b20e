// The form: which runs, and what to give them.

import { choice, make } from "./dom.js";
import { isFile } from "./source.js";

const TEXT = ["pair", "summary", "text", "gaps", "label"];

// Kinds that the same input makes sense for.
export function alike(one, other) {
  const both = (kind) => (kind === "pair" || kind === "summary" ? "pair" : kind);
  return both(one.kind) === both(other.kind);
}

export function drawForm(place, runs, state, { choose, give, send }) {
  const own = runs[state.run];
  const names = runs.map((run, number) => [number, run.name]);
  const others = names.filter(([number]) => number !== state.run && own.kind && alike(own, runs[number]));
  const row = make("div", { class: "row" }, choice("run", names, state.run, (run) => choose({ run: Number(run), with: null })));
  if (others.length) {
    const options = [["", "nothing"], ...others];
    const chosen = state.with === null ? "" : state.with;
    row.append(choice("compare with", options, chosen, (other) => choose({ with: other === "" ? null : Number(other) })));
  }
  row.append(make("span", { class: "faint" }, own.model));
  const held = place.contains(document.activeElement) ? document.activeElement.name : null;
  place.replaceChildren(row);
  if (own.problem) place.append(make("p", { class: "note" }, own.problem));
  if (TEXT.includes(own.kind)) place.append(textForm(own, state, give));
  if (own.kind === "image" && !isFile) place.append(pictureForm(own, send));
  if (held) place.querySelector(`[name="${held}"]`)?.focus();
}

function textForm(run, state, give) {
  const text = make("textarea", { name: "text", rows: 2, placeholder: run.hint, readonly: isFile, spellcheck: "false" });
  text.value = state.text;
  const fields = [make("label", { class: "wide" }, make("span", {}, run.hint), text)];
  let target = null;
  if (run.kind === "pair" || run.kind === "summary") {
    const hint = "left empty, the model writes it";
    target = make("textarea", { name: "target", rows: 2, placeholder: hint, readonly: isFile, spellcheck: "false" });
    target.value = state.target ?? "";
    fields.push(make("label", { class: "wide" }, make("span", {}, "its target: " + hint), target));
  }
  const form = make("form", {}, make("div", { class: "row" }, ...fields));
  if (!isFile) form.lastChild.append(make("button", { class: "first", title: "Ctrl+Enter" }, "Look"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isFile) give({ text: text.value, target: target && target.value ? target.value : null });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  return form;
}

function pictureForm(run, send) {
  const input = make("input", { type: "file", name: "image", accept: "image/*" });
  input.addEventListener("change", () => send(input.files[0]));
  const words = `${run.hint}: choose a file, or drop it on the page`;
  return make("div", { class: "row" }, make("label", {}, make("span", {}, words), input));
}

export function drawAnswers(place, shown) {
  const panels = shown.map(({ run, recording }) => {
    const panel = make("div", { class: "panel" }, shown.length > 1 ? make("h3", {}, run.name) : null);
    if (recording.name) panel.append(make("p", { class: "faint" }, recording.name));
    const words = run.kind === "text" ? recording.input.text.slice(-40) + "│" + recording.answer : recording.answer;
    panel.append(make("p", { class: "answer" }, run.kind === "text" && recording.input.text.length > 40 ? "…" + words : words));
    if (recording.probabilities.length) {
      const told = recording.probabilities.map(([name, chance]) => make("li", {}, `${name} ${(100 * chance).toFixed(1)} %`));
      panel.append(make("ul", { class: "probabilities", "aria-label": "probabilities" }, ...told));
    }
    panel.append(...recording.notes.map((note) => make("p", { class: "note" }, note)));
    return panel;
  });
  place.replaceChildren(make("div", { class: "panels" }, ...panels));
}
