// Training: losses, scores, learning rate and speed of all runs, over each other, as they come.

import { choice, make, say, short } from "./dom.js";
import { RUNS } from "./colour.js";
import { Picture } from "./picture.js";
import { ask, isFile } from "./source.js";

const CHARTS = [
  { title: "loss, nats", names: ["loss", "valid"], log: true },
  { title: "learning rate, share of its highest", names: ["rate_share"] },
  { title: "speed, tokens or rows a second", names: ["speed"] },
];
const WORDS = { loss: "training loss", valid: "validation loss", rate_share: "learning rate", speed: "speed" };
const [WIDTH, HEIGHT] = [640, 300];
const MARGIN = { left: 62, right: 14, top: 26, bottom: 34 };
const crosses = new Map(); // what is pointed at in each chart, also after it is drawn again
let timer = 0;
let visit = 0; // answers to a visit that is over are not drawn
let axis = "steps";

export function leaveTraining() {
  clearTimeout(timer);
  visit++;
}

export async function showTraining(place, runs) {
  leaveTraining();
  const own = visit;
  const all = await Promise.all(runs.map((_, number) => ask(`api/runs/${number}/training`)));
  if (own !== visit) return;
  const again = () => showTraining(place, runs);
  const bar = make("div", { class: "row" }, choice("over", [["steps", "steps"], ["seconds", "seconds"]], axis, (chosen) => {
    axis = chosen;
    again();
  }));
  const known = new Set(CHARTS.flatMap((chart) => chart.names));
  const others = [...new Set(all.flatMap((run) => Object.keys(run.curves)))].filter((name) => !known.has(name));
  const several = others.filter((name) => all.some((run) => (run.curves[name]?.values.length ?? 0) > 1));
  const charts = [...CHARTS, ...several.map((name) => ({ title: name.replaceAll("_", " "), names: [name] }))];
  const drawn = charts.map((one) => chart(one, all, runs)).filter(Boolean);
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  const name = held?.closest("figure")?.dataset.picture;
  place.replaceChildren(bar, legend(runs, all), make("div", { class: "panels" }, ...drawn.map((picture) => picture.figure)),
    lastValues(runs, all), ...samples(runs, all));
  if (held?.name) place.querySelector(`[name="${held.name}"]`)?.focus();
  else if (name) place.querySelector(`[data-picture="${name}"] canvas`)?.focus();
  drawn.forEach((picture) => picture.ask());
  if (!drawn.length) place.append(make("p", {}, "Nothing has been logged yet."));
  if (!isFile) timer = setTimeout(() => again().catch((error) => say(error.message)), all.some((run) => run.running) ? 2000 : 10000);
}

function legend(runs, all) {
  const items = runs.map((run, number) => {
    const swatch = make("span", { class: "bar", "aria-hidden": "true" });
    swatch.style.width = "1.6em";
    swatch.style.background = RUNS[number % RUNS.length];
    return make("li", {}, swatch, ` ${run.name}${all[number].running ? " (running)" : ""}`);
  });
  return make("ul", { class: "chances", "aria-label": "runs" }, ...items);
}

