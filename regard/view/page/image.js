// An image with attention on its patches: of one layer and head, and rolled out through all layers up to it.

import { choice, make, say, short } from "./dom.js";
import { viridis } from "./colour.js";
import { cut } from "./heat.js";
import { Picture } from "./picture.js";
import { ask, unpack } from "./source.js";

const GAP = 12;
const TOP = 20;
const BOTTOM = 20;
const LETTER = 6; // pixels, about
const VEIL = 0.6; // how much of the image the weights on it cover
const TILE = { least: 100, most: 300 };
const STRONGEST = 3; // patches that are told in words
const NOWHERE = "No attention of this model looks at patches of the image.";

export async function showImage(place, shown, state, change) {
  const found = await Promise.all(shown.map(({ recording }) => ask(`api/recordings/${recording.id}/image`)));
  const looks = found[0].maps;
  if (!looks.length) {
    place.replaceChildren(make("p", {}, NOWHERE));
    return;
  }
  const look = looks.find((one) => one.name === state.attention) || looks.at(-1);
  const head = state.head !== null && state.head < look.heads ? state.head : null;
  const numbers = Array.from({ length: look.heads }, (_, number) => [number, `head ${number}`]);
  const bar = make("div", { class: "row" },
    choice("attention", looks.map((one) => [one.name, one.name]), look.name, (name) => change({ attention: name })),
    choice("head", [["", "mean of all"], ...numbers], head ?? "", (one) => change({ head: one === "" ? null : Number(one) })));
  const panels = make("div", { class: "panels" });
  const how = "Click a patch to see what it looks at; click it again, or press Escape, for what the label is read from.";
  place.replaceChildren(bar, panels, make("p", { class: "faint" }, how));
  let drawn = [];
  const chosen = { patch: readPatch(state.token, found[0].patches ** 2) };
  chosen.move = (patch) => {
    chosen.patch = patch;
    drawn.forEach((one) => one.picture.ask());
    change({ token: patch === null ? null : `patch-${patch}` }, false);
  };
  const opened = await Promise.all(shown.map(async ({ run, recording }, number) => {
    const own = found[number].maps.find((one) => one.name === look.name) || found[number].maps.at(-1);
    const panel = make("section", { class: "panel" }, shown.length > 1 ? make("h3", {}, run.name) : null);
    panels.append(panel);
    if (own) return new OnImage(recording.id, found[number], own, head, chosen).open(panel);
    panel.append(make("p", {}, NOWHERE));
    return null;
  }));
  drawn = opened.filter((one) => one !== null);
  drawn[0].tell();
}

function readPatch(text, count) {
  const found = /^patch-(\d{1,6})$/.exec(text || "");
  return found && Number(found[1]) < count ? Number(found[1]) : null;
}

class OnImage {
  constructor(id, seen, look, head, chosen) {
    Object.assign(this, { id, seen, look, chosen });
    this.head = head !== null && head < look.heads ? head : null;
    this.pixels = Uint8Array.from(atob(seen.pixels), (letter) => letter.charCodeAt(0));
    const which = this.head === null ? "all heads" : `head ${this.head}`;
    this.titles = ["as the model reads it", `${look.name}, ${which}`, `rollout to ${look.name}`];
  }

  async open(place) {
    this.place = place;
    const start = `api/recordings/${this.id}`;
    const [own, rolled] = await Promise.all([
      ask(`${start}/patches`, { attention: this.look.name, head: this.head }),
      this.seen.has_rollout ? ask(`${start}/rollout`, { attention: this.look.name }) : null,
    ]);
    this.maps = [unpack(own.weights), rolled && unpack(rolled.weights)];
    const label = `The image, on it ${this.titles[1]}, and the rollout; arrow keys choose a patch, Escape none`;
    const size = () => [3 * this.tile() + 2 * GAP, TOP + this.tile() + BOTTOM];
    this.picture = new Picture({ name: "image", label, size, draw: (...all) => this.draw(...all), keyboard: true });
    this.listen();
    place.append(this.picture.figure);
    if (!rolled) place.append(make("p", { class: "note" }, "No rollout: a layer looks at slots, which lie nowhere on the image."));
    this.picture.ask();
    return this;
  }

  tile() {
    const room = ((this.place?.clientWidth || 900) - 2 * GAP) / 3;
    return Math.max(TILE.least, Math.min(TILE.most, Math.floor(room)));
  }

