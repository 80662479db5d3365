// The canvas of a map: thousands of points, drawn in one go per colour, found again through a grid.

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

  /** A disc of one colour, drawn once and copied for every point. */
  stamp(colour, radius, ratio) {
    const size = Math.ceil(2 * radius * ratio) + 2;
    const stamp = document.createElement('canvas');
    stamp.width = stamp.height = size;
    const pen = stamp.getContext('2d');
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(size / 2, size / 2, radius * ratio, 0, 2 * Math.PI);
    pen.fill();
    return stamp;
  }

  draw() {
    const {pen, canvas} = this;
    const ratio = window.devicePixelRatio || 1, {width, height, radius} = this;
    if (!width || !height || !this.places || !this.groups) return;
    const began = performance.now();
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = styled('--back');
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.globalAlpha = this.chosen >= 0 ? 0.25 : 0.85;
    const side = this.side, half = Math.ceil(radius * ratio) + 1;
    const stamps = this.colours.map(colour => this.stamp(colour, radius, ratio));
    const ax = side * ratio / 65534, bx = (width / 2 - this.view.x * side) * ratio - half;
    const ay = -side * ratio / 65534, by = (height / 2 + this.view.y * side) * ratio - half;
    for (let k = 0; k < this.count; k++) {
      const i = this.shuffled[k], group = this.groups[i];
      if (this.hidden[group] || !this.has(i)) continue;
      const x = this.places[2 * i] * ax + bx, y = this.places[2 * i + 1] * ay + by;
      if (x < -2 * half || y < -2 * half || x > canvas.width || y > canvas.height) continue;
      pen.drawImage(stamps[group], x, y);
    }
    pen.globalAlpha = 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.marks();
    this.drawings++;
    canvas.dataset.drawn = this.drawings;
    canvas.dataset.milliseconds = (performance.now() - began).toFixed(1);
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
