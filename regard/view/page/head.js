// One attention head: lines between tokens, or a map of all weights.

import { dropdown, make } from "./dom.js";
import { heatMap } from "./heat.js";
import { Lines } from "./lines.js";
import { formatNumber } from "./numbers.js";
import { sharedScale } from "./scale.js";
import { getHead, unpack } from "./source.js";

const MAX_SIZE = 512; // rows and columns of a map
const ROOT_FROM = 64; // keys: then weights are small, and a square-root scale shows them better
const NO_ATTENTION = "This model has no attention to show.";

export async function showHead(place, shown, state, change) {
  const maps = shown[0].recording.maps;
  if (!maps.length) {
    place.replaceChildren(make("p", {}, NO_ATTENTION));
    return;
  }
  const chosen = maps.find((map) => map.name === state.attention) || maps[0];
  const head = Math.min(state.head ?? 0, chosen.heads - 1);
  const heads = Array.from({ length: chosen.heads }, (_, number) => [number, `head ${number}`]);
  const controls = make("div", { class: "row" },
    dropdown("attention", maps.map((map) => [map.name, map.name]), chosen.name, (name) => change({ attention: name, token: null })),
    dropdown("head", heads, head, (number) => change({ head: Number(number) })),
    dropdown("as", [["lines", "lines"], ["map", "map"]], state.mode, (mode) => change({ mode })));
  const panels = make("div", { class: "panels" });
  place.replaceChildren(controls, panels);
  // A model that lacks this attention shows its first one.
  const selected = shown.map(({ run, recording }, number) => {
    const map = recording.maps.find((one) => one.name === chosen.name) || (number ? recording.maps[0] : null);
    const own = map ? Math.min(head, map.heads - 1) : 0;
    const what = map ? `${map.name}, head ${own}` : "";
    return { run, recording, map, head: own, title: shown.length > 1 ? `${run.label}: ${what}` : what };
  });
  if (state.mode === "map") panels.append(...await mapPanels(selected));
  else await Promise.all(selected.map((one, number) => linesPanel(panels, one, number ? null : state.token, change)));
}

async function linesPanel(panels, { run, recording, map, head, title }, token, change) {
  const panel = make("section", { class: "panel" }, make("h3", {}, map ? title : run.label));
  panels.append(panel);
  if (!map) panel.append(make("p", {}, NO_ATTENTION));
  else await new Lines(recording.id, map, head, token, (chosen) => change({ token: chosen }, false)).open(panel);
}

async function mapPanels(selected) {
  const answers = await Promise.all(selected.map(({ recording, map, head }) =>
    (map ? getHead(recording.id, map.name, head, { max_size: MAX_SIZE }) : null)));
  const matrices = answers.map((answer) => answer && unpack(answer.weights));
  const root = matrices.some((matrix) => matrix && matrix.columns > ROOT_FROM);
  const scale = sharedScale(matrices.filter(Boolean), { root });
  return selected.map(({ run, map, title }, number) => {
    const panel = make("section", { class: "panel" });
    if (map) panel.append(...drawMap(title, map, matrices[number], answers[number].labels, scale));
    else panel.append(make("h3", {}, run.label), make("p", {}, NO_ATTENTION));
    return panel;
  });
}

function drawMap(title, map, matrix, labels, scale) {
  const whole = matrix.rows === map.queries && matrix.columns === map.keys;
  const each = [map.queries / matrix.rows, map.keys / matrix.columns];
  const picture = heatMap({
    name: "head-map",
    title,
    label: `Map of ${title}; arrow keys read single weights`,
    matrix,
    scale,
    down: whole ? labels.queries : null,
    across: whole ? labels.keys : null,
    axes: ["query", "key"],
    each,
  });
  picture.request();
  const note = `Each cell is the mean of ${each.map((one) => formatNumber(one, 2)).join(" × ")} weights.`;
  return [picture.figure, ...(whole ? [] : [make("p", { class: "faint" }, note)])];
}
