// Writes the view as an SVG file.
const SVG_BOXES = 20000;
const escapeXml = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`)
                              .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");

function svgOf(picture, colors) {
  const {plan, camera, width, height} = picture, {css} = colors.theme, out = [];
  const number = value => value.toFixed(2);
  const text = (x, y, anchor, color, words, extra = "") =>
      out.push(`<text x="${number(x)}" y="${number(y)}" text-anchor="${anchor}" fill="${color}"${extra}>${escapeXml(words)}</text>`);
  const rect = (x0, y0, x1, y1, color, edge, title) =>
      out.push(`<rect x="${number(x0)}" y="${number(y0)}" width="${number(x1 - x0)}" height="${number(y1 - y0)}" fill="${color}" ` +
               `stroke="${edge}" stroke-width=".5"><title>${escapeXml(title)}</title></rect>`);
  out.push(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11">`,
           `<title>${escapeXml(plan.title)}</title>`,
           `<clipPath id="window"><rect x="${MARGIN.left}" y="${MARGIN.top}" width="${camera.width}" height="${camera.height}"/></clipPath>`,
           `<rect width="100%" height="100%" fill="${css.paper}"/>`, `<g clip-path="url(#window)">`);
  let boxes = 0;
  const small = SMALL / (plan.count > SVG_BOXES ? 1 : 4);
  plan.tree.visit(camera, i => {
    const x0 = camera.toX(plan.first[i]), x1 = camera.toX(plan.end[i]);
    const y0 = camera.toY(plan.offset[i] + plan.size[i]), y1 = camera.toY(plan.offset[i]);
    const title = `${plan.names[i]}\n${exactBytes(plan.size[i])} at ${plan.offset[i]}, steps [${plan.first[i]}, ${plan.end[i]})`;
    const shade = colors.color(i), rgb = [shade & 255, shade >> 8 & 255, shade >> 16 & 255];
    rect(x0, y0, x1, y1, hexOf(rgb), css.edge, title);
    const label = labelIn(plan.names[i], Math.max(x0, MARGIN.left), Math.max(y0, MARGIN.top),
                          Math.min(x1, MARGIN.left + camera.width), Math.min(y1, MARGIN.top + camera.height));
    const turned = label.stands ? ` transform="rotate(-90 ${number(label.x)} ${number(label.y)})"` : "";
    if (label.text) text(label.x, label.y + 4, "middle", colors.ink(i), label.text, turned);
    ++boxes;
  }, small / camera.stepWidth, small / camera.byteHeight, (node, level) => {
    const hull = (level.x1[node] - level.x0[node]) * (level.y1[node] - level.y0[node]);
    const shade = colors.blurred(level.largest[node], level.area[node] / hull);
    rect(camera.toX(level.x0[node]), camera.toY(level.y1[node]), camera.toX(level.x1[node]), camera.toY(level.y0[node]),
         hexOf([shade & 255, shade >> 8 & 255, shade >> 16 & 255]), "none", "several small buffers");
  });
  levelsOf(plan).forEach(({bytes, name, color, below}, index) => {
    const y = camera.toY(bytes);
    out.push(`<path d="M${MARGIN.left} ${number(y)}h${camera.width}" stroke="${css[color]}" stroke-dasharray="6 3"/>`);
    text(MARGIN.left + 6 + 130 * index, y + (below || y < MARGIN.top + 16 ? 12 : -4), "start", css[color], `${name} ${formatBytes(bytes)}`);
  });
  out.push("</g>");
  const byteTick = byteTickOf(34 / camera.byteHeight), stepTick = tickOf(Math.max(1, 70 / camera.stepWidth));
  for (let at = Math.ceil(camera.y0 / byteTick) * byteTick; at <= camera.y1; at += byteTick) {
    text(MARGIN.left - 6, camera.toY(at) + 4, "end", css.faint, formatBytes(at));
  }
  for (let at = Math.ceil(camera.x0 / stepTick) * stepTick; at <= camera.x1; at += stepTick) {
    text(camera.toX(at), height - 4, "middle", css.faint, formatCount(at));
  }
  out.push("</svg>");
  return out.join("\n");
}
