// One drawing interface with two targets: a canvas for the screen and PNG, and SVG for print.

const FONT = '"DejaVu Sans", system-ui, sans-serif';

export class CanvasPen {
  constructor(canvas, width, height, scale = window.devicePixelRatio || 1) {
    const size = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    this.context = canvas.getContext("2d");
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.clearRect(0, 0, width, height);
  }

  rect(x, y, width, height, colour, alpha = 1) {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  path(points, colour, width = 1, alpha = 1, dash = []) {
    this.context.globalAlpha = alpha;
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.setLineDash(dash);
    this.trace(points);
    this.context.stroke();
    this.context.setLineDash([]);
    this.context.globalAlpha = 1;
  }

  area(points, colour, alpha = 1) {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = colour;
    this.trace(points);
    this.context.fill();
    this.context.globalAlpha = 1;
  }

  trace(points) {
    this.context.beginPath();
    points.forEach(([x, y], i) => (i ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
  }

  text(text, x, y, { colour, size = 12, align = "left", angle = 0, bold = false }) {
    this.context.save();
    this.context.translate(x, y);
    this.context.rotate(angle);
    this.context.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    this.context.textAlign = align;
    this.context.textBaseline = "middle";
    this.context.fillStyle = colour;
    this.context.fillText(text, 0, 0);
    this.context.restore();
  }

  // A matrix of colours, given by `colour(row, column)`, stretched over a box.
  image(x, y, width, height, columns, rows, colour) {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(pixels(columns, rows, colour), x, y, width, height);
  }
}

export class SvgPen {
  constructor(width, height) {
    this.size = [width, height];
    this.parts = [];
  }

  rect(x, y, width, height, colour, alpha = 1) {
    this.add("rect", { x, y, width, height, fill: colour, "fill-opacity": alpha });
  }

  path(points, colour, width = 1, alpha = 1, dash = []) {
    const stroke = { stroke: colour, "stroke-width": width, "stroke-opacity": alpha };
    this.add("path", { d: outline(points), fill: "none", ...stroke, "stroke-dasharray": dash.join(" ") || "none" });
  }

  area(points, colour, alpha = 1) {
    this.add("path", { d: `${outline(points)}Z`, fill: colour, "fill-opacity": alpha });
  }

  text(text, x, y, { colour, size = 12, align = "left", angle = 0, bold = false }) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const turn = `translate(${round(x)} ${round(y)}) rotate(${round((angle * 180) / Math.PI)})`;
    const font = { "font-size": size, "font-family": FONT, "font-weight": bold ? 600 : 400, "text-anchor": anchor };
    this.add("text", { transform: turn, fill: colour, dy: "0.35em", ...font }, text);
  }

  image(x, y, width, height, columns, rows, colour) {
    if (columns * rows > 4096) { // so many rectangles would make the file unusable
      const href = pixels(columns, rows, colour).toDataURL("image/png");
      const style = "image-rendering:pixelated";
      this.add("image", { x, y, width, height, href, preserveAspectRatio: "none", style });
      return;
    }
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const [red, green, blue] = colour(row, column);
        const at = [x + (column * width) / columns, y + (row * height) / rows];
        this.rect(...at, width / columns + 0.05, height / rows + 0.05, `rgb(${red},${green},${blue})`);
      }
    }
  }

  add(tag, attributes, text = "") {
    const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${safe(round(value))}"`);
    this.parts.push(`<${tag}${written.join("")}>${safe(text)}</${tag}>`);
  }

  toString() {
    const [width, height] = this.size.map(Math.ceil);
    const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
    return `${head}\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

function pixels(columns, rows, colour) {
  const small = document.createElement("canvas");
  [small.width, small.height] = [columns, rows];
  const to = small.getContext("2d");
  const image = to.createImageData(columns, rows);
  for (let row = 0, place = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [red, green, blue] = colour(row, column);
      image.data[place++] = red;
      image.data[place++] = green;
      image.data[place++] = blue;
      image.data[place++] = 255;
    }
  }
  to.putImageData(image, 0, 0);
  return small;
}

function outline(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${round(x)} ${round(y)}`).join("");
}

function round(value) {
  return typeof value === "number" ? Math.round(value * 100) / 100 : value;
}

// XML has no control characters and no lone surrogates.
function safe(text) {
  const legal = String(text).toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
  return legal.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
