// Stores the present view in the part of the address after '#': a link to this view.
function linkOf(app) {
  const {camera} = app.pictures[0], link = new URLSearchParams();
  const put = (key, value, usual) => value !== usual && link.set(key, value);
  put("plan", app.shown, 0);
  put("beside", app.beside, app.plans.length > 1 ? 1 : -1);
  put("step", app.step ?? "none", app.plan.document.bottleneck_step);
  put("buffer", app.buffer, -1);
  put("find", app.query, "");
  put("color", app.coloring, app.usualColoring());
  const whole = new Camera(app.plan);
  if (camera.x0 !== whole.x0 || camera.x1 !== whole.x1) put("x", `${camera.x0},${camera.x1}`);
  if (camera.y0 !== whole.y0 || camera.y1 !== whole.y1) put("y", `${camera.y0},${camera.y1}`);
  return link.toString();
}

function follow(app, text) {
  const link = new URLSearchParams(text);
  const number = (key, usual, low, high) => {
    const value = link.has(key) ? Number(link.get(key)) : usual;
    return Number.isInteger(value) && value >= low && value < high ? value : usual;
  };
  const range = key => (link.get(key) ?? "").split(",").map(Number);
  app.compare(number("plan", 0, 0, app.plans.length), number("beside", app.plans.length > 1 ? 1 : -1, -1, app.plans.length));
  if (link.has("color")) app.color(link.get("color"));
  app.search(link.get("find") ?? "");
  const step = number("step", app.plan.document.bottleneck_step, app.plan.begin, app.plan.last);
  app.choose({step: link.get("step") === "none" ? null : step, buffer: number("buffer", -1, 0, app.plan.count)});
  const {camera} = app.pictures[0];
  for (const [key, set] of [["x", camera.setSteps], ["y", camera.setBytes]]) {
    const [from, to] = range(key);
    if (link.has(key) && to > from) set.call(camera, from, to);
  }
  app.linkCameras(app.pictures[0]);
}
