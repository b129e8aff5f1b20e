// Lines between tokens: who looks on the left, at what on the right. Only the rows that are on screen are fetched.

import { make, say } from "./dom.js";
import { cut } from "./heat.js";
import { Picture } from "./picture.js";
import { askHead, unpack } from "./source.js";

const ROW = 20;
const HEIGHT = 560;
const CHUNK = 64; // rows fetched at once
const LEAST = 0.01; // weight of a line that can be seen
const TOP = 22;
const STRONGEST = 5; // keys that are told in words

export class Lines {
  constructor(id, look, head, token, moved) {
    Object.assign(this, { id, look, head, moved });
    this.count = { query: look.queries, key: look.keys };
    this.first = { query: 0, key: 0 };
    this.rows = []; // weights of each query over all keys, as they come
    this.asked = new Set();
    this.labels = null;
    this.hovered = null;
    this.pinned = readToken(token, this.count);
    this.together = look.queries === look.keys;
    this.fit = Math.min(Math.max(look.queries, look.keys), Math.floor((HEIGHT - TOP) / ROW));
    const label = `Lines of ${look.name}, head ${head}. Arrow keys choose a token, left and right change sides.`;
    const size = () => [Math.max(320, Math.min(760, this.place?.clientWidth || 640)), TOP + this.fit * ROW + 6];
    this.picture = new Picture({ name: "head", label, size, draw: (...all) => this.draw(...all), keyboard: true });
    this.listen();
  }

  async open(place) {
    this.place = place;
    place.append(this.picture.figure, this.sliders());
    if (this.pinned) this.bring(this.pinned);
    await this.fetch();
    this.tell();
  }

  // The chunks that the screen needs and nobody has asked for yet.
  async fetch() {
    const from = Math.floor(this.first.query / CHUNK);
    const to = Math.floor(Math.max(this.first.query, Math.min(this.count.query, this.first.query + this.fit) - 1) / CHUNK);
    const wanted = [];
    for (let chunk = from; chunk <= to; chunk++) if (!this.asked.has(chunk)) wanted.push(chunk);
    await Promise.all(wanted.map((chunk) => this.load(chunk)));
    this.picture.ask();
  }

  async load(chunk) {
    this.asked.add(chunk);
    try {
      const part = { first: chunk * CHUNK, last: (chunk + 1) * CHUNK };
      const answer = await askHead(this.id, this.look.name, this.head, part);
      this.labels = answer.labels;
      const { rows, columns, values } = unpack(answer.weights);
      for (let row = 0; row < rows; row++) {
        this.rows[answer.first + row] = values.subarray(row * columns, (row + 1) * columns);
      }
    } catch (error) {
      this.asked.delete(chunk);
      say(error.message);
    }
  }

  draw(pen, colours, width) {
    if (!this.labels) return;
    const [left, right] = [width * 0.3, width * 0.7];
    pen.text("looks", left - 8, 9, { colour: colours.faint, size: 11, align: "right" });
    pen.text("at", right + 8, 9, { colour: colours.faint, size: 11 });
    const focus = this.hovered || this.pinned;
    const y = (side, place) => TOP + (place - this.first[side] + 0.5) * ROW;
    const seen = (side) => [this.first[side], Math.min(this.count[side], this.first[side] + this.fit)];
    const [keyFrom, keyTo] = seen("key");
    const [queryFrom, queryTo] = seen("query");
    if (focus) this.shade(pen, colours, focus, y, left, right, width);
    for (let query = queryFrom; query < queryTo; query++) {
      const weights = this.rows[query];
      if (!weights || (focus && focus.side === "query" && focus.place !== query)) continue;
      for (let key = keyFrom; key < keyTo; key++) {
        if (focus && focus.side === "key" && focus.place !== key) continue;
        if (weights[key] < LEAST) continue;
        const ends = [[left, y("query", query)], [right, y("key", key)]];
        pen.path(ends, focus ? colours.beam2 : colours.beam, 0.6 + 6 * weights[key], 0.15 + 0.75 * weights[key]);
      }
    }
    for (const [side, x, align] of [["query", left - 8, "right"], ["key", right + 8, "left"]]) {
      const words = side === "query" ? this.labels.queries : this.labels.keys;
      const [from, to] = seen(side);
      for (let place = from; place < to; place++) {
        const chosen = focus && focus.side === side && focus.place === place;
        const colour = chosen ? colours.mark : colours.ink;
        pen.text(cut(words[place], Math.floor(width * 0.033)), x, y(side, place), { colour, size: 13, align, bold: chosen });
      }
    }
  }

