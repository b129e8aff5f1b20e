// One head: lines between tokens, or a map of all weights.

import { choice, make } from "./dom.js";
import { heatMap } from "./heat.js";
import { Lines } from "./lines.js";
import { askHead, unpack } from "./source.js";

const MOST = 512; // rows and columns of a map

export async function showHead(place, shown, state, change) {
  const looks = shown[0].recording.maps;
  if (!looks.length) {
    place.replaceChildren(make("p", {}, "This model has no attention to show."));
    return;
  }
  const look = looks.find((one) => one.name === state.attention) || looks[0];
  const head = Math.min(state.head ?? 0, look.heads - 1);
  const heads = Array.from({ length: look.heads }, (_, number) => [number, `head ${number}`]);
  const bar = make("div", { class: "row" },
    choice("attention", looks.map((one) => [one.name, one.name]), look.name, (name) => change({ attention: name, token: null })),
    choice("head", heads, head, (number) => change({ head: Number(number) })),
    choice("as", [["lines", "lines"], ["map", "map"]], state.mode, (mode) => change({ mode })));
  const panels = make("div", { class: "panels" });
  place.replaceChildren(bar, panels);
  const open = shown.map(async ({ run, recording }, number) => {
    const own = recording.maps.find((one) => one.name === look.name) || (number ? recording.maps[0] : null);
    const panel = make("section", { class: "panel" });
    panels.append(panel);
    if (!own) {
      panel.append(make("h3", {}, run.name), make("p", {}, "This model has no attention to show."));
      return;
    }
    const which = Math.min(head, own.heads - 1);
    panel.append(make("h3", {}, `${shown.length > 1 ? run.name + ": " : ""}${own.name}, head ${which}`));
    if (state.mode === "map") panel.append(await asMap(recording, own, which));
    else await new Lines(recording.id, own, which, number ? null : state.token, (token) => change({ token }, false)).open(panel);
  });
  await Promise.all(open);
}

async function asMap(recording, look, head) {
  const answer = await askHead(recording.id, look.name, head, { max_size: MOST });
  const matrix = unpack(answer.weights);
  const whole = matrix.rows === look.queries && matrix.columns === look.keys;
  const picture = heatMap({
    name: "head-map",
    label: `Map of ${look.name}, head ${head}; arrow keys read single weights`,
    matrix,
    down: whole ? answer.labels.queries : null,
    across: whole ? answer.labels.keys : null,
    titles: ["looks", "at"],
    each: [look.queries / matrix.rows, look.keys / matrix.columns],
  });
  picture.ask();
  const note = `each point is the mean of a patch of ${(look.queries / matrix.rows).toFixed(1)} × ${(look.keys / matrix.columns).toFixed(1)} weights`;
  return make("div", {}, picture.figure, whole ? null : make("p", { class: "faint" }, note));
}
