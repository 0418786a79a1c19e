// Reads buffers from CSV, in the columns of MiniMalloc and of Ashlar: id, lower, upper, size and,
// in any order, name, alignment, inside, at, offset.
const MOST_PLACED = 10000;

function cellsOf(text) {
  const rows = [[]];
  for (const [, separator, quoted, plain] of text.matchAll(/(^|,|\r?\n)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)) {
    if (separator !== "," && separator !== "") rows.push([]);
    rows.at(-1).push((quoted !== undefined ? quoted.replaceAll('""', '"') : plain).trim());
  }
  return rows.filter(row => row.length > 1 || row[0] !== "");
}

// Places buffers in this order, each at the lowest free place.
function firstFit(buffers, order) {
  const {first_step: first, end_step: end, size_bytes: size, alignment_bytes: alignment} = buffers;
  const offsets = size.map(() => 0), lower = [];  // lower: those placed, by offset
  for (const i of order) {
    let at = 0;
    for (const other of lower) {
      if (first[other] >= end[i] || end[other] <= first[i] || offsets[other] + size[other] <= at) continue;
      if (offsets[other] >= at + size[i]) break;
      at = Math.ceil((offsets[other] + size[other]) / alignment[i]) * alignment[i];
    }
    offsets[i] = at;
    const behind = lower.findIndex(other => offsets[other] > at);
    lower.splice(behind < 0 ? lower.length : behind, 0, i);
  }
  return offsets;
}

const topOf = ({size_bytes: size, offset_bytes: offset}) => size.reduce((top, bytes, i) => Math.max(top, bytes && offset[i] + bytes), 0);

// Places buffers without offsets: the better of the largest first and the longest first.
function withOffsets(buffers) {
  const {first_step: first, end_step: end, size_bytes: size} = buffers, all = size.map((_, i) => i);
  const orders = [(a, b) => size[b] - size[a], (a, b) => end[b] - first[b] - (end[a] - first[a]) || size[b] - size[a]];
  const tried = orders.map(order => ({...buffers, offset_bytes: firstFit(buffers, all.slice().sort(order))}));
  return tried.reduce((best, one) => topOf(one) < topOf(best) ? one : best);
}

// Returns the document of a plan that has buffers alone, with their places.
function documentOfBuffers(title, buffers, planner, relations = {inner: [], outer: [], at_bytes: []}) {
  const none = {name: [], type: [], kernel: [], workspace_bytes: [], part: [], ms: []};
  const document = {
    schema_version: 1, title, arena_bytes: topOf(buffers), lower_bound_bytes: 0, proven_bytes: 0, budget_bytes: 0,
    weights_bytes: 0, input_bytes: 0, output_bytes: 0, bottleneck_step: 0, proof: "none", planner, tile: "", passes: [],
    kinds: ["tensor"], buffers, relations, steps: none, reads: {buffer: [], step: []},
    views: {buffer: [], name: [], at_bytes: [], size_bytes: []},
  };
  const {live} = new Plan(document);
  document.lower_bound_bytes = document.proven_bytes = live.peak;
  document.bottleneck_step = live.steps[live.bytes.indexOf(live.peak)] ?? 0;
  return document;
}

// Returns the document of a plan.
function documentOfCsv(text, title) {
  const [head, ...rows] = cellsOf(text);
  const column = Object.fromEntries((head ?? []).map((name, index) => [name.toLowerCase(), index]));
  for (const name of ["id", "lower", "upper", "size"]) {
    if (!(name in column)) throw new Error(`no column ${name}; buffers have id, lower, upper, size and perhaps offset`);
  }
  const cell = (row, name) => row[column[name]] ?? "";
  const numbers = (name, missing) => rows.map((row, r) => {
    const value = cell(row, name) === "" ? missing : Number(cell(row, name));
    if (!Number.isFinite(value)) throw new Error(`row ${r + 2}: ${name} is no number`);
    return value;
  });
  const ids = rows.map(row => cell(row, "id")), index = indexOf(ids);
  const buffers = {
    name: rows.map((row, r) => cell(row, "name") || ids[r]), kind: rows.map(() => 0),
    first_step: numbers("lower"), end_step: numbers("upper"), size_bytes: numbers("size"),
    alignment_bytes: numbers("alignment", 1),
  };
  const relations = {inner: [], outer: [], at_bytes: []};
  const at = numbers("at", 0);
  rows.forEach((row, r) => {
    if (!index.has(cell(row, "inside"))) return;
    relations.inner.push(r);
    relations.outer.push(index.get(cell(row, "inside")));
    relations.at_bytes.push(at[r]);
  });
  const known = "offset" in column && rows.every(row => cell(row, "offset") !== "");
  if (!known && (rows.length > MOST_PLACED || relations.inner.length > 0)) {
    throw new Error("the buffers have no offsets: ashlar plan FILE.csv -o plan.html finds them");
  }
  if (known) buffers.offset_bytes = numbers("offset");
  return documentOfBuffers(title, known ? buffers : withOffsets(buffers), known ? "the file's" : "first fit", relations);
}

function csvOf(plan) {
  const quote = text => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const lines = ["id,name,lower,upper,size,alignment,inside,at,offset"];
  for (let i = 0; i < plan.count; ++i) {
    const relation = plan.tied.outward.get(i)?.[0];
    lines.push([i, quote(plan.names[i]), plan.first[i], plan.end[i], plan.size[i], plan.alignment[i],
                plan.relations.outer[relation] ?? "", plan.relations.at_bytes[relation] ?? "", plan.offset[i]].join());
  }
  return lines.join("\n") + "\n";
}