  // The other side of the token in focus, darker where more weight lies.
  shade(pen, colours, focus, y, left, right, width) {
    const other = focus.side === "query" ? "key" : "query";
    const [x, wide] = other === "key" ? [right + 2, width - right - 2] : [0, left - 2];
    const last = Math.min(this.count[other], this.first[other] + this.fit);
    for (let place = this.first[other]; place < last; place++) {
      const weight = other === "key" ? this.rows[focus.place]?.[place] : this.rows[place]?.[focus.place];
      if (weight > LEAST) pen.rect(x, y(other, place) - ROW / 2, wide, ROW, colours.beam2, 0.5 * weight);
    }
  }

  listen() {
    const canvas = this.picture.canvas;
    canvas.addEventListener("pointermove", (event) => this.hover(this.at(event)));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => this.pin(this.at(event)));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  at(event) {
    const [x, y] = this.picture.place(event);
    const side = x < this.picture.size()[0] / 2 ? "query" : "key";
    const place = this.first[side] + Math.floor((y - TOP) / ROW);
    return y >= TOP && place < Math.min(this.count[side], this.first[side] + this.fit) ? { side, place } : null;
  }

  hover(token) {
    if (same(token, this.hovered)) return;
    this.hovered = token;
    this.tell();
    this.picture.ask();
  }

  pin(token) {
    this.pinned = same(token, this.pinned) ? null : token;
    this.moved(this.pinned && `${this.pinned.side}-${this.pinned.place}`);
    this.tell();
    this.picture.ask();
  }

  wheel(event) {
    const side = this.picture.place(event)[0] < this.picture.size()[0] / 2 ? "query" : "key";
    const before = this.first[side];
    this.scroll(side, before + Math.sign(event.deltaY) * Math.max(1, Math.round(Math.abs(event.deltaY) / 40)));
    if (this.first[side] !== before) event.preventDefault();
  }

  scroll(side, first) {
    for (const each of this.together ? ["query", "key"] : [side]) {
      this.first[each] = Math.max(0, Math.min(this.count[each] - this.fit, first));
      if (this.slide?.[each]) this.slide[each].value = this.first[each];
    }
    this.picture.ask();
    this.fetch();
  }

  key(event) {
    const now = this.pinned || { side: "query", place: -1 };
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -this.fit, PageDown: this.fit, Home: -Infinity, End: Infinity };
    let next = null;
    if (event.key in steps) next = { side: now.side, place: now.place + steps[event.key] };
    else if (event.key === "ArrowLeft") next = { side: "query", place: now.place };
    else if (event.key === "ArrowRight") next = { side: "key", place: now.place };
    else if (event.key === "Escape") return this.pin(null);
    if (!next) return undefined;
    event.preventDefault();
    next.place = Math.max(0, Math.min(this.count[next.side] - 1, next.place));
    this.hovered = null;
    this.bring(next);
    if (!same(next, this.pinned)) this.pin(next);
    return undefined;
  }

  bring({ side, place }) {
    if (place < this.first[side]) this.scroll(side, place);
    else if (place >= this.first[side] + this.fit) this.scroll(side, place - this.fit + 1);
  }

  tell() {
    const focus = this.hovered || this.pinned;
    if (!focus || !this.labels) return;
    const words = focus.side === "query" ? this.labels.queries : this.labels.keys;
    if (focus.side === "query") {
      const weights = this.rows[focus.place];
      if (!weights) return;
      const best = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]).slice(0, STRONGEST);
      const told = best.map((key) => `“${this.labels.keys[key]}” (${key}) ${weights[key].toFixed(3)}`);
      say(`“${words[focus.place]}” (${focus.place}) looks at ${told.join(", ")}`);
    } else {
      const rows = this.rows.map((weights, query) => [weights?.[focus.place] ?? 0, query]).filter(([weight]) => weight > LEAST);
      const told = rows.sort((a, b) => b[0] - a[0]).slice(0, STRONGEST);
      const who = told.map(([weight, query]) => `“${this.labels.queries[query]}” (${query}) ${weight.toFixed(3)}`);
      say(`“${words[focus.place]}” (${focus.place}) is looked at by ${who.join(", ") || "nobody on screen"}`);
    }
  }

  sliders() {
    this.slide = {};
    const row = make("div", { class: "row" });
    for (const [side, words] of [["query", "first token that looks"], ["key", "first token looked at"]]) {
      const most = this.count[side] - this.fit;
      if (most <= 0 || (side === "key" && this.together)) continue;
      const input = make("input", { type: "range", min: 0, max: most, value: 0 });
      input.addEventListener("input", () => this.scroll(side, Number(input.value)));
      this.slide[side] = input;
      row.append(make("label", { class: "wide" }, make("span", {}, this.together ? "first token shown" : words), input));
    }
    return row;
  }
}

function same(one, other) {
  return one === other || Boolean(one && other && one.side === other.side && one.place === other.place);
}

function readToken(text, count) {
  const found = /^(query|key)-(\d{1,7})$/.exec(text || "");
  return found && Number(found[2]) < count[found[1]] ? { side: found[1], place: Number(found[2]) } : null;
}
