"use strict";

const byId = (id) => document.getElementById(id);

/** An element with text in it; texts never become markup. */
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** An element of SVG with attributes. */
function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Round numbers between two bounds, as the plots made in Python have them. */
function ticks(low, high, most = 6) {
  if (!(high > low)) return [low];
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  for (const scale of [power, 10 * power])
    for (const factor of [1, 2, 2.5, 5, 10]) {
      const step = scale * factor;
      const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
      if (last - first < most)
        return Array.from({ length: last - first + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)));
    }
  return [low, high];
}

const signed = (value) => `${value}`.replace("-", "−");
