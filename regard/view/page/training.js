// Training: loss, learning rate, speed and scores of all runs, updated while they train.

import { chart, curveName } from "./chart.js";
import { dropdown, make, setStatus } from "./dom.js";
import { groupRuns, selectGroups } from "./groups.js";
import { formatNumber } from "./numbers.js";
import { CanvasPen } from "./pen.js";
import { getJSON, isFile } from "./source.js";

const LOSS = { title: "loss in nats", names: ["loss", "valid"], log: true };
const RATE = { title: "learning rate", names: ["lr", "lr_adamw"] };
const MULTIPLIER = { title: "learning-rate multiplier", names: ["lr_multiplier"] }; // for runs that logged nothing else
const SPEED = { title: "speed, tokens or rows per second", names: ["speed"] };
const SWATCH = [34, 10];
let timer = 0;
let visit = 0; // answers that arrive after the view was left are not drawn

export function leaveTraining() {
  clearTimeout(timer);
  visit++;
}

export async function showTraining(place, runs, state, change) {
  leaveTraining();
  const current = visit;
  const groups = groupRuns(runs);
  const shown = await Promise.all(selectGroups(groups, state.groups).map(async (group) => {
    return { ...group, found: await Promise.all(group.runs.map((number) => getJSON(`api/runs/${number}/training`))) };
  }));
  if (current !== visit) return;
  const again = () => showTraining(place, runs, state, change);
  const update = async (changes) => {
    await change(changes, false); // drawn again in place, so that the keyboard focus stays
    await again();
  };
  const controls = make("div", { class: "row" },
    dropdown("over", [["steps", "steps"], ["seconds", "seconds"]], state.over, (over) => update({ over })));
  const pictures = chartsOf(shown).map((one) => chart(one, shown, state.over)).filter(Boolean);
  const restoreFocus = rememberFocus(place);
  place.replaceChildren(controls, legend(groups, shown, update), make("div", { class: "panels" }, ...pictures.map((picture) => picture.figure)),
    lastValues(shown), ...samples(shown));
  restoreFocus();
  pictures.forEach((picture) => picture.request());
  if (!pictures.length) place.append(make("p", {}, shown.length ? "No metrics logged yet." : "Select runs above."));
  const running = shown.some(({ found }) => found.some((run) => run.running));
  if (!isFile) timer = setTimeout(() => again().catch((error) => setStatus(error.message)), running ? 2000 : 10000);
}

// Returns a function that focuses the element which replaces the one that has the focus now.
function rememberFocus(place) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  const picture = focused?.closest("figure")?.dataset.picture;
  return () => {
    if (focused?.name) [...place.querySelectorAll("[name]")].find((one) => one.name === focused.name && one.value === focused.value)?.focus();
    else if (picture) place.querySelector(`[data-picture="${picture}"] canvas`)?.focus();
  };
}

function chartsOf(shown) {
  const all = shown.flatMap(({ found }) => found);
  const onlyMultiplier = all.some(({ curves }) => curves.lr_multiplier && !curves.lr);
  const twoRates = all.some(({ curves }) => curves.lr_adamw);
  const rate = twoRates ? { ...RATE, title: `${RATE.title} (thin: AdamW)` } : RATE;
  const usual = [LOSS, rate, ...(onlyMultiplier ? [MULTIPLIER] : []), SPEED];
  const known = new Set([...usual, MULTIPLIER].flatMap((one) => one.names));
  const others = [...new Set(all.flatMap((run) => Object.keys(run.curves)))].filter((name) => !known.has(name));
  // A score with a single value, such as the loss on a test file, is not a curve.
  const several = others.filter((name) => all.some((run) => (run.curves[name]?.values.length ?? 0) > 1));
  return [...usual, ...several.map((name) => ({ title: curveName(name), names: [name] }))];
}

// The meaning of the colours; with several groups also the choice of those that are drawn.
function legend(groups, shown, update) {
  const chosen = new Map(shown.map((group) => [group.name, group]));
  const choose = (names) => update({ groups: names });
  const items = groups.map((group) => {
    const running = chosen.get(group.name)?.found.some((run) => run.running);
    const text = `${group.name}${group.runs.length > 1 ? `, ${group.runs.length} seeds` : ""}${running ? " (running)" : ""}`;
    if (groups.length === 1) return make("li", {}, swatch(group.style), ` ${text}`);
    const box = make("input", { type: "checkbox", name: "groups", value: group.name });
    box.checked = chosen.has(group.name);
    box.addEventListener("change", () => {
      choose(groups.map(({ name }) => name).filter((name) => (name === group.name ? box.checked : chosen.has(name))));
    });
    return make("li", {}, make("label", { class: "group" }, box, swatch(group.style), ` ${text}`));
  });
  const list = make("ul", { class: "inline", "aria-label": "runs" }, ...items);
  if (groups.length < 3) return list;
  const button = (text, names) => make("button", { type: "button", name: text, onclick: () => choose(names) }, text);
  return make("div", { class: "choices" }, list, make("div", { class: "saving" },
    button("Show all", groups.map(({ name }) => name)), button("Show none", [])));
}

function swatch({ colour, dash }) {
  const canvas = make("canvas", { class: "swatch", "aria-hidden": "true" });
  const pen = new CanvasPen(canvas, ...SWATCH);
  pen.path([[0, SWATCH[1] / 2], [SWATCH[0], SWATCH[1] / 2]], colour, 3, 1, dash);
  return canvas;
}

function lastValues(shown) {
  const all = [...new Set(shown.flatMap(({ found }) => found.flatMap((run) => Object.keys(run.curves))))];
  const names = all.filter((name) => name !== "lr_multiplier" || !all.includes("lr")); // the learning rate includes it
  if (!names.length) return "";
  const head = make("tr", {}, make("th", { scope: "col" }, "last values"), ...shown.map(({ name }) => make("th", { scope: "col" }, name)));
  const body = names.map((name) => make("tr", {}, make("th", { scope: "row" }, curveName(name)),
    ...shown.map(({ found }) => make("td", { class: "number" }, lastOf(found.map((run) => run.curves[name]).filter(Boolean))))));
  return make("div", { class: "scroll" }, make("table", { class: "plain" }, make("thead", {}, head), make("tbody", {}, ...body)));
}

function lastOf(curves) {
  if (!curves.length) return "";
  const values = curves.map((curve) => curve.values.at(-1));
  const step = formatNumber(Math.max(...curves.map((curve) => curve.steps.at(-1))));
  const mean = formatNumber(values.reduce((sum, value) => sum + value, 0) / values.length);
  const [low, high] = [formatNumber(Math.min(...values)), formatNumber(Math.max(...values))];
  const span = low === high ? "" : ` (${low} to ${high})`;
  return `${mean}${span} at step ${step}`;
}

// The newest first; of several seeds those of the first that has any.
function samples(shown) {
  const found = shown.flatMap((group) => {
    const own = group.found.find((run) => run.samples.length)?.samples ?? [];
    return own.slice(shown.length > 1 ? -2 : 0).reverse().map((one) => [group.name, one]);
  });
  if (!found.length) return [];
  return [make("h2", {}, "Samples during training"), ...found.map(([group, { step, name, text }]) => make("section", {},
    make("h3", {}, `${group}, ${name} at step ${formatNumber(step)}`), make("p", { class: "sample" }, text)))];
}
