// Draws boxes as pixels directly in memory: drawing costs no more than the number of pixels.
class Raster {
  constructor() {
    this.width = this.height = 0;
  }

  resize(context, width, height) {
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    this.image = context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  clear(color) { this.pixels.fill(color); }

  // Fills [x0, x1) by [y0, y1), clipped at the edges.
  fill(x0, y0, x1, y1, color) {
    const left = Math.max(0, x0), right = Math.min(this.width, x1);
    const top = Math.max(0, y0), bottom = Math.min(this.height, y1);
    if (right <= left) return;
    for (let y = top; y < bottom; ++y) {
      const from = y * this.width + left, to = y * this.width + right;
      if (to - from > 12) {
        this.pixels.fill(color, from, to);
      } else {
        for (let at = from; at < to; ++at) this.pixels[at] = color;
      }
    }
  }

  // Draws stripes of a second color over a box: slanting if `slant` is 1, level if it is 0.
  hatch(x0, y0, x1, y1, color, slant) {
    const left = Math.max(0, x0), right = Math.min(this.width, x1);
    const top = Math.max(0, y0), bottom = Math.min(this.height, y1);
    for (let y = top; y < bottom; ++y) {
      for (let x = left; x < right; ++x) {
        if ((x * slant + y) % 7 < 3) this.pixels[y * this.width + x] = color;
      }
    }
  }

  outline(x0, y0, x1, y1, color) {
    this.fill(x0, y0, x1, y0 + 1, color);
    this.fill(x0, y0, x0 + 1, y1, color);
  }
}
