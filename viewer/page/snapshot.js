// Reads PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot): buffers with lifetimes, where
// PyTorch placed them, and where a plan would. A step is an allocation or the end of one
// ("free_completed"). The same as serialization/memory_snapshot.cc, which the command uses.
const SNAPSHOT_ALIGNMENT = 512, MOST_DEVICES = 1024, MOST_ENTRIES = 2 ** 24, MOST_FRAMES = 64;

// Reads fields of dictionaries. Lists may be in a file once and in a snapshot many times, so the
// work has a limit of its own.
class Fields {
  constructor() { this.entries = 0; }

  field(entry, key, where) {
    const value = entry instanceof Map ? entry.get(key) : undefined;
    if (value === undefined) throw new Error(`${where} has no '${key}'`);
    return value;
  }

  number(entry, key, where) {
    const number = this.field(entry, key, where);
    if (typeof number !== "number") throw new Error(`'${key}' of ${where} is no whole number`);
    if (number < 0 || !Number.isSafeInteger(number)) throw new Error(`'${key}' of ${where} is ${number}, expected 0 to 2^53`);
    return number;
  }

  list(value, where) {
    if (!Array.isArray(value)) throw new Error(`${where} is no list`);
    this.entries += value.length;
    if (this.entries > MOST_ENTRIES) throw new Error(`more than ${MOST_ENTRIES} entries`);
    return value;
  }

  // Returns bytes [begin, end) of a device's memory.
  range(entry, at, size, where) {
    const begin = this.number(entry, at, where), end = begin + this.number(entry, size, where);
    if (!Number.isSafeInteger(end)) throw new Error(`${where} ends after byte 2^53`);
    return {begin, end};
  }
}

const textOf = (entry, key) => {
  const text = entry instanceof Map ? entry.get(key) : undefined;
  return typeof text === "string" ? text : "";
};

// Returns the innermost line of the program itself: of Python, and not inside PyTorch. Without one,
// the innermost function.
function nameOf(entry, address) {
  let best = "", inPython = "";
  const frames = entry.get("frames");
  for (const frame of Array.isArray(frames) ? frames.slice(0, MOST_FRAMES) : []) {
    const path = textOf(frame, "filename"), name = textOf(frame, "name");
    const python = path.endsWith(".py"), own = python && !path.includes("/torch/");
    if (!python && best === "") best = name;
    if (!own && !(inPython === "" && python)) continue;
    const line = frame.get("line");
    inPython = `${path.slice(path.lastIndexOf("/") + 1)}:${typeof line === "number" ? line : 0} ${name}`;
    if (own) break;
  }
  return (inPython || best).slice(0, 200) || "0x" + address.toString(16);
}

// Follows the history of one device.
class DeviceHistory {
  constructor(fields, device) {
    Object.assign(this, {fields, device, step: 0, events: 0, segments: 0});
    this.names = [];
    this.first = [];
    this.end = [];  // 0: still allocated
    this.at = [];   // addresses of buffers
    this.ranges = [];  // of segments
    this.live = new Map();  // buffers by address
    this.reservedNow = this.reservedChange = this.reservedMost = 0;
  }

  addBuffer(entry, range, first, where) {
    if (this.live.has(range.begin)) throw new Error(`${where}: 0x${range.begin.toString(16)} is allocated already`);
    this.live.set(range.begin, this.at.length);
    this.at.push(range);
    this.first.push(first);
    this.end.push(0);
    this.names.push(nameOf(entry, range.begin));
  }

  addEvent(event) {
    const where = `event ${this.events++} of device ${this.device}`, action = textOf(event, "action");
    const range = () => this.fields.range(event, "addr", "size", where);
    if (action === "alloc") return this.addBuffer(event, range(), ++this.step, where);
    if (action === "free_completed") {
      const freed = range();
      if (!this.live.has(freed.begin)) this.addBuffer(event, freed, 0, where);  // older than the history
      this.end[this.live.get(freed.begin)] = this.step + 1;
      this.live.delete(freed.begin);
    } else if (/^segment_(alloc|map|free|unmap)$/.test(action)) {
      const segment = range(), sign = /(alloc|_map)$/.test(action) ? 1 : -1;
      this.ranges.push(segment);
      this.reservedChange += sign * (segment.end - segment.begin);
      this.reservedMost = Math.max(this.reservedMost, this.reservedChange);
    }  // requests, errors and notes change no memory
  }

