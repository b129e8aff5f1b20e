// What the views of a family share: its data, the pair of residues that is marked, choices, and a table of heads.

import { dropdown, make, setStatus } from "./dom.js";
import { formatNumber, formatPercent } from "./numbers.js";
import { LinkedCell } from "./linked.js";
import { getJSON, isFile, unpack } from "./source.js";

const MATRICES = ["contact", "mean_field", "identity", "distance"];

// For each shown run, what is the same for all layers and heads.
export async function loadFamilies(shown) {
  return Promise.all(shown.map(async ({ run, recording }) => {
    const family = await getJSON(`api/recordings/${recording.id}/family`);
    const matrices = Object.fromEntries(MATRICES.map((name) => [name, family[name] ? unpack(family[name]) : null]));
    const compared = Object.fromEntries(Object.entries(family.compared).map(([name, matrix]) => [name, unpack(matrix)]));
    return { ...family, ...matrices, compared, id: recording.id, label: shown.length > 1 ? `${run.label}: ` : "" };
  }));
}

export function valueAt({ columns, values }, row, column) {
  return values[row * columns + column];
}

// The pair of residues that all maps mark; a click keeps it in the address. `more(pair)` adds to its description.
export function linkedPair(families, state, change, more = () => "") {
  const [first] = families;
  const report = (pair) => setStatus(pairText(families, pair) + more(pair));
  const pin = (pair) => change({ token: pair && `pair-${pair[0]}-${pair[1]}` }, false);
  const pinned = readPair(state.token, first.residues.length);
  const linked = new LinkedCell({ report, pin, pinned, symmetric: true, guides: true });
  if (pinned) report(pinned);
  return linked;
}

function readPair(text, count) {
  const found = /^pair-(\d{1,6})-(\d{1,6})$/.exec(text || "");
  const pair = found && [Number(found[1]), Number(found[2])];
  return pair && pair.every((place) => place < count) ? pair : null;
}

function pairText(families, pair) {
  const [i, j] = [...pair].sort((one, other) => one - other);
  const [first] = families;
  if (j >= first.residues.length) return "";
  const names = `${first.residues[i]} and ${first.residues[j]}`;
  if (j - i < first.separation) return `${names}: nearer than ${first.separation} residues in the chain, not predicted`;
  const contacts = families.filter((family) => j < family.residues.length)
    .map((family) => `${family.label}probability of a contact ${formatPercent(valueAt(family.contact, i, j))}`);
  return `${names}: ${contacts.join("; ")}${distanceText(first, i, j)}; mean-field coupling ${formatNumber(valueAt(first.mean_field, i, j), 3)}`;
}

function distanceText({ distance, touching }, i, j) {
  if (!distance) return "";
  const apart = valueAt(distance, i, j);
  if (Number.isNaN(apart)) return "; distance unknown";
  return `; distance ${formatNumber(apart, 3)} Å, ${apart < touching ? "a contact" : "no contact"}`;
}

// Which stretch of a long chain is shown.
export function stretchChoice({ residues, first, length }, change) {
  if (isFile || residues.length >= length) return null;
  const starts = [];
  for (let start = 1; start + residues.length <= length; start += Math.ceil(residues.length / 2)) starts.push(start);
  starts.push(length - residues.length + 1);
  if (!starts.includes(first)) starts.push(first);
  const options = [...new Set(starts)].sort((one, other) => one - other).map((start) => [start, `${start} to ${start + residues.length - 1} of ${length}`]);
  return dropdown("residues", options, first, (start) => change({ first: Number(start), token: null, residue: null }));
}

// Which attention and head of those in `names`, whose values are their numbers of heads.
export function headChoices(names, state, change) {
  const known = Object.keys(names);
  const attention = known.includes(state.attention) ? state.attention : known.at(-1);
  const head = state.head !== null && state.head < names[attention] ? state.head : null;
  const numbers = Array.from({ length: names[attention] }, (_, number) => [number, `head ${number}`]);
  const controls = [
    dropdown("attention", known.map((name) => [name, name]), attention, (name) => change({ attention: name })),
    dropdown("head", [["", "mean of all"], ...numbers], head ?? "", (one) => change({ head: one === "" ? null : Number(one) })),
  ];
  return { attention, head, what: `${attention}, ${head === null ? "mean of heads" : `head ${head}`}`, controls };
}

// A number for each layer and head; a click chooses the head.
export function headTable(title, note, values, chosen, change, text = (value) => formatNumber(value, 2)) {
  const names = Object.keys(values);
  if (!names.length) return null;
  const heads = Math.max(...names.map((name) => values[name].length));
  const top = make("tr", {}, make("td"), ...Array.from({ length: heads }, (_, head) => make("th", { scope: "col" }, `head ${head}`)));
  const cell = (name, value, head) => {
    const shownValue = text(value, name, head);
    const pressed = name === chosen.attention && head === chosen.head;
    const choose = () => change({ attention: name, head });
    return make("td", { class: "number" }, make("button", {
      type: "button", class: pressed ? "same" : null, "aria-pressed": String(pressed), "aria-label": `${name}, head ${head}: ${shownValue}`, onclick: choose,
    }, shownValue));
  };
  const body = names.map((name) => make("tr", {}, make("th", { scope: "row" }, name), ...values[name].map((value, head) => cell(name, value, head))));
  const table = make("table", { class: "plain" }, make("thead", {}, top), make("tbody", {}, ...body));
  return make("section", {}, make("h2", {}, title), make("p", { class: "faint" }, note), make("div", { class: "scroll" }, table));
}
