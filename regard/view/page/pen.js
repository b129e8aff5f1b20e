// One way to draw, two kinds of paper: a canvas for the screen and PNG, and SVG for print.

const FONT = '"DejaVu Sans", system-ui, sans-serif';

export class CanvasPen {
  constructor(canvas, width, height, scale = window.devicePixelRatio || 1) {
    const size = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    this.to = canvas.getContext("2d");
    this.to.setTransform(scale, 0, 0, scale, 0, 0);
    this.to.clearRect(0, 0, width, height);
  }

  rect(x, y, width, height, colour, alpha = 1) {
    this.to.globalAlpha = alpha;
    this.to.fillStyle = colour;
    this.to.fillRect(x, y, width, height);
    this.to.globalAlpha = 1;
  }

  path(points, colour, width = 1, alpha = 1, dash = []) {
    this.to.globalAlpha = alpha;
    this.to.strokeStyle = colour;
    this.to.lineWidth = width;
    this.to.setLineDash(dash);
    this.trace(points);
    this.to.stroke();
    this.to.setLineDash([]);
    this.to.globalAlpha = 1;
  }

  area(points, colour, alpha = 1) {
    this.to.globalAlpha = alpha;
    this.to.fillStyle = colour;
    this.trace(points);
    this.to.fill();
    this.to.globalAlpha = 1;
  }

  trace(points) {
    this.to.beginPath();
    points.forEach(([x, y], i) => (i ? this.to.lineTo(x, y) : this.to.moveTo(x, y)));
  }

  text(words, x, y, { colour, size = 12, align = "left", angle = 0, bold = false }) {
    this.to.save();
    this.to.translate(x, y);
    this.to.rotate(angle);
    this.to.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    this.to.textAlign = align;
    this.to.textBaseline = "middle";
    this.to.fillStyle = colour;
    this.to.fillText(words, 0, 0);
    this.to.restore();
  }

  // A matrix of colours, row after row, stretched over a box.
  image(x, y, width, height, columns, rows, colour) {
    this.to.imageSmoothingEnabled = false;
    this.to.drawImage(pixels(columns, rows, colour), x, y, width, height);
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

  text(words, x, y, { colour, size = 12, align = "left", angle = 0, bold = false }) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const turn = `translate(${round(x)} ${round(y)}) rotate(${round((angle * 180) / Math.PI)})`;
    const look = { "font-size": size, "font-family": FONT, "font-weight": bold ? 600 : 400, "text-anchor": anchor };
    this.add("text", { transform: turn, fill: colour, dy: "0.35em", ...look }, words);
  }

  image(x, y, width, height, columns, rows, colour) {
    if (columns * rows > 4096) { // so many boxes would choke whoever opens the file
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

  add(tag, attributes, words = "") {
    const told = Object.entries(attributes).map(([name, value]) => ` ${name}="${safe(round(value))}"`);
    this.parts.push(`<${tag}${told.join("")}>${safe(words)}</${tag}>`);
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

// XML knows no control characters, and no halves of characters.
function safe(words) {
  const legal = String(words).toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
  return legal.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
