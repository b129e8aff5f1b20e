// Runs that belong together: those of a study that differ in their seed alone are one group, any other is its own.

import { CURVES } from "./colour.js";

const BASE = "base"; // what the changes of an ablation are compared with
const COLOURS = 6; // as many are shown at first: each has a colour of its own

export function groupsOf(runs) {
  const studies = new Set(runs.map((run) => run.study).filter(Boolean));
  const found = new Map();
  runs.forEach((run, number) => {
    const variant = studies.size > 1 ? `${run.study}: ${run.variant}` : run.variant;
    const name = run.study ? variant : run.name;
    if (!found.has(name)) found.set(name, { name, first: run.variant === BASE, runs: [] });
    found.get(name).runs.push(number);
  });
  const ordered = [...found.values()].sort((one, other) => other.first - one.first);
  return ordered.map((group, place) => ({ ...group, style: CURVES[place % CURVES.length] }));
}

// Those whose names the address holds; where it holds none, the first few.
export function shownOf(groups, names) {
  return names === null ? groups.slice(0, COLOURS) : groups.filter(({ name }) => names.includes(name));
}

// The mean of several curves wherever one of them has a value, with the lowest and the highest there.
export function together(curves, axis) {
  const all = curves.map((curve) => pointsOf(curve, axis)).filter((points) => points.length);
  const places = [...new Set(all.flatMap((points) => points.map(([x]) => x)))].sort((a, b) => a - b);
  return places.map((x) => {
    const values = all.map((points) => valueAt(points, x)).filter((value) => value !== null);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return { x, mean, low: Math.min(...values), high: Math.max(...values), count: values.length };
  });
}

function pointsOf(curve, axis) {
  return curve.values.map((value, place) => [curve[axis][place], value]).filter(([x]) => x !== null);
}

// Between two points on the straight line; before the first and after the last there is nothing.
function valueAt(points, x) {
  let [low, high] = [0, points.length - 1];
  if (x < points[low][0] || x > points[high][0]) return null;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= x) low = middle;
    else high = middle;
  }
  const [[x0, y0], [x1, y1]] = [points[low], points[high]];
  if (x === x1) return y1;
  return x1 === x0 ? y0 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}
