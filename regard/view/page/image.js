// Attention on the patches of an image: of one layer and head, and rolled out through all layers up to it.
//
// Colours show multiples of the uniform weight, on one scale for both maps and all runs. The scale reaches at least to
// four times uniform, so that near-uniform attention looks even and not like a contrast.

import { cut, dropdown, make, setStatus } from "./dom.js";
import { frame } from "./heat.js";
import { formatNumber } from "./numbers.js";
import { Picture } from "./picture.js";
import { BAR_HEIGHT, ColourScale } from "./scale.js";
import { getJSON, unpack } from "./source.js";

const GAP = 12;
const TOP = 20;
const BOTTOM = BAR_HEIGHT + 10;
const LETTER = 6; // approximate width in pixels
const OPACITY = 0.6; // of the weights drawn over the image
const MIN_SCALE = 4; // times uniform
const TILE = { min: 100, max: 300 };
const STRONGEST = 3; // patches that the status line names
const NO_PATCHES = "No attention of this model has the patches of the image as keys.";

export async function showImage(place, shown, state, change) {
  const images = await Promise.all(shown.map(({ recording }) => getJSON(`api/recordings/${recording.id}/image`)));
  const maps = images[0].maps;
  if (!maps.length) {
    place.replaceChildren(make("p", {}, NO_PATCHES));
    return;
  }
  const map = maps.find((one) => one.name === state.attention) || maps.at(-1);
  const head = state.head !== null && state.head < map.heads ? state.head : null;
  const numbers = Array.from({ length: map.heads }, (_, number) => [number, `head ${number}`]);
  const controls = make("div", { class: "row" },
    dropdown("attention", maps.map((one) => [one.name, one.name]), map.name, (name) => change({ attention: name })),
    dropdown("head", [["", "mean of all"], ...numbers], head ?? "", (one) => change({ head: one === "" ? null : Number(one) })));
  const panels = make("div", { class: "panels" });
  const help = "Click a patch to see its attention; click it again, or press Escape, for the attention of the pooling.";
  place.replaceChildren(controls, panels, make("p", { class: "faint" }, help));
  let drawn = [];
  const selection = { patch: readPatch(state.token, images[0].patches ** 2) };
  selection.max = () => Math.max(MIN_SCALE, ...drawn.map((one) => one.largest()));
  selection.move = (patch) => {
    selection.patch = patch;
    drawn.forEach((one) => one.picture.request());
    change({ token: patch === null ? null : `patch-${patch}` }, false);
  };
  const opened = await Promise.all(shown.map(async ({ run, recording }, number) => {
    const own = images[number].maps.find((one) => one.name === map.name) || images[number].maps.at(-1);
    const panel = make("section", { class: "panel" }, shown.length > 1 ? make("h3", {}, run.label) : null);
    panels.append(panel);
    if (own) return new AttentionImage(recording.id, images[number], own, head, selection).open(panel);
    panel.append(make("p", {}, NO_PATCHES));
    return null;
  }));
  drawn = opened.filter((one) => one !== null);
  drawn.forEach((one) => one.picture.request());
  drawn[0].report();
}

function readPatch(text, count) {
  const found = /^patch-(\d{1,6})$/.exec(text || "");
  return found && Number(found[1]) < count ? Number(found[1]) : null;
}

class AttentionImage {
  constructor(id, image, map, head, selection) {
    Object.assign(this, { id, image, map, selection });
    this.head = head !== null && head < map.heads ? head : null;
    this.pixels = Uint8Array.from(atob(image.pixels), (letter) => letter.charCodeAt(0));
    const heads = this.head === null ? "mean of heads" : `head ${this.head}`;
    this.titles = ["input of the model", `${map.name}, ${heads}`, `rollout to ${map.name}`];
  }

  async open(place) {
    this.place = place;
    const start = `api/recordings/${this.id}`;
    const [attention, rollout] = await Promise.all([
      getJSON(`${start}/patches`, { attention: this.map.name, head: this.head }),
      this.image.has_rollout ? getJSON(`${start}/rollout`, { attention: this.map.name }) : null,
    ]);
    this.maps = [unpack(attention.weights), rollout && unpack(rollout.weights)];
    const label = `The image with ${this.titles[1]}, and the rollout; arrow keys choose a patch, Escape the pooling`;
    const size = () => [3 * this.tile() + 2 * GAP, TOP + this.tile() + BOTTOM];
    this.picture = new Picture({ name: "image", label, size, draw: (...all) => this.draw(...all), keyboard: true });
    this.listen();
    place.append(this.picture.figure);
    if (!rollout) place.append(make("p", { class: "note" }, "No rollout: a layer attends to slots, which have no place on the image."));
    return this;
  }

