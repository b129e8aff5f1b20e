// A heat map with words on both sides: who looks runs down, at what runs across.

import { say, short } from "./dom.js";
import { css, viridis } from "./colour.js";
import { Picture } from "./picture.js";

const LEGEND = 34;
const LETTER = 6.8; // pixels, about
const MANY = 64; // columns

// `matrix` holds rows, columns, values; `down` and `across` are words for each, or null where numbers serve.
export function heatMap({ name, label, matrix, down, across, titles, room = 640, from = 0, each = [1, 1] }) {
  const { rows, columns, values } = matrix;
  let [least, most] = [from, from === null ? -Infinity : 1e-9];
  if (from === null) least = Infinity;
  for (const value of values) {
    if (value > most) most = value;
    if (from === null && value < least) least = value;
  }
  const span = most - least || 1;
  const bent = from === 0 && columns > MANY; // then single weights are small, and their root is better seen
  const shade = (share) => viridis(bent ? Math.sqrt(share) : share);
  const cell = cellSize(rows, columns, room);
  const left = 26 + (down ? Math.min(140, longest(down) * LETTER) : 26);
  const top = 22 + (across ? Math.min(120, longest(across) * LETTER * 0.9) : 14);
  const bar = Math.max(left + columns * cell[0] - 150, left + titles[1].length * LETTER + 45); // where the legend begins
  const size = () => [Math.max(left + columns * cell[0] + 70, bar + 140), top + rows * cell[1] + LEGEND];
  let spot = null;

  function draw(pen, colours, width, height) {
    pen.image(left, top, columns * cell[0], rows * cell[1], columns, rows, (row, column) =>
      shade((values[row * columns + column] - least) / span));
    const faint = { colour: colours.ink, size: 11 };
    for (const [row, word] of named(rows, down, each[0], cell[1])) {
      pen.text(cut(word, 20), left - 5, top + (row + 0.5) * cell[1], { ...faint, align: "right" });
    }
    for (const [column, word] of named(columns, across, each[1], cell[0])) {
      pen.text(cut(word, 18), left + (column + 0.5) * cell[0], top - 6, { ...faint, angle: -Math.PI / 3 });
    }
    pen.text(titles[0], 9, top + (rows * cell[1]) / 2, { colour: colours.faint, size: 11, align: "center", angle: -Math.PI / 2 });
    pen.text(titles[1], left, height - 8, { colour: colours.faint, size: 11 });
    legend(pen, colours, bar, height - 12);
    if (spot) {
      const [x, y] = [left + spot[1] * cell[0], top + spot[0] * cell[1]];
      const box = [[x, y], [x + cell[0], y], [x + cell[0], y + cell[1]], [x, y + cell[1]], [x, y]];
      pen.path(box, "#ffffff", 3);
      pen.path(box, "#000000", 1.2);
    }
  }

  function legend(pen, colours, x, y) {
    pen.text(short(least), x - 4, y + 3, { colour: colours.faint, size: 10, align: "right" });
    for (let bit = 0; bit < 32; bit++) pen.rect(x + bit * 3, y, 3.2, 7, css(shade(bit / 31)));
    pen.text(short(most), x + 100, y + 3, { colour: colours.faint, size: 10 });
  }

  function tell() {
    if (!spot) return;
    const [row, column] = spot;
    const value = values[row * columns + column];
    const who = down ? `“${down[row]}” (${row})` : `${titles[0]} ${Math.round(row * each[0])}`;
    const what = across ? `“${across[column]}” (${column})` : `${titles[1]} ${Math.round(column * each[1])}`;
    say(`${who}, ${what}: ${short(value)}`);
  }

  const picture = new Picture({ name, label, size, draw, keyboard: true });
  const move = (row, column) => {
    spot = [Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))];
    tell();
    picture.ask();
  };
  picture.canvas.addEventListener("pointermove", (event) => {
    const [x, y] = picture.place(event);
    const [row, column] = [Math.floor((y - top) / cell[1]), Math.floor((x - left) / cell[0])];
    if (row >= 0 && row < rows && column >= 0 && column < columns) move(row, column);
    else if (spot) { spot = null; picture.ask(); }
  });
  picture.canvas.addEventListener("pointerleave", () => { spot = null; picture.ask(); });
  picture.canvas.addEventListener("keydown", (event) => {
    const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    move(...(spot ? [spot[0] + way[0], spot[1] + way[1]] : [0, 0]));
  });
  return picture;
}

// Cells as large as there is room for; squares, unless one side is much longer.
function cellSize(rows, columns, room) {
  const [tall, wide] = [Math.min(28, room / rows), Math.min(28, room / columns)];
  const both = Math.min(tall, wide);
  return [Math.max(both, Math.min(wide, 4)), Math.max(both, Math.min(tall, 4))];
}

// Which places of a side are named, and how: words as often as there is room, numbers at round ones. A place of a map
// that was made small stands for `each` tokens.
function named(count, words, each, size) {
  if (words) {
    const step = Math.ceil(12 / size);
    return words.map((word, place) => [place, word]).filter(([place]) => place % step === 0);
  }
  const fewest = (20 / size) * each;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((many) => many >= fewest) ?? Math.ceil(fewest);
  const found = [];
  for (let token = 0; token < count * each; token += step) found.push([token / each, String(token)]);
  return found;
}

function longest(words) {
  return Math.max(1, ...words.slice(0, 2000).map((word) => Math.min(20, word.length)));
}

export function cut(word, most) {
  return word.length > most ? `${word.slice(0, most - 1)}…` : word;
}
