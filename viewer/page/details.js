// The text beside the picture, about a step, a buffer and a comparison. Screen readers read it as
// well.
const percent = (part, whole) => whole > 0 ? ` (${(100 * part / whole).toFixed(1)} %)` : "";

// Returns the bytes at a step by kind; bytes that several related buffers share count once, for the
// largest.
function bytesAt(plan, step) {
  const live = plan.live.at(step), kinds = plan.kindNames.map(() => 0);
  const byOffset = plan.liveAt(step).sort((a, b) => plan.offset[a] - plan.offset[b] || plan.size[b] - plan.size[a]);
  let reached = -1, highest = 0;
  for (const i of byOffset) {
    const end = plan.offset[i] + plan.size[i];
    if (end <= reached) continue;
    kinds[plan.kind[i]] += end - Math.max(reached, plan.offset[i]);
    reached = highest = end;
  }
  return {live, kinds, highest, gaps: highest - live};
}

// Returns the time that a run is expected to take, and the operations that tiles do again.
const expectedCost = ({predicted_ms: ms, extra_flops_ratio: again}) =>
    `${ms.toPrecision(3)} ms expected, ${again > 0 ? `${(100 * again).toFixed(1)} % of the operations done again` : "no operation done twice"}`;

class Details {
  constructor(root, app) {
    this.root = root;
    this.app = app;
  }

  bufferLink(plan, i) {
    return button(`${plan.names[i]}, ${formatBytes(plan.size[i])}`, () => this.app.choose({buffer: i, step: plan.first[i]}));
  }
  stepLink(plan, step) {
    return button(`${step}${plan.stepName(step) ? ": " + plan.stepName(step) : ""}`, () => this.app.choose({step}));
  }

  show() {
    const {plan, step, buffer, found, comparison} = this.app, parts = [];
    if (buffer >= 0) parts.push(...this.ofBuffer(plan, buffer));
    if (step !== null) parts.push(...this.ofStep(plan, step, buffer));
    if (found) parts.push(this.table(plan, `${formatCount(found.list.length)} found`, found.list, buffer));
    if (comparison) parts.push(...this.ofComparison(comparison));
    parts.push(...this.ofPlan(plan));
    this.root.replaceChildren(...parts);
    this.root.scrollTop = 0;
  }

  table(plan, caption, buffers, chosen) {
    return new BufferTable(caption, buffers, columnsOf(plan), i => this.app.choose({buffer: i, step: this.stepFor(plan, i)}), chosen).root;
  }
  // Returns the present step if the buffer is live at it, otherwise the buffer's first step.
  stepFor(plan, i) {
    const {step} = this.app;
    return step !== null && plan.isLive(i, step) ? step : plan.first[i];
  }

  ofBuffer(plan, i) {
    const {below, above} = plan.neighbours(i), end = plan.offset[i] + plan.size[i];
    const readers = [...plan.readers(i)];
    const links = list => list.flatMap(link => [link, element("br")]);
    const relations = (map, side, text) => links((map.get(i) ?? []).map(r =>
      element("span", {}, text(r), " ", this.bufferLink(plan, plan.relations[side][r]))));
    const gap = (other, bytes) => other < 0 ? "" : [this.bufferLink(plan, other), bytes > 0 ? `, ${formatBytes(bytes)} between` : ", touching"];
    return [
      element("h2", {}, plan.names[i]),
      definitions([
        ["kind", plan.kindName(i)],
        ["size", exactBytes(plan.size[i]) + percent(plan.size[i], plan.arena)],
        ["bytes", `${formatCount(plan.offset[i])} to ${formatCount(end)}`],
        ["alignment", formatBytes(plan.alignment[i])],
        ["steps", `${plan.first[i]} to ${plan.end[i] - 1}, ${formatCount(plan.end[i] - plan.first[i])} in all`],
        ["made by", plan.last > plan.first[i] ? this.stepLink(plan, plan.first[i]) : ""],
        ["read by", readers.length > 0 ? links(readers.slice(0, 20).map(step => this.stepLink(plan, step)))
                                       : plan.readSteps.length > 0 ? "nobody" : [`last needed at `, this.stepLink(plan, plan.end[i] - 1)]],
        ["shares", relations(plan.tied.outward, "outer", r => isPlaced(plan, r) ? `is made at its place, byte ${formatCount(plan.relations.at_bytes[r])}, in` : "overwrites")],
        ["shared by", relations(plan.tied.inward, "inner", r => isPlaced(plan, r) ? "holds" : "overwritten by")],
        ["views", links(plan.viewsOf(i).slice(0, 20).map(view => `${view.name}: ${formatBytes(view.size)} from byte ${formatCount(view.at)}`))],
        ["below", gap(below, below < 0 ? 0 : plan.offset[i] - plan.offset[below] - plan.size[below])],
        ["above", gap(above, above < 0 ? 0 : plan.offset[above] - end)],
      ].filter(([, what]) => what.length !== 0)),
    ];
  }

