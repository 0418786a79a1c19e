// Live bytes over time: a step function, stored as the steps at which it changes and the bytes from
// there on.
const MOST_DENSE = 1 << 24;

// Returns by step how many more bytes live from there on.
function changesOf(plan) {
  const {begin, last, first, end, size, tied, count} = plan;
  const dense = last - begin < MOST_DENSE ? new Float64Array(last - begin + 1) : null, sparse = new Map();
  const change = (step, more) => {
    if (dense) dense[step - begin] += more;
    else sparse.set(step, (sparse.get(step) ?? 0) + more);
  };
  for (let i = 0; i < count; ++i) {
    if (size[i] === 0 || tied.has(i)) continue;
    change(first[i], size[i]);
    change(end[i], -size[i]);
  }
  for (const group of tied.groups) sweepGroup(plan, group, change);
  if (dense) dense.forEach((more, at) => more !== 0 && sparse.set(begin + at, more));
  return sparse;
}

class LiveCurve {
  constructor(plan) {
    const changes = changesOf(plan);
    this.steps = Float64Array.from(changes.keys()).sort();
    this.bytes = Float64Array.from(this.steps, step => changes.get(step));
    const count = this.steps.length;
    this.peak = 0;
    for (let i = 0, sum = 0; i < count; ++i) {
      this.bytes[i] = sum += this.bytes[i];
      if (sum > this.peak) this.peak = sum;
    }
  }

  // Returns the index of the last change at or before a step; -1: there is none.
  indexAt(step) {
    let low = 0, high = this.steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.steps[middle] <= step) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  at(step) { return this.bytes[this.indexAt(step)] ?? 0; }

  // Returns the maximum between two times.
  most(from, to) {
    let index = this.indexAt(from), most = this.bytes[index] ?? 0;
    while (++index < this.steps.length && this.steps[index] < to) {
      if (this.bytes[index] > most) most = this.bytes[index];
    }
    return most;
  }
}
