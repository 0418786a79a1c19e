// Starts the page.
const SEARCH_DELAY_MS = 120;

function watchTools(app) {
  const click = (id, action) => byId(id).addEventListener("click", action);
  click("bottleneck", () => app.choose({step: app.plan.document.bottleneck_step}));
  click("in", () => zoomBy(app, 1 / 1.5));
  click("out", () => zoomBy(app, 1.5));
  click("fit", () => app.fit());
  click("save-svg", () => app.saveSvg());
  click("save-csv", () => app.saveCsv());
  click("open", () => byId("file").click());
  click("theme", () => app.changeTheme());
  click("keys", () => byId("help").showModal());
  const compare = () => app.compare(Number(byId("shown").value), Number(byId("beside").value));
  byId("shown").addEventListener("change", compare);
  byId("beside").addEventListener("change", compare);
  byId("color").addEventListener("change", event => app.color(event.target.value));
  let waiting;
  byId("search").addEventListener("input", event => {
    clearTimeout(waiting);
    waiting = setTimeout(() => app.search(event.target.value), SEARCH_DELAY_MS);
  });
}

const app = new App(JSON.parse(byId("plans").textContent).map(document => new Plan(document)));
watchTools(app);
watchKeys(app);
watchFiles(app);
watchPrinting(app);
new ResizeObserver(() => app.resize()).observe(byId("panes"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.recolor());
follow(app, location.hash.slice(1));
// For consoles and tests.
window.ashlar = {app, find, svgOf, csvOf, documentsOf, documentsOfSnapshot, bytesAt, Plan};
