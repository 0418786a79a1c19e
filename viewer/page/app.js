// The state of the page, and the updates that follow its changes.
class App {
  constructor(plans) {
    this.plans = plans;
    this.step = null;
    this.buffer = this.hovered = -1;
    this.query = "";
    this.found = null;
    this.details = new Details(byId("details"), this);
    this.theme = themeOf(document.documentElement);
    this.compare(0, plans.length > 1 ? 1 : -1);
  }

  get plan() { return this.plans[this.shown]; }
  usualColoring() { return COLORINGS.operator.has(this.plan) ? "operator" : "size"; }

  // Shows one plan, and optionally another beside it; -1: none.
  compare(shown, beside) {
    this.shown = shown;
    this.beside = beside === shown ? -1 : beside;
    const other = this.beside < 0 ? [] : [this.plans[this.beside]];
    this.comparison = other.length > 0 ? new Comparison(this.plan, other[0]) : null;
    byId("panes").replaceChildren();
    this.pictures = [this.plan, ...other].map(plan => new Picture(plan, byId("panes")));
    const top = Math.max(...this.pictures.map(({plan}) => plan.top));
    for (const picture of this.pictures) {
      picture.camera.top = picture.curve.top = top;
      picture.camera.fit();
      picture.caption.hidden = other.length === 0;
      watchPointer(this, picture);
    }
    this.coloring = COLORINGS[this.coloring]?.has(this.plan) ? this.coloring : this.usualColoring();
    this.step = null;
    this.buffer = this.hovered = -1;
    this.fillTools();
    this.search(this.query);
    this.resize();
  }

  add(plans) {
    this.plans.push(...plans);
    this.compare(this.plans.length - plans.length, plans.length > 1 ? this.plans.length - 1 : this.shown);
    this.choose({step: this.plan.document.bottleneck_step});
  }

  // Sets the highest byte that a run used, for all plans of this size.
  verified({planned_bytes, actual_bytes}) {
    const plans = this.plans.filter(({arena}) => arena === planned_bytes);
    if (plans.length === 0) throw new Error(`verified an arena of ${exactBytes(planned_bytes)}, which no plan here has`);
    for (const {document} of plans) document.used_bytes = actual_bytes;
    this.compare(this.shown, this.beside);
    this.choose({step: this.plan.document.bottleneck_step});
  }

  fillTools() {
    const options = (select, entries, chosen) => {
      byId(select).replaceChildren(...entries.map(([value, text]) => element("option", {value}, text)));
      byId(select).value = chosen;
    };
    const titles = this.plans.map((plan, index) => [index, plan.title]);
    options("shown", titles, this.shown);
    options("beside", [[-1, "none"], ...titles.filter(([index]) => index !== this.shown)], this.beside);
    options("color", Object.keys(COLORINGS).filter(mode => COLORINGS[mode].has(this.plan)).map(mode => [mode, mode]), this.coloring);
    const {plan} = this, facts = byId("facts");
    document.title = plan.title;
    byId("title").textContent = plan.title;
    const gap = plan.arena - plan.document.proven_bytes;
    facts.replaceChildren("arena ", element("b", {}, exactBytes(plan.arena)), ", lower bound ", exactBytes(plan.lowerBound), ", ",
                          gap === 0 ? "no placement of these buffers is smaller" : `at most ${formatBytes(gap)} more than the smallest`,
                          `; ${formatCount(plan.count)} buffers, ${formatCount(plan.last - plan.begin)} steps, planner ${plan.document.planner}`,
                          plan.document.predicted_ms > 0 ? `; ${expectedCost(plan.document)}` : "",
                          plan.used === undefined ? "" : `; a run used ${exactBytes(plan.used)}`);
    for (const {over, curve, plan} of this.pictures) {
      over.setAttribute("aria-label", `${plan.title}: ${formatCount(plan.count)} buffers in ${exactBytes(plan.arena)}, addresses over steps. ` +
                                      "The tables beside the picture hold the same. Keys: question mark.");
      curve.canvas.setAttribute("aria-label", `Live bytes over steps, at most ${exactBytes(plan.live.peak)} at step ${plan.document.bottleneck_step}`);
    }
  }

