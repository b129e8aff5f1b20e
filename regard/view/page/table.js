// A table: a row whose cells can be edited, its prediction, and the training rows and columns behind the prediction.

import { make, setStatus } from "./dom.js";
import { formatNumber, formatPercent } from "./numbers.js";
import { saveTableButton } from "./picture.js";
import { isFile } from "./source.js";

const PAUSE = 250; // milliseconds after the last key

export function showTable(place, shown, state, { cells }) {
  if (place.querySelector(".cells") === null || place.dataset.run !== String(state.run)) {
    const text = origin(shown[0].run, shown[0].recording);
    place.replaceChildren(fields(shown[0].run, state, cells, text), make("div", { class: "panels", id: "explanations" }));
    place.dataset.run = String(state.run);
  }
  const panels = shown.map(({ run, recording, before }) => panel(run, recording, before, shown.length));
  place.querySelector("#explanations").replaceChildren(...panels);
}

export function firstRow(run) {
  return Object.fromEntries(run.columns.map((column) => [column.name, column.value]));
}

// Which row it is that the page begins with, and that it is predicted as a new one.
function origin(run, { input, target }) {
  const { row, keys, target: answer } = run.example;
  if (input.without !== row) return null;
  const names = Object.entries(keys).filter(([, cell]) => cell !== "").map(([name, cell]) => `, ${name} ${cell}`).join("");
  return `Row ${row} of the training data${names}. Its true ${target}: ${answer}. It is left out of the rows that the prediction attends to, as if it were new.`;
}

function fields(run, state, cells, text) {
  const row = state.row || firstRow(run);
  let timer = 0;
  const inputs = run.columns.map((column) => [column.name, field(column, row[column.name] ?? "")]);
  const read = () => Object.fromEntries(inputs.map(([name, input]) => [name, input.value]));
  const labels = inputs.map(([name, input], place) => {
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => cells(read()), PAUSE);
    });
    return make("label", { title: run.columns[place].range }, make("span", {}, name), input);
  });
  const title = isFile ? "Row" : "Row: edit a cell to update the prediction";
  return make("section", { "aria-label": "Cells" }, make("h2", {}, title),
    text ? make("p", { class: "faint" }, text) : null, make("div", { class: "cells" }, ...labels));
}

function field(column, value) {
  if (column.choices.length) {
    const choices = column.choices.includes(value) || value === "" ? column.choices : [value, ...column.choices];
    const options = ["", ...choices].map((one) => make("option", { value: one, selected: one === value }, one || "(missing)"));
    return make("select", { name: column.name, disabled: isFile }, ...options);
  }
  const input = make("input", { name: column.name, readonly: isFile, placeholder: column.range || "missing" });
  if (column.kind === "number") input.setAttribute("inputmode", "decimal");
  input.value = value;
  return input;
}

function panel(run, explanation, before, count) {
  const section = make("section", { class: "panel", "data-picture": "explanation" }, count > 1 ? make("h3", {}, run.label) : null);
  section.append(make("p", { class: "answer" }, explanation.summary));
  if (before && before.summary !== explanation.summary) {
    section.append(make("p", { class: "moved" }, `before: ${before.summary}`));
    setStatus(explanation.summary);
  }
  if (explanation.probabilities.length) {
    const [title, format] = explanation.is_probability ? ["Probability", formatPercent] : [`Quantiles of ${explanation.target}`, formatNumber];
    const label = (name) => explanation.is_probability ? name : `${name.replace(/^q/, "")} %`;
    const items = explanation.probabilities.map(([name, value]) => make("li", {}, `${label(name)}: ${format(value)}${moved(before, name, value, format)}`));
    section.append(make("ul", { class: "inline", "aria-label": title }, make("li", { class: "faint" }, title), ...items));
  }
  section.append(...explanation.notes.map((note) => make("p", { class: "note" }, note)));
  if (explanation.rows.length) section.append(columnsTable(explanation), rowsTable(explanation));
  return section;
}

function moved(before, name, value, format) {
  const previous = before?.probabilities.find(([other]) => other === name)?.[1];
  if (previous === undefined || format(previous) === format(value)) return "";
  return `${value > previous ? " ▲" : " ▼"} from ${format(previous)}`;
}

function rowsTable(explanation) {
  const names = ["row", "weight", explanation.target, ...explanation.names];
  const largest = explanation.rows[0][1] || 1;
  const body = explanation.rows.map(([number, weight, target, cells]) => make("tr", {},
    make("td", { class: "number" }, String(number)), make("td", { class: "weight" }, bar(weight, largest), ` ${formatPercent(weight)}`),
    make("td", { class: whole(target) }, target), ...cells.map((cell, place) => make("td", { class: cellClass(explanation, place, cell) }, cell))));
  const lines = explanation.rows.map(([number, weight, target, cells]) => [number, weight, target, ...cells]);
  const uniform = `Of ${formatNumber(explanation.context_rows)} training rows; uniform weight would be ${formatPercent(1 / Math.max(1, explanation.context_rows))}. `
    + "Columns by their effect, the largest first; cells equal to those of the row are highlighted.";
  const head = make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name))));
  return make("div", {}, make("h2", {}, "Training rows with the largest weight in this prediction"),
    make("p", { class: "faint" }, uniform),
    make("div", { class: "scroll" }, make("table", { class: "plain" }, head, make("tbody", {}, ...body))),
    saveTableButton("rows", [names, ...lines]));
}

function cellClass(explanation, place, cell) {
  if (place < explanation.keys) return "cell whole";
  const same = explanation.input.row && explanation.input.row[explanation.names[place]] === cell;
  return `cell ${same ? "same" : ""} ${whole(cell)}`;
}

// Numbers and dates are not broken over lines.
function whole(cell) {
  return /^[−+-]?\d[\d.,:/−-]*( \d\d:\d\d(:\d\d)?)?$/.test(cell) ? "whole" : "";
}

function columnsTable(explanation) {
  const largest = Math.abs(explanation.columns[0]?.[1]) || 1;
  const amount = (value) => formatNumber(explanation.is_probability ? 100 * value : value, 3);
  const cells = explanation.input.row || {};
  const body = explanation.columns.map(([name, effect], place) => make("tr", {},
    make("th", { scope: "row" }, name), make("td", { class: `cell ${whole(cells[name])}` }, cells[name] || "–"),
    make("td", { class: "weight" }, bar(effect, largest), ` ${effect < 0 ? "−" : "+"}${amount(Math.abs(effect))} `,
      make("span", { class: "faint" }, `± ${amount(explanation.errors[place])}`))));
  const base = explanation.is_probability ? formatPercent(explanation.base) : formatNumber(explanation.base);
  const of = explanation.is_probability ? `on the probability of ${explanation.prediction}, in points` : `on ${explanation.target}`;
  const head = make("thead", {}, make("tr", {}, ...["column", "cell", `effect ${of}`].map((name) => make("th", { scope: "col" }, name))));
  return make("div", {}, make("h2", {}, "Effects of the columns"),
    make("p", { class: "faint" }, `From the average prediction for training rows, ${base}, these effects lead to this one (Shapley values, ± standard error).`),
    make("div", { class: "scroll" }, make("table", { class: "plain" }, head, make("tbody", {}, ...body))),
    saveTableButton("columns", [["column", "effect", "error"], ...explanation.columns.map((one, place) => [...one, explanation.errors[place]])]));
}

function bar(value, largest) {
  const element = make("span", { class: value < 0 ? "bar less" : "bar", "aria-hidden": "true" });
  element.style.width = `max(1px, ${Math.abs(value) / largest} * var(--longest-bar))`;
  return element;
}
