// DOM elements from data. Strings only ever become text nodes, so input can never become markup.

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

// A labelled drop-down list of [value, text] options.
export function dropdown(label, options, chosen, onchange) {
  const select = make("select", { name: label, onchange: () => onchange(select.value) });
  for (const [value, text] of options) {
    select.append(make("option", { value, selected: String(value) === String(chosen) }, text));
  }
  return make("label", {}, make("span", {}, label), select);
}

// The status line shows what the pointer or the keyboard has selected; screen readers announce it.
export function setStatus(text) {
  const line = document.getElementById("status");
  if (line.textContent !== text) line.textContent = text;
}

export function cut(text, length) {
  return text.length > length ? `${text.slice(0, Math.max(0, length - 1))}…` : text;
}
