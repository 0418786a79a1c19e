// Printing: pictures as lines and text, in light colors, at the width of the page; the description
// of the choice below them.
function watchPrinting(app) {
  const {dataset} = document.documentElement;
  let theme;
  const inTheme = wanted => {
    if (wanted === undefined) delete dataset.theme; else dataset.theme = wanted;
    app.recolor();
    app.drawNow();
  };
  addEventListener("beforeprint", () => {
    theme = dataset.theme;
    inTheme("light");
    app.pictures.forEach((picture, index) => {
      const svg = new DOMParser().parseFromString(svgOf(picture, app.colors[index]), "image/svg+xml").documentElement;
      picture.stack.after(element("div", {class: "printed"}, svg));
    });
  });
  addEventListener("afterprint", () => {
    document.querySelectorAll(".printed").forEach(printed => printed.remove());
    inTheme(theme);
  });
}
