// The position codes of a model as heat maps.

import { make } from "./dom.js";
import { heatMap } from "./heat.js";
import { ask, unpack } from "./source.js";

export async function showPositions(place, shown) {
  const panels = await Promise.all(shown.map(async ({ run, number }) => {
    const { pictures } = await ask(`api/runs/${number}/positions`);
    const whole = make("section", { class: "panel" }, make("h3", {}, run.name));
    if (!pictures.length) whole.append(make("p", {}, "This model has no code of positions: it knows order otherwise, or not at all."));
    for (const { stack, title, down, across, map } of pictures) {
      const picture = heatMap({
        name: "positions", label: `${stack}, ${title}; arrow keys read single numbers`, matrix: unpack(map),
        down: null, across: null, titles: [down, across], room: 420, from: null,
      });
      whole.append(make("p", { class: "faint" }, `${stack}. ${title}`), picture.figure);
      picture.ask();
    }
    return whole;
  }));
  place.replaceChildren(make("div", { class: "panels" }, ...panels));
}