  color(mode) {
    if (!COLORINGS[mode]?.has(this.plan)) return;
    this.coloring = mode;
    byId("color").value = mode;
    this.recolor();
  }

  recolor() {
    this.theme = themeOf(document.documentElement);
    const scale = COLORINGS[this.coloring].make(this.pictures.map(({plan}) => plan));
    this.colors = this.pictures.map(({plan}, index) =>
        new Colors(plan, scale, this.theme, index === 0 ? this.found?.mask : find(plan, this.query)?.mask));
    const {plan} = this, legend = this.colors[0].legend;
    if (plan.kind.includes(KIND_WORKSPACE)) legend.push({name: "workspace", color: "repeating-linear-gradient(135deg, var(--paper) 0 2px, var(--faint) 2px 4px)"});
    if (plan.relations.inner.length > 0) legend.push({name: "bytes of two", color: "repeating-linear-gradient(var(--paper) 0 2px, var(--faint) 2px 4px)"});
    byId("legend").replaceChildren(...legend.map(({name, color}) => {
      const swatch = element("i");
      swatch.style.background = color;
      return element("span", {}, swatch, name);
    }));
    this.draw();
  }

  search(query) {
    this.query = query;
    if (byId("search").value !== query) byId("search").value = query;
    this.found = find(this.plan, query);
    byId("found").textContent = this.found ? `${formatCount(this.found.list.length)} found, ${formatBytes(this.found.bytes)}` : "";
    this.details.show();
    this.recolor();
  }

  // Chooses the next or the previous buffer of the search results.
  next(forward) {
    const list = this.found?.list ?? [];
    if (list.length === 0) return;
    const at = list.indexOf(this.buffer);
    const buffer = list[(at + forward + list.length + (at < 0 && forward < 0 ? 1 : 0)) % list.length];
    this.choose({buffer, step: this.plan.first[buffer]});
  }

  choose({step = null, buffer = -1}) {
    this.step = step === null ? null : Math.min(this.plan.last - 1, Math.max(this.plan.begin, step));
    this.buffer = buffer;
    if (this.step !== null) this.pictures[0].camera.show(this.step);
    this.linkCameras(this.pictures[0]);
    this.details.show();
  }

  // Makes the other picture show the same share of its steps, and the same bytes.
  linkCameras(from) {
    for (const {camera, plan} of this.pictures) {
      if (camera === from.camera) continue;
      const share = (plan.last - plan.begin) / (from.plan.last - from.plan.begin);
      camera.setSteps(plan.begin + (from.camera.x0 - from.plan.begin) * share, plan.begin + (from.camera.x1 - from.plan.begin) * share);
      camera.setBytes(from.camera.y0, from.camera.y1);
    }
    this.draw();
  }

  fit() {
    this.pictures.forEach(({camera}) => camera.fit());
    this.draw();
  }

  resize() {
    this.pictures.forEach(picture => picture.resize());
    this.draw();
  }

  // Draws once before the next frame, regardless of how much has changed.
  draw() {
    this.whole = true;
    this.drawOver();
  }
  drawOver() {
    this.frame ??= requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    this.frame = null;
    const start = performance.now(), {css} = this.theme;
    this.pictures.forEach((picture, index) => {
      if (this.whole) picture.draw(this.colors[index]);
      const mine = index === 0, other = this.comparison;
      const step = mine || this.step === null ? this.step : other.step(this.step);
      if (this.whole) picture.curve.draw(picture.plan, picture.camera, step, mine ? other?.b : null, css);
      picture.drawOver({
        step,
        buffer: mine ? this.buffer : other.buffer(this.buffer),
        hovered: picture === this.under ? this.hovered : -1,
      }, css);
    });
    this.whole = false;
    performance.measure("draw", {start, end: performance.now()});
    clearTimeout(this.linking);
    this.linking = setTimeout(() => history.replaceState(null, "", "#" + linkOf(this)), 300);
  }

  say(message) {
    byId("message").textContent = message;
    byId("message").hidden = message === "";
  }

  saveSvg() { download("plan.svg", "image/svg+xml", svgOf(this.pictures[0], this.colors[0])); }
  saveCsv() { download("plan.csv", "text/csv", csvOf(this.plan)); }
  changeTheme() {
    nextTheme(document.documentElement);
    this.recolor();
  }
}
