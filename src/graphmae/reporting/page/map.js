// One map and everything around it: projection, colours, legend, what is under the pointer, what was chosen.

const REACH = 14;  // pixels a pointer may be beside a point

class MapView {
  constructor(article, given) {
    this.article = article;
    this.ids = given.ids;
    this.what = given.what;
    this.neighbours = unpacked(given.neighbours);
    this.similarity = unpacked(given.similarity);
    this.k = given.neighbours.shape[1];
    this.errors = given.errors ? unpacked(given.errors) : null;
    this.facets = given.facets.map(facet => ({...facet, codes: facet.codes && unpacked(facet.codes), values: facet.kind === 'number' ? unpacked(facet.values) : facet.values}));
    if (given.drawings) this.drawings = {ends: unpacked(given.drawings.ends), bytes: unpacked(given.drawings.bytes), symbols: given.drawings.symbols};
    this.projections = Object.fromEntries(Object.entries(given.projections).map(([name, rows]) => [name, unpacked(rows)]));
    this.scene = new Scene(this.find('.stage > canvas'));
    this.tip = this.find('.tip');
    this.fillMenus();
    this.listen();
    this.search = new Search(this);
    new ResizeObserver(() => this.scene.ask()).observe(this.scene.canvas);
  }

  find(selector) {
    return this.article.querySelector(selector);
  }

  fillMenus() {
    const projection = this.find('.projection'), colour = this.find('.colour');
    projection.append(...Object.keys(this.projections).map(name => element('option', {value: name}, name)));
    projection.addEventListener('change', () => this.project(projection.value));
    this.colourings = this.facets.filter(facet => facet.kind !== 'text');
    if (this.errors) this.colourings.push({name: 'reconstruction error', kind: 'number', values: this.errors});
    colour.append(...this.colourings.map((facet, i) => element('option', {value: i}, facet.name)));
    if (!this.colourings.length) colour.append(element('option', {}, 'none'));
    colour.addEventListener('change', () => this.colour(Number(colour.value)));
    this.project(projection.value);
    this.colour(0);
  }

  project(name) {
    this.scene.place(this.projections[name]);
    this.scene.hovered = -1;
    this.scene.reset();
  }

  colour(number) {
    const facet = this.colourings[number];
    this.groups = facet ? grouped(facet, this.ids.length) : {labels: [`all ${this.what}s`], colours: ['--c0'], of: new Uint8Array(this.ids.length)};
    this.scene.groups = this.groups.of;
    this.scene.hidden = this.groups.labels.map(() => false);
    this.repaint();
    this.fillLegend();
  }

  /** Colours as the style sheet has them now. */
  repaint() {
    this.scene.colours = this.groups.colours.map(colourOf);
    for (const [i, dot] of [...this.article.querySelectorAll('.legend .dot')].entries()) dot.style.background = this.scene.colours[i];
    this.scene.ask();
  }

  fillLegend() {
    const counts = this.groups.labels.map(() => 0);
    for (const group of this.groups.of) counts[group]++;
    const buttons = this.groups.labels.map((label, i) => {
      const button = element('button', {type: 'button', 'aria-pressed': 'true'}, element('span', {class: 'dot'}), label, element('span', {class: 'count'}, written(counts[i])));
      button.addEventListener('click', () => this.toggle(i));
      return button;
    });
    const all = element('button', {type: 'button', class: 'all'}, 'Show all');
    all.addEventListener('click', () => this.showAll());
    this.find('.legend').replaceChildren(...buttons, all);
    this.repaint();
  }

  toggle(group) {
    this.scene.hidden[group] = !this.scene.hidden[group];
    this.pressLegend();
  }

  showAll() {
    this.scene.hidden.fill(false);
    this.pressLegend();
  }

  pressLegend() {
    this.article.querySelectorAll('.legend button[aria-pressed]').forEach((button, i) => button.setAttribute('aria-pressed', String(!this.scene.hidden[i])));
    this.scene.ask();
  }

