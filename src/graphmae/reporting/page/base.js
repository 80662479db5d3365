// Small things everything else uses. Text reaches the page by textContent alone: a name is never read as HTML.

const SVG = 'http://www.w3.org/2000/svg';
const COLOURS = 12;
const ARRAYS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array};

const page = JSON.parse(document.getElementById('data').textContent);

/** An HTML element: attributes, then text or children. */
function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An element of an SVG drawing. */
function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, String(value));
  }
  made.append(...children.filter(child => child !== null && child !== undefined).map(child =>
    child instanceof Node ? child : document.createTextNode(String(child))));
  return made;
}

/** The numbers `pack.packed` wrote. */
function unpacked(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[packed.type](bytes.buffer);
}

/** A number as people write it: few digits, thousands apart. */
function written(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (Number.isInteger(value)) return value.toLocaleString('en');
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

/** A value of the style sheet, as it is now: light, dark or for print. */
function styled(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Round numbers between two others, about `count` of them. */
function ticks(low, high, count) {
  const span = high - low || 1;
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(factor => factor * power).find(each => each >= rough);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i++) out.push(i * step);
  return out;
}

/** From numbers between `low` and `high` to places between `first` and `last`. */
function scale(low, high, first, last) {
  const span = high - low || 1;
  return value => first + (value - low) / span * (last - first);
}

/** The text, cut where it is longer than fits. */
function cut(text, most) {
  return text.length > most ? text.slice(0, Math.max(1, most - 1)) + '…' : text;
}

/** The least and the largest number of a list, those that are none left out. */
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || Number.isNaN(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}
