// Finds the boxes in a window with a packed R-tree (Kamel and Faloutsos 1993, with Morton order in
// place of Hilbert's). A node stores how full it is and its largest box: a small node is drawn from
// these alone.
const FAN_OUT = 16;

// Inserts a zero between each two bits of a number.
function spread(bits) {
  let wide = 0;
  for (let bit = 0; bit < 16; ++bit) wide += ((bits >> bit) & 1) * 4 ** bit;
  return wide;
}
const SPREAD = Float64Array.from({length: 256}, (_, byte) => spread(byte));
const spread16 = bits => SPREAD[bits >> 8] * 65536 + SPREAD[bits & 255];

// Sorts indices by their 32-bit codes, in two passes of a counting sort; equal codes keep their
// order.
function sortedBy(codes, indices) {
  for (const shift of [0, 16]) {
    const next = new Uint32Array(65537), sorted = new Uint32Array(indices.length);
    for (const i of indices) ++next[(codes[i] >>> shift & 65535) + 1];
    for (let digit = 0; digit < 65536; ++digit) next[digit + 1] += next[digit];
    for (const i of indices) sorted[next[codes[i] >>> shift & 65535]++] = i;
    indices = sorted;
  }
  return indices;
}

class Tree {
  constructor(plan) {
    this.plan = plan;
    this.order = Tree.orderOf(plan);
    this.levels = [];
    for (let below = this.order.length; below > 0; below = this.levels.at(-1).count) {
      this.levels.push(this.levelOver(below));
      if (this.levels.at(-1).count === 1) break;
    }
  }

  // Returns the non-empty boxes, neighbours near each other.
  static orderOf({count, first, end, offset, size, begin, last, top}) {
    const codes = new Uint32Array(count), boxes = new Uint32Array(count);
    const x = 32767.5 / (last - begin), y = 32767.5 / top;
    let found = 0;
    for (let i = 0; i < count; ++i) {
      if (size[i] === 0) continue;
      const column = (first[i] + end[i] - 2 * begin) * x, row = (2 * offset[i] + size[i]) * y;
      codes[i] = spread16(column & 65535) + 2 * spread16(Math.min(row, 65535) & 65535);
      boxes[found++] = i;
    }
    return sortedBy(codes, boxes.subarray(0, found));
  }

  // Returns the level of nodes over `below` boxes or nodes.
  levelOver(below) {
    const {first, end, offset, size} = this.plan, inner = this.levels.at(-1);
    const count = Math.ceil(below / FAN_OUT);
    const level = {count, below, x0: new Float64Array(count).fill(Infinity), x1: new Float64Array(count).fill(-Infinity),
                   y0: new Float64Array(count).fill(Infinity), y1: new Float64Array(count).fill(-Infinity),
                   area: new Float64Array(count), largest: new Uint32Array(count)};
    for (let child = 0; child < below; ++child) {
      const node = child >> 4, i = inner ? inner.largest[child] : this.order[child];
      const x0 = inner ? inner.x0[child] : first[i], x1 = inner ? inner.x1[child] : end[i];
      const y0 = inner ? inner.y0[child] : offset[i], y1 = inner ? inner.y1[child] : offset[i] + size[i];
      if (x0 < level.x0[node]) level.x0[node] = x0;
      if (x1 > level.x1[node]) level.x1[node] = x1;
      if (y0 < level.y0[node]) level.y0[node] = y0;
      if (y1 > level.y1[node]) level.y1[node] = y1;
      level.area[node] += inner ? inner.area[child] : (x1 - x0) * (y1 - y0);
      const before = level.largest[node];
      if (child % FAN_OUT === 0 || (end[i] - first[i]) * size[i] > (end[before] - first[before]) * size[before]) {
        level.largest[node] = i;
      }
    }
    return level;
  }

  // Calls box(i) for the boxes in the window {x0, x1, y0, y1}. If blur is given, calls blur(node,
  // level) instead for nodes narrower than `width` steps and lower than `height` bytes.
  visit(window, box, width = 0, height = 0, blur = null) {
    if (this.levels.length === 0) return;
    const {first, end, offset, size} = this.plan, {x0, x1, y0, y1} = window;
    const stack = [this.levels.length - 1, 0];
    while (stack.length > 0) {
      const node = stack.pop(), depth = stack.pop(), level = this.levels[depth];
      if (level.x0[node] >= x1 || level.x1[node] <= x0 || level.y0[node] >= y1 || level.y1[node] <= y0) continue;
      if (blur) {
        // Also blurs the lowest nodes if each of their boxes has only two or three pixels.
        const x = (level.x1[node] - level.x0[node]) / width, y = (level.y1[node] - level.y0[node]) / height;
        if ((x < 1 && y < 1) || (depth === 0 && x < 6 && y < 6 && x * y < 5)) {
          blur(node, level);
          continue;
        }
      }
      const to = Math.min(level.below, (node + 1) * FAN_OUT);
      for (let child = node * FAN_OUT; child < to; ++child) {
        if (depth > 0) {
          stack.push(depth - 1, child);
          continue;
        }
        const i = this.order[child];
        if (first[i] < x1 && end[i] > x0 && offset[i] < y1 && offset[i] + size[i] > y0) box(i);
      }
    }
  }

  // Returns the smallest box over a step and a byte; -1: none.
  at(step, byte) {
    let found = -1;
    const {first, end, size} = this.plan, area = i => (end[i] - first[i]) * size[i];
    this.visit({x0: step, x1: step + 1e-3, y0: byte, y1: byte + 1e-3}, i => {
      if (found < 0 || area(i) < area(found)) found = i;
    });
    return found;
  }
}
