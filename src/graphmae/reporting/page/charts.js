// Charts as SVG, drawn again whenever their width changes. Colours come from the style sheet, so dark mode and print
// need no redrawing.

const FONT = 7;  // pixels a letter takes, about
const SQUARE = 440;  // pixels a chart has at most whose axes mean the same

/** The frame of a chart with two axes: grid, numbers, labels. Returns the drawing and its scales. */
function frame(width, height, spec, [left, right], [bottom, top]) {
  const label = value => written(Number(value.toPrecision(6)));
  const marks = ticks(bottom, top, Math.max(3, height / 55));
  const margin = {left: 22 + FONT * Math.max(...marks.map(mark => label(mark).length)), right: 14, top: 8, bottom: 38};
  const drawing = shape('svg', {viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true'});
  const x = scale(left, right, margin.left, width - margin.right);
  const y = scale(bottom, top, height - margin.bottom, margin.top);
  for (const mark of marks) {
    drawing.append(shape('line', {class: 'rule', x1: margin.left, x2: width - margin.right, y1: y(mark), y2: y(mark)}));
    drawing.append(shape('text', {x: margin.left - 6, y: y(mark) + 4, 'text-anchor': 'end'}, label(mark)));
  }
  for (const mark of ticks(left, right, Math.max(2, (width - margin.left) / 90))) {
    drawing.append(shape('text', {x: x(mark), y: height - margin.bottom + 16, 'text-anchor': 'middle'}, label(mark)));
  }
  const base = height - margin.bottom;
  drawing.append(shape('line', {class: 'axis', x1: margin.left, x2: width - margin.right, y1: base, y2: base}));
  const middle = (margin.left + width - margin.right) / 2;
  drawing.append(shape('text', {class: 'label', x: middle, y: height - 4, 'text-anchor': 'middle'}, spec.x));
  const high = (margin.top + base) / 2;
  if (spec.y) {
    drawing.append(shape('text', {class: 'label', 'text-anchor': 'middle', transform: `translate(11 ${high}) rotate(-90)`}, spec.y));
  }
  return {drawing, x, y, margin};
}

function keys(series) {
  return element('ul', {class: 'keys'}, ...series.map(each => element('li', {},
    shape('svg', {viewBox: '0 0 18 12', 'aria-hidden': 'true'}, shape('rect', {class: `s${each.colour % COLOURS}`, x: 0, y: 4, width: 18, height: 4})),
    each.name)));
}

function drawLines(spec, space) {
  const width = spec.square ? Math.min(space, SQUARE) : space;
  const height = spec.square ? width : 260;
  const across = extent(spec.series.flatMap(each => each.x));
  const up = extent(spec.series.flatMap(each => each.y));
  const room = (up[1] - up[0]) * 0.04 || 0.5 * Math.abs(up[1]) || 1;
  const {drawing, x, y} = frame(width, height, spec,
    [spec.left ?? across[0], spec.right ?? across[1]], [spec.from ?? up[0] - room, spec.to ?? up[1] + room]);
  if (spec.diagonal) drawing.append(shape('line', {class: 'diagonal', x1: x(0), y1: y(0), x2: x(1), y2: y(1)}));
  for (const each of spec.series) {
    const places = each.x.map((value, i) => [x(value), each.y[i]]).filter(place => place[1] !== null).map(([a, b]) => [a, y(b)]);
    const path = places.map(([a, b], i) => `${i ? 'L' : 'M'}${a.toFixed(1)} ${b.toFixed(1)}`).join('');
    const line = shape('path', {class: `curve mark s${each.colour % COLOURS}`, d: path, fill: 'none'}, shape('title', {}, each.name));
    line.style.fill = 'none';
    drawing.append(line);
    if (!spec.points && places.length > 1) continue;
    const most = Math.max(1, ...(each.size ?? [1]));
    places.forEach(([a, b], i) => drawing.append(shape('circle', {class: `mark s${each.colour % COLOURS}`, cx: a, cy: b, r: each.size ? 3 + 5 * Math.sqrt(each.size[i] / most) : 4},
      shape('title', {}, `${each.name}: ${written(each.x[i])}, ${written(each.y[i])}${each.size ? ` (${written(each.size[i])})` : ''}`))));
  }
  return spec.series.length > 1 ? [drawing, keys(spec.series)] : [drawing];
}

/** Rows with a mean and its interval. */
function drawIntervals(spec, width) {
  const groups = [...new Set(spec.rows.map(row => row.group))];
  const narrow = width < 420;
  const longest = Math.max(...spec.rows.map(row => row.label.length));
  const left = narrow ? 8 : Math.min(width * 0.42, FONT * longest + 18);
  const step = narrow ? 40 : 26;
  const titles = groups.filter(group => group).length;
  const height = 52 + step * spec.rows.length + 24 * titles;
  const [low, high] = extent(spec.rows.flatMap(row => [row.low ?? row.mean, row.high ?? row.mean]));
  const room = (high - low) * 0.08 || 1;
  const x = scale(low - room, high + room, left + 6, width - 52);
  const drawing = shape('svg', {viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true'});
  const base = height - 40;
  for (const mark of ticks(low - room, high + room, Math.max(2, (width - left) / 90))) {
    drawing.append(shape('line', {class: 'rule', x1: x(mark), x2: x(mark), y1: 4, y2: base}));
    drawing.append(shape('text', {x: x(mark), y: base + 16, 'text-anchor': 'middle'}, written(Number(mark.toPrecision(6)))));
  }
  drawing.append(shape('line', {class: 'axis', x1: left, x2: width - 46, y1: base, y2: base}));
  drawing.append(shape('text', {class: 'label', x: (left + width - 46) / 2, y: height - 6, 'text-anchor': 'middle'}, spec.x));
  let top = 4;
  for (const group of groups) {
    if (group) {
      drawing.append(shape('text', {class: 'group', x: narrow ? 8 : 0, y: top + 16}, cut(group, Math.floor(width / FONT))));
      top += 24;
    }
    for (const row of spec.rows.filter(each => each.group === group)) {
      const y = top + (narrow ? 28 : step / 2);
      const kind = row.kind === 'method' ? 's0' : row.kind;
      const name = shape('text', {class: 'name', x: narrow ? 8 : left - 6, y: narrow ? top + 14 : y + 4, 'text-anchor': narrow ? 'start' : 'end'},
        cut(row.label, Math.floor((narrow ? width : left) / FONT)));
      if (row.kind === 'method') name.setAttribute('font-weight', '600');
      drawing.append(name);
      const said = `${row.label}: ${row.text}`;
      if (row.low !== undefined) drawing.append(shape('line', {class: `whisker ${kind}`, x1: x(row.low), x2: x(row.high), y1: y, y2: y}));
      const mark = row.kind === 'published'
        ? shape('rect', {class: `mark ${kind}`, x: x(row.mean) - 5, y: y - 5, width: 10, height: 10, 'stroke-width': 2, transform: `rotate(45 ${x(row.mean)} ${y})`})
        : shape('circle', {class: `mark ${kind}`, cx: x(row.mean), cy: y, r: 5.5});
      mark.append(shape('title', {}, said));
      drawing.append(mark, shape('text', {class: 'value', x: width, y: y + 4, 'text-anchor': 'end'}, row.text));
      top += step;
    }
  }
  return [drawing];
}

/** Horizontal bars, each with a mark for what chance gives. */
function drawBars(spec, width) {
  const shown = spec.bars.slice(0, 24);
  const narrow = width < 420;
  const longest = Math.max(...shown.map(bar => bar.label.length));
  const left = narrow ? 4 : Math.min(width * 0.4, FONT * longest + 14);
  const step = narrow ? 42 : 26;
  const height = 56 + step * shown.length;
  const x = scale(0, 100, left + 4, width - 44);
  const drawing = shape('svg', {viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true'});
  const base = height - 48;
  shown.forEach((bar, i) => {
    const y = i * step + (narrow ? 18 : 4);
    drawing.append(shape('text', {class: 'name', x: narrow ? 4 : left - 2, y: narrow ? y - 4 : y + 14, 'text-anchor': narrow ? 'start' : 'end'},
      cut(bar.label, Math.floor((narrow ? width : left) / FONT))));
    drawing.append(shape('rect', {class: `mark s${bar.colour % COLOURS}`, 'stroke-width': 0, x: x(0), y, width: Math.max(0.5, x(bar.value) - x(0)), height: 18},
      shape('title', {}, `${bar.label}: ${written(Number(bar.value.toFixed(1)))} % (${spec.mark}: ${written(Number(bar.mark.toFixed(1)))} %)`)));
    drawing.append(shape('line', {class: 'tick', x1: x(bar.mark), x2: x(bar.mark), y1: y - 2, y2: y + 20}));
    drawing.append(shape('text', {class: 'value', x: width, y: y + 14, 'text-anchor': 'end'}, `${Math.round(bar.value)} %`));
  });
  for (const mark of [0, 25, 50, 75, 100]) drawing.append(shape('text', {x: x(mark), y: base + 14, 'text-anchor': 'middle'}, mark));
  drawing.append(shape('text', {class: 'label', x: (left + width - 44) / 2, y: height - 18, 'text-anchor': 'middle'}, spec.x));
  drawing.append(shape('line', {class: 'tick', x1: left + 6, x2: left + 6, y1: height - 12, y2: height}));
  drawing.append(shape('text', {x: left + 14, y: height - 2}, spec.mark));
  return [drawing];
}

function drawHistogram(spec, width) {
  const top = Math.max(...spec.counts, 1);
  const {drawing, x, y} = frame(width, 260, spec, [spec.edges[0], spec.edges[spec.edges.length - 1]], [0, top * 1.15]);
  spec.counts.forEach((count, i) => {
    if (!count) return;
    const from = x(spec.edges[i]), to = x(spec.edges[i + 1]);
    drawing.append(shape('rect', {class: 'mark s0', 'stroke-width': 0, x: from + 0.5, y: y(count), width: Math.max(1, to - from - 1), height: y(0) - y(count)},
      shape('title', {}, `${written(Number(spec.edges[i].toPrecision(3)))} to ${written(Number(spec.edges[i + 1].toPrecision(3)))}: ${written(count)}`)));
  });
  drawing.append(shape('line', {class: 'tick', x1: x(spec.middle), x2: x(spec.middle), y1: y(top * 1.15), y2: y(0)},
    shape('title', {}, `median: ${written(spec.middle)}`)));
  drawing.append(shape('text', {class: 'name', x: x(spec.middle) + 5, y: 18}, 'median'));
  return [drawing];
}

function drawScatter(spec, space) {
  const width = Math.min(space, SQUARE);
  const [low, high] = extent([...spec.marks.x, ...spec.marks.y]);
  const room = (high - low) * 0.04 || 1;
  const bounds = [low - room, high + room];
  const {drawing, x, y} = frame(width, width, spec, bounds, bounds);
  drawing.append(shape('line', {class: 'diagonal', x1: x(bounds[0]), y1: y(bounds[0]), x2: x(bounds[1]), y2: y(bounds[1])}));
  spec.marks.x.forEach((value, i) => drawing.append(shape('circle', {class: 'mark s0', 'fill-opacity': 0.55, 'stroke-width': 0, cx: x(value), cy: y(spec.marks.y[i]), r: 3.5},
    shape('title', {}, `measured ${written(value)}, predicted ${written(spec.marks.y[i])}`))));
  return [drawing];
}

const KINDS = {lines: drawLines, intervals: drawIntervals, bars: drawBars, histogram: drawHistogram, scatter: drawScatter};

/** Draw a chart into its place, and again when the place becomes wider or narrower. */
function showChart(place, spec) {
  let before = 0;
  const draw = () => {
    const width = Math.floor(place.clientWidth);
    if (!width || width === before) return;
    before = width;
    place.replaceChildren(...KINDS[spec.kind](spec, width));
  };
  new ResizeObserver(draw).observe(place);
  draw();
}
