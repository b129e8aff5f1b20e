// Training: losses, scores, learning rate and speed of all runs, over each other, as they come.

import { choice, make, say, short } from "./dom.js";
import { chart, WORDS } from "./chart.js";
import { groupsOf, shownOf } from "./groups.js";
import { CanvasPen } from "./pen.js";
import { ask, isFile } from "./source.js";

const LOSS = { title: "loss, nats", names: ["loss", "valid"], log: true };
const RATE = { title: "learning rate", names: ["lr", "lr_adamw"] };
const SHARE = { title: "learning rate, share of its highest", names: ["lr_multiplier"] }; // all that older runs tell
const SPEED = { title: "speed, tokens or rows a second", names: ["speed"] };
const SWATCH = [34, 10];
let timer = 0;
let visit = 0; // answers to a visit that is over are not drawn

export function leaveTraining() {
  clearTimeout(timer);
  visit++;
}

export async function showTraining(place, runs, state, change) {
  leaveTraining();
  const own = visit;
  const groups = groupsOf(runs);
  const shown = await Promise.all(shownOf(groups, state.groups).map(async (group) => {
    return { ...group, found: await Promise.all(group.runs.map((number) => ask(`api/runs/${number}/training`))) };
  }));
  if (own !== visit) return;
  const again = () => showTraining(place, runs, state, change);
  const settle = async (changes) => {
    await change(changes, false); // drawn again in its place, so that the keyboard stays where it is
    await again();
  };
  const bar = make("div", { class: "row" },
    choice("over", [["steps", "steps"], ["seconds", "seconds"]], state.over, (over) => settle({ over })));
  const drawn = charts(shown).map((one) => chart(one, shown, state.over)).filter(Boolean);
  const kept = focus(place);
  place.replaceChildren(bar, legend(groups, shown, settle), make("div", { class: "panels" }, ...drawn.map((picture) => picture.figure)),
    lastValues(shown), ...samples(shown));
  kept();
  drawn.forEach((picture) => picture.ask());
  if (!drawn.length) place.append(make("p", {}, shown.length ? "Nothing has been logged yet." : "Choose above what is to be drawn."));
  const running = shown.some(({ found }) => found.some((run) => run.running));
  if (!isFile) timer = setTimeout(() => again().catch((error) => say(error.message)), running ? 2000 : 10000);
}

// The focus, to be given back to what takes the place of the element that has it.
function focus(place) {
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  const picture = held?.closest("figure")?.dataset.picture;
  return () => {
    if (held?.name) [...place.querySelectorAll("[name]")].find((one) => one.name === held.name && one.value === held.value)?.focus();
    else if (picture) place.querySelector(`[data-picture="${picture}"] canvas`)?.focus();
  };
}

function charts(shown) {
  const all = shown.flatMap(({ found }) => found);
  const old = all.some(({ curves }) => curves.lr_multiplier && !curves.lr);
  const rest = all.some(({ curves }) => curves.lr_adamw);
  const usual = [LOSS, rest ? { ...RATE, title: `${RATE.title} (thin: of the rest)` } : RATE, ...(old ? [SHARE] : []), SPEED];
  const known = new Set([...usual, SHARE].flatMap((one) => one.names));
  const others = [...new Set(all.flatMap((run) => Object.keys(run.curves)))].filter((name) => !known.has(name));
  // A score that was taken once at the end, such as the loss on a test file, is no curve.
  const several = others.filter((name) => all.some((run) => (run.curves[name]?.values.length ?? 0) > 1));
  return [...usual, ...several.map((name) => ({ title: name.replaceAll("_", " "), names: [name] }))];
}

// What the colours mean, and where there are several groups also which of them are drawn.
function legend(groups, shown, settle) {
  const chosen = new Map(shown.map((group) => [group.name, group]));
  const choose = (names) => settle({ groups: names });
  const items = groups.map((group) => {
    const running = chosen.get(group.name)?.found.some((run) => run.running);
    const told = `${group.name}${group.runs.length > 1 ? `, ${group.runs.length} seeds` : ""}${running ? " (running)" : ""}`;
    if (groups.length === 1) return make("li", {}, swatch(group.style), ` ${told}`);
    const box = make("input", { type: "checkbox", name: "groups", value: group.name });
    box.checked = chosen.has(group.name);
    box.addEventListener("change", () => {
      choose(groups.map(({ name }) => name).filter((name) => (name === group.name ? box.checked : chosen.has(name))));
    });
    return make("li", {}, make("label", { class: "group" }, box, swatch(group.style), ` ${told}`));
  });
  const list = make("ul", { class: "probabilities", "aria-label": "runs" }, ...items);
  if (groups.length < 3) return list;
  const button = (words, names) => make("button", { type: "button", name: words, onclick: () => choose(names) }, words);
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
  const names = all.filter((name) => name !== "lr_multiplier" || !all.includes("lr")); // the one tells the other
  if (!names.length) return "";
  const head = make("tr", {}, make("th", { scope: "col" }, "last values"), ...shown.map(({ name }) => make("th", { scope: "col" }, name)));
  const body = names.map((name) => make("tr", {}, make("th", { scope: "row" }, WORDS[name] ?? name.replaceAll("_", " ")),
    ...shown.map(({ found }) => make("td", { class: "number" }, lastOf(found.map((run) => run.curves[name]).filter(Boolean))))));
  return make("div", { class: "scroll" }, make("table", { class: "plain" }, make("thead", {}, head), make("tbody", {}, ...body)));
}

function lastOf(curves) {
  if (!curves.length) return "";
  const values = curves.map((curve) => curve.values.at(-1));
  const step = Math.max(...curves.map((curve) => curve.steps.at(-1))).toLocaleString("en");
  const mean = short(values.reduce((sum, value) => sum + value, 0) / values.length);
  const [low, high] = [short(Math.min(...values)), short(Math.max(...values))];
  const span = low === high ? "" : ` (${low} to ${high})`;
  return `${mean}${span} at step ${step}`;
}

// The newest first; of several seeds those of the first that has any.
function samples(shown) {
  const found = shown.flatMap((group) => {
    const told = group.found.find((run) => run.samples.length)?.samples ?? [];
    return told.slice(shown.length > 1 ? -2 : 0).reverse().map((one) => [group.name, one]);
  });
  if (!found.length) return [];
  return [make("h2", {}, "Samples of what it does"), ...found.map(([group, { step, name, text }]) => make("section", {},
    make("h3", {}, `${group}, ${name} at step ${step.toLocaleString("en")}`), make("p", { class: "sample" }, text)))];
}