  listen() {
    const {canvas} = this.scene, scene = this.scene;
    const at = event => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const held = new Map();
    let moved = 0, apart = 0;
    canvas.addEventListener('pointerdown', event => {
      held.set(event.pointerId, at(event));
      canvas.setPointerCapture(event.pointerId);
      moved = 0;
      if (held.size === 2) apart = this.span(held);
    });
    canvas.addEventListener('pointermove', event => {
      const [x, y] = at(event), before = held.get(event.pointerId);
      if (!before) return this.hover(x, y);
      moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
      held.set(event.pointerId, [x, y]);
      if (held.size === 2) {
        const span = this.span(held), [one, other] = [...held.values()];
        if (apart) scene.zoomAt((one[0] + other[0]) / 2, (one[1] + other[1]) / 2, span / apart);
        apart = span;
      } else if (moved > 4) {
        this.hide();
        scene.shift(x - before[0], y - before[1]);
      }
    });
    const release = event => {
      const place = held.get(event.pointerId);
      held.delete(event.pointerId);
      if (event.type === 'pointerup' && place && moved <= 4 && !held.size) {
        const found = scene.nearest(...at(event), event.pointerType === 'touch' ? 2 * REACH : REACH);
        this.choose(found);
      }
    };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointerleave', () => this.hide());
    canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;  // the page scrolls
      event.preventDefault();
      scene.zoomAt(...at(event), Math.exp(-event.deltaY * 0.002));
    }, {passive: false});
    canvas.addEventListener('dblclick', event => scene.zoomAt(...at(event), 2));
    canvas.addEventListener('keydown', event => this.key(event));
    this.find('.in').addEventListener('click', () => scene.zoomAt(scene.width / 2, scene.height / 2, 1.6));
    this.find('.out').addEventListener('click', () => scene.zoomAt(scene.width / 2, scene.height / 2, 1 / 1.6));
    this.find('.reset').addEventListener('click', () => scene.reset());
  }

  span(held) {
    const [one, other] = [...held.values()];
    return Math.hypot(one[0] - other[0], one[1] - other[1]);
  }

  key(event) {
    const {scene} = this, far = 60;
    const moves = {ArrowLeft: [far, 0], ArrowRight: [-far, 0], ArrowUp: [0, far], ArrowDown: [0, -far]};
    if (moves[event.key]) scene.shift(...moves[event.key]);
    else if (event.key === '+' || event.key === '=') scene.zoomAt(scene.width / 2, scene.height / 2, 1.6);
    else if (event.key === '-') scene.zoomAt(scene.width / 2, scene.height / 2, 1 / 1.6);
    else if (event.key === '0') scene.reset();
    else if (event.key === 'Escape') this.choose(-1);
    else if (event.key === 'Enter') this.choose(scene.nearest(scene.width / 2, scene.height / 2, Math.max(scene.width, scene.height)));
    else return;
    event.preventDefault();
  }

  hover(x, y) {
    const found = this.scene.nearest(x, y, REACH);
    if (found < 0) return this.hide();
    if (found !== this.scene.hovered) {
      this.scene.hovered = found;
      this.tip.replaceChildren(element('strong', {}, this.ids[found]), ...this.described(found));
      this.tip.hidden = false;
      this.scene.ask();
    }
    const left = x > this.scene.width / 2 ? x - this.tip.offsetWidth - 14 : x + 14;
    this.tip.style.left = `${Math.max(4, Math.min(left, this.scene.width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${Math.max(4, Math.min(y + 12, this.scene.height - this.tip.offsetHeight - 4))}px`;
  }

  hide() {
    if (this.scene.hovered < 0 && this.tip.hidden) return;
    this.scene.hovered = -1;
    this.tip.hidden = true;
    this.scene.ask();
  }

  /** The columns of a point and, of a molecule, its structure. */
  described(i) {
    const pairs = [];
    for (const facet of this.facets) {
      const value = facet.kind === 'category' ? facet.levels[facet.codes[i]] : facet.kind === 'number' ? (Number.isNaN(facet.values[i]) ? null : written(facet.values[i])) : facet.values[i];
      if (value !== null && value !== undefined) pairs.push(element('dt', {}, facet.name), element('dd', {}, value));
    }
    if (this.errors && !Number.isNaN(this.errors[i])) pairs.push(element('dt', {}, 'reconstruction error'), element('dd', {}, written(Number(this.errors[i].toPrecision(3)))));
    const drawn = this.drawings ? drawMolecule(this.drawings, i) : null;
    return [drawn, element('dl', {}, ...pairs)].filter(Boolean);
  }

  /** Highlight a point and list its nearest neighbours; -1: none. */
  choose(i) {
    const {scene} = this;
    scene.chosen = i;
    scene.near = i < 0 ? [] : Array.from(this.neighbours.subarray(i * this.k, (i + 1) * this.k));
    scene.ask();
    const panel = this.find('.chosen');
    if (i < 0) return panel.replaceChildren(element('p', {class: 'hint'}, 'Nothing is chosen.'));
    const list = scene.near.map((other, place) => {
      const button = element('button', {type: 'button', class: 'link'}, this.ids[other]);
      button.addEventListener('click', () => this.visit(other));
      const cosine = (this.similarity[i * this.k + place] - 127) / 127;
      return element('li', {}, button, element('span', {class: 'count'}, `cosine ${cosine.toFixed(2)}`));
    });
    const missing = scene.has(i) ? null : element('p', {class: 'hint'}, 'This projection was made without it: choose another.');
    const clear = element('button', {type: 'button'}, 'Clear');
    clear.addEventListener('click', () => this.choose(-1));
    panel.replaceChildren(element('div', {class: 'head'}, element('h4', {}, this.ids[i]), clear), ...(missing ? [missing] : []), ...this.described(i), element('p', {}, `Nearest ${this.what}s:`), element('ol', {}, ...list));
  }

  /** Choose a point and bring it into view. */
  visit(i) {
    if (this.scene.has(i)) this.scene.centre(i);
    this.choose(i);
  }
}
