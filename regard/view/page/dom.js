// Elements from words. Text only ever becomes a text node, so nothing that a person types can become markup.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function choice(label, options, chosen, onchange) {
  const select = make("select", { name: label, onchange: () => onchange(select.value) });
  for (const [value, words] of options) {
    select.append(make("option", { value, selected: String(value) === String(chosen) }, words));
  }
  return make("label", {}, make("span", {}, label), select);
}

// For everyone, and read aloud where somebody listens.
export function say(words) {
  const place = document.getElementById("said");
  if (place.textContent !== words) place.textContent = words;
}

export function short(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  return size >= 1e5 || size < 1e-3 ? number.toExponential(1) : String(Number(number.toPrecision(3)));
}
