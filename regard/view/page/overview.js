// All heads of a model as small maps on one colour scale; a click opens a head.

import { make } from "./dom.js";
import { theme } from "./colour.js";
import { CanvasPen } from "./pen.js";
import { saveButtons } from "./picture.js";
import { BAR_HEIGHT, sharedScale } from "./scale.js";
import { getJSON, unpack } from "./source.js";

const SIDE = 72;
const BAR_WIDTH = 200;

export async function showOverview(place, shown, state, change) {
  const found = await Promise.all(shown.map(async ({ recording }) => {
    const { maps } = await getJSON(`api/recordings/${recording.id}/overview`);
    return maps.map((map) => ({ ...map, matrices: map.weights.map(unpack) }));
  }));
  const scale = sharedScale(found.flat().flatMap(({ matrices }) => matrices), { root: true });
  const panels = shown.map(({ run }, number) => panel(run, found[number], scale, shown.length, change));
  const note = "Queries run down, keys across. All maps share one colour scale, which grows with the square root of the weight.";
  const legend = found.flat().length ? [make("p", { class: "faint" }, note), colourBar(scale)] : [];
  place.replaceChildren(...legend, make("div", { class: "panels" }, ...panels));
}

function panel(run, maps, scale, count, change) {
  const section = make("section", { class: "panel" }, make("h3", {}, count > 1 ? run.label : "All layers and heads"));
  if (!maps.length) {
    section.append(make("p", {}, "This model has no attention to show."));
    return section;
  }
  const heads = Math.max(...maps.map((map) => map.heads));
  const top = make("tr", {}, make("td"), ...Array.from({ length: heads }, (_, head) => make("th", { scope: "col" }, `head ${head}`)));
  const cell = (map, matrix, head) => {
    const open = () => change({ view: "head", attention: map.name, head, token: null });
    return make("td", {}, thumbnail(matrix, scale, `Open ${map.name}, head ${head}`, open));
  };
  const body = maps.map((map) => {
    const cells = map.matrices.map((matrix, head) => cell(map, matrix, head));
    return make("tr", {}, make("th", { scope: "row" }, map.name), ...cells);
  });
  section.append(
    make("div", { class: "scroll" }, make("table", { class: "heads" }, make("thead", {}, top), make("tbody", {}, ...body))),
    saveButtons(asPicture(run, maps, heads, scale)),
  );
  return section;
}

function colourBar(scale) {
  const canvas = make("canvas", { role: "img", "aria-label": `Colour scale: ${scale.description}`, class: "bar-canvas" });
  scale.draw(new CanvasPen(canvas, BAR_WIDTH + 20, BAR_HEIGHT), theme(), 1, 0, BAR_WIDTH);
  canvas.style.width = `${BAR_WIDTH + 20}px`;
  return canvas;
}

function thumbnail(matrix, scale, label, open) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  drawMap(new CanvasPen(canvas, SIDE, SIDE, 2), matrix, scale, 0, 0);
  return make("button", { type: "button", "aria-label": label, title: label, onclick: open }, canvas);
}

function drawMap(pen, { rows, columns, values }, scale, x, y) {
  pen.image(x, y, SIDE, SIDE, columns, rows, (row, column) => scale.colour(values[row * columns + column]));
}

// The same for a file, with the name of the run and the colour bar.
function asPicture(run, maps, heads, scale) {
  const left = 12 + 7 * Math.max(...maps.map((map) => map.name.length));
  const bottom = 42 + maps.length * (SIDE + 6);
  const draw = (pen, colours) => {
    pen.text(run.label, 4, 10, { colour: colours.ink, size: 12, bold: true });
    for (let head = 0; head < heads; head++) {
      pen.text(`head ${head}`, left + head * (SIDE + 6) + SIDE / 2, 28, { colour: colours.faint, size: 11, align: "center" });
    }
    maps.forEach((map, layer) => {
      const y = 38 + layer * (SIDE + 6);
      pen.text(map.name, left - 6, y + SIDE / 2, { colour: colours.ink, size: 11, align: "right" });
      map.matrices.forEach((matrix, head) => drawMap(pen, matrix, scale, left + head * (SIDE + 6), y));
    });
    scale.draw(pen, colours, left, bottom, BAR_WIDTH);
  };
  return { name: "overview", size: () => [left + Math.max(heads * (SIDE + 6), BAR_WIDTH + 10), bottom + BAR_HEIGHT], draw };
}
