// Which points share a colour: kinds of a category, ranges of a number.

const KINDS_SHOWN = 11;  // of a category; the rarer ones share a colour
const STEPS = 6;  // of a column of numbers
// From small to large, each for light and for dark pages.
const SHADES = [['#b7d3ee', '#1d3c5c'], ['#84b3df', '#2c5f92'], ['#5590c8', '#3f82c4'], ['#2f6cab', '#6ba6df'], ['#164d87', '#a3caf0'], ['#08305c', '#dcebfb']];

/** A column as groups of points: {labels, counts, colours, of: [n] group}. The last group may be "not known". */
function grouped(facet, count) {
  if (facet.kind === 'number') return groupedNumbers(facet.values, count);
  const shown = Math.min(facet.levels.length, facet.levels.length > KINDS_SHOWN + 1 ? KINDS_SHOWN : KINDS_SHOWN + 1);
  const labels = facet.levels.slice(0, shown);
  const colours = labels.map((_, i) => `--c${i % COLOURS}`);
  const others = facet.levels.length > shown ? labels.push(`${facet.levels.length - shown} other kinds`) - 1 : -1;
  if (others >= 0) colours.push(`--c${COLOURS - 1}`);
  const of = new Uint8Array(count);
  let unknown = -1;
  for (let i = 0; i < count; i++) {
    const code = facet.codes[i];
    if (code < shown) of[i] = code;
    else if (code < facet.levels.length) of[i] = others;
    else {
      if (unknown < 0) {
        unknown = labels.push('not known') - 1;
        colours.push('--faint');
      }
      of[i] = unknown;
    }
  }
  return {labels, colours, of};
}

/** Numbers in ranges that each hold as many points. */
function groupedNumbers(values, count) {
  const sorted = Float32Array.from(values).filter(value => !Number.isNaN(value)).sort();
  const bounds = [];
  for (let step = 1; step < STEPS; step++) {
    const bound = sorted[Math.floor(step * sorted.length / STEPS)];
    if (sorted.length && bound > sorted[0] && bound !== bounds[bounds.length - 1]) bounds.push(bound);
  }
  const edges = sorted.length ? [sorted[0], ...bounds, sorted[sorted.length - 1]] : [];
  const labels = edges.slice(1).map((edge, i) => `${written(edges[i])} to ${i < edges.length - 2 ? 'below ' : ''}${written(edge)}`);
  const shade = i => Math.round(i * (SHADES.length - 1) / Math.max(1, labels.length - 1));
  const colours = labels.map((_, i) => `shade${shade(i)}`);
  const of = new Uint8Array(count);
  let unknown = -1;
  for (let i = 0; i < count; i++) {
    if (Number.isNaN(values[i])) {
      if (unknown < 0) {
        unknown = labels.push('not known') - 1;
        colours.push('--faint');
      }
      of[i] = unknown;
      continue;
    }
    const above = bounds.findIndex(bound => values[i] < bound);
    of[i] = above < 0 ? bounds.length : above;
  }
  return {labels, colours, of};
}

/** A colour of the style sheet, or a shade, as it is now. */
function colourOf(name) {
  if (!name.startsWith('shade')) return styled(name);
  return SHADES[Number(name.slice(5))][getComputedStyle(document.documentElement).colorScheme === 'dark' ? 1 : 0];
}
