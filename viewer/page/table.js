// Tables of buffers: a click on a column's head sorts, and rows are shown on request.
const ROWS = 100;

// `columns`: {name, text(i), value(i), number}; `choose`: called for a click on a row's first cell.
class BufferTable {
  constructor(caption, buffers, columns, choose, chosen) {
    Object.assign(this, {buffers: [...buffers], columns, choose, chosen, shown: ROWS, sorted: -1, down: false});
    this.body = element("tbody");
    this.heads = columns.map((column, k) =>
      element("th", {scope: "col", class: column.number ? "number" : undefined},
              element("button", {type: "button", click: () => this.sort(k)}, column.name)));
    this.more = element("button", {type: "button", click: () => this.showMore()}, "");
    this.root = element("div", {},
        element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...this.heads)), this.body),
        this.more);
    this.fill();
  }

  sort(k) {
    this.down = this.sorted === k ? !this.down : this.columns[k].number;
    this.sorted = k;
    const {value} = this.columns[k], sign = this.down ? -1 : 1;
    this.buffers.sort((a, b) => sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) || a - b);
    this.heads.forEach((head, i) => i === k ? head.setAttribute("aria-sort", this.down ? "descending" : "ascending")
                                            : head.removeAttribute("aria-sort"));
    this.fill();
  }

  showMore() {
    this.shown *= 10;
    this.fill();
  }

  fill() {
    this.body.replaceChildren(...this.buffers.slice(0, this.shown).map(i =>
      element("tr", {class: i === this.chosen ? "chosen" : undefined},
              ...this.columns.map(({text, number}, k) =>
                element("td", {class: number ? "number" : undefined, title: text(i)},
                        k === 0 ? nameButton(text(i), () => this.choose(i)) : text(i))))));
    const left = this.buffers.length - this.shown;
    this.more.hidden = left <= 0;
    this.more.textContent = `${formatCount(Math.max(0, left))} more`;
  }
}

const columnsOf = plan => [
  {name: "name", text: i => plan.names[i], value: i => plan.names[i]},
  {name: "size", text: i => formatBytes(plan.size[i]), value: i => plan.size[i], number: true},
  {name: "offset", text: i => formatCount(plan.offset[i]), value: i => plan.offset[i], number: true},
  {name: "steps", text: i => plan.first[i] + (plan.end[i] - plan.first[i] > 1 ? `\u2013${plan.end[i] - 1}` : ""), value: i => plan.first[i], number: true},
];
