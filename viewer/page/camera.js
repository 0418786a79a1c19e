// The visible window of a plan: steps [x0, x1) by bytes [y0, y1), in a rectangle of pixels;
// addresses grow upward.
const MARGIN = {left: 72, top: 18, right: 10, bottom: 20};
const MOST_ZOOM_STEPS = 1.5, MOST_ZOOM_BYTES = 64;

class Camera {
  constructor(plan) {
    this.plan = plan;
    this.top = plan.top;  // of the tallest visible plan
    this.width = this.height = 1;  // of the picture without margins, in pixels
    this.fit();
  }

  fit() {
    this.setSteps(this.plan.begin, this.plan.last);
    this.setBytes(0, this.top * 1.04);
  }

  setSteps(x0, x1) {
    const {begin, last} = this.plan;
    const span = Math.min(last - begin, Math.max(MOST_ZOOM_STEPS, x1 - x0));
    this.x0 = Math.min(last - span, Math.max(begin, x0));
    this.x1 = this.x0 + span;
  }

  setBytes(y0, y1) {
    const top = this.top * 1.04;
    const span = Math.min(Math.max(top, MOST_ZOOM_BYTES), Math.max(MOST_ZOOM_BYTES, y1 - y0));
    this.y0 = Math.max(0, Math.min(top - span, y0));
    this.y1 = this.y0 + span;
  }

  get stepWidth() { return this.width / (this.x1 - this.x0); }
  get byteHeight() { return this.height / (this.y1 - this.y0); }
  toX(step) { return MARGIN.left + (step - this.x0) * this.stepWidth; }
  toY(byte) { return MARGIN.top + (this.y1 - byte) * this.byteHeight; }
  toStep(x) { return this.x0 + (x - MARGIN.left) / this.stepWidth; }
  toByte(y) { return this.y1 - (y - MARGIN.top) / this.byteHeight; }

  // Zooms; the point under the pixel stays there.
  zoom(x, y, factorX, factorY) {
    const step = this.toStep(x), byte = this.toByte(y);
    this.setSteps(step - (step - this.x0) * factorX, step + (this.x1 - step) * factorX);
    this.setBytes(byte - (byte - this.y0) * factorY, byte + (this.y1 - byte) * factorY);
  }

  pan(dx, dy) {
    const steps = dx / this.stepWidth, bytes = dy / this.byteHeight;
    this.setSteps(this.x0 - steps, this.x1 - steps);
    this.setBytes(this.y0 + bytes, this.y1 + bytes);
  }

  // Moves the window just enough to show a step.
  show(step) {
    const span = this.x1 - this.x0;
    if (step < this.x0) this.setSteps(step - span / 4, step + span * 3 / 4);
    if (step + 1 > this.x1) this.setSteps(step - span * 3 / 4, step + span / 4);
  }
}