  ofStep(plan, step, chosen) {
    const {live, kinds, highest, gaps} = bytesAt(plan, step), {steps} = plan;
    const list = plan.liveAt(step), bottleneck = step === plan.document.bottleneck_step;
    const ms = steps.ms[step];
    return [
      element("h2", {}, `step ${step}${plan.stepName(step) ? ": " + plan.stepName(step) : ""}`),
      definitions([
        ["operator", steps.type[step] ?? ""],
        ["kernel", steps.kernel[step] ?? ""],
        ["part", steps.part[step] ?? ""],
        ["time", typeof ms === "number" ? `${ms.toPrecision(3)} ms` : ""],
        ["live", exactBytes(live) + percent(live, plan.arena)],
        ...kinds.map((bytes, kind) => [plan.kindNames[kind], bytes > 0 ? formatBytes(bytes) : ""]),
        ["gaps", gaps > 0 ? `${formatBytes(gaps)} below ${formatBytes(highest)}` : "none"],
        ["bound", bottleneck ? `the bottleneck: what lives here is ${plan.arena > plan.lowerBound ? "the lower bound" : "why no placement is smaller"}`
                             : `${formatBytes(plan.lowerBound - live)} less than the bottleneck`],
      ]),
      this.table(plan, `${formatCount(list.length)} live at step ${step}`, list, chosen),
    ];
  }

  ofComparison(comparison) {
    const {a, b} = comparison, {same, moved, resized, onlyA, onlyB} = comparison.sums();
    const sum = (plan, list) => list.reduce((bytes, i) => bytes + plan.size[i], 0);
    const both = list => `${formatCount(list.length)}, ${formatBytes(sum(a, list))}`;
    return [
      element("h2", {}, "Compared"),
      definitions([
        ["this", a.title],
        ["beside", b.title],
        ["arena", `${formatBytes(a.arena)} and ${formatBytes(b.arena)}: ${signedBytes(a.arena - b.arena)}`],
        ["lower bound", `${formatBytes(a.lowerBound)} and ${formatBytes(b.lowerBound)}: ${signedBytes(a.lowerBound - b.lowerBound)}`],
        ["at the same place", both(same)],
        ["moved", both(moved)],
        ["of another size", both(resized)],
        ["only here", both(onlyA)],
        ["only beside", `${formatCount(onlyB.length)}, ${formatBytes(sum(b, onlyB))}`],
      ]),
      moved.length > 0 ? this.table(a, "moved", moved, this.app.buffer) : "",
    ];
  }

  ofPlan(plan) {
    const {document: d} = plan, {count} = plan;
    const {largest} = plan;
    return [
      element("h2", {}, "Plan"),
      definitions([
        ["arena", exactBytes(d.arena_bytes)],
        ["lower bound", exactBytes(d.lower_bound_bytes)],
        ["proof", `${d.proof}, planner ${d.planner}`],
        ["budget", d.budget_bytes > 0 ? exactBytes(d.budget_bytes) : ""],
        ["weights", d.weights_bytes > 0 ? exactBytes(d.weights_bytes) : ""],
        ["input, output", d.input_bytes + d.output_bytes > 0 ? `${formatBytes(d.input_bytes)}, ${formatBytes(d.output_bytes)}` : ""],
        ["tiles", d.tile],
        ["expected", d.predicted_ms > 0 ? expectedCost(d) : ""],
        ["bottleneck", this.stepLink(plan, d.bottleneck_step)],
        ["buffers, steps", `${formatCount(count)}, ${formatCount(plan.last - plan.begin)}`],
        ...d.passes.filter(pass => pass.arena_bytes_before !== pass.arena_bytes_after)
            .map(pass => [`pass ${pass.name}`, signedBytes(pass.arena_bytes_after - pass.arena_bytes_before)]),
      ]),
      this.table(plan, largest.length < MOST_RANKED ? "all buffers" : `the largest ${formatCount(largest.length)} of ${formatCount(count)} buffers`, largest, this.app.buffer),
    ];
  }
}