  tile() {
    const room = ((this.place?.clientWidth || 900) - 2 * GAP) / 3;
    return Math.max(TILE.min, Math.min(TILE.max, Math.floor(room)));
  }

  get count() {
    return this.image.patches ** 2;
  }

  // The selected patch, or null for the pooling; another model may have fewer patches.
  patch() {
    return this.selection.patch !== null && this.selection.patch < this.count ? this.selection.patch : null;
  }

  // The weights of the selected patch, or of the pooling if none is selected or only the pooling attends here.
  weights({ rows, columns, values }) {
    const row = this.patch() === null || rows === 1 ? 0 : this.patch() + 1;
    return values.subarray(row * columns, (row + 1) * columns);
  }

  // The largest weight that is drawn, as a multiple of uniform.
  largest() {
    return Math.max(...this.maps.filter(Boolean).map((map) => this.count * Math.max(...this.weights(map))));
  }

  scale() {
    const label = `attention weight, multiples of uniform (${formatNumber(1 / this.count, 3)})`;
    return new ColourScale(0, this.selection.max(), { label, unit: "×" });
  }

  draw(pen, colours) {
    const [tile, scale] = [this.tile(), this.scale()];
    this.titles.forEach((title, number) => {
      const map = number ? this.maps[number - 1] : null;
      if (number && !map) return;
      const [x, weights, { side }] = [number * (tile + GAP), map && this.weights(map), this.image];
      pen.text(cut(title, Math.floor(tile / LETTER)), x, TOP / 2, { colour: colours.ink, size: 11 });
      pen.image(x, TOP, tile, tile, side, side, (row, column) => this.colour(row, column, weights, scale));
      if (this.patch() !== null) this.markPatch(pen, x, tile);
    });
    scale.draw(pen, colours, tile + GAP, TOP + tile + 8, Math.min(2 * tile + GAP, 260));
  }

  colour(row, column, weights, scale) {
    const { side, patches } = this.image;
    const place = 3 * (row * side + column);
    const own = [this.pixels[place], this.pixels[place + 1], this.pixels[place + 2]];
    if (!weights) return own;
    const patch = Math.floor((row * patches) / side) * patches + Math.floor((column * patches) / side);
    return scale.colour(weights[patch] * this.count).map((part, i) => Math.round(OPACITY * part + (1 - OPACITY) * own[i]));
  }

  markPatch(pen, x, tile) {
    const size = tile / this.image.patches;
    const [row, column] = [Math.floor(this.patch() / this.image.patches), this.patch() % this.image.patches];
    frame(pen, x + column * size, TOP + row * size, size, size);
  }

  name(patch) {
    return `row ${Math.floor(patch / this.image.patches) + 1}, column ${(patch % this.image.patches) + 1}`;
  }

  report() {
    const [map] = this.maps;
    const onlyPool = map.rows === 1;
    const pool = this.image.pool === "mean" ? "the mean of all patches" : `the ${this.image.pool}`;
    const viewer = this.patch() === null || onlyPool ? pool : this.name(this.patch());
    const weights = [...this.weights(map)].map((weight, patch) => [weight, patch]).sort((one, other) => other[0] - one[0]);
    const strongest = weights.slice(0, STRONGEST).map(([weight, patch]) =>
      `${this.name(patch)} (${formatNumber(weight, 3)}, ${formatNumber(weight * this.count, 2)}× uniform)`);
    const more = onlyPool && this.patch() !== null ? ". Only the learned query attends here; choose another attention for patches" : "";
    setStatus(`${viewer} attends to ${strongest.join("; ")}${more}`);
  }

  at(event) {
    const [x, y] = this.picture.position(event);
    const [tile, { patches }] = [this.tile(), this.image];
    const row = Math.floor(((y - TOP) * patches) / tile);
    const column = Math.floor(((x % (tile + GAP)) * patches) / tile);
    return row >= 0 && row < patches && column >= 0 && column < patches ? row * patches + column : null;
  }

  choose(patch) {
    this.selection.move(patch);
    this.report();
  }

  listen() {
    const { canvas } = this.picture;
    canvas.addEventListener("click", (event) => {
      const patch = this.at(event);
      if (patch !== null) this.choose(patch === this.patch() ? null : patch);
    });
    canvas.addEventListener("keydown", (event) => {
      const { patches } = this.image;
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (event.key === "Escape") this.choose(null);
      if (!step) return;
      event.preventDefault();
      const within = (place) => Math.max(0, Math.min(patches - 1, place));
      const from = this.patch() === null ? null : [Math.floor(this.patch() / patches), this.patch() % patches];
      this.choose(from ? within(from[0] + step[0]) * patches + within(from[1] + step[1]) : 0);
    });
  }
}
