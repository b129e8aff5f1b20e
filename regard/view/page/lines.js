// Lines from queries (left) to keys (right), thicker for larger weights. Only the rows on screen are fetched.

import { cut, make, setStatus } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { Picture } from "./picture.js";
import { getHead, unpack } from "./source.js";

const ROW = 20;
const HEIGHT = 560;
const CHUNK = 64; // queries fetched at once
const MIN_WEIGHT = 0.01; // thinner lines could not be seen
const TOP = 22;
const STRONGEST = 5; // tokens that the status line names

export class Lines {
  constructor(id, map, head, token, onPin) {
    Object.assign(this, { id, map, head, onPin });
    this.count = { query: map.queries, key: map.keys };
    this.first = { query: 0, key: 0 };
    this.rows = []; // weights of each query over all keys, as they arrive
    this.requested = new Set();
    this.labels = null;
    this.hovered = null;
    this.pinned = readToken(token, this.count);
    this.linked = map.queries === map.keys;
    this.visible = Math.min(Math.max(map.queries, map.keys), Math.floor((HEIGHT - TOP) / ROW));
    const label = `Lines of ${map.name}, head ${head}. Arrow keys choose a token, left and right change sides.`;
    const size = () => [Math.max(320, Math.min(760, this.place?.clientWidth || 640)), TOP + this.visible * ROW + 6];
    this.picture = new Picture({ name: "head", label, size, draw: (...all) => this.draw(...all), keyboard: true });
    this.listen();
  }

  async open(place) {
    this.place = place;
    place.append(this.picture.figure, this.sliders());
    if (this.pinned) this.scrollTo(this.pinned);
    await this.fetch();
    this.report();
  }

  // Fetch the chunks on screen that were not requested yet.
  async fetch() {
    const from = Math.floor(this.first.query / CHUNK);
    const to = Math.floor(Math.max(this.first.query, Math.min(this.count.query, this.first.query + this.visible) - 1) / CHUNK);
    const missing = [];
    for (let chunk = from; chunk <= to; chunk++) if (!this.requested.has(chunk)) missing.push(chunk);
    await Promise.all(missing.map((chunk) => this.load(chunk)));
    this.picture.request();
  }

  async load(chunk) {
    this.requested.add(chunk);
    try {
      const part = { first: chunk * CHUNK, last: (chunk + 1) * CHUNK };
      const answer = await getHead(this.id, this.map.name, this.head, part);
      this.labels = answer.labels;
      const { rows, columns, values } = unpack(answer.weights);
      for (let row = 0; row < rows; row++) {
        this.rows[answer.first + row] = values.subarray(row * columns, (row + 1) * columns);
      }
    } catch (error) {
      this.requested.delete(chunk);
      setStatus(error.message);
    }
  }

  draw(pen, colours, width) {
    if (!this.labels) return;
    const [left, right] = [width * 0.3, width * 0.7];
    pen.text("query", left - 8, 9, { colour: colours.faint, size: 11, align: "right" });
    pen.text("key", right + 8, 9, { colour: colours.faint, size: 11 });
    const focus = this.hovered || this.pinned;
    const y = (side, place) => TOP + (place - this.first[side] + 0.5) * ROW;
    const range = (side) => [this.first[side], Math.min(this.count[side], this.first[side] + this.visible)];
    const [keyFrom, keyTo] = range("key");
    const [queryFrom, queryTo] = range("query");
    if (focus) this.shade(pen, colours, focus, y, left, right, width);
    for (let query = queryFrom; query < queryTo; query++) {
      const weights = this.rows[query];
      if (!weights || (focus && focus.side === "query" && focus.place !== query)) continue;
      for (let key = keyFrom; key < keyTo; key++) {
        if (focus && focus.side === "key" && focus.place !== key) continue;
        if (weights[key] < MIN_WEIGHT) continue;
        const ends = [[left, y("query", query)], [right, y("key", key)]];
        pen.path(ends, focus ? colours.beam2 : colours.beam, 0.6 + 6 * weights[key], 0.15 + 0.75 * weights[key]);
      }
    }
    for (const [side, x, align] of [["query", left - 8, "right"], ["key", right + 8, "left"]]) {
      const tokens = side === "query" ? this.labels.queries : this.labels.keys;
      const [from, to] = range(side);
      for (let place = from; place < to; place++) {
        const chosen = focus && focus.side === side && focus.place === place;
        const colour = chosen ? colours.mark : colours.ink;
        pen.text(cut(tokens[place], Math.floor(width * 0.033)), x, y(side, place), { colour, size: 13, align, bold: chosen });
      }
    }
  }

