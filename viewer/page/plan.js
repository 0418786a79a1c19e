// A plan, read from its document: columns as typed arrays, and queries on them.
const KIND_WORKSPACE = 1, MOST_RANKED = 10000;

// Returns the first entry of each of `count` owners, in a list sorted by owner.
function beginsOf(owners, count) {
  const begins = new Int32Array(count + 1);
  for (const owner of owners) ++begins[owner + 1];
  for (let i = 0; i < count; ++i) begins[i + 1] += begins[i];
  return begins;
}

class Plan {
  constructor(document) {
    if (document?.schema_version !== 1 || !Array.isArray(document.buffers?.size_bytes)) {
      throw new Error("this is no plan's document of schema_version 1");
    }
    this.document = document;
    this.title = String(document.title);
    this.kindNames = document.kinds;
    const {buffers, relations, steps, reads, views} = document;
    this.names = buffers.name;
    this.kind = new Uint8Array(buffers.kind);
    this.first = new Float64Array(buffers.first_step);
    this.end = new Float64Array(buffers.end_step);
    this.offset = new Float64Array(buffers.offset_bytes);
    this.size = new Float64Array(buffers.size_bytes);
    this.alignment = buffers.alignment_bytes;
    this.count = this.size.length;
    for (const column of [this.names, this.kind, this.first, this.end, this.offset]) {
      if (column.length !== this.count) throw new Error("columns of different lengths");
    }
    this.relations = relations;
    this.steps = steps;
    this.readSteps = reads.step;
    this.readBegin = beginsOf(reads.buffer, this.count);
    this.views = views;
    this.viewBegin = beginsOf(views.buffer, this.count);
    this.begin = 0;
    this.last = steps.name.length;
    this.top = Math.max(1, document.arena_bytes);
    if (this.count > 0 && this.last === 0) this.begin = Infinity;
    for (let i = 0; i < this.count; ++i) {
      if (this.first[i] < this.begin) this.begin = this.first[i];
      if (this.end[i] > this.last) this.last = this.end[i];
    }
    if (!(this.last > this.begin)) this.last = this.begin + 1;
    this.tied = tiesOf(this);
    this.live = new LiveCurve(this);
    this.tree = new Tree(this);
  }

  // Non-empty buffers, the largest first; of very many only the largest.
  get largest() {
    if (this.ranked) return this.ranked;
    const least = this.size.slice().sort()[Math.max(0, this.count - MOST_RANKED)] ?? 0;
    this.ranked = [];
    for (let i = 0; i < this.count && this.ranked.length < 2 * MOST_RANKED; ++i) {
      if (this.size[i] > 0 && this.size[i] >= least) this.ranked.push(i);
    }
    return this.ranked.sort((a, b) => this.size[b] - this.size[a] || a - b);
  }

  get arena() { return this.document.arena_bytes; }
  get used() { return this.document.used_bytes; }
  get lowerBound() { return this.document.lower_bound_bytes; }
  isLive(buffer, step) { return this.first[buffer] <= step && step < this.end[buffer]; }

  // Returns the live buffers, the largest first.
  liveAt(step) {
    const live = [];
    for (let i = 0; i < this.count; ++i) {
      if (this.size[i] > 0 && this.isLive(i, step)) live.push(i);
    }
    return live.sort((a, b) => this.size[b] - this.size[a] || a - b);
  }

  stepName(step) { return this.steps.name[step] ?? ""; }
  typeOf(buffer) { return this.steps.type[this.first[buffer]] ?? ""; }
  kindName(buffer) { return this.kindNames[this.kind[buffer]]; }
  readers(buffer) { return this.readSteps.slice(this.readBegin[buffer], this.readBegin[buffer + 1]); }

  viewsOf(buffer) {
    const views = [];
    for (let v = this.viewBegin[buffer]; v < this.viewBegin[buffer + 1]; ++v) {
      views.push({name: this.views.name[v], at: this.views.at_bytes[v], size: this.views.size_bytes[v]});
    }
    return views;
  }

  // Returns the nearest buffers below and above a buffer that live at one of its steps.
  neighbours(buffer) {
    let below = -1, above = -1;
    const bottom = this.offset[buffer], top = bottom + this.size[buffer];
    for (let i = 0; i < this.count; ++i) {
      if (i === buffer || this.size[i] === 0) continue;
      if (this.first[i] >= this.end[buffer] || this.end[i] <= this.first[buffer]) continue;
      const end = this.offset[i] + this.size[i];
      if (end <= bottom && (below < 0 || end > this.offset[below] + this.size[below])) below = i;
      if (this.offset[i] >= top && (above < 0 || this.offset[i] < this.offset[above])) above = i;
    }
    return {below, above};
  }
}
