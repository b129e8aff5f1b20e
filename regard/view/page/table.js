// A table: the cells of a row to change, what is predicted of it, and the known rows and columns that it rests on.

import { make, say } from "./dom.js";
import { savingTable } from "./picture.js";
import { isFile } from "./source.js";

const PAUSE = 250; // milliseconds after the last key

export function showTable(place, shown, state, { cells }) {
  if (place.querySelector(".cells") === null || place.dataset.run !== String(state.run)) {
    place.replaceChildren(fields(shown[0].run, state, cells), make("div", { class: "panels", id: "explanations" }));
    place.dataset.run = String(state.run);
  }
  const panels = shown.map(({ run, recording, before }) => panel(run, recording, before, shown.length));
  place.querySelector("#explanations").replaceChildren(...panels);
}

export function firstRow(run) {
  return Object.fromEntries(run.columns.map((column) => [column.name, column.value]));
}

function fields(run, state, cells) {
  const row = state.row || firstRow(run);
  let timer = 0;
  const inputs = run.columns.map((column) => [column.name, field(column, row[column.name] ?? "")]);
  const told = () => Object.fromEntries(inputs.map(([name, input]) => [name, input.value]));
  const labels = inputs.map(([name, input], place) => {
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => cells(told()), PAUSE);
    });
    const seen = run.columns[place].range;
    return make("label", { title: seen }, make("span", {}, name), input);
  });
  return make("section", { "aria-label": "Cells" }, make("h2", {}, isFile ? "A row" : "A row: change a cell, and see the prediction move"),
    make("div", { class: "cells" }, ...labels));
}

function field(column, value) {
  if (column.choices.length) {
    const words = column.choices.includes(value) || value === "" ? column.choices : [value, ...column.choices];
    const options = ["", ...words].map((one) => make("option", { value: one, selected: one === value }, one || "(unknown)"));
    return make("select", { name: column.name, disabled: isFile }, ...options);
  }
  const input = make("input", { name: column.name, readonly: isFile, placeholder: column.range || "unknown" });
  if (column.kind === "number") input.setAttribute("inputmode", "decimal");
  input.value = value;
  return input;
}

function panel(run, rest, before, count) {
  const whole = make("section", { class: "panel", "data-picture": "explanation" }, count > 1 ? make("h3", {}, run.name) : null);
  whole.append(make("p", { class: "answer" }, rest.summary));
  if (before && before.summary !== rest.summary) {
    whole.append(make("p", { class: "moved" }, `before: ${before.summary}`));
    say(rest.summary);
  }
  if (rest.probabilities.length) {
    const told = rest.probabilities.map(([name, value]) => make("li", {}, `${name}: ${fine(value)}${moved(before, name, value)}`));
    whole.append(make("ul", { class: "probabilities", "aria-label": "probabilities" }, ...told));
  }
  whole.append(...rest.notes.map((note) => make("p", { class: "note" }, note)));
  if (rest.rows.length) whole.append(columnsTable(rest), rowsTable(rest));
  return whole;
}

function moved(before, name, value) {
  const was = before?.probabilities.find(([other]) => other === name)?.[1];
  if (was === undefined || Math.abs(was - value) < 1e-6) return "";
  return value > was ? ` ▲ from ${fine(was)}` : ` ▼ from ${fine(was)}`;
}

// More digits than elsewhere: a changed cell may move little.
function fine(value) {
  return String(Number(value.toPrecision(5)));
}

function rowsTable(rest) {
  const head = ["row", "weight", rest.target, ...rest.names].map((name) => make("th", { scope: "col" }, name));
  const most = rest.rows[0][1] || 1;
  const body = rest.rows.map(([number, weight, target, cells]) => make("tr", {},
    make("td", { class: "number" }, String(number)), make("td", {}, bar(weight, most), ` ${weight.toFixed(4)}`),
    make("td", {}, target), ...cells.map((cell, place) => make("td", { class: same(rest, place, cell) }, cell))));
  const lines = rest.rows.map(([number, weight, target, cells]) => [number, weight, target, ...cells]);
  return make("div", {}, make("h2", {}, "Known rows that it rests on"),
    make("div", { class: "scroll" }, make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body))),
    savingTable("rows", [["row", "weight", rest.target, ...rest.names], ...lines]));
}

// Cells that are those of the row that is asked.
function same(rest, place, cell) {
  return rest.input.row && rest.input.row[rest.names[place]] === cell ? "same" : null;
}

function columnsTable(rest) {
  const most = rest.columns[0]?.[1] || 1;
  const body = rest.columns.map(([name, weight]) => make("tr", {},
    make("th", { scope: "row" }, name), make("td", {}, bar(weight, most), ` ${(100 * weight).toFixed(1)} %`)));
  return make("div", {}, make("h2", {}, "Columns that mattered: how far the prediction moves without them"),
    make("table", { class: "plain" }, make("tbody", {}, ...body)), savingTable("columns", [["column", "weight"], ...rest.columns]));
}

function bar(value, most) {
  const element = make("span", { class: "bar", "aria-hidden": "true" });
  element.style.width = `${Math.max(1, (120 * value) / most)}px`;
  return element;
}
