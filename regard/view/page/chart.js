// A chart: curves of several groups over each other, each the mean of its runs with a band from the lowest to the highest.

import { say, short } from "./dom.js";
import { Picture } from "./picture.js";
import { together } from "./groups.js";

const [WIDTH, HEIGHT] = [640, 300];
const ROW = 16; // of the legend in a file
const MARGIN = { left: 62, right: 14, top: 26, bottom: 34 };
const INNER = [WIDTH - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom];
export const WORDS = {
  loss: "training loss", valid: "validation loss", lr: "learning rate", lr_adamw: "learning rate of the rest",
  lr_multiplier: "learning rate, share of its highest", speed: "speed",
};
const crosses = new Map(); // what is pointed at in each chart, also after it is drawn again

// A picture of the curves with these names, or null where no group has any.
export function chart({ title, names, log = false }, groups, axis) {
  const curves = groups.flatMap((group) => names.map((name) => {
    const own = group.found.map((run) => run.curves[name]).filter(Boolean);
    return { name, group, points: together(own, axis) };
  })).filter(({ points }) => points.length);
  return curves.length ? new Chart(title, names[0], curves, log, axis).picture : null;
}

class Chart {
  constructor(title, name, curves, log, axis) {
    Object.assign(this, { title, curves, axis });
    this.groups = [...new Set(curves.map(({ group }) => group))];
    this.log = log && curves.every(({ points }) => points.every(({ low }) => low > 0));
    this.places = [...new Set(curves.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
    this.span = [Math.min(0, this.places[0]), this.places.at(-1)];
    const low = curves.reduce((least, { points }) => points.reduce((a, point) => Math.min(a, point.low), least), Infinity);
    const high = curves.reduce((most, { points }) => points.reduce((a, point) => Math.max(a, point.high), most), -Infinity);
    this.range = [this.log ? low : Math.min(0, low), high];
    if (this.range[0] === this.range[1]) this.range[1] += Math.abs(this.range[0] || 1);
    const last = curves.map((curve) => this.words(curve, curve.points.at(-1)));
    this.picture = new Picture({
      name: `training-${name}`, label: `${title} over ${axis}; last values: ${last.join("; ")}`,
      size: () => [WIDTH, HEIGHT], draw: (pen, colours) => this.draw(pen, colours), keyboard: true,
      saved: { size: () => [WIDTH, HEIGHT + ROW * this.groups.length], draw: (pen, colours) => this.drawNamed(pen, colours) },
    });
    this.listen();
  }

  get cross() {
    return crosses.get(this.title) ?? null;
  }

  toX(x) {
    return MARGIN.left + ((x - this.span[0]) / (this.span[1] - this.span[0] || 1)) * INNER[0];
  }

  toY(y) {
    const [value, low, high] = [y, ...this.range].map((one) => (this.log ? Math.log(one) : one));
    return MARGIN.top + INNER[1] - ((value - low) / (high - low)) * INNER[1];
  }

  words({ name, group }, { mean, low, high, count }) {
    const seeds = count > 1 ? ` (${short(low)} to ${short(high)}, ${count} seeds)` : "";
    return `${group.name} ${WORDS[name] ?? name} ${short(mean)}${seeds}`;
  }

  draw(pen, colours) {
    const [right, bottom] = [WIDTH - MARGIN.right, HEIGHT - MARGIN.bottom];
    pen.text(this.title, MARGIN.left, 12, { colour: colours.ink, size: 13, bold: true });
    for (const y of this.log ? logTicks(...this.range) : ticks(...this.range)) {
      pen.path([[MARGIN.left, this.toY(y)], [right, this.toY(y)]], colours.line, 1);
      pen.text(amount(y), MARGIN.left - 6, this.toY(y), { colour: colours.faint, size: 11, align: "right" });
    }
    for (const x of ticks(...this.span)) {
      pen.text(amount(x), this.toX(x), bottom + 12, { colour: colours.faint, size: 11, align: "center" });
    }
    pen.text(this.axis, right, HEIGHT - 8, { colour: colours.faint, size: 11, align: "right" });
    this.curves.forEach((curve) => this.band(pen, curve));
    this.curves.forEach((curve) => this.line(pen, curve));
    if (this.cross !== null) pen.path([[this.toX(this.cross), MARGIN.top], [this.toX(this.cross), bottom]], colours.mark, 1);
  }

  // With what the colours mean, which on the page stands above all charts.
  drawNamed(pen, colours) {
    this.draw(pen, colours);
    this.groups.forEach(({ name, style }, place) => {
      const y = HEIGHT + ROW * (place + 0.4);
      pen.path([[MARGIN.left, y], [MARGIN.left + 34, y]], style.colour, 3, 1, style.dash);
      pen.text(name, MARGIN.left + 42, y, { colour: colours.ink, size: 11 });
    });
  }

  band(pen, { points, group }) {
    if (points.every(({ count }) => count === 1)) return;
    const above = points.map(({ x, high }) => [this.toX(x), this.toY(high)]);
    const below = points.map(({ x, low }) => [this.toX(x), this.toY(low)]);
    pen.area([...above, ...below.reverse()], group.style.colour, 0.18);
  }

  line(pen, { name, points, group }) {
    const { colour, dash } = group.style;
    const places = points.map(({ x, mean }) => [this.toX(x), this.toY(mean)]);
    const marks = name === "valid";
    const thin = marks || name === "lr_adamw";
    pen.path(places, colour, thin ? 1 : 1.6, thin ? 0.6 : 0.9, dash);
    if (marks || points.length === 1) places.forEach(([x, y]) => pen.rect(x - 2.5, y - 2.5, 5, 5, colour));
  }

  // Tell what the curves are at one of the places where one of them was logged.
  point(place) {
    const cross = place === null ? null : this.places[Math.max(0, Math.min(this.places.length - 1, place))];
    crosses.set(this.title, cross);
    this.picture.ask();
    if (cross === null) return;
    const near = (points) => points.reduce((best, one) => (Math.abs(one.x - cross) < Math.abs(best.x - cross) ? one : best));
    const told = this.curves.map((curve) => this.words(curve, near(curve.points)));
    say(`${this.axis === "steps" ? "step" : "second"} ${amount(cross)}: ${told.join("; ")}`);
  }

  listen() {
    const { canvas } = this.picture;
    canvas.addEventListener("pointermove", (event) => {
      const x = this.span[0] + ((this.picture.place(event)[0] - MARGIN.left) / INNER[0]) * (this.span[1] - this.span[0]);
      this.point(this.places.reduce((best, one, place) => (Math.abs(one - x) < Math.abs(this.places[best] - x) ? place : best), 0));
    });
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.point(this.cross === null ? 0 : this.places.indexOf(this.cross) + step);
    });
  }
}

function ticks(low, high) {
  const rough = (high - low) / 5 || 1;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((many) => many * size).find((one) => one >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const many of [1, 2, 3, 5, 7]) found.push(many * 10 ** power);
  }
  return found.filter((value) => value >= low && value <= high);
}

function amount(value) {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : short(Number(value.toPrecision(6)));
}
