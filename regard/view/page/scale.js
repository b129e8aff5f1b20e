// A colour scale and its colour bar. Maps that are compared share one scale.

import { viridis } from "./colour.js";
import { formatNumber } from "./numbers.js";

export const BAR_HEIGHT = 36; // of a colour bar with its label and ticks
const STEPS = 64;

export class ColourScale {
  // With `root` the colour grows with the square root of the value, which shows small weights better.
  constructor(min, max, { root = false, label = "attention weight", unit = "" } = {}) {
    Object.assign(this, { min, max: max > min ? max : min + 1, root, label, unit });
  }

  colour(value) {
    const share = Math.max(0, (value - this.min) / (this.max - this.min));
    return viridis(this.root ? Math.sqrt(share) : share);
  }

  // The value at this share of the bar's length.
  valueAt(share) {
    return this.min + (this.max - this.min) * (this.root ? share ** 2 : share);
  }

  get description() {
    return `${this.label} from ${formatNumber(this.min, 3)} to ${formatNumber(this.max, 3)}${this.unit}`;
  }

  draw(pen, colours, x, y, width = 160) {
    pen.text(this.label, x, y + 5, { colour: colours.faint, size: 10 });
    pen.image(x, y + 12, width, 8, STEPS, 1, (_, column) => this.colour(this.valueAt(column / (STEPS - 1))));
    for (const [share, align] of [[0, "left"], [0.5, "center"], [1, "right"]]) {
      const span = this.max - this.min;
      const value = share === 0.5 ? (Math.round((1000 * this.valueAt(share)) / span) / 1000) * span : this.valueAt(share); // 0, not 1e-9
      const text = formatNumber(value, 3) + (share === 1 ? this.unit : "");
      pen.text(text, x + share * width, y + 29, { colour: colours.faint, size: 10, align });
    }
  }
}

// One scale for all these matrices, from 0 (or with `min: null` from the smallest value) to the largest value.
export function sharedScale(matrices, { min = 0, ...options } = {}) {
  let [low, high] = [Infinity, -Infinity];
  for (const { values } of matrices) {
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return new ColourScale(min ?? low, high, options);
}