function chart({ title, names, log }, all, runs) {
  const curves = [];
  all.forEach((run, number) => names.forEach((name) => {
    const curve = run.curves[name];
    if (!curve) return;
    const points = curve.values.map((value, i) => [curve[axis][i], value]).filter(([x]) => x !== null);
    // A score that was taken once at the end, such as the loss on a test file, is no part of a curve.
    if (points.length) curves.push({ name, run: number, points, marks: name === "valid" });
  }));
  if (!curves.length) return null;
  const logs = log && curves.every(({ points }) => points.every(([, y]) => y > 0));
  const [xs, ys] = [0, 1].map((i) => curves.flatMap(({ points }) => points.map((point) => point[i])));
  const [lowX, highX] = [Math.min(0, least(xs)), greatest(xs)];
  let [lowY, highY] = [least(ys), greatest(ys)];
  if (!logs) lowY = Math.min(0, lowY);
  if (highY === lowY) highY = lowY + Math.abs(lowY || 1);
  const scale = logs ? Math.log : (y) => y;
  const inner = [WIDTH - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom];
  const toX = (x) => MARGIN.left + ((x - lowX) / (highX - lowX || 1)) * inner[0];
  const toY = (y) => MARGIN.top + inner[1] - ((scale(y) - scale(lowY)) / (scale(highY) - scale(lowY))) * inner[1];
  let cross = crosses.get(title) ?? null;
  const keepCross = (x) => {
    cross = x;
    crosses.set(title, x);
  };

  function draw(pen, colours) {
    pen.text(title, MARGIN.left, 12, { colour: colours.ink, size: 13, bold: true });
    for (const y of logs ? logTicks(lowY, highY) : ticks(lowY, highY)) {
      pen.path([[MARGIN.left, toY(y)], [WIDTH - MARGIN.right, toY(y)]], colours.line, 1);
      pen.text(amount(y), MARGIN.left - 6, toY(y), { colour: colours.faint, size: 11, align: "right" });
    }
    for (const x of ticks(lowX, highX)) {
      pen.text(amount(x), toX(x), HEIGHT - MARGIN.bottom + 12, { colour: colours.faint, size: 11, align: "center" });
    }
    pen.text(axis, WIDTH - MARGIN.right, HEIGHT - 8, { colour: colours.faint, size: 11, align: "right" });
    for (const { points, run, marks } of curves) {
      const colour = RUNS[run % RUNS.length];
      const places = points.map(([x, y]) => [toX(x), toY(y)]);
      pen.path(places, colour, marks ? 1 : 1.6, marks ? 0.6 : 0.9);
      if (marks || points.length === 1) places.forEach(([x, y]) => pen.rect(x - 2.5, y - 2.5, 5, 5, colour));
    }
    if (cross !== null) pen.path([[toX(cross), MARGIN.top], [toX(cross), HEIGHT - MARGIN.bottom]], colours.mark, 1);
  }

  const last = curves.map(({ name, run, points }) => `${runs[run].name} ${WORDS[name] ?? name} ${short(points.at(-1)[1])}`);
  const picture = new Picture({
    name: `training-${names[0]}`, label: `${title} over ${axis}; last values: ${last.join("; ")}`,
    size: () => [WIDTH, HEIGHT], draw, keyboard: true,
  });
  const allX = [...new Set(xs)].sort((a, b) => a - b);
  const point = (place) => {
    keepCross(allX[Math.max(0, Math.min(allX.length - 1, place))]);
    const told = curves.map(({ name, run, points }) => {
      const near = points.reduce((best, one) => (Math.abs(one[0] - cross) < Math.abs(best[0] - cross) ? one : best));
      return `${runs[run].name} ${WORDS[name] ?? name} ${short(near[1])}`;
    });
    say(`${axis === "steps" ? "step" : "second"} ${amount(cross)}: ${told.join("; ")}`);
    picture.ask();
  };
  picture.canvas.addEventListener("pointermove", (event) => {
    const x = lowX + ((picture.place(event)[0] - MARGIN.left) / inner[0]) * (highX - lowX);
    point(allX.reduce((best, value, i) => (Math.abs(value - x) < Math.abs(allX[best] - x) ? i : best), 0));
  });
  picture.canvas.addEventListener("pointerleave", () => { keepCross(null); picture.ask(); });
  picture.canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    point(cross === null ? 0 : allX.indexOf(cross) + step);
  });
  return picture;
}

function lastValues(runs, all) {
  const names = [...new Set(all.flatMap((run) => Object.keys(run.curves)))];
  if (!names.length) return "";
  const head = make("tr", {}, make("th", { scope: "col" }, "last values"), ...runs.map((run) => make("th", { scope: "col" }, run.name)));
  const body = names.map((name) => make("tr", {}, make("th", { scope: "row" }, WORDS[name] ?? name.replaceAll("_", " ")),
    ...all.map((run) => {
      const curve = run.curves[name];
      const told = curve ? `${short(curve.values.at(-1))} at step ${curve.steps.at(-1).toLocaleString("en")}` : "";
      return make("td", { class: "number" }, told);
    })));
  return make("div", { class: "scroll" }, make("table", { class: "plain" }, make("thead", {}, head), make("tbody", {}, ...body)));
}

function samples(runs, all) {
  return all.flatMap((run, number) => run.samples.map(({ step, name, text }) =>
    make("section", {}, make("h3", {}, `${runs[number].name}, ${name} at step ${step}`), make("p", { class: "sample" }, text))));
}

function ticks(low, high) {
  const rough = (high - low) / 5 || 1;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((many) => many * size).find((one) => one >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const many of [1, 2, 3, 5, 7]) found.push(many * 10 ** power);
  }
  return found.filter((value) => value >= low && value <= high);
}

function amount(value) {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : short(Number(value.toFixed(6)));
}

function least(values) {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function greatest(values) {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}
