// The picture of a plan: addresses over steps. Boxes are pixels of a raster; names, axes and lines
// are drawn over it. Marks that follow the pointer are on a separate canvas.
const SMALL = 3;           // pixels: a smaller node of the tree is drawn as one box
const MOST_LABELS = 250;
const LETTER = 6.1, LINE = 14;
const FONT = "11px system-ui, sans-serif";
const TICKS = [1, 2, 5];

// Returns the smallest round number that is at least `least`.
function tickOf(least) {
  let power = 1;
  for (;; power *= 10) {
    for (const digit of TICKS) {
      if (digit * power >= least) return digit * power;
    }
  }
}
const byteTickOf = least => 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, least))));

// Cuts a name at its begin to fit: ends distinguish the names of a network.
const tailOf = (name, room) =>
    name.length <= room ? name : room < 4 ? "" : "\u2026" + [...name].slice(-(room - 1)).join("");

class Picture {
  constructor(plan, parent) {
    this.plan = plan;
    this.camera = new Camera(plan);
    this.raster = new Raster();
    this.base = element("canvas", {class: "base"});
    this.over = element("canvas", {class: "over", role: "img", tabindex: "0"});
    this.caption = element("h2", {class: "caption"}, plan.title);
    this.stack = element("div", {class: "stack"}, this.base, this.over);
    this.curve = new Curve();
    this.pane = element("div", {class: "pane"}, this.caption, this.stack, this.curve.canvas);
    parent.append(this.pane);
  }