  // The patch whose looks are drawn; another model may cut the image into fewer.
  patch() {
    return this.chosen.patch !== null && this.chosen.patch < this.seen.patches ** 2 ? this.chosen.patch : null;
  }

  // What that patch gives to each; what the pool gives, where none is chosen or the pool alone looks.
  row({ rows, columns, values }) {
    const row = this.patch() === null || rows === 1 ? 0 : this.patch() + 1;
    return values.subarray(row * columns, (row + 1) * columns);
  }

  draw(pen, colours) {
    const tile = this.tile();
    const most = Math.floor(tile / LETTER);
    this.titles.forEach((title, number) => {
      const map = number ? this.maps[number - 1] : null;
      if (number && !map) return;
      const [x, weights] = [number * (tile + GAP), map && this.row(map)];
      const high = weights && weights.reduce((one, other) => Math.max(one, other), 1e-9);
      const { side } = this.seen;
      pen.text(cut(title, most), x, TOP / 2, { colour: colours.ink, size: 11 });
      pen.image(x, TOP, tile, tile, side, side, (row, column) => this.colour(row, column, weights, high));
      if (weights) pen.text(`brightest at ${short(high)}`, x, TOP + tile + BOTTOM / 2, { colour: colours.faint, size: 10 });
      if (this.patch() !== null) this.frame(pen, x, tile);
    });
  }

  colour(row, column, weights, high) {
    const { side, patches } = this.seen;
    const place = 3 * (row * side + column);
    const own = [this.pixels[place], this.pixels[place + 1], this.pixels[place + 2]];
    if (!weights) return own;
    const patch = Math.floor((row * patches) / side) * patches + Math.floor((column * patches) / side);
    return viridis(weights[patch] / high).map((part, i) => Math.round(VEIL * part + (1 - VEIL) * own[i]));
  }

  frame(pen, x, tile) {
    const size = tile / this.seen.patches;
    const left = x + (this.patch() % this.seen.patches) * size;
    const top = TOP + Math.floor(this.patch() / this.seen.patches) * size;
    const box = [[left, top], [left + size, top], [left + size, top + size], [left, top + size], [left, top]];
    pen.path(box, "#ffffff", 3);
    pen.path(box, "#000000", 1.2);
  }

  name(patch) {
    return `row ${Math.floor(patch / this.seen.patches) + 1}, column ${(patch % this.seen.patches) + 1}`;
  }

  tell() {
    const [map] = this.maps;
    const alone = map.rows === 1;
    const pool = this.seen.pool === "mean" ? "the mean of all patches" : `the ${this.seen.pool}`;
    const who = this.patch() === null || alone ? pool : this.name(this.patch());
    const weights = [...this.row(map)].map((weight, patch) => [weight, patch]).sort((one, other) => other[0] - one[0]);
    const told = weights.slice(0, STRONGEST).map(([weight, patch]) => `${this.name(patch)} (${weight.toFixed(3)})`);
    const more = alone && this.patch() !== null ? ". It alone looks here; for patches choose another attention" : "";
    say(`${who} looks at ${told.join("; ")}${more}`);
  }

  at(event) {
    const [x, y] = this.picture.place(event);
    const [tile, { patches }] = [this.tile(), this.seen];
    const row = Math.floor(((y - TOP) * patches) / tile);
    const column = Math.floor(((x % (tile + GAP)) * patches) / tile);
    return row >= 0 && row < patches && column >= 0 && column < patches ? row * patches + column : null;
  }

  choose(patch) {
    this.chosen.move(patch);
    this.tell();
  }

  listen() {
    const { canvas } = this.picture;
    canvas.addEventListener("click", (event) => {
      const patch = this.at(event);
      if (patch !== null) this.choose(patch === this.patch() ? null : patch);
    });
    canvas.addEventListener("keydown", (event) => {
      const { patches } = this.seen;
      const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (event.key === "Escape") this.choose(null);
      if (!way) return;
      event.preventDefault();
      const within = (place) => Math.max(0, Math.min(patches - 1, place));
      const from = this.patch() === null ? null : [Math.floor(this.patch() / patches), this.patch() % patches];
      this.choose(from ? within(from[0] + way[0]) * patches + within(from[1] + way[1]) : 0);
    });
  }
}
