// Buffers that share bytes: the containing buffers, and the bytes that a group of them holds.

// Returns {groups: lists of related buffers, inner and outer: by buffer the relations, as indices}.
function tiesOf(plan) {
  const {inner, outer} = plan.relations;
  const parent = new Map(), root = buffer => {
    while ((parent.get(buffer) ?? buffer) !== buffer) buffer = parent.get(buffer);
    return buffer;
  };
  const outward = new Map(), inward = new Map();
  const add = (map, key, value) => map.has(key) ? map.get(key).push(value) : map.set(key, [value]);
  for (let r = 0; r < inner.length; ++r) {
    if (!(inner[r] < plan.count && outer[r] < plan.count)) throw new Error(`relation ${r} is of no buffer`);
    add(outward, inner[r], r);
    add(inward, outer[r], r);
    const a = root(inner[r]), b = root(outer[r]);
    parent.set(Math.max(a, b), Math.min(a, b));
    parent.set(Math.min(a, b), Math.min(a, b));
  }
  const groups = new Map();
  for (const buffer of parent.keys()) add(groups, root(buffer), buffer);
  return {groups: [...groups.values()], outward, inward, has: buffer => parent.has(buffer)};
}

// Returns whether a buffer begins before the one that contains it: then it is written in place.
// Otherwise it overwrites bytes of a buffer that exists already.
const isPlaced = (plan, relation) =>
    plan.first[plan.relations.inner[relation]] < plan.first[plan.relations.outer[relation]];

// Returns the bytes that intervals cover together; `buffers` by offset.
function coveredBytes(plan, buffers) {
  let covered = 0, reached = -1;
  for (const i of buffers) {
    const end = plan.offset[i] + plan.size[i];
    if (end <= reached) continue;
    covered += end - Math.max(reached, plan.offset[i]);
    reached = end;
  }
  return covered;
}

// Calls change(step, more) at every step at which the bytes of a group change: a sweep over the
// begins and ends of its buffers, with the live ones sorted by offset.
function sweepGroup(plan, group, change) {
  const events = [];
  for (const i of group) {
    events.push({step: plan.first[i], buffer: i, born: true}, {step: plan.end[i], buffer: i, born: false});
  }
  events.sort((a, b) => a.step - b.step);
  const living = [];
  let held = 0;
  for (let e = 0; e < events.length; ++e) {
    const {step, buffer, born} = events[e];
    if (born) {
      let at = living.findIndex(other => plan.offset[other] > plan.offset[buffer]);
      living.splice(at < 0 ? living.length : at, 0, buffer);
    } else {
      living.splice(living.indexOf(buffer), 1);
    }
    if (e + 1 < events.length && events[e + 1].step === step) continue;
    const now = coveredBytes(plan, living);
    if (now !== held) change(step, now - held);
    held = now;
  }
}
