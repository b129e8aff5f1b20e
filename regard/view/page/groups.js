// Groups of runs: runs of a study that differ only in the seed are one group, any other run is its own.

import { CURVE_STYLES } from "./colour.js";

const BASE = "base"; // the baseline of an ablation
const FIRST = 6; // groups shown at first: as many as there are colours

export function groupRuns(runs) {
  const studies = new Set(runs.map((run) => run.study).filter(Boolean));
  const groups = new Map();
  runs.forEach((run, number) => {
    const variant = studies.size > 1 ? `${run.study}: ${run.variant}` : run.variant;
    const name = run.study ? variant : run.label;
    if (!groups.has(name)) groups.set(name, { name, isBase: run.variant === BASE, logged: false, runs: [] });
    groups.get(name).runs.push(number);
    groups.get(name).logged ||= run.metrics;
  });
  const ordered = [...groups.values()].sort((one, other) => other.isBase - one.isBase);
  return ordered.map((group, place) => ({ ...group, style: CURVE_STYLES[place % CURVE_STYLES.length] }));
}

// The groups named in the address; by default the first few, of those that have logged metrics if any have.
export function selectGroups(groups, names) {
  if (names !== null) return groups.filter(({ name }) => names.includes(name));
  const logged = groups.filter((group) => group.logged);
  return (logged.length ? logged : groups).slice(0, FIRST);
}

// The logged points of a curve as [x, value]; metrics without a time have no place on the axis of seconds.
export function pointsOf(curve, axis) {
  return curve.values.map((value, i) => [curve[axis][i], value]).filter(([x]) => x !== null);
}

// The mean of several curves with minimum and maximum, at every x where one of them has a point.
export function meanCurve(curves) {
  const all = curves.filter((points) => points.length);
  const places = [...new Set(all.flatMap((points) => points.map(([x]) => x)))].sort((a, b) => a - b);
  return places.map((x) => ({ x, ...summarise(all.map((points) => interpolate(points, x)).filter((value) => value !== null)) }));
}

export function summarise(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, low: Math.min(...values), high: Math.max(...values), count: values.length };
}

// The logged point nearest to x, or null before the first and after the last point.
export function nearestPoint(points, x) {
  if (!points.length || x < points[0][0] || x > points.at(-1)[0]) return null;
  const after = firstFrom(points, x);
  const before = Math.max(0, after - 1);
  return points[x - points[before][0] < points[after][0] - x ? before : after];
}

// Linear between two points; null before the first and after the last point.
function interpolate(points, x) {
  if (x < points[0][0] || x > points.at(-1)[0]) return null;
  const [x1, y1] = points[firstFrom(points, x)];
  if (x === x1) return y1;
  const [x0, y0] = points[firstFrom(points, x) - 1];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

// The index of the first point at or after x.
function firstFrom(points, x) {
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
