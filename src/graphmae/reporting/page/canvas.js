// The canvas of a map: thousands of points, painted pixel by pixel, found again through a grid.

const NONE = 65535;
const CELLS = 128;
const FURTHEST = 60;

/** 0 to n − 1 in an order that looks random and is always the same, so that no kind of point covers the others. */
function shuffled(n) {
  const order = Uint32Array.from({length: n}, (_, i) => i);
  let state = 1;
  for (let i = n - 1; i > 0; i--) {
    state = Math.imul(state, 1664525) + 1013904223 >>> 0;
    const j = state % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** [red, green, blue] of #rgb or #rrggbb. */
function channels(colour) {
  const digits = colour.slice(1).length === 3 ? [...colour.slice(1)].map(digit => digit + digit).join('') : colour.slice(1);
  return [0, 2, 4].map(first => parseInt(digits.slice(first, first + 2), 16));
}

/** Points on a square of 65,535 steps; what is drawn, how, and which is where. */
class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext('2d');
    this.view = {x: 0.5, y: 0.5, zoom: 1};
    this.colours = [];
    this.hovered = this.chosen = -1;
    this.near = [];
    this.waiting = false;
    this.drawings = 0;
  }

  /** Take places [2n]; points at NONE are not there. */
  place(places) {
    this.places = places;
    this.count = places.length / 2;
    if (this.shuffled?.length !== this.count) this.shuffled = shuffled(this.count);
    const cell = i => Math.min(CELLS - 1, Math.floor(places[2 * i] / 65536 * CELLS)) + CELLS * Math.min(CELLS - 1, Math.floor(places[2 * i + 1] / 65536 * CELLS));
    this.starts = new Uint32Array(CELLS * CELLS + 1);
    for (let i = 0; i < this.count; i++) if (this.has(i)) this.starts[cell(i) + 1]++;
    for (let i = 0; i < CELLS * CELLS; i++) this.starts[i + 1] += this.starts[i];
    this.order = new Uint32Array(this.count);
    const next = this.starts.slice();
    for (let i = 0; i < this.count; i++) if (this.has(i)) this.order[next[cell(i)]++] = i;
  }

  has(i) {
    return this.places[2 * i] !== NONE || this.places[2 * i + 1] !== NONE;
  }

  get width() { return this.canvas.clientWidth; }
  get height() { return this.canvas.clientHeight; }
  /** Pixels of the whole square. */
  get side() { return Math.max(40, Math.min(this.width, this.height) - 36) * this.view.zoom; }
  get radius() { return Math.min(7, Math.max(1.6, Math.min(4, 130 / Math.sqrt(this.count))) * (1 + 0.35 * Math.log2(this.view.zoom))); }

  /** Where point i is, in pixels. */
  at(i) {
    return [
      this.width / 2 + (this.places[2 * i] / 65534 - this.view.x) * this.side,
      this.height / 2 - (this.places[2 * i + 1] / 65534 - this.view.y) * this.side,
    ];
  }

  /** The nearest visible point within `reach` pixels, or -1. */
  nearest(px, py, reach) {
    const x = ((px - this.width / 2) / this.side + this.view.x) * CELLS;
    const y = ((this.height / 2 - py) / this.side + this.view.y) * CELLS;
    const cells = reach / this.side * CELLS;
    const within = value => Math.max(0, Math.min(CELLS - 1, Math.floor(value)));
    let best = -1, least = reach * reach;
    for (let row = within(y - cells); row <= within(y + cells); row++) {
      for (let column = within(x - cells); column <= within(x + cells); column++) {
        const cell = row * CELLS + column;
        for (let k = this.starts[cell]; k < this.starts[cell + 1]; k++) {
          const i = this.order[k];
          if (this.hidden[this.groups[i]]) continue;
          const [a, b] = this.at(i);
          const distance = (a - px) ** 2 + (b - py) ** 2;
          if (distance < least) [best, least] = [i, distance];
        }
      }
    }
    return best;
  }

  /** Zoom by a factor with the pixel (px, py) staying where it is. */
  zoomAt(px, py, factor) {
    const before = this.side;
    const x = (px - this.width / 2) / before, y = (this.height / 2 - py) / before;
    this.view.zoom = Math.max(1, Math.min(FURTHEST, this.view.zoom * factor));
    const after = this.side;
    this.view.x += x - x * before / after;
    this.view.y += y - y * before / after;
    this.moved();
  }

  shift(dx, dy) {
    this.view.x -= dx / this.side;
    this.view.y += dy / this.side;
    this.moved();
  }

  centre(i) {
    [this.view.x, this.view.y] = [this.places[2 * i] / 65534, this.places[2 * i + 1] / 65534];
    this.view.zoom = Math.max(this.view.zoom, 3);
    this.moved();
  }

  reset() {
    this.view = {x: 0.5, y: 0.5, zoom: 1};
    this.moved();
  }

  moved() {
    if (this.view.zoom === 1) [this.view.x, this.view.y] = [0.5, 0.5];
    this.view.x = Math.max(0, Math.min(1, this.view.x));
    this.view.y = Math.max(0, Math.min(1, this.view.y));
    this.canvas.classList.toggle('held', this.view.zoom > 1);
    this.ask();
  }

  /** Draw before the next frame, once however often it is asked for. */
  ask() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const {pen, canvas} = this;
    const ratio = window.devicePixelRatio || 1, {width, height} = this;
    if (!width || !height || !this.places || !this.groups) return;
    const began = performance.now();
    if (!this.image || this.image.width !== Math.round(width * ratio) || this.image.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      this.image = pen.createImageData(canvas.width, canvas.height);
    }
    this.paint(this.image, ratio);
    pen.putImageData(this.image, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.marks();
    this.drawings++;
    canvas.dataset.drawn = this.drawings;
    canvas.dataset.milliseconds = (performance.now() - began).toFixed(1);
  }

  /** All points into the image, pixel by pixel: many times faster than asking the canvas for every disc. */
  paint(image, ratio) {
    const {data, width, height} = image, {side, places, groups, hidden} = this;
    const [red, green, blue] = channels(styled('--back'));
    new Uint32Array(data.buffer).fill((255 << 24 | blue << 16 | green << 8 | red) >>> 0);
    const colours = this.colours.map(channels);
    const size = Math.ceil(this.radius * ratio), disc = this.disc(this.radius * ratio, width, this.chosen >= 0 ? 64 : 218);
    const ax = side * ratio / 65534, bx = (this.width / 2 - this.view.x * side) * ratio;
    const ay = -side * ratio / 65534, by = (this.height / 2 + this.view.y * side) * ratio;
    for (let k = 0; k < this.count; k++) {
      const i = this.shuffled[k], group = groups[i];
      if (hidden[group] || !this.has(i)) continue;
      const x = Math.round(places[2 * i] * ax + bx), y = Math.round(places[2 * i + 1] * ay + by);
      if (x < -size || y < -size || x >= width + size || y >= height + size) continue;
      const whole = x > size && y > size && x < width - size - 1 && y < height - size - 1;
      const [r, g, b] = colours[group], at = y * width + x;
      for (let m = 0; m < disc.length; m += 4) {
        if (!whole) {
          const px = x + disc[m + 2], py = y + disc[m + 3];
          if (px < 0 || py < 0 || px >= width || py >= height) continue;
        }
        const place = 4 * (at + disc[m]), share = disc[m + 1];
        data[place] += (r - data[place]) * share >> 8;
        data[place + 1] += (g - data[place + 1]) * share >> 8;
        data[place + 2] += (b - data[place + 2]) * share >> 8;
      }
    }
  }

  /** The pixels of a disc, four numbers each: where from its middle, how much of the colour (of 256), x and y. */
  disc(radius, width, most) {
    const out = [], reach = Math.ceil(radius);
    for (let y = -reach; y <= reach; y++) {
      for (let x = -reach; x <= reach; x++) {
        const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
        if (cover) out.push(y * width + x, Math.round(cover * most), x, y);
      }
    }
    return Int32Array.from(out);
  }

  /** The chosen point, lines to its neighbours, and the one under the pointer. */
  marks() {
    const {pen} = this;
    const ring = (i, size, colour, fill) => {
      const [x, y] = this.at(i);
      pen.beginPath();
      pen.arc(x, y, size, 0, 2 * Math.PI);
      pen.lineWidth = 2.5;
      pen.strokeStyle = colour;
      if (fill) {
        pen.fillStyle = fill;
        pen.fill();
      }
      pen.stroke();
    };
    const text = styled('--text');
    if (this.chosen >= 0 && this.has(this.chosen)) {
      const [x, y] = this.at(this.chosen);
      pen.strokeStyle = text;
      pen.lineWidth = 1;
      for (const i of this.near) {
        if (!this.has(i)) continue;
        const [a, b] = this.at(i);
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(a, b);
        pen.stroke();
      }
      for (const i of this.near) if (this.has(i)) ring(i, this.radius + 2, text, this.colours[this.groups[i]]);
      ring(this.chosen, this.radius + 4, text, this.colours[this.groups[this.chosen]]);
    }
    if (this.hovered >= 0 && this.has(this.hovered)) ring(this.hovered, this.radius + 3, text);
  }
}
