// A cell that is marked in all maps which share it: the one under the pointer, or else the one that was clicked.

export class LinkedCell {
  // `report(cell)` describes the cell; `pin(cell)`, if given, remembers the one that was clicked or reached by keys. A
  // `symmetric` cell stands for a pair, and is marked on both sides of the diagonal.
  constructor({ report, pin = null, pinned = null, symmetric = false, guides = false }) {
    Object.assign(this, { report, remember: pin, pinned, symmetric, guides, hovered: null, pictures: [] });
  }

  join(picture) {
    this.pictures.push(picture);
  }

  get cell() {
    return this.hovered || this.pinned;
  }

  // The marked cells of a map with so many rows and columns.
  marked(rows, columns) {
    if (!this.cell) return [];
    const [row, column] = this.cell;
    const cells = this.symmetric && row !== column ? [[row, column], [column, row]] : [[row, column]];
    return cells.filter(([down, across]) => down < rows && across < columns);
  }

  hover(cell) {
    if (same(cell, this.hovered)) return;
    this.hovered = cell;
    this.show();
  }

  pin(cell) {
    if (!this.remember) return;
    this.hovered = null;
    this.pinned = same(cell, this.pinned) ? null : cell;
    this.remember(this.pinned);
    this.show();
  }

  step([down, across], rows, columns) {
    const within = (place, count) => Math.max(0, Math.min(count - 1, place));
    const next = this.cell ? [within(this.cell[0] + down, rows), within(this.cell[1] + across, columns)] : [0, 0];
    if (!this.remember) this.hover(next);
    else if (!same(next, this.pinned)) this.pin(next);
  }

  show() {
    if (this.cell) this.report(this.cell);
    this.pictures.forEach((picture) => picture.request());
  }
}

function same(one, other) {
  return one === other || Boolean(one && other && one[0] === other[0] && one[1] === other[1]);
}
