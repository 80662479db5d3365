// Structures of molecules from the few bytes `data.molecules.sketches` packs: atoms with places, bonds with orders.

const ELEMENTS = {N: '#2146c7', O: '#c4161c', S: '#8a6d00', P: '#b85c00', F: '#0a7d32', Cl: '#0a7d32', Br: '#8a3b12', I: '#6a1b9a'};

/** Draw molecule `index`; returns a canvas, or null where there is no drawing. */
function drawMolecule(drawings, index, width = 200, height = 150) {
  const first = index ? drawings.ends[index - 1] : 0, last = drawings.ends[index];
  if (last <= first) return null;
  const bytes = drawings.bytes.subarray(first, last);
  const atoms = bytes[0] + 256 * bytes[1];
  const places = [], bonds = [];
  let at = 2;
  for (let i = 0; i < atoms; i++, at += 4) {
    places.push({x: bytes[at], y: bytes[at + 1], symbol: drawings.symbols[bytes[at + 2]] ?? '?', charge: bytes[at + 3] - 8});
  }
  const wide = atoms > 255;
  for (; at < bytes.length; at += wide ? 5 : 3) {
    const [a, b, order] = wide ? [bytes[at] + 256 * bytes[at + 1], bytes[at + 2] + 256 * bytes[at + 3], bytes[at + 4]] : bytes.subarray(at, at + 3);
    bonds.push([places[a], places[b], order]);
  }
  const ratio = window.devicePixelRatio || 1;
  const canvas = element('canvas', {width: width * ratio, height: height * ratio, role: 'img', 'aria-label': `structure with ${atoms} atoms`});
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext('2d');
  pen.scale(ratio, ratio);
  const [left, right] = extent(places.map(place => place.x)), [low, high] = extent(places.map(place => place.y));
  const size = Math.min((width - 30) / Math.max(1, right - left), (height - 30) / Math.max(1, high - low), 1.6);
  for (const place of places) {
    place.x = width / 2 + (place.x - (left + right) / 2) * size;
    place.y = height / 2 - (place.y - (low + high) / 2) * size;
  }
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, width, height);
  pen.strokeStyle = '#222';
  pen.lineWidth = 1.3;
  pen.lineCap = 'round';
  for (const [from, to, order] of bonds) drawBond(pen, from, to, order);
  pen.font = '600 12px system-ui, sans-serif';
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  for (const place of places) {
    if (place.symbol === 'C' && !place.charge && atoms > 1) continue;
    const sign = place.charge ? (Math.abs(place.charge) > 1 ? Math.abs(place.charge) : '') + (place.charge > 0 ? '+' : '−') : '';
    const text = place.symbol + sign;
    pen.fillStyle = '#fff';
    pen.fillRect(place.x - 4 * text.length - 1, place.y - 7, 8 * text.length + 2, 14);
    pen.fillStyle = ELEMENTS[place.symbol] ?? '#222';
    pen.fillText(text, place.x, place.y);
  }
  return canvas;
}

function drawBond(pen, from, to, order) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const aside = {x: -(to.y - from.y) / length, y: (to.x - from.x) / length};
  const shifts = {2: [-1.8, 1.8], 3: [-3, 0, 3]}[order] ?? [0];
  for (const shift of shifts) {
    pen.beginPath();
    pen.moveTo(from.x + aside.x * shift, from.y + aside.y * shift);
    pen.lineTo(to.x + aside.x * shift, to.y + aside.y * shift);
    pen.stroke();
  }
}
