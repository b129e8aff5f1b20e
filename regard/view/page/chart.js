// A chart of training curves: one curve per group, the mean of its runs with a band from minimum to maximum.

import { cut, make, setStatus } from "./dom.js";
import { meanCurve, nearestPoint, pointsOf, summarise } from "./groups.js";
import { formatNumber, linearTicks, logTicks, spacedTicks } from "./numbers.js";
import { Picture } from "./picture.js";

const WIDTH = { min: 300, max: 640 };
const HEIGHT = 300;
const LEGEND_ROW = 16; // height of a row of the legend in a saved file
const MARGIN = { right: 24, top: 26, bottom: 34 };
const INNER_HEIGHT = HEIGHT - MARGIN.top - MARGIN.bottom;
const LETTER = 6.6; // approximate width in pixels
const READOUT_ROWS = 12;
export const CURVE_NAMES = {
  loss: "training loss", valid: "validation loss", lr: "learning rate", lr_adamw: "learning rate of AdamW",
  lr_multiplier: "learning-rate multiplier", speed: "speed", loss_at_the_end: "final loss",
};
const selections = new Map(); // the selected x of each chart by title, kept while charts are drawn again

export function curveName(name) {
  return CURVE_NAMES[name] ?? name.replaceAll("_", " ");
}

// A picture of the curves with these names, or null if no group has any.
export function chart({ title, names, log = false }, groups, axis) {
  const curves = groups.flatMap((group) => names.map((name) => {
    const runs = group.found.map((run) => run.curves[name]).filter(Boolean).map((curve) => pointsOf(curve, axis));
    return { name, group, runs: runs.filter((points) => points.length), points: meanCurve(runs) };
  })).filter(({ points }) => points.length);
  return curves.length ? new Chart(title, names, curves, log, axis).picture : null;
}

