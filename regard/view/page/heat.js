// A heat map: queries run down, keys across, with their tokens on the axes and a colour bar below.

import { rgb } from "./colour.js";
import { cut, setStatus } from "./dom.js";
import { LinkedCell } from "./linked.js";
import { formatNumber } from "./numbers.js";
import { Picture } from "./picture.js";
import { BAR_HEIGHT } from "./scale.js";

const LETTER = 6.8; // approximate width in pixels
const BOLD = 7.4; // of a letter of the title
const TITLE = 20; // height
const RIGHT = 30; // margin, for the last slanted label
const MAX_CELL = 28;
const MIN_FRAME = 7;
const BAR_WIDTH = 170;

// `matrix` has rows, columns and values; `down` and `across` are the labels of rows and columns, or null for numbers;
// `axes` are the names of both axes. A cell of a downsampled map stands for `each` rows and columns. Cells are square
// unless one side is much longer or `square` is false. Cells without a value (NaN) have the colour of lines. Maps that
// share a `linked` cell mark it together.
export function heatMap({ name, title, label, matrix, scale, down, across, axes, room = 640, each = [1, 1], square = true, linked = null }) {
  const { rows, columns, values } = matrix;
  const left = 26 + (down ? Math.min(140, longest(down) * LETTER) : 26);
  const top = TITLE + 24 + (across ? Math.min(120, longest(across) * LETTER * 0.9) : 14);
  let picture = null;
  const marks = linked ?? new LinkedCell({ report });
  const cellSize = () => {
    const available = (picture?.availableWidth() ?? room) - left - RIGHT;
    return fitCells(rows, columns, room, Math.max(120, Math.min(room, available)), square);
  };
  const size = () => {
    const cell = cellSize();
    const titled = Math.min(picture?.availableWidth() ?? room, (title.length + 2) * BOLD);
    return [Math.max(left + columns * cell[0] + RIGHT, left + BAR_WIDTH + 10, titled), top + rows * cell[1] + 10 + BAR_HEIGHT];
  };

  function draw(pen, colours, width) {
    const cell = cellSize();
    pen.text(cut(title, Math.floor(width / BOLD)), 2, TITLE / 2, { colour: colours.ink, size: 12, bold: true });
    const blank = rgb(colours.line);
    pen.image(left, top, columns * cell[0], rows * cell[1], columns, rows, (row, column) => {
      const value = values[row * columns + column];
      return Number.isNaN(value) ? blank : scale.colour(value);
    });
    const style = { colour: colours.ink, size: 11 };
    for (const [row, text] of labelled(rows, down, each[0], cell[1])) {
      pen.text(cut(text, 20), left - 5, top + (row + 0.5) * cell[1], { ...style, align: "right" });
    }
    for (const [column, text] of labelled(columns, across, each[1], cell[0])) {
      pen.text(cut(text, 18), left + (column + 0.5) * cell[0], top - 6, { ...style, angle: -Math.PI / 3 });
    }
    const faint = { colour: colours.faint, size: 11 };
    pen.text(axes[0], 9, top + (rows * cell[1]) / 2, { ...faint, align: "center", angle: -Math.PI / 2 });
    pen.text(axes[1], left, TITLE + 8, faint);
    scale.draw(pen, colours, left, top + rows * cell[1] + 10, BAR_WIDTH);
    const box = [left, top, columns * cell[0], rows * cell[1]];
    for (const [row, column] of marks.marked(rows, columns)) mark(pen, box, row, column, cell, marks.guides);
  }

  function report([row, column]) {
    const query = down ? `“${down[row]}” (${row})` : `${axes[0]} ${Math.round(row * each[0])}`;
    const key = across ? `“${across[column]}” (${column})` : `${axes[1]} ${Math.round(column * each[1])}`;
    setStatus(`${query}, ${key}: ${formatNumber(values[row * columns + column])}`);
  }

  function at(event) {
    const [[x, y], cell] = [picture.position(event), cellSize()];
    const [row, column] = [Math.floor((y - top) / cell[1]), Math.floor((x - left) / cell[0])];
    return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
  }

  picture = new Picture({ name, label: `${label}; ${scale.description}`, size, draw, keyboard: true });
  marks.join(picture);
  picture.canvas.addEventListener("pointermove", (event) => marks.hover(at(event)));
  picture.canvas.addEventListener("pointerleave", () => marks.hover(null));
  picture.canvas.addEventListener("click", (event) => { if (at(event)) marks.pin(at(event)); });
  picture.canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Escape") marks.pin(null);
    if (!step) return;
    event.preventDefault();
    marks.step(step, rows, columns);
  });
  return picture;
}

// A frame around a cell, large enough to be seen; with `guides`, lines lead to it from both axes.
function mark(pen, [left, top, width, height], row, column, cell, guides) {
  const [x, y] = [left + (column + 0.5) * cell[0], top + (row + 0.5) * cell[1]];
  if (guides) {
    for (const line of [[[left, y], [left + width, y]], [[x, top], [x, top + height]]]) pen.path(line, "#ffffff", 1, 0.55);
  }
  const [wide, high] = cell.map((side) => Math.max(side, MIN_FRAME));
  frame(pen, x - wide / 2, y - high / 2, wide, high);
}

// A frame that is visible on every colour.
export function frame(pen, x, y, width, height) {
  const box = [[x, y], [x + width, y], [x + width, y + height], [x, y + height], [x, y]];
  pen.path(box, "#ffffff", 3);
  pen.path(box, "#000000", 1.2);
}

// Width and height of a cell, as large as the room allows.
function fitCells(rows, columns, tallest, widest, square) {
  const [width, height] = [Math.min(MAX_CELL, widest / columns), Math.min(MAX_CELL, tallest / rows)];
  if (!square) return [width, height];
  const both = Math.min(width, height);
  if (rows === columns) return [both, both];
  return [Math.max(both, Math.min(width, 4)), Math.max(both, Math.min(height, 4))];
}

// Which places of an axis are labelled: tokens as often as there is room, numbers at round ones.
function labelled(count, texts, each, size) {
  if (texts) {
    const step = Math.ceil(12 / size);
    return texts.map((text, place) => [place, text]).filter(([place]) => place % step === 0);
  }
  const minimum = (20 / size) * each;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((one) => one >= minimum) ?? Math.ceil(minimum);
  const found = [];
  for (let token = 0; token < count * each; token += step) found.push([token / each, String(token)]);
  return found;
}

function longest(texts) {
  return Math.max(1, ...texts.slice(0, 2000).map((text) => Math.min(20, text.length)));
}
