// All heads of a model as small maps; one of them opens in full.

import { make } from "./dom.js";
import { viridis } from "./colour.js";
import { CanvasPen } from "./pen.js";
import { saving } from "./picture.js";
import { ask, unpack } from "./source.js";

const SIDE = 72;

export async function showOverview(place, shown, state, change) {
  const panels = await Promise.all(shown.map((one) => panel(one, shown.length, change)));
  place.replaceChildren(make("div", { class: "panels" }, ...panels));
}

async function panel({ run, recording }, count, change) {
  const { maps: looks } = await ask(`api/recordings/${recording.id}/overview`);
  const whole = make("section", { class: "panel" }, make("h3", {}, count > 1 ? run.name : "All layers and heads"));
  if (!looks.length) {
    whole.append(make("p", {}, "This model has no attention to show."));
    return whole;
  }
  const heads = Math.max(...looks.map((look) => look.heads));
  const maps = looks.map((look) => look.weights.map(unpack));
  const top = make("tr", {}, make("td"), ...Array.from({ length: heads }, (_, head) => make("th", { scope: "col" }, `head ${head}`)));
  const cell = (look, map, head) => {
    const open = () => change({ view: "head", attention: look.name, head, token: null });
    return make("td", {}, small(map, `Open ${look.name}, head ${head}`, open));
  };
  const body = looks.map((look, layer) => {
    const cells = maps[layer].map((map, head) => cell(look, map, head));
    return make("tr", {}, make("th", { scope: "row" }, look.name), ...cells);
  });
  whole.append(
    make("p", { class: "faint" }, "Who looks runs down, at what runs across; each map is brightest at its own largest weight."),
    make("div", { class: "scroll" }, make("table", { class: "heads" }, make("thead", {}, top), make("tbody", {}, ...body))),
    saving(asPicture(looks, maps, heads)),
  );
  return whole;
}

function small(map, label, open) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const pen = new CanvasPen(canvas, SIDE, SIDE, 2);
  drawMap(pen, map, 0, 0);
  return make("button", { type: "button", "aria-label": label, title: label, onclick: open }, canvas);
}

function drawMap(pen, { rows, columns, values }, x, y) {
  const most = values.reduce((high, value) => Math.max(high, value), 1e-9);
  pen.image(x, y, SIDE, SIDE, columns, rows, (row, column) => viridis(values[row * columns + column] / most));
}

function asPicture(looks, maps, heads) {
  const left = 12 + 7 * Math.max(...looks.map((look) => look.name.length));
  const draw = (pen, colours) => {
    for (let head = 0; head < heads; head++) {
      pen.text(`head ${head}`, left + head * (SIDE + 6) + SIDE / 2, 10, { colour: colours.faint, size: 11, align: "center" });
    }
    looks.forEach((look, layer) => {
      const y = 20 + layer * (SIDE + 6);
      pen.text(look.name, left - 6, y + SIDE / 2, { colour: colours.ink, size: 11, align: "right" });
      maps[layer].forEach((map, head) => drawMap(pen, map, left + head * (SIDE + 6), y));
    });
  };
  return { name: "overview", size: () => [left + heads * (SIDE + 6), 24 + looks.length * (SIDE + 6)], draw };
}
