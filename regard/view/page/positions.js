// The position encodings of a model as heat maps.

import { make } from "./dom.js";
import { heatMap } from "./heat.js";
import { sharedScale } from "./scale.js";
import { getJSON, unpack } from "./source.js";

export async function showPositions(place, shown) {
  const found = await Promise.all(shown.map(async ({ number }) => {
    const { pictures } = await getJSON(`api/runs/${number}/positions`);
    return pictures.map((picture) => ({ ...picture, matrix: unpack(picture.map) }));
  }));
  // Encodings of the same kind are compared on one scale.
  const all = found.flat();
  const scaleOf = (title) => sharedScale(all.filter((one) => one.title === title).map(({ matrix }) => matrix), { min: null, label: "value" });
  const panels = shown.map(({ run }, number) => {
    const panel = make("section", { class: "panel" }, make("h3", {}, run.label));
    if (!found[number].length) panel.append(make("p", {}, "This model has no position encoding to show."));
    for (const { stack, title, down, across, matrix } of found[number]) {
      const picture = heatMap({
        name: "positions", title: stack, label: `${run.label}, ${stack}, ${title}; arrow keys read single values`, matrix,
        scale: scaleOf(title), down: null, across: null, axes: [down, across], room: 420, square: matrix.rows === matrix.columns,
      });
      panel.append(make("p", { class: "faint" }, title), picture.figure);
      picture.request();
    }
    return panel;
  });
  place.replaceChildren(make("div", { class: "panels" }, ...panels));
}
