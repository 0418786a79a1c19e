// The curve of live bytes over steps, below the picture, with the levels, and another plan's curve
// as a ghost.
class Curve {
  constructor() {
    this.canvas = element("canvas", {class: "curve", role: "img"});
    this.top = 1;  // bytes, of the tallest visible plan
  }

  resize() {
    this.ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
  }

  // Draws the curve. `camera` is the picture's; `ghost`: another plan, or none.
  draw(plan, camera, step, ghost, css) {
    const context = this.canvas.getContext("2d", {alpha: false});
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = css.paper;
    context.fillRect(0, 0, this.width, this.height);
    const top = 8, bottom = this.height - 4, right = MARGIN.left + camera.width;
    const highest = Math.max(this.top, plan.document.budget_bytes) * 1.04;
    const toY = bytes => bottom - (bottom - top) * bytes / highest;
    context.font = FONT;
    context.fillStyle = css.faint;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const tick = byteTickOf(highest / 4);
    for (let at = 0; at <= highest; at += tick) context.fillText(formatBytes(at), MARGIN.left - 8, toY(at));
    if (step !== null && step >= camera.x0 - 1 && step <= camera.x1) {
      context.fillStyle = css.mark;
      context.globalAlpha = 0.35;
      const x = Math.max(MARGIN.left, camera.toX(step));
      context.fillRect(x, top, Math.max(1.5, Math.min(right, camera.toX(step + 1)) - x), bottom - top);
      context.globalAlpha = 1;
    }
    context.beginPath();
    context.moveTo(MARGIN.left, bottom);
    for (let x = 0; x < camera.width; ++x) {
      const from = camera.toStep(MARGIN.left + x), y = toY(plan.live.most(from, from + 1 / camera.stepWidth));
      context.lineTo(MARGIN.left + x, y);
      context.lineTo(MARGIN.left + x + 1, y);
    }
    context.lineTo(right, bottom);
    context.fillStyle = css.accent;
    context.globalAlpha = 0.3;
    context.fill();
    context.globalAlpha = 1;
    if (ghost) this.drawGhost(context, plan, camera, ghost, toY, css);
    for (const {bytes, color} of levelsOf(plan)) {
      context.strokeStyle = css[color];
      context.setLineDash([6, 3]);
      line(context, MARGIN.left, toY(bytes), right, toY(bytes));
      context.setLineDash([]);
    }
    context.strokeStyle = css.line;
    context.strokeRect(MARGIN.left - .5, top - .5, camera.width + 1, bottom - top + 1);
  }

  // Draws the other plan over its own steps, stretched to the same width.
  drawGhost(context, plan, camera, ghost, toY, css) {
    const stretch = (ghost.last - ghost.begin) / (plan.last - plan.begin);
    const toGhost = step => ghost.begin + (step - plan.begin) * stretch;
    context.beginPath();
    for (let x = 0; x < camera.width; ++x) {
      const from = camera.toStep(MARGIN.left + x), to = from + 1 / camera.stepWidth;
      context.lineTo(MARGIN.left + x, toY(ghost.live.most(toGhost(from), toGhost(to))));
    }
    context.strokeStyle = css.faint;
    context.stroke();
  }
}
