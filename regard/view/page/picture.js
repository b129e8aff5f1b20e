// A picture on the page: drawn at most once per frame, saved as PNG or SVG, and described for screen readers.

import { make } from "./dom.js";
import { theme } from "./colour.js";
import { CanvasPen, SvgPen } from "./pen.js";

// `size()` returns width and height, `draw(pen, colours, width, height)` draws; `saved` may override both for files.
export class Picture {
  constructor({ name, label, size, draw, keyboard = false, saved = {} }) {
    this.name = name;
    this.size = size;
    this.draw = draw;
    this.saved = { name, size, draw, ...saved };
    this.canvas = make("canvas", { role: "img", "aria-label": label, tabindex: keyboard ? "0" : null });
    this.frame = make("div", { class: "scroll" }, this.canvas);
    this.figure = make("figure", { "data-picture": name }, this.frame, saveButtons(this.saved));
    this.pending = false;
    new ResizeObserver(() => this.request()).observe(this.figure); // also when it is added to the page
  }

  availableWidth() {
    return this.figure.clientWidth || 640;
  }

  // Several requests before the next frame draw once.
  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    const [width, height] = this.size();
    this.canvas.style.width = `${width}px`;
    this.canvas.style.aspectRatio = `${width} / ${height}`; // keeps its shape if the page is narrower still
    this.draw(new CanvasPen(this.canvas, width, height), theme(), width, height);
  }

  // The pointer in the units of the drawing.
  position(event) {
    const box = this.canvas.getBoundingClientRect();
    const [width, height] = this.size();
    return [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height];
  }
}

export function saveButtons(picture) {
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
  canvas.toBlob((blob) => download(blob, `${picture.name}.png`), "image/png");
}

function saveSvg(picture) {
  const [width, height] = picture.size();
  const pen = new SvgPen(width, height);
  pen.rect(0, 0, width, height, theme().paper);
  picture.draw(pen, theme(), width, height);
  download(new Blob([pen.toString()], { type: "image/svg+xml" }), `${picture.name}.svg`);
}

// A button that saves rows of cells, the first with the column names, as CSV.
export function saveTableButton(name, rows) {
  const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = () => rows.map((row) => row.map((cell) => quote(String(cell))).join(",") + "\r\n").join("");
  const save = () => download(new Blob([csv()], { type: "text/csv" }), `${name}.csv`);
  return make("div", { class: "saving" }, make("button", { type: "button", "data-save": "csv", onclick: save }, "Save CSV"));
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: `regard-${name}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