  // Shade the tokens on the other side of the one in focus by their weight.
  shade(pen, colours, focus, y, left, right, width) {
    const other = focus.side === "query" ? "key" : "query";
    const [x, extent] = other === "key" ? [right + 2, width - right - 2] : [0, left - 2];
    const last = Math.min(this.count[other], this.first[other] + this.visible);
    for (let place = this.first[other]; place < last; place++) {
      const weight = other === "key" ? this.rows[focus.place]?.[place] : this.rows[place]?.[focus.place];
      if (weight > MIN_WEIGHT) pen.rect(x, y(other, place) - ROW / 2, extent, ROW, colours.beam2, 0.5 * weight);
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
    const [x, y] = this.picture.position(event);
    const side = x < this.picture.size()[0] / 2 ? "query" : "key";
    const place = this.first[side] + Math.floor((y - TOP) / ROW);
    return y >= TOP && place < Math.min(this.count[side], this.first[side] + this.visible) ? { side, place } : null;
  }

  hover(token) {
    if (same(token, this.hovered)) return;
    this.hovered = token;
    this.report();
    this.picture.request();
  }

  pin(token) {
    this.pinned = same(token, this.pinned) ? null : token;
    this.onPin(this.pinned && `${this.pinned.side}-${this.pinned.place}`);
    this.report();
    this.picture.request();
  }

  wheel(event) {
    const side = this.picture.position(event)[0] < this.picture.size()[0] / 2 ? "query" : "key";
    const before = this.first[side];
    this.scroll(side, before + Math.sign(event.deltaY) * Math.max(1, Math.round(Math.abs(event.deltaY) / 40)));
    if (this.first[side] !== before) event.preventDefault();
  }

  scroll(side, first) {
    for (const each of this.linked ? ["query", "key"] : [side]) {
      this.first[each] = Math.max(0, Math.min(this.count[each] - this.visible, first));
      if (this.slide?.[each]) this.slide[each].value = this.first[each];
    }
    this.picture.request();
    this.fetch();
  }

  key(event) {
    const current = this.pinned || { side: "query", place: -1 };
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -this.visible, PageDown: this.visible, Home: -Infinity, End: Infinity };
    let next = null;
    if (event.key in steps) next = { side: current.side, place: current.place + steps[event.key] };
    else if (event.key === "ArrowLeft") next = { side: "query", place: current.place };
    else if (event.key === "ArrowRight") next = { side: "key", place: current.place };
    else if (event.key === "Escape") return this.pin(null);
    if (!next) return undefined;
    event.preventDefault();
    next.place = Math.max(0, Math.min(this.count[next.side] - 1, next.place));
    this.hovered = null;
    this.scrollTo(next);
    if (!same(next, this.pinned)) this.pin(next);
    return undefined;
  }

  scrollTo({ side, place }) {
    if (place < this.first[side]) this.scroll(side, place);
    else if (place >= this.first[side] + this.visible) this.scroll(side, place - this.visible + 1);
  }

  report() {
    const focus = this.hovered || this.pinned;
    if (!focus || !this.labels) return;
    const token = (focus.side === "query" ? this.labels.queries : this.labels.keys)[focus.place];
    if (focus.side === "query") {
      const weights = this.rows[focus.place];
      if (!weights) return;
      const best = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]).slice(0, STRONGEST);
      const keys = best.map((key) => `“${this.labels.keys[key]}” (${key}) ${formatNumber(weights[key], 3)}`);
      setStatus(`“${token}” (${focus.place}) attends to ${keys.join(", ")}`);
    } else {
      const rows = this.rows.map((weights, query) => [weights?.[focus.place] ?? 0, query]).filter(([weight]) => weight > MIN_WEIGHT);
      const strongest = rows.sort((a, b) => b[0] - a[0]).slice(0, STRONGEST);
      const queries = strongest.map(([weight, query]) => `“${this.labels.queries[query]}” (${query}) ${formatNumber(weight, 3)}`);
      setStatus(`“${token}” (${focus.place}) is attended to by ${queries.join(", ") || "no query on screen"}`);
    }
  }

  sliders() {
    this.slide = {};
    const row = make("div", { class: "row" });
    for (const [side, label] of [["query", "first query shown"], ["key", "first key shown"]]) {
      const last = this.count[side] - this.visible;
      if (last <= 0 || (side === "key" && this.linked)) continue;
      const input = make("input", { type: "range", min: 0, max: last, value: 0 });
      input.addEventListener("input", () => this.scroll(side, Number(input.value)));
      this.slide[side] = input;
      row.append(make("label", { class: "wide" }, make("span", {}, this.linked ? "first token shown" : label), input));
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
