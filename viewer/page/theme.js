// Reads the colors of the page from the style sheet.
const THEMES = ["", "light", "dark"];
const CSS_COLORS = ["paper", "panel", "ink", "faint", "line", "edge", "accent", "arena", "bound", "budget", "mark"];

function themeOf(root) {
  const style = getComputedStyle(root);
  const css = Object.fromEntries(CSS_COLORS.map(name => [name, style.getPropertyValue(`--${name}`).trim()]));
  const paper = rgbOf(css.paper);
  return {css, paper, ink: rgbOf(css.ink), edge: rgbOf(css.edge), isDark: paper[0] < 128};
}

// Switches to the next theme of light, dark, and the system's.
function nextTheme(root) {
  const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "") + 1) % THEMES.length];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
}