  resize() {
    const {clientWidth, clientHeight} = this.stack;
    this.ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(clientWidth * this.ratio);
      canvas.height = Math.round(clientHeight * this.ratio);
    }
    this.camera.width = Math.max(1, clientWidth - MARGIN.left - MARGIN.right);
    this.camera.height = Math.max(1, clientHeight - MARGIN.top - MARGIN.bottom);
    this.width = clientWidth;
    this.height = clientHeight;
    this.curve.resize();
  }

  draw(colors) {
    const context = this.base.getContext("2d", {alpha: false});
    const {camera, raster, ratio} = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colors.theme.css.paper;
    context.fillRect(0, 0, this.base.width, this.base.height);
    raster.resize(context, Math.max(1, Math.round(camera.width * ratio)), Math.max(1, Math.round(camera.height * ratio)));
    const labels = this.drawBoxes(colors);
    context.putImageData(raster.image, Math.round(MARGIN.left * ratio), Math.round(MARGIN.top * ratio));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    this.drawAxes(context, colors.theme.css);
    this.drawParts(context, colors.theme.css);
    this.drawLabels(context, labels, colors);
    this.drawLevels(context, colors.theme.css);
  }

  // Draws the boxes, and returns those with room for a name.
  drawBoxes(colors) {
    const {camera, raster, ratio, plan} = this;
    const {first, end, offset, size, kind} = plan;
    const stepWidth = camera.stepWidth * ratio, byteHeight = camera.byteHeight * ratio;
    const {x0, y1} = camera, labels = [];
    const edge = packed(colors.theme.edge), paper = packed(colors.theme.paper);
    raster.clear(paper);
    this.boxes = this.nodes = 0;
    plan.tree.visit(camera, i => {
      const left = Math.round((first[i] - x0) * stepWidth);
      const right = Math.max(left + 1, Math.round((end[i] - x0) * stepWidth));
      const top = Math.round((y1 - offset[i] - size[i]) * byteHeight);
      const bottom = Math.max(top + 1, Math.round((y1 - offset[i]) * byteHeight));
      raster.fill(left, top, right, bottom, colors.color(i));
      if (right - left > 4 && bottom - top > 4) {
        if (kind[i] === KIND_WORKSPACE) raster.hatch(left, top, right, bottom, paper, 1);
        raster.outline(left, top, right, bottom, edge);
      }
      if ((right - left) * (bottom - top) > 30 * LINE * ratio * ratio) labels.push(i);
      ++this.boxes;
    }, SMALL / stepWidth, SMALL / byteHeight, (node, level) => {
      const left = Math.round((level.x0[node] - x0) * stepWidth), top = Math.round((y1 - level.y1[node]) * byteHeight);
      const right = Math.max(left + 1, Math.round((level.x1[node] - x0) * stepWidth));
      const bottom = Math.max(top + 1, Math.round((y1 - level.y0[node]) * byteHeight));
      const hull = (level.x1[node] - level.x0[node]) * (level.y1[node] - level.y0[node]);
      raster.fill(left, top, right, bottom, colors.blurred(level.largest[node], level.area[node] / hull));
      ++this.nodes;
    });
    this.drawShared(colors, stepWidth, byteHeight, edge);
    return labels;
  }

  // Draws bytes that two related buffers hold at the same steps: bands in both colors.
  drawShared(colors, stepWidth, byteHeight, edge) {
    const {plan, camera, raster} = this, {inner, outer} = plan.relations;
    for (let r = 0; r < inner.length; ++r) {
      const a = inner[r], b = outer[r];
      const from = Math.max(plan.first[a], plan.first[b]), to = Math.min(plan.end[a], plan.end[b]);
      if (to <= from || from >= camera.x1 || to <= camera.x0) continue;
      const left = Math.round((from - camera.x0) * stepWidth), right = Math.round((to - camera.x0) * stepWidth);
      const top = Math.round((camera.y1 - plan.offset[a] - plan.size[a]) * byteHeight);
      const bottom = Math.round((camera.y1 - plan.offset[a]) * byteHeight);
      if (right - left < 3 || bottom - top < 4) continue;
      raster.fill(left, top, right, bottom, colors.color(b));
      raster.hatch(left, top, right, bottom, colors.color(a), 0);
      raster.outline(left, top, right, bottom, edge);
    }
  }

  drawAxes(context, css) {
    const {camera} = this, right = MARGIN.left + camera.width, bottom = MARGIN.top + camera.height;
    context.strokeStyle = css.line;
    context.fillStyle = css.faint;
    context.lineWidth = 1;
    context.strokeRect(MARGIN.left - .5, MARGIN.top - .5, camera.width + 1, camera.height + 1);
    context.textAlign = "right";
    context.textBaseline = "middle";
    const byteTick = byteTickOf(34 / camera.byteHeight);
    for (let at = Math.ceil(camera.y0 / byteTick) * byteTick; at <= camera.y1; at += byteTick) {
      const y = Math.round(camera.toY(at)) + .5;
      context.fillText(formatBytes(at), MARGIN.left - 8, y);
      line(context, MARGIN.left - 5, y, MARGIN.left - 1, y);
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    const stepTick = tickOf(Math.max(1, 70 / camera.stepWidth));
    for (let at = Math.ceil(camera.x0 / stepTick) * stepTick; at <= camera.x1; at += stepTick) {
      const x = Math.round(camera.toX(at)) + .5;
      const text = formatCount(at);
      if (x + text.length * LETTER / 2 < right - 30) context.fillText(text, x, bottom + 5);
      line(context, x, bottom, x, bottom + 4);
    }
    context.textAlign = "right";
    context.fillText("step", right, bottom + 5);
  }

  // Draws bands above the picture: the tile of the model that runs.
  drawParts(context, css) {
    const {part} = this.plan.steps, {camera} = this;
    const last = Math.min(part.length, Math.ceil(camera.x1));
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let from = Math.max(0, Math.floor(camera.x0)); from < last;) {
      let to = from + 1;
      while (to < last && part[to] === part[from]) ++to;
      if (part[from]) {
        const left = Math.max(MARGIN.left, camera.toX(from));
        const right = Math.min(MARGIN.left + camera.width, camera.toX(to));
        context.fillStyle = CATEGORIES[[...part[from]].reduce((sum, c) => sum + c.charCodeAt(0), 0) % OTHER];
        context.fillRect(left, 5, Math.max(1, right - left - 1), 11);
        if (right - left > part[from].length * LETTER + 2) {
          context.fillStyle = "#101010";
          context.fillText(part[from], (left + right) / 2, 11);
        }
      }
      from = to;
    }
  }

  // Draws names horizontally or vertically in the middle of the visible part of their boxes, in the
  // direction that shows more of the name.
  drawLabels(context, labels, colors) {
    const {camera, plan} = this;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const i of labels.slice(0, MOST_LABELS)) {
      const left = Math.max(MARGIN.left, camera.toX(plan.first[i]));
      const right = Math.min(MARGIN.left + camera.width, camera.toX(plan.end[i]));
      const top = Math.max(MARGIN.top, camera.toY(plan.offset[i] + plan.size[i]));
      const bottom = Math.min(MARGIN.top + camera.height, camera.toY(plan.offset[i]));
      const {x, y, text, stands} = labelIn(plan.names[i], left, top, right, bottom);
      if (!text) continue;
      context.save();
      context.fillStyle = colors.ink(i);
      context.translate(x, y);
      if (stands) context.rotate(-Math.PI / 2);
      if (plan.kind[i] === KIND_WORKSPACE) {
        const half = text.length * LETTER / 2 + 2;
        context.fillStyle = colors.theme.css.paper;
        context.fillRect(-half, -7, 2 * half, 14);
        context.fillStyle = colors.theme.css.ink;
      }
      context.fillText(text, 0, 0);
      context.restore();
    }
  }

  // Draws all lines first, so that none crosses a name.
  drawLevels(context, css) {
    const {camera} = this, right = MARGIN.left + camera.width;
    const levels = levelsOf(this.plan).map(level => ({...level, y: camera.toY(level.bytes)}))
                       .filter(({y}) => y >= MARGIN.top && y <= MARGIN.top + camera.height);
    context.setLineDash([6, 3]);
    for (const {y, color} of levels) {
      context.strokeStyle = css[color];
      line(context, MARGIN.left, y, right, y);
    }
    context.setLineDash([]);
    context.textAlign = "left";
    context.textBaseline = "middle";
    let x = MARGIN.left + 4;
    for (const {y, bytes, name, color, below} of levels) {
      const text = `${name} ${formatBytes(bytes)}`, width = context.measureText(text).width + 6;
      const at = below || y < MARGIN.top + 16 ? y + 8 : y - 8;
      context.fillStyle = css.paper;
      context.fillRect(x, at - 7, width, 14);
      context.fillStyle = css[color];
      context.fillText(text, x + 3, at);
      x = x + 2 * width > right ? MARGIN.left + 4 : x + width + 8;
    }
  }

  // Draws the step and the buffers that are pointed at or chosen.
  drawOver({step, buffer, hovered}, css) {
    const context = this.over.getContext("2d"), {camera, ratio} = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, camera.width, camera.height);
    context.clip();
    if (step !== null) {
      const x = camera.toX(step), width = Math.max(1.5, camera.stepWidth);
      context.fillStyle = css.mark;
      context.globalAlpha = width > 3 ? 0.22 : 0.8;
      context.fillRect(x, MARGIN.top, width, camera.height);
      context.globalAlpha = 1;
    }
    for (const [i, color, width] of [[hovered, css.ink, 2], [buffer, css.mark, 3]]) {
      if (i < 0) continue;
      const x = camera.toX(this.plan.first[i]), y = camera.toY(this.plan.offset[i] + this.plan.size[i]);
      context.strokeStyle = color;
      context.lineWidth = width;
      context.strokeRect(x, y, camera.toX(this.plan.end[i]) - x, camera.toY(this.plan.offset[i]) - y);
    }
    context.restore();
  }
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

// Returns {x, y, text, stands}: the place of a name in a box of pixels; text is empty if there is
// no room.
function labelIn(name, left, top, right, bottom) {
  const width = right - left, height = bottom - top;
  const lies = height >= LINE && (width >= height || width >= name.length * LETTER + 6);
  if (!lies && width < LINE) return {text: ""};
  const text = tailOf(name, Math.floor(((lies ? width : height) - 6) / LETTER));
  return {x: (left + right) / 2, y: (top + bottom) / 2, text, stands: !lies};
}

// Returns the levels of bytes that both pictures show.
function levelsOf(plan) {
  const {arena, lowerBound, document} = plan;
  const levels = [{bytes: arena, name: "arena", color: "arena"}];
  if (lowerBound > 0) levels.push({bytes: lowerBound, name: "lower bound", color: "bound", below: true});
  if (document.proven_bytes > lowerBound) levels.push({bytes: document.proven_bytes, name: "proven by search", color: "bound"});
  if (plan.used !== undefined) levels.push({bytes: plan.used, name: "used by a run", color: "mark", below: true});
  if (document.budget_bytes > 0) levels.push({bytes: document.budget_bytes, name: "budget", color: "budget"});
  return levels;
}
