// The keyboard: all keys and their actions, in one table.
function zoomBy(app, factor) {
  const {camera} = app.pictures[0];
  const x = app.step !== null && app.step >= camera.x0 && app.step < camera.x1 ? camera.toX(app.step + .5) : MARGIN.left + camera.width / 2;
  camera.zoom(x, MARGIN.top + camera.height / 2, factor, factor);
  app.linkCameras(app.pictures[0]);
}
function panBy(app, dx, dy) {
  app.pictures[0].camera.pan(dx, dy);
  app.linkCameras(app.pictures[0]);
}
const stepBy = (app, by) => app.choose({step: (app.step ?? app.plan.document.bottleneck_step) + by});

const KEYS = [
  ["ArrowLeft", "left", "the step before", app => stepBy(app, -1)],
  ["ArrowRight", "right", "the next step", app => stepBy(app, 1)],
  ["a", "a", "move left", app => panBy(app, 80, 0)],
  ["f", "f", "move right", app => panBy(app, -80, 0)],
  ["ArrowUp", "up", "move up", app => panBy(app, 0, 60)],
  ["ArrowDown", "down", "move down", app => panBy(app, 0, -60)],
  ["+", "+", "zoom in at the step", app => zoomBy(app, 1 / 1.5)],
  ["-", "-", "zoom out", app => zoomBy(app, 1.5)],
  ["0", "0", "the whole plan", app => app.fit()],
  ["b", "b", "the bottleneck", app => app.choose({step: app.plan.document.bottleneck_step})],
  ["/", "/", "find", () => byId("search").focus()],
  ["n", "n", "the next one found", app => app.next(1)],
  ["p", "p", "the one found before", app => app.next(-1)],
  ["x", "x", "change the two plans' places", app => app.beside >= 0 && app.compare(app.beside, app.shown)],
  ["d", "d", "light, dark, as the system has it", app => app.changeTheme()],
  ["s", "s", "save the view as SVG", app => app.saveSvg()],
  ["e", "e", "save the buffers as CSV", app => app.saveCsv()],
  ["o", "o", "open a file", () => byId("file").click()],
  ["?", "?", "this list", () => byId("help").showModal()],
  ["Escape", "Esc", "nothing chosen", app => app.choose({})],
];

function watchKeys(app) {
  const actions = new Map(KEYS.map(([key, , , action]) => [key, action]));
  addEventListener("keydown", event => {
    const typing = event.target.matches?.("input, select");
    if (typing && event.key === "Escape") event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const action = actions.get(event.key);
    if (!action) return;
    event.preventDefault();
    action(app);
  });
  for (const [, key, what] of KEYS) byId("key-list").append(element("dt", {}, key), element("dd", {}, what));
}
