// The pointer over a picture: zooms at its position, pans, describes the box under it; a click
// chooses.
const WHEEL = 1.0015, DRAG = 4;

function tipOf(plan, i) {
  const type = plan.typeOf(i);
  return `${plan.names[i]}\n${exactBytes(plan.size[i])} at ${formatCount(plan.offset[i])}\n` +
         `steps ${plan.first[i]} to ${plan.end[i] - 1}, ${plan.kindName(i)}${type ? " of " + type : ""}`;
}

function showTip(text, x, y) {
  const tip = byId("tip");
  tip.hidden = text === "";
  tip.textContent = text;
  tip.style.left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(y + 14, innerHeight - tip.offsetHeight - 8) + "px";
}

function watchPointer(app, picture) {
  const {over, camera, plan} = picture;
  let from = null, dragged = false;
  const inside = (x, y) => x >= MARGIN.left && y >= MARGIN.top && x < MARGIN.left + camera.width && y < MARGIN.top + camera.height;
  const choose = (step, buffer) => {
    if (plan !== app.plan) app.compare(app.beside, app.shown);
    app.choose({step, buffer});
  };
  const boxAt = (x, y) => inside(x, y) ? plan.tree.at(camera.toStep(x), camera.toByte(y)) : -1;

  // Exact: an event's own offset is rounded.
  const placeOf = ({clientX, clientY}) => {
    const {left, top} = over.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };

  over.addEventListener("wheel", event => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1, factor = WHEEL ** ((event.deltaY || event.deltaX) * lines);
    camera.zoom(...placeOf(event), event.altKey ? 1 : factor, event.shiftKey ? 1 : factor);
    app.linkCameras(picture);
  }, {passive: false});
  over.addEventListener("pointerdown", event => {
    from = event;
    dragged = false;
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", event => {
    if (from) {
      const dx = event.clientX - from.clientX, dy = event.clientY - from.clientY;
      if (!dragged && Math.hypot(dx, dy) < DRAG) return;
      dragged = true;
      camera.pan(dx, dy);
      from = event;
      app.linkCameras(picture);
      return;
    }
    const i = boxAt(...placeOf(event));
    showTip(i < 0 ? "" : tipOf(plan, i), event.clientX, event.clientY);
    if (i === app.hovered && app.under === picture) return;
    app.hovered = i;
    app.under = picture;
    app.drawOver();
  });
  over.addEventListener("pointerup", event => {
    const [x, y] = placeOf(event);
    if (from && !dragged && inside(x, y)) choose(Math.floor(camera.toStep(x)), boxAt(x, y));
    from = null;
  });
  over.addEventListener("pointerleave", () => {
    app.hovered = -1;
    showTip("", 0, 0);
    app.drawOver();
  });
  over.addEventListener("dblclick", () => app.fit());
  picture.curve.canvas.addEventListener("click",
      event => choose(Math.floor(camera.toStep(Math.max(MARGIN.left, placeOf(event)[0]))), -1));
}
