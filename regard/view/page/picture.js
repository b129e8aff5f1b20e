// A picture on the page: drawn once a frame at most, saved as PNG or SVG, and told in words to who cannot see it.

import { make } from "./dom.js";
import { theme } from "./colour.js";
import { CanvasPen, SvgPen } from "./pen.js";

// `size()` gives width and height, `draw(pen, colours, width, height)` draws; `saved` has both for a file, where that has
// more on it than the screen.
export class Picture {
  constructor({ name, label, size, draw, keyboard = false, saved = {} }) {
    this.name = name;
    this.size = size;
    this.draw = draw;
    this.saved = { name, size, draw, ...saved };
    this.canvas = make("canvas", { role: "img", "aria-label": label, tabindex: keyboard ? "0" : null });
    this.figure = make("figure", { "data-picture": name }, make("div", { class: "scroll" }, this.canvas), saving(this.saved));
    this.waiting = false;
    new ResizeObserver(() => this.ask()).observe(this.figure); // also when it comes on the page
  }

  // Many wishes to be drawn before the next frame are one.
  ask() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.now();
    });
  }

  now() {
    const [width, height] = this.size();
    this.canvas.style.width = `${width}px`;
    this.canvas.style.aspectRatio = `${width} / ${height}`; // where there is less room it shrinks and keeps its shape
    this.draw(new CanvasPen(this.canvas, width, height), theme(), width, height);
  }

  // Where the mouse is, in the units that are drawn in.
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const [width, height] = this.size();
    return [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height];
  }
}

export function saving(picture) {
  const button = (kind, write) =>
    make("button", { type: "button", "data-save": kind, onclick: () => write(picture) }, `Save ${kind.toUpperCase()}`);
  return make("div", { class: "saving" }, button("png", savePng), button("svg", saveSvg));
}

function savePng(picture) {
  const canvas = document.createElement("canvas");
  const [width, height] = picture.size();
  const pen = new CanvasPen(canvas, width, height, Math.min(3, 8192 / Math.max(width, height)));
  pen.rect(0, 0, width, height, theme().paper);
  picture.draw(pen, theme(), width, height);
  canvas.toBlob((blob) => keep(blob, `${picture.name}.png`), "image/png");
}

function saveSvg(picture) {
  const [width, height] = picture.size();
  const pen = new SvgPen(width, height);
  pen.rect(0, 0, width, height, theme().paper);
  picture.draw(pen, theme(), width, height);
  keep(new Blob([pen.toString()], { type: "image/svg+xml" }), `${picture.name}.svg`);
}

// A table as a file that every spreadsheet reads: lines of cells, the first of them names.
export function savingTable(name, lines) {
  const cell = (words) => (/[",\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
  const text = () => lines.map((line) => line.map((words) => cell(String(words))).join(",") + "\r\n").join("");
  const save = () => keep(new Blob([text()], { type: "text/csv" }), `${name}.csv`);
  return make("div", { class: "saving" }, make("button", { type: "button", "data-save": "csv", onclick: save }, "Save CSV"));
}

function keep(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: `regard-${name}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
