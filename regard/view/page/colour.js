// Colours that colour-blind readers can distinguish: viridis for weights, Okabe and Ito's palette for runs.

const VIRIDIS = [
  [68, 1, 84], [72, 26, 108], [71, 47, 125], [65, 68, 135], [57, 86, 140], [49, 104, 142], [42, 120, 142],
  [35, 136, 142], [31, 152, 139], [34, 168, 132], [53, 183, 121], [84, 197, 104], [122, 209, 81], [165, 219, 54],
  [210, 226, 27], [253, 231, 37],
];
const STEPS = 256;
const TABLE = Array.from({ length: STEPS }, (_, step) => {
  const place = (step / (STEPS - 1)) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return VIRIDIS[low].map((part, i) => Math.round(part + (VIRIDIS[low + 1][i] - part) * (place - low)));
});

const RUNS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [16, 4]]; // for more curves than colours

export const CURVE_STYLES = DASHES.flatMap((dash) => RUNS.map((colour) => ({ colour, dash })));

// A share between 0 and 1 as red, green, blue.
export function viridis(share) {
  return TABLE[Math.max(0, Math.min(STEPS - 1, Math.round(share * (STEPS - 1))))];
}

// The colours of the style sheet, which differ between light and dark mode.
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "ink", "faint", "line", "wash", "mark", "beam", "beam2"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// A colour of the style sheet, such as #d4d9de, as red, green, blue.
export function rgb(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}
