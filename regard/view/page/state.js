// The state of the page, kept in the address so that a link leads back to it.

export const EMPTY = {
  view: "", run: 0, with: null, text: "", target: null, row: null, without: null, image: null, attention: null, head: null,
  mode: "lines", token: null, over: "steps", groups: null, alignment: null, structure: null, first: null, above: null,
  sequence: null, residue: null,
};
const MAX_LENGTH = 60000; // characters of an address
const NUMBERS = ["run", "with", "head", "without", "first", "sequence", "residue"];

export function readState() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const state = { ...EMPTY };
  for (const name of Object.keys(EMPTY)) {
    if (!fields.has(name)) continue;
    const value = fields.get(name);
    if (NUMBERS.includes(name)) state[name] = /^\d{1,6}$/.test(value) ? Number(value) : EMPTY[name];
    else if (name === "row") state.row = readRow(value);
    else if (name === "groups") state.groups = readNames(value);
    else if (name === "over") state.over = value === "seconds" ? value : EMPTY.over;
    else state[name] = value;
  }
  return state;
}

function readRow(text) {
  const row = readStrings(text);
  return row && !Array.isArray(row) ? row : null;
}

function readNames(text) {
  const names = readStrings(text);
  return Array.isArray(names) ? names : null;
}

// A JSON list or object of strings, else null.
function readStrings(text) {
  try {
    const found = JSON.parse(text);
    return found && typeof found === "object" && Object.values(found).every((one) => typeof one === "string") ? found : null;
  } catch {
    return null;
  }
}

export function writeState(state) {
  const present = Object.entries(state).filter(([name, value]) => value !== null && value !== EMPTY[name]);
  const fields = present.map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]);
  let hash = new URLSearchParams(fields).toString();
  if (hash.length > MAX_LENGTH) { // browsers refuse longer addresses: leave out the input
    hash = new URLSearchParams(fields.filter(([name]) => !["text", "target", "row"].includes(name))).toString();
  }
  if (location.hash.slice(1) !== hash) history.replaceState(null, "", hash ? `#${hash}` : "#");
}
