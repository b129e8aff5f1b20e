// Numbers for people: four significant digits, thousands separators, scientific notation at the extremes; axis ticks.
// regard/view/numbers.py does the same for files.

const [SMALL, LARGE] = [1e-3, 1e6]; // beyond them scientific notation is shorter
const STEPS = [1, 2, 5, 10];
const LOG_TICKS = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]; // within a decade, densest first

// 12,346 · 0.3457 · 2.8e-6: whole from a thousand on, and never a long row of zeros.
export function formatNumber(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (Number.isInteger(value) && size < LARGE) return separated(String(value));
  if (size < SMALL || size >= LARGE) {
    const [mantissa, exponent] = value.toExponential(Math.min(digits, 3) - 1).split("e");
    return `${stripped(mantissa)}e${Number(exponent)}`;
  }
  return separated(stripped(value.toPrecision(Math.max(digits, Math.floor(Math.log10(size)) + 1))));
}

export function formatPercent(share) {
  return `${formatNumber(100 * share, 3)} %`;
}

function stripped(digits) {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

function separated(digits) {
  const [whole, fraction] = digits.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction ? `${grouped}.${fraction}` : grouped;
}

// At most `most` multiples of 1, 2 or 5 times a power of ten.
export function linearTicks(low, high, most = 6) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, most - 1);
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = STEPS.map((factor) => factor * size).find((one) => one >= rough * (1 - 1e-9));
  const ticks = [];
  for (let number = Math.ceil(low / step - 1e-9); number <= Math.floor(high / step + 1e-9); number++) {
    ticks.push(Number((number * step).toPrecision(12)));
  }
  return ticks;
}

// Ticks of a logarithmic axis of `room` pixels whose labels stay `gap` pixels apart, as many as fit.
export function logTicks(low, high, room, gap = 18) {
  const place = (value) => (room * Math.log(value / low)) / Math.log(high / low);
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, number) => first + number);
  const within = (tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9);
  const candidates = LOG_TICKS.map((factors) => powers.flatMap((power) =>
    factors.map((factor) => Number((factor * 10 ** power).toPrecision(12))).filter(within)));
  const every = Math.ceil((gap * (last - first)) / room);
  const decades = powers.filter((power) => power % every === 0).map((power) => 10 ** power).filter(within);
  const ticks = candidates.find((found) => areApart(found.map(place), gap)) ?? decades;
  if (ticks.length >= 3) return ticks;
  const even = [6, 5, 4, 3, 2].map((most) => linearTicks(low, high, most)); // less than a decade: even steps read better
  return even.find((found) => found.length > ticks.length && areApart(found.map(place), gap)) ?? ticks;
}

// Ticks of a linear axis whose labels, `width(tick)` pixels wide, do not touch.
export function spacedTicks(low, high, place, width, gap = 10) {
  const candidates = [7, 6, 5, 4, 3, 2].map((most) => linearTicks(low, high, most));
  const fits = (ticks) => ticks.every((tick, i) => i === 0
    || place(tick) - place(ticks[i - 1]) >= (width(tick) + width(ticks[i - 1])) / 2 + gap);
  return candidates.find(fits) ?? [low];
}

function areApart(places, gap) {
  return places.every((place, i) => i === 0 || place - places[i - 1] >= gap);
}
