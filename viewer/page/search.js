// Finds buffers. Terms: words in a name, ">1MiB", "<=4KB", "=512", "@12" or "step:12" (live then),
// "type:Conv" (the operator that produces it), "kind:copy". All of them must match.
function conditionOf(term, plan) {
  const size = /^(>=|<=|>|<|=)(.+)$/.exec(term);
  if (size && !Number.isNaN(parseBytes(size[2]))) {
    const bytes = parseBytes(size[2]);
    const holds = {">": s => s > bytes, "<": s => s < bytes, ">=": s => s >= bytes, "<=": s => s <= bytes, "=": s => s === bytes};
    return i => holds[size[1]](plan.size[i]);
  }
  const step = /^(?:@|step:)(\d+)$/.exec(term);
  if (step) return i => plan.isLive(i, Number(step[1]));
  const [, key, word] = /^(?:(type|kind):)?(.*)$/.exec(term.toLowerCase());
  if (key === "type") return i => plan.typeOf(i).toLowerCase().includes(word);
  if (key === "kind") return i => plan.kindName(i).includes(word);
  return i => plan.names[i].toLowerCase().includes(word);
}

// Returns {mask, list, bytes}, or null for an empty query.
function find(plan, query) {
  const conditions = query.trim().split(/\s+/).filter(Boolean).map(term => conditionOf(term, plan));
  if (conditions.length === 0) return null;
  const mask = new Uint8Array(plan.count), list = [];
  let bytes = 0;
  for (let i = 0; i < plan.count; ++i) {
    if (!conditions.every(holds => holds(i))) continue;
    mask[i] = 1;
    list.push(i);
    bytes += plan.size[i];
  }
  return {mask, list, bytes};
}
