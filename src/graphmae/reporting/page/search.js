// Finding a point by its id.

const MOST_FOUND = 12;

/** The search field: ids that begin with the text, then those that contain it. */
class Search {
  constructor(map) {
    this.map = map;
    this.field = map.find('.find');
    this.list = map.find('.found');
    this.lowered = map.ids.map(id => id.toLowerCase());
    this.active = -1;
    this.field.addEventListener('input', () => this.look());
    this.field.addEventListener('keydown', event => this.key(event));
    this.field.addEventListener('blur', () => setTimeout(() => this.close(), 200));
  }

  look() {
    const text = this.field.value.trim().toLowerCase();
    const first = [], then = [];
    for (let i = 0; text && i < this.lowered.length && first.length < MOST_FOUND; i++) {
      if (this.lowered[i].startsWith(text)) first.push(i);
      else if (then.length < MOST_FOUND && this.lowered[i].includes(text)) then.push(i);
    }
    const exact = this.lowered.indexOf(text);
    this.hits = [...new Set([...(exact >= 0 ? [exact] : []), ...first, ...then])].slice(0, MOST_FOUND);
    this.active = this.hits.length ? 0 : -1;
    this.show(text);
  }

  show(text) {
    const rows = this.hits.map((hit, place) => {
      const row = element('li', {role: 'option', id: `${this.list.id}-${place}`, 'aria-selected': String(place === this.active)}, this.map.ids[hit]);
      row.addEventListener('pointerdown', event => {
        event.preventDefault();
        this.take(place);
      });
      return row;
    });
    if (text && !rows.length) rows.push(element('li', {role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false'}, 'nothing found'));
    this.list.replaceChildren(...rows);
    this.list.hidden = !rows.length;
    this.field.setAttribute('aria-expanded', String(rows.length > 0));
    if (this.active >= 0) this.field.setAttribute('aria-activedescendant', `${this.list.id}-${this.active}`);
    else this.field.removeAttribute('aria-activedescendant');
  }

  key(event) {
    if (event.key === 'Escape') return this.close();
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step && this.hits?.length) {
      this.active = (this.active + step + this.hits.length) % this.hits.length;
      this.show(this.field.value);
    } else if (event.key === 'Enter' && this.active >= 0) this.take(this.active);
    else return;
    event.preventDefault();
  }

  take(place) {
    this.map.visit(this.hits[place]);
    this.field.value = this.map.ids[this.hits[place]];
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.field.setAttribute('aria-expanded', 'false');
    this.field.removeAttribute('aria-activedescendant');
  }
}
