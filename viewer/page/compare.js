// Two plans: which buffers and steps of one are those of the other, by name. Those of a tile
// ("conv1/3:halo") are also linked with what they are a part of ("conv1").
const wholeName = name => name.replace(/(\/[\d,]+)+(:[a-z]+)?$/, "");

function indexOf(names) {
  const index = new Map();
  names.forEach((name, i) => {
    if (!index.has(name)) index.set(name, i);
  });
  return index;
}

const linked = (index, wholes, name) => index.get(name) ?? index.get(wholeName(name)) ?? wholes.get(name) ?? -1;

class Comparison {
  constructor(a, b) {
    this.a = a;
    this.b = b;
    this.stepsOfB = indexOf(b.steps.name);
    this.wholeStepsOfB = indexOf(b.steps.name.map(wholeName));
    this.buffersOfB = indexOf(b.names);
    this.wholeBuffersOfB = indexOf(b.names.map(wholeName));
  }

  // The step of b that runs the same operator, else the one as far on.
  step(step) {
    const found = linked(this.stepsOfB, this.wholeStepsOfB, this.a.stepName(step));
    if (found >= 0 && this.a.stepName(step) !== "") return found;
    const {a, b} = this;
    return Math.floor(b.begin + (step - a.begin) / (a.last - a.begin) * (b.last - b.begin));
  }
  buffer(i) { return i < 0 ? -1 : linked(this.buffersOfB, this.wholeBuffersOfB, this.a.names[i]); }

  // Buffers of the same name: {moved: of a, at another offset, resized, same}, and those that only
  // one has.
  sums() {
    if (this.summed) return this.summed;
    const {a, b} = this, seen = new Set(), sums = {same: [], moved: [], resized: [], onlyA: [], onlyB: []};
    for (let i = 0; i < a.count; ++i) {
      const other = this.buffersOfB.get(a.names[i]);
      if (other === undefined || seen.has(other)) {
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
