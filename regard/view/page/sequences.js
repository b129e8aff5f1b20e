// Attention between the sequences of a family, along the columns of its alignment, beside their identity.

import { dropdown, make, setStatus } from "./dom.js";
import { headChoices, headTable, loadFamilies, stretchChoice, valueAt } from "./family.js";
import { heatMap } from "./heat.js";
import { LinkedCell } from "./linked.js";
import { formatNumber, formatPercent } from "./numbers.js";
import { ColourScale, sharedScale } from "./scale.js";
import { getJSON, unpack } from "./source.js";

const NONE = "This model has no attention between sequences to show.";
const NOTE = "At each residue, sequences attend to each other: queries run down, keys across. The identity of two sequences is "
  + "the fraction of equal letters, of the columns where both have one.";
const FOLLOWS = "Spearman's correlation of attention with identity, over all pairs of different sequences, and in brackets the "
  + "largest of these weights as a multiple of uniform; weights are means over residues. 1: the more alike, the more attention; "
  + "0: relatedness does not matter. Where all weights are nearly uniform, a correlation means little.";
const MIN_SCALE = 2; // times uniform: so that near-uniform attention looks even and not like a contrast

export async function showSequences(place, shown, state, change) {
  const families = await loadFamilies(shown);
  const [first] = families;
  if (!Object.keys(first.columns).length) {
    place.replaceChildren(make("p", {}, NONE));
    return;
  }
  const chosen = headChoices(first.columns, state, change);
  const residue = state.residue !== null && state.residue < first.residues.length ? state.residue : null;
  const matrices = await Promise.all(families.map((family) => loadColumns(family, chosen, residue)));
  const linked = linkedSequences(families, matrices);
  const scale = multiples(matrices.filter(Boolean));
  const names = first.residues.map((name, place) => [place, name]);
  const controls = make("div", { class: "row" }, ...chosen.controls,
    dropdown("residue", [["", "mean of all"], ...names], residue ?? "", (one) => change({ residue: one === "" ? null : Number(one) })),
    stretchChoice(first, change));
  const panels = families.flatMap((family, number) => {
    const what = `${family.label}${chosen.what}, ${residue === null ? "mean of residues" : `at ${first.residues[residue]}`}`;
    const tokens = labels(family, residue);
    const identity = new ColourScale(0, 1, { label: "fraction of equal letters" });
    const left = matrices[number] ? map("sequences", what, matrices[number], scale, tokens, ["query", "key"], linked) : make("p", {}, `No ${chosen.attention} in this model.`);
    const right = map("identity", `${family.label}identity of the sequences`, family.identity, identity, tokens, ["sequence", "sequence"], linked);
    return [left, right].map((one) => make("section", { class: "panel" }, one));
  });
  const tables = families.map((family) => headTable(`${family.label}Does attention follow identity?`, FOLLOWS, family.follows_identity, chosen, change,
    (value, name, head) => `${formatNumber(value, 2)} (${formatNumber(family.sharpest[name][head], 3)}×)`));
  place.replaceChildren(controls, make("div", { class: "panels" }, ...panels), make("p", { class: "faint" }, `${NOTE} ${first.reading}`), ...tables.filter(Boolean));
}

// One scale for all runs, that reaches at least to a few times the uniform weight.
function multiples(matrices) {
  const least = Math.max(...matrices.map(({ columns }) => MIN_SCALE / columns));
  return new ColourScale(0, Math.max(least, sharedScale(matrices).max));
}

function linkedSequences(families, matrices) {
  const report = ([query, key]) => {
    const texts = families.map(({ label, sequences, identity }, number) => {
      const matrix = matrices[number];
      if (!matrix || Math.max(query, key) >= matrix.rows) return null;
      const weight = `${formatNumber(valueAt(matrix, query, key), 3)} (uniform ${formatNumber(1 / matrix.columns, 3)})`;
      return `${label}“${sequences[query]}” attends to “${sequences[key]}” with ${weight}; identity ${formatPercent(valueAt(identity, query, key))}`;
    });
    setStatus(texts.filter(Boolean).join("; "));
  };
  return new LinkedCell({ report });
}

// At a residue each sequence is shown with its letter there.
function labels({ sequences, letters }, residue) {
  return residue === null ? sequences : sequences.map((name, number) => `${letters[number][residue] ?? ""} ${name}`);
}

function map(name, title, matrix, scale, tokens, axes, linked) {
  const label = `Map of ${title}; arrow keys choose two sequences`;
  const picture = heatMap({ name, title, label, matrix, scale, down: tokens, across: tokens, axes, room: 420, linked });
  picture.request();
  return picture.figure;
}

// The weights at a residue, or their mean over residues; null if the model of this run does not have this head.
async function loadColumns(family, { attention, head }, residue) {
  if (!(family.columns[attention] > (head ?? 0))) return null;
  const { rows, columns, values } = unpack((await getJSON(`api/recordings/${family.id}/sequences`, { attention, head })).weights);
  const side = family.sequences.length;
  if (residue !== null && residue < rows) {
    return { rows: side, columns: side, values: values.subarray(residue * columns, (residue + 1) * columns) };
  }
  const mean = new Float32Array(columns);
  values.forEach((value, place) => { mean[place % columns] += value / rows; });
  return { rows: side, columns: side, values: mean };
}
