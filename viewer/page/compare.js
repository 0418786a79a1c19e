// Compares two plans: matches buffers and steps by name. Of several buffers with one name, the n-th
// matches the other plan's n-th. Buffers of a tile ("conv1/3:halo") are also linked with the buffer
// that they are a part of ("conv1").
const wholeName = name => name.replace(/(\/[\d,]+)+(:[a-z]+)?$/, "");

function indexOf(names) {
  const index = new Map();
  names.forEach((name, i) => {
    if (!index.has(name)) index.set(name, i);
  });
  return index;
}

// Returns for each of `names` the index of its partner in `others`, or -1.
function partnersOf(names, others) {
  const left = new Map(), partners = new Int32Array(names.length).fill(-1);
  for (let i = others.length - 1; i >= 0; --i) left.set(others[i], [i, left.get(others[i])]);
  names.forEach((name, i) => {
    const next = left.get(name);
    if (!next) return;
    partners[i] = next[0];
    left.set(name, next[1]);
  });
  return partners;
}

const linked = (index, wholes, name) => index.get(name) ?? index.get(wholeName(name)) ?? wholes.get(name) ?? -1;

class Comparison {
  constructor(a, b) {
    this.a = a;
    this.b = b;
    this.stepsOfB = indexOf(b.steps.name);
    this.wholeStepsOfB = indexOf(b.steps.name.map(wholeName));
    this.partners = partnersOf(a.names, b.names);
    this.buffersOfB = indexOf(b.names);
    this.wholeBuffersOfB = indexOf(b.names.map(wholeName));
  }

  // Returns the step of b that runs the same operator, otherwise the step at the same share of the
  // plan.
  step(step) {
    const found = linked(this.stepsOfB, this.wholeStepsOfB, this.a.stepName(step));
    if (found >= 0 && this.a.stepName(step) !== "") return found;
    const {a, b} = this;
    return Math.floor(b.begin + (step - a.begin) / (a.last - a.begin) * (b.last - b.begin));
  }
  buffer(i) {
    if (i < 0 || this.partners[i] >= 0) return i < 0 ? -1 : this.partners[i];
    return linked(this.buffersOfB, this.wholeBuffersOfB, this.a.names[i]);
  }

  // Returns the buffers by comparison: {moved: of a, at another offset, resized, same}, and the
  // buffers that only one plan has.
  sums() {
    if (this.summed) return this.summed;
    const {a, b} = this, seen = new Set(), sums = {same: [], moved: [], resized: [], onlyA: [], onlyB: []};
    for (let i = 0; i < a.count; ++i) {
      const other = this.partners[i];
      if (other < 0) {
        sums.onlyA.push(i);
        continue;
      }
      seen.add(other);
      (a.size[i] !== b.size[other] ? sums.resized : a.offset[i] !== b.offset[other] ? sums.moved : sums.same).push(i);
    }
    for (let i = 0; i < b.count; ++i) {
      if (!seen.has(i)) sums.onlyB.push(i);
    }
    sums.moved.sort((x, y) => a.size[y] - a.size[x]);
    return this.summed = sums;
  }
}