  // After all events: a segment as it was when the snapshot was taken.
  addSegment(segment) {
    const where = `segment ${this.segments++} of device ${this.device}`;
    const range = this.fields.range(segment, "address", "total_size", where);
    this.ranges.push(range);
    this.reservedNow += range.end - range.begin;
    let at = range.begin;
    this.fields.list(this.fields.field(segment, "blocks", where), `'blocks' of ${where}`).forEach((block, i) => {
      const name = `block ${i} of ${where}`, size = this.fields.number(block, "size", name);
      // Files of older versions give the sizes alone.
      if (block.has("address")) at = this.fields.number(block, "address", name);
      const place = {begin: at, end: at + size};
      if (!Number.isSafeInteger(place.end)) throw new Error(`${name} ends after byte 2^53`);
      if (textOf(block, "state").startsWith("active") && !this.live.has(at)) this.addBuffer(block, place, 0, name);
      at = place.end;
    });
  }

  // Returns the offsets of all buffers without the gaps that no segment ever had, and their end.
  places() {
    const joined = [];
    for (const {begin, end} of [...this.ranges, ...this.at].sort((a, b) => a.begin - b.begin)) {
      const last = joined.at(-1);
      if (last && begin <= last.end) last.end = Math.max(last.end, end);
      else joined.push({begin, end, offset: last ? last.offset + last.end - last.begin : 0});
    }
    const offsets = this.at.map(({begin}) => {
      let low = 0, high = joined.length;
      while (low + 1 < high) {
        const middle = (low + high) >> 1;
        if (joined[middle].begin <= begin) low = middle; else high = middle;
      }
      return joined[low].offset + begin - joined[low].begin;
    });
    const last = joined.at(-1);
    return {offsets, span: last ? last.offset + last.end - last.begin : 0};
  }

  get reserved() { return Math.max(0, this.reservedNow - this.reservedChange + this.reservedMost); }

  // Returns the columns of a plan's document, without places.
  buffers() {
    return {
      name: this.names, kind: this.names.map(() => 0), first_step: this.first, end_step: this.end.map(end => end || this.step + 1),
      size_bytes: this.at.map(({begin, end}) => end - begin), alignment_bytes: this.names.map(() => SNAPSHOT_ALIGNMENT),
    };
  }
}

// Returns the histories of all devices.
function historiesOf(snapshot) {
  const fields = new Fields();
  const segments = fields.list(fields.field(snapshot, "segments", "the snapshot"), "'segments' of the snapshot");
  const traces = snapshot.has("device_traces") ? fields.list(snapshot.get("device_traces"), "'device_traces' of the snapshot") : [];
  const devices = segments.map((segment, i) => fields.number(segment, "device", `segment ${i}`));
  const count = devices.reduce((most, device) => Math.max(most, device + 1), traces.length);
  if (count > MOST_DEVICES) throw new Error(`${count} devices`);
  if (count === 0) throw new Error("the snapshot has no device");
  return Array.from({length: count}, (_, device) => {
    const history = new DeviceHistory(fields, device);
    const events = device < traces.length ? fields.list(traces[device], `the trace of device ${device}`) : [];
    for (const event of events) history.addEvent(event);
    segments.forEach((segment, i) => devices[i] === device && history.addSegment(segment));
    return history;
  });
}

// Returns the documents of the device that allocates most: its plan, if the page finds one, and
// PyTorch's places. `note` of the first has the figures.
function documentsOfSnapshot(bytes, title) {
  const shown = historiesOf(readPickle(bytes)).map(history => {
    const {offsets, span} = history.places();
    const recorded = documentOfBuffers(`${title}, as PyTorch placed them`, {...history.buffers(), offset_bytes: offsets}, "PyTorch's allocator");
    recorded.arena_bytes = span;
    return {history, recorded};
  });
  const {history, recorded} = shown.reduce((most, one) => one.recorded.lower_bound_bytes > most.recorded.lower_bound_bytes ? one : most);
  const documents = [recorded], {reserved, names} = history;
  let note = `PyTorch: device ${history.device}${shown.length > 1 ? ` of ${shown.length}, which allocates most` : ""}; ` +
             `${formatBytes(reserved)} reserved, at most ${formatBytes(recorded.lower_bound_bytes)} of it allocated at once; `;
  if (names.length > MOST_PLACED) {
    note += `these ${formatCount(names.length)} buffers are too many for this page to place: ashlar plan FILE.pickle -o plan.html does`;
  } else {
    const planned = documentOfBuffers(title, withOffsets(history.buffers()), "first fit");
    documents.unshift(planned);
    note += reserved > 0 ? `a plan takes ${(planned.arena_bytes / reserved).toFixed(3)} of the reserved bytes` : `a plan takes ${formatBytes(planned.arena_bytes)}`;
  }
  if (history.step === 0) note += "; the snapshot has no history, so all its blocks live together";
  documents[0].note = note;
  return documents;
}
