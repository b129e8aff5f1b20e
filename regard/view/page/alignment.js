// Alignment: the attention of each target token to the source tokens, side by side for two runs on one colour scale.

import { dropdown, make } from "./dom.js";
import { heatMap } from "./heat.js";
import { sharedScale } from "./scale.js";
import { getJSON, unpack } from "./source.js";

export async function showAlignment(place, shown, state, change) {
  const cross = shown.flatMap(({ recording }) => recording.maps.filter((map) => map.cross));
  const names = [...new Set(cross.map((map) => map.name))];
  const heads = Math.max(0, ...cross.map((map) => map.heads));
  const chosen = names.includes(state.attention) ? state.attention : "";
  const numbers = Array.from({ length: heads }, (_, head) => [head, `head ${head}`]);
  const controls = make("div", { class: "row" },
    dropdown("attention", [["", "mean of all"], ...names.map((name) => [name, name])], chosen, (name) => change({ attention: name || null })),
    dropdown("head", [["", "mean of all"], ...numbers], state.head ?? "", (head) => change({ head: head === "" ? null : Number(head) })));
  const found = await Promise.all(shown.map((one) => load(one, chosen, state.head)));
  const scale = sharedScale(found.filter(Boolean).map(({ matrix }) => matrix));
  const panels = shown.map(({ run }, number) => panel(run, found[number], scale));
  place.replaceChildren(names.length ? controls : "", make("div", { class: "panels" }, ...panels));
}

// The alignment of one run, or null if its model does not attend to the source. Layers and heads that this model does
// not have are replaced by the mean of all.
async function load({ recording }, name, head) {
  const cross = recording.maps.filter((map) => map.cross);
  if (!cross.length) return null;
  const attention = cross.some((map) => map.name === name) ? name : null;
  const chosenHead = head !== null && head < cross[0].heads ? head : null;
  const answer = await getJSON(`api/recordings/${recording.id}/alignment`, { attention, head: chosenHead });
  const what = `${attention ?? "mean over layers"}, ${chosenHead === null ? "mean over heads" : `head ${chosenHead}`}`;
  return { matrix: unpack(answer.weights), labels: answer.labels, what };
}

function panel(run, alignment, scale) {
  const section = make("section", { class: "panel" });
  if (!alignment) {
    section.append(make("h3", {}, run.label), make("p", {}, "No alignment: this model does not attend to a source."));
    return section;
  }
  const picture = heatMap({
    name: "alignment",
    title: `${run.label}: ${alignment.what}`,
    label: `Alignment of ${run.label}, ${alignment.what}; arrow keys read single weights`,
    matrix: alignment.matrix,
    scale,
    down: alignment.labels.queries,
    across: alignment.labels.keys,
    axes: ["target", "source"],
  });
  picture.request();
  section.append(picture.figure);
  return section;
}
