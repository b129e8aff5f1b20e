// Contacts of a family: predictions below the diagonal, the structure or classical scores above it; and beside them the
// attention between residues. Maps mark the same pair.

import { dropdown, make } from "./dom.js";
import { headChoices, headTable, linkedPair, loadFamilies, stretchChoice, valueAt } from "./family.js";
import { heatMap } from "./heat.js";
import { formatNumber } from "./numbers.js";
import { ColourScale, sharedScale } from "./scale.js";
import { getJSON, isFile, unpack } from "./source.js";

const HELP = "Hover over a pair to read it, click to keep it marked, press Escape to let it go.";
const GREY = "Grey: too near in the chain to be predicted, or not in the structure.";
const ON_CONTACTS = "Weight on contacts";

export async function showContacts(place, shown, state, change) {
  const families = await loadFamilies(shown);
  const above = chosenAbove(families[0], state);
  const linked = linkedPair(families, state, change);
  const options = families[0].above;
  const controls = make("div", { class: "row" },
    dropdown("above the diagonal", options, above, (name) => change({ above: name })), stretchChoice(families[0], change));
  const panels = families.map((family) => panel([contactMap(family, above, linked)]));
  place.replaceChildren(controls, make("div", { class: "panels" }, ...panels), make("p", { class: "faint" }, `${HELP} ${GREY} ${families[0].reading}`));
}

export async function showResidues(place, shown, state, change) {
  const families = await loadFamilies(shown);
  const [first] = families;
  if (!Object.keys(first.rows).length) {
    place.replaceChildren(make("p", {}, "This model has no attention between residues to show."));
    return;
  }
  const chosen = headChoices(first.rows, state, change);
  const sequence = !isFile && state.sequence !== null && state.sequence < first.sequences.length ? state.sequence : null;
  const matrices = await Promise.all(families.map((family) => loadRows(family, chosen, sequence)));
  const more = (pair) => weightText(families, matrices, pair);
  const linked = linkedPair(families, state, change, more);
  const scale = sharedScale(matrices.filter(Boolean), { root: true });
  const above = chosenAbove(first, state);
  const controls = make("div", { class: "row" }, ...chosen.controls, sequenceChoice(first, sequence, change),
    dropdown("above the diagonal", first.above, above, (name) => change({ above: name })), stretchChoice(first, change));
  const panels = families.flatMap((family, number) => {
    const beside = matrices[number] ? attentionMap(family, chosen.what, matrices[number], scale, linked) : make("p", {}, `No ${chosen.attention} in this model.`);
    return [panel([contactMap(family, above, linked)]), panel([beside])];
  });
  const tables = families.map((family) => headTable(`${family.label}${ON_CONTACTS}`, tableNote(family), family.on_contacts, chosen, change));
  const note = make("p", { class: "faint" }, `Residues attend along a sequence: queries run down, keys across. ${HELP} ${first.reading}`);
  place.replaceChildren(controls, make("div", { class: "panels" }, ...panels), note, ...tables.filter(Boolean));
}

function chosenAbove({ above }, state) {
  const names = above.map(([name]) => name);
  return names.includes(state.above) ? state.above : names[0];
}

function contactMap(family, above, linked) {
  const known = family.compared[above] ? above : family.above[0][0];
  const [, what] = family.above.find(([name]) => name === known);
  const title = `${family.label}below: predicted contacts; above: ${what}`;
  const picture = heatMap({
    name: "contacts",
    title,
    label: `Map of ${title}; arrow keys choose a pair`,
    matrix: family.compared[known],
    scale: new ColourScale(0, 1, { label: "probability of a contact" }),
    down: family.residues,
    across: family.residues,
    axes: ["residue", "residue"],
    linked,
  });
  picture.request();
  return picture.figure;
}

function attentionMap(family, what, matrix, scale, linked) {
  const picture = heatMap({
    name: "residues",
    title: `${family.label}${what}`,
    label: `Attention between residues, ${what}; arrow keys choose a pair`,
    matrix,
    scale,
    down: family.residues,
    across: family.residues,
    axes: ["query", "key"],
    linked,
  });
  picture.request();
  return picture.figure;
}

// The weights of this head, or null if the model of this run does not have it.
async function loadRows(family, { attention, head }, sequence) {
  if (!(family.rows[attention] > (head ?? 0))) return null;
  const own = sequence !== null && sequence < family.sequences.length ? sequence : null;
  return unpack((await getJSON(`api/recordings/${family.id}/residues`, { attention, head, sequence: own })).weights);
}

function sequenceChoice({ sequences }, chosen, change) {
  if (isFile) return null; // the file holds the mean alone
  const options = [["", "mean of all"], ...sequences.map((name, number) => [number, `${number + 1}: ${name}`])];
  return dropdown("sequence", options, chosen ?? "", (one) => change({ sequence: one === "" ? null : Number(one) }));
}

function weightText(families, matrices, [row, column]) {
  const texts = families.map(({ label, residues }, number) => {
    const matrix = matrices[number];
    if (!matrix || Math.max(row, column) >= matrix.rows) return null;
    const weight = (from, to) => `${residues[from]} → ${residues[to]} ${formatNumber(valueAt(matrix, from, to), 2)}`;
    const both = row === column ? [weight(row, column)] : [weight(row, column), weight(column, row)];
    return `${label}attention ${both.join(", ")} (uniform ${formatNumber(1 / matrix.columns, 2)})`;
  });
  return texts.filter(Boolean).map((text) => `; ${text}`).join("");
}

function tableNote({ distance, residues }) {
  const which = distance ? "pairs that touch in the structure" : `the ${residues.length} most probable contacts`;
  return `Mean attention to ${which}, over the mean attention to other pairs at least as far apart in the chain. 1: the head does not distinguish them.`;
}

function panel(children) {
  return make("section", { class: "panel" }, ...children);
}
