// Alignment: what of the source each token of the target looked at, side by side for two runs.

import { choice, make } from "./dom.js";
import { heatMap } from "./heat.js";
import { ask, unpack } from "./source.js";

export async function showAlignment(place, shown, state, change) {
  const across = shown.flatMap(({ recording }) => recording.maps.filter((look) => look.cross));
  const names = [...new Set(across.map((look) => look.name))];
  const heads = Math.max(0, ...across.map((look) => look.heads));
  const chosen = names.includes(state.attention) ? state.attention : "";
  const numbers = Array.from({ length: heads }, (_, head) => [head, `head ${head}`]);
  const bar = make("div", { class: "row" },
    choice("attention", [["", "mean of all"], ...names.map((name) => [name, name])], chosen, (look) => change({ attention: look || null })),
    choice("head", [["", "mean of all"], ...numbers], state.head ?? "", (head) => change({ head: head === "" ? null : Number(head) })));
  const panels = await Promise.all(shown.map((one) => panel(one, chosen, state.head)));
  place.replaceChildren(names.length ? bar : "", make("div", { class: "panels" }, ...panels));
}

async function panel({ run, recording }, name, head) {
  const whole = make("section", { class: "panel" });
  const across = recording.maps.filter((look) => look.cross);
  if (!across.length) {
    whole.append(make("p", {}, "No alignment: this model looks at no source while it writes."));
    return whole;
  }
  // Another model may have other layers and heads: then the mean of all its own stands beside.
  const look = across.some((one) => one.name === name) ? name : null;
  const which = head !== null && head < across[0].heads ? head : null;
  const answer = await ask(`api/recordings/${recording.id}/alignment`, { attention: look, head: which });
  const told = `${look ?? "mean of all attention to the source"}, ${which === null ? "mean of all heads" : `head ${which}`}`;
  const picture = heatMap({
    name: "alignment",
    label: `Alignment of ${run.name}: ${told}; arrow keys read single weights`,
    matrix: unpack(answer.weights),
    down: answer.labels.queries,
    across: answer.labels.keys,
    titles: ["written", "read"],
  });
  picture.ask();
  whole.append(make("p", { class: "faint" }, told), picture.figure);
  return whole;
}