class Chart {
  constructor(title, names, curves, log, axis) {
    Object.assign(this, { title, names, curves, axis });
    this.groups = [...new Set(curves.map(({ group }) => group))];
    this.places = [...new Set(curves.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
    this.span = [Math.min(0, this.places[0]), this.places.at(-1)];
    const low = curves.reduce((least, { points }) => points.reduce((a, point) => Math.min(a, point.low), least), Infinity);
    const high = curves.reduce((most, { points }) => points.reduce((a, point) => Math.max(a, point.high), most), -Infinity);
    this.log = log && low > 0 && high > low;
    this.range = [this.log ? low : Math.min(0, low), high];
    if (this.range[0] === this.range[1]) this.range[1] += Math.abs(this.range[0] || 1);
    this.yTicks = this.log ? logTicks(...this.range, INNER_HEIGHT) : linearTicks(...this.range);
    this.left = 16 + LETTER * Math.max(4, ...this.yTicks.map((tick) => formatNumber(tick, 6).length));
    const last = curves.map((curve) => this.describe(curve, this.valueAt(curve, curve.points.at(-1).x)));
    this.picture = new Picture({
      name: `training-${names[0]}`, label: `${title} over ${axis}; last values: ${last.join("; ")}`,
      size: () => [this.width, HEIGHT], draw: (pen, colours) => this.draw(pen, colours), keyboard: true,
      saved: { size: () => [this.width, HEIGHT + LEGEND_ROW * this.groups.length], draw: (pen, colours) => this.drawWithLegend(pen, colours) },
    });
    this.readout = make("div", { class: "readout", "aria-hidden": "true", hidden: true });
    this.picture.frame.append(this.readout);
    this.listen();
  }

  get width() {
    return Math.max(WIDTH.min, Math.min(WIDTH.max, Math.floor(this.picture?.availableWidth() ?? WIDTH.max)));
  }

  get innerWidth() {
    return this.width - this.left - MARGIN.right;
  }

  get selected() {
    return selections.get(this.title) ?? null;
  }

  toX(x) {
    return this.left + ((x - this.span[0]) / (this.span[1] - this.span[0] || 1)) * this.innerWidth;
  }

  toY(y) {
    const [value, low, high] = [y, ...this.range].map((one) => (this.log ? Math.log(one) : one));
    return MARGIN.top + INNER_HEIGHT - ((value - low) / (high - low)) * INNER_HEIGHT;
  }

  // The logged values nearest to x, of the runs that were logged before and after it; null if there is none.
  valueAt({ runs }, x) {
    const near = runs.map((points) => nearestPoint(points, x)).filter(Boolean);
    if (!near.length) return null;
    return { ...summarise(near.map(([, value]) => value)), x: near.reduce((best, [one]) => (Math.abs(one - x) < Math.abs(best - x) ? one : best), near[0][0]) };
  }

  value({ mean, low, high, count }) {
    return `${formatNumber(mean)}${count > 1 ? ` (${formatNumber(low)} to ${formatNumber(high)}, ${count} seeds)` : ""}`;
  }

  describe({ name, group }, value) {
    return `${group.name} ${curveName(name)} ${this.value(value)}`;
  }

  // The name of x in words: "step 1,600".
  placeName(x) {
    return this.axis === "steps" ? `step ${formatNumber(x)}` : `${formatNumber(x)} seconds`;
  }

  draw(pen, colours) {
    const [right, bottom] = [this.width - MARGIN.right, HEIGHT - MARGIN.bottom];
    pen.text(this.title, this.left, 12, { colour: colours.ink, size: 13, bold: true });
    const small = { colour: colours.faint, size: 11 };
    for (const y of this.yTicks) {
      pen.path([[this.left, this.toY(y)], [right, this.toY(y)]], colours.line, 1);
      pen.text(formatNumber(y, 6), this.left - 6, this.toY(y), { ...small, align: "right" });
    }
    const width = (tick) => LETTER * formatNumber(tick, 6).length;
    for (const x of spacedTicks(...this.span, (tick) => this.toX(tick), width)) {
      pen.text(formatNumber(x, 6), this.toX(x), bottom + 12, { ...small, align: "center" });
    }
    pen.text(this.axis, right, HEIGHT - 8, { ...small, align: "right" });
    this.curves.forEach((curve) => this.drawBand(pen, curve));
    this.curves.forEach((curve) => this.drawLine(pen, curve));
    if (this.selected !== null) this.drawSelection(pen, colours, bottom);
    this.updateReadout();
  }

  // For a file, where the legend of the page is missing.
  drawWithLegend(pen, colours) {
    this.draw(pen, colours);
    this.groups.forEach(({ name, style }, place) => {
      const y = HEIGHT + LEGEND_ROW * (place + 0.4);
      pen.path([[this.left, y], [this.left + 34, y]], style.colour, 3, 1, style.dash);
      pen.text(name, this.left + 42, y, { colour: colours.ink, size: 11 });
    });
  }

  drawBand(pen, { points, group }) {
    if (points.every(({ count }) => count === 1)) return;
    const above = points.map(({ x, high }) => [this.toX(x), this.toY(high)]);
    const below = points.map(({ x, low }) => [this.toX(x), this.toY(low)]);
    pen.area([...above, ...below.reverse()], group.style.colour, 0.18);
  }

  drawLine(pen, { name, points, group }) {
    const { colour, dash } = group.style;
    const places = points.map(({ x, mean }) => [this.toX(x), this.toY(mean)]);
    const marks = name === "valid";
    const thin = marks || name === "lr_adamw";
    pen.path(places, colour, thin ? 1 : 1.6, thin ? 0.6 : 0.9, dash);
    if (marks || points.length === 1) places.forEach(([x, y]) => pen.rect(x - 2.5, y - 2.5, 5, 5, colour));
  }

  drawSelection(pen, colours, bottom) {
    const x = this.toX(this.selected);
    pen.path([[x, MARGIN.top], [x, bottom]], colours.mark, 1);
    for (const curve of this.curves) {
      const value = this.valueAt(curve, this.selected);
      if (value) pen.rect(this.toX(value.x) - 3, this.toY(value.mean) - 3, 6, 6, curve.group.style.colour);
    }
  }

  // Values at the selected place, in a box inside the plot on the side with more room.
  updateReadout() {
    this.readout.hidden = this.selected === null;
    if (this.selected === null) return;
    const values = this.curves.map((curve) => [curve, this.valueAt(curve, this.selected)]).filter(([, value]) => value);
    const rows = values.slice(0, READOUT_ROWS).map(([{ name, group }, value]) => {
      const swatch = make("td", {}, make("span", { class: "dot" }));
      swatch.firstChild.style.background = group.style.colour;
      const kind = this.names.length > 1 ? ` ${curveName(name)}` : "";
      const step = value.x === this.selected ? "" : ` at ${formatNumber(value.x)}`;
      return make("tr", {}, swatch, make("td", { class: "name" }, cut(group.name, 28), kind),
        make("td", { class: "number" }, this.value(value) + step));
    });
    const hidden = values.length - rows.length;
    this.readout.replaceChildren(make("strong", {}, this.placeName(this.selected)), make("table", {}, ...rows),
      ...(hidden > 0 ? [make("span", {}, `and ${hidden} more`)] : []));
    // Measured by the drawing and not by the page, which may show it smaller.
    const shrink = (this.picture.canvas.getBoundingClientRect().width || this.width) / this.width;
    const x = this.toX(this.selected);
    const onLeft = x - this.left > this.innerWidth / 2;
    const room = (onLeft ? x - this.left : this.left + this.innerWidth - x) - 12;
    const { style } = this.readout;
    style.top = `${(MARGIN.top + 4) * shrink}px`;
    style.maxHeight = `${(INNER_HEIGHT - 8) * shrink}px`;
    style.maxWidth = `${Math.max(room, 0.45 * this.innerWidth) * shrink}px`;
    style.left = onLeft ? "auto" : `${(x + 8) * shrink}px`;
    style.right = onLeft ? `${this.picture.frame.clientWidth - (x - 8) * shrink}px` : "auto";
  }

  // Select one of the places where a curve was logged; null selects nothing.
  select(place) {
    const x = place === null ? null : this.places[Math.max(0, Math.min(this.places.length - 1, place))];
    selections.set(this.title, x);
    this.picture.request();
    if (x === null) return;
    const values = this.curves.map((curve) => [curve, this.valueAt(curve, x)]).filter(([, value]) => value);
    setStatus(`${this.placeName(x)}: ${values.map(([curve, value]) => this.describe(curve, value)).join("; ")}`);
  }

  listen() {
    const { canvas } = this.picture;
    canvas.addEventListener("pointermove", (event) => {
      const x = this.span[0] + ((this.picture.position(event)[0] - this.left) / this.innerWidth) * (this.span[1] - this.span[0]);
      this.select(this.places.reduce((best, one, place) => (Math.abs(one - x) < Math.abs(this.places[best] - x) ? place : best), 0));
    });
    canvas.addEventListener("pointerleave", () => this.select(null));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.select(this.selected === null ? 0 : this.places.indexOf(this.selected) + step);
    });
  }
}
