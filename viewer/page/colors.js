// Colors of boxes. Categories: the palette of Okabe and Ito, which people with any color vision can
// distinguish. Amounts: from dark to light along one hue path (as cividis). Three lightnesses of
// each make neighbours distinct.
const CATEGORIES = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00", "#8a94a3"];
const AMOUNTS = ["#00325f", "#26456e", "#434f6c", "#61646f", "#7d7a77", "#9b9172", "#bda966", "#dfc653", "#fee838"];
const OTHER = CATEGORIES.length - 1;

const rgbOf = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
const mix = (a, b, share) => a.map((value, i) => value + (b[i] - value) * share);
const hexOf = rgb => "#" + rgb.map(value => Math.round(value).toString(16).padStart(2, "0")).join("");
// Returns a color as a pixel of a canvas, little-endian.
const packed = ([r, g, b]) => (0xff000000 | b << 16 | g << 8 | r) >>> 0;
const inkOn = ([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b > 120 ? "#101010" : "#f4f4f4";

// Plans that are visible together share colors. The values with the most bytes each get a category;
// the rest share one.
function categoriesOf(plans, valueOf) {
  const weights = new Map();
  for (const plan of plans) {
    for (let i = 0; i < plan.count; ++i) {
      const value = valueOf(plan, i);
      weights.set(value, (weights.get(value) ?? 0) + plan.size[i]);
    }
  }
  const ranked = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a));
  const shown = ranked.length > OTHER + 1 ? ranked.slice(0, OTHER) : ranked;
  const number = new Map(shown.map((value, index) => [value, index]));
  const names = shown.map(value => value || "unnamed");
  if (ranked.length > shown.length) names.push(`${ranked.length - shown.length} others`);
  return {of: (plan, i) => number.get(valueOf(plan, i)) ?? OTHER, names, palette: CATEGORIES};
}

function amountsOf(plans, valueOf, nameOf) {
  let most = 0;
  for (const plan of plans) {
    for (let i = 0; i < plan.count; ++i) most = Math.max(most, valueOf(plan, i));
  }
  const last = AMOUNTS.length - 1;
  const level = value => most > 0 && value > 0 ? Math.max(0, Math.round(last + Math.log2(value / most))) : 0;
  return {of: (plan, i) => level(valueOf(plan, i)), palette: AMOUNTS,
          names: AMOUNTS.map((_, index) => (index === 0 ? "\u2264 " : "") + nameOf(most / 2 ** (last - index)))};
}

const COLORINGS = {
  __proto__: null,
  operator: {
    has: plan => plan.steps.type.length > 0,
    make: plans => categoriesOf(plans, (plan, i) => plan.typeOf(i)),
  },
  size: {has: () => true, make: plans => amountsOf(plans, (plan, i) => plan.size[i], formatBytes)},
  kind: {
    has: () => true,
    make: plans => ({of: (plan, i) => plan.kind[i], names: plans[0].kindNames, palette: CATEGORIES}),
  },
  time: {
    has: plan => plan.steps.ms.some(ms => ms > 0),
    make: plans => amountsOf(plans, (plan, i) => plan.steps.ms[plan.first[i]] ?? 0, ms => `${ms.toPrecision(2)} ms`),
  },
  part: {
    has: plan => plan.steps.part.some(part => part !== ""),
    make: plans => categoriesOf(plans, (plan, i) => plan.steps.part[plan.first[i]] || "whole"),
  },
};

// The colors of one plan: color(i) is packed; `scale` is computed by a coloring from all visible
// plans; found: null, or by buffer whether it is highlighted.
class Colors {
  constructor(plan, {of, names, palette}, theme, found) {
    this.theme = theme;
    this.category = new Uint8Array(plan.count);
    const used = new Set();
    for (let i = 0; i < plan.count; ++i) {
      this.category[i] = of(plan, i);
      used.add(this.category[i]);
    }
    // On a dark background all are lighter: the darkest amounts would be invisible.
    const base = palette.map(hex => mix(rgbOf(hex), theme.ink, theme.isDark ? 0.22 : 0));
    const shades = base.flatMap(rgb => [0, 0.12, 0.24].map(share => mix(rgb, theme.paper, share)));
    this.legend = names.map((name, index) => ({name, color: hexOf(base[index])})).filter((_, index) => used.has(index));
    this.shades = shades;
    this.plain = Uint32Array.from(shades, packed);
    this.dim = Uint32Array.from(shades, rgb => packed(mix(rgb, theme.paper, 0.85)));
    this.found = found;
  }

  color(i) {
    const table = this.found && !this.found[i] ? this.dim : this.plain;
    return table[this.category[i] * 3 + i % 3];
  }
  // The color of a tree node whose boxes fill this share of it.
  blurred(i, share) {
    const rgb = mix(this.theme.paper, this.shades[this.category[i] * 3 + 1], Math.min(1, 0.15 + 0.85 * share));
    return packed(this.found && !this.found[i] ? mix(rgb, this.theme.paper, 0.85) : rgb);
  }
  ink(i) {
    if (this.found && !this.found[i]) return hexOf(mix(this.theme.paper, this.theme.ink, 0.3));
    return inkOn(this.shades[this.category[i] * 3 + i % 3]);
  }
}
